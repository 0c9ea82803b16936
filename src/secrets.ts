import { withoutInvisible } from './foreign-text.ts';

/** Puts `***` in the place of every secret in a text. */
export type Redact = (text: string) => string;

/**
 * What stands in a text for a secret: the value itself and the forms it takes when it is
 * quoted in JSON, put into a URL or encoded as base64 at any of the three byte offsets.
 *
 * The runner masks its log, but nothing that goes to an API, a file or another job.
 */
export function redactor(secrets: readonly string[]): Redact {
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  if (forms.length === 0) return (text) => text;
  const pattern = new RegExp(forms.map(RegExp.escape).join('|'), 'g');
  const redact = (text: string): string => text.replace(pattern, '***');
  return (text) => {
    const redacted = redact(text);
    // Whatever takes out invisible characters later would join what they split.
    const visible = withoutInvisible(redacted);
    const joined = redact(visible);
    return joined === visible ? redacted : joined;
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
