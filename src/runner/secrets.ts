import { COMMON_PARTS } from '../pull-request-link.ts';
import { withoutInvisible } from '../sanitize.ts';

/** Replaces every secret in a text with `***`. */
export type Redact = (text: string) => string;

/**
 * Finds each secret as it is, quoted in JSON, encoded in a URL, and as base64 at any of the three
 * byte offsets.
 *
 * The runner masks secrets only in its log, not in what is sent to an API, written to a file or
 * passed to another job. There, each value by others is redacted by itself, before it
 * becomes a part of JSON, a marker or a comment: a secret may be a word with a meaning there, such
 * as `null`, `sent` or `2026`.
 *
 * @param ownUrls of the server and the repository, which are never redacted.
 */
export function redactor(secrets: readonly string[], ownUrls: readonly string[] = []): Redact {
  const forms = [...new Set(secrets.flatMap(formsOf).flatMap(piecesOf))].sort(
    (a, b) => b.length - a.length,
  );
  if (forms.length === 0) return (text) => text;
  const pattern = new RegExp(forms.map(toPattern).join('|'), 'g');
  const own = ownUrls.map((url) => `${RegExp.escape(url)}(?![\\w.-])`);
  const harmless = new RegExp([...own, ...COMMON_PARTS, TIME].join('|'), 'g');
  const redact = (text: string): string => {
    let isHarmless: ReturnType<typeof within> | undefined;
    return text.replace(pattern, (hit: string, at: number) => {
      isHarmless ??= within(text, harmless);
      return isHarmless(at, at + hit.length) ? hit : '***';
    });
  };
  return (text) => {
    const redacted = redact(text);
    // If invisible characters are removed later, the parts of a secret around them are joined.
    const visible = withoutInvisible(redacted);
    const joined = redact(visible);
    return joined === visible ? redacted : joined;
  };
}

/** Joiners are ignored. */
function toPattern(piece: string): string {
  const characters = [...piece].map((one) => (one === ' ' ? '\\s+' : RegExp.escape(one)));
  return characters.join('[\\u200c\\u200d\\ufe0f]*');
}

/** Times are never redacted, and neither are the common parts of links. */
const TIME =
  '(?<!\\w)\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d{1,9})?(?:Z|[+-]\\d\\d:\\d\\d)(?!\\w)';

/** Whether a range is inside a match of the pattern. Ranges must be given in ascending order. */
function within(text: string, pattern: RegExp): (from: number, to: number) => boolean {
  const found = text.matchAll(pattern).map(({ index, 0: part }) => [index, index + part.length]);
  let [start = Infinity, end = Infinity] = found.next().value ?? [];
  return (from, to) => {
    while (end <= from) [start = Infinity, end = Infinity] = found.next().value ?? [];
    return start <= from && to <= end;
  };
}

/** Characters. A shorter value also occurs in ordinary words, and so does the base64 of a value up to twice as long. */
const SHORTEST = 4;

function formsOf(secret: string): readonly string[] {
  if (secret.length < SHORTEST) return [];
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
  ];
  return secret.length < 2 * SHORTEST ? forms : [...forms, ...base64Forms(secret)];
}

/** Characters. V8 has no stack for the pattern of a text that is ten times as long. */
const LONGEST_PIECE = 500;

/**
 * A long form in pieces of almost the same length, because a short one may be an ordinary word. White space
 * is one space, which matches any other, because it is normalized later: patterns for several in a row would
 * try all ways to share long white space. No piece begins with one, for the same reason.
 */
function piecesOf(form: string): readonly string[] {
  const text = form.replace(/\s+/g, ' ').trim();
  if (text.length < SHORTEST) return [];
  const count = Math.ceil(text.length / LONGEST_PIECE);
  const size = Math.ceil(text.length / count);
  return Array.from({ length: count }, (_, index) =>
    text.slice(index * size, (index + 1) * size).trim(),
  );
}

function base64Forms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    // The characters at both ends also encode bits of the bytes next to the secret.
    const start = offset === 0 ? 0 : offset + 1;
    const end = Math.floor(((offset + bytes.length) * 8) / 6);
    return encoded.slice(start, end);
  });
}
