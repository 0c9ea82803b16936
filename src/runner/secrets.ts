import { withoutInvisible } from '../sanitize.ts';

/** Puts `***` in the place of every secret in a text. */
export type Redact = (text: string) => string;

/**
 * What stands in a text for a secret: the value itself and the forms it takes when it is
 * quoted in JSON, put into a URL or encoded as base64 at any of the three byte offsets.
 *
 * The runner masks its log, but nothing that goes to an API, a file or another job. For those each
 * value that somebody else wrote is redacted by itself, before it becomes a part of JSON, a marker or
 * a comment: a secret may be a word such as `null`, `sent` or `2026`, which means something there.
 *
 * @param ownUrls of the server and the repository: they are no secret, whatever they hold.
 */
export function redactor(secrets: readonly string[], ownUrls: readonly string[] = []): Redact {
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  if (forms.length === 0) return (text) => text;
  const pattern = new RegExp(forms.map(toPattern).join('|'), 'g');
  const own = ownUrls.map((url) => `${RegExp.escape(url)}(?![\\w.-])`);
  const harmless = new RegExp([...own, ...HARMLESS].join('|'), 'g');
  const redact = (text: string): string => {
    let isHarmless: ReturnType<typeof within> | undefined;
    return text.replace(pattern, (hit: string, at: number) => {
      isHarmless ??= within(text, harmless);
      return isHarmless(at, at + hit.length) ? hit : '***';
    });
  };
  return (text) => {
    const redacted = redact(text);
    // Whatever takes out invisible characters later would join what they split.
    const visible = withoutInvisible(redacted);
    const joined = redact(visible);
    return joined === visible ? redacted : joined;
  };
}

/** Any white space for white space, which is made one blank later; joiners are not seen. */
function toPattern(form: string): string {
  const characters = [...form].map((one) => (/\s/.test(one) ? '\\s+' : RegExp.escape(one)));
  return characters.join('[\\u200c\\u200d\\ufe0f]*');
}

/** Of links and times, what is the same in everybody's: no secret is looked for inside of it. */
const HARMLESS = [
  'https?://(?:(?:github\\.com|gitlab\\.com|bitbucket\\.org)/)?',
  '/(?:pull|issues|-/merge_requests|pull-requests)/\\d{1,10}(?:#issuecomment-\\d{1,20})?(?![\\w-])',
  '(?<!\\w)\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d{1,9})?(?:Z|[+-]\\d\\d:\\d\\d)(?!\\w)',
];

/** Says of places in ascending order whether they lie inside of what the pattern finds. */
function within(text: string, pattern: RegExp): (from: number, to: number) => boolean {
  const found = text.matchAll(pattern).map(({ index, 0: part }) => [index, index + part.length]);
  let [start = Infinity, end = Infinity] = found.next().value ?? [];
  return (from, to) => {
    while (end <= from) [start = Infinity, end = Infinity] = found.next().value ?? [];
    return start <= from && to <= end;
  };
}

function formsOf(secret: string): readonly string[] {
  // A very short value occurs by chance in ordinary words, and more so in base64.
  if (secret.length < 4) return [];
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
  ];
  return secret.length < 8 ? forms : [...forms, ...base64Forms(secret)];
}

function base64Forms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    // The characters at both ends also carry bits of their neighbours.
    const start = offset === 0 ? 0 : offset + 1;
    const end = Math.floor(((offset + bytes.length) * 8) / 6);
    return encoded.slice(start, end);
  });
}
