/** Replaces every secret in a text with `***`. */
export type Redact = (text: string) => string;

/** Characters. A shorter value also occurs in ordinary words. */
export const SHORTEST_SECRET = 8;

/**
 * Finds each secret as it is, quoted in JSON, encoded in a URL, and as base64 at any of the three
 * byte offsets.
 *
 * The runner masks secrets only in its log, not in what is sent to an API, written to a file or
 * passed to another job. There, each value by others is redacted by itself, before it
 * becomes a part of JSON, a marker or a comment: a secret may be a word with a meaning there.
 */
export function redactor(secrets: readonly string[]): Redact {
  const forms = [
    ...new Set(secrets.filter(({ length }) => length >= SHORTEST_SECRET).flatMap(formsOf)),
  ];
  forms.sort((one, other) => other.length - one.length);
  return (text) => forms.reduce((clean, form) => clean.replaceAll(form, '***'), text);
}

function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const shifted = [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    // The characters at both ends also encode bits of the bytes next to the secret.
    const start = offset === 0 ? 0 : offset + 1;
    return encoded.slice(start, Math.floor(((offset + bytes.length) * 8) / 6));
  });
  const inUrl = encodeURIComponent(secret.toWellFormed());
  return [secret, JSON.stringify(secret).slice(1, -1), inUrl, ...shifted];
}
