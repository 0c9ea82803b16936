import { type Env, proxySecrets } from './environment.ts';

/** Replaces every secret in a text with `***`. */
export type Redact = (text: string) => string;

/** Every secret in the environment, read before anything else so that it can be masked. */
export function readSecrets(env: Env): readonly string[] {
  const inputs = [env['INPUT_API-KEY'], env['INPUT_GITHUB-TOKEN']].flatMap((value = '') => {
    const lines = value.trim().split(/[\r\n]+/);
    // In a broken secret of several lines, short lines would mask ordinary words.
    const shortest = lines.length > 1 ? SHORTEST : 1;
    return lines.map((line) => line.trim()).filter(({ length }) => length >= shortest);
  });
  return [...new Set([...inputs, ...proxySecrets(env)])];
}

/** Characters. A shorter value also occurs in ordinary words. */
const SHORTEST = 8;

/**
 * Finds each secret as it is, quoted in JSON, encoded in a URL, and as base64 at any of the three
 * byte offsets.
 *
 * The runner masks secrets only in its log, not in what is sent to an API, written to a file or
 * passed to another job. There, each value by others is redacted by itself, before it
 * becomes a part of JSON, a marker or a comment: a secret may be a word with a meaning there.
 */
export function redactor(secrets: readonly string[]): Redact {
  const forms = [...new Set(secrets.filter(({ length }) => length >= SHORTEST).flatMap(formsOf))];
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
