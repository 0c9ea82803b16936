/** The proxy for one scheme, or an empty `url` for none. */
export interface ProxySettings {
  readonly url: string;
  /** Hosts to reach without it, in the form that curl takes. */
  readonly noProxy: string;
}

export type ProxyRead =
  | { readonly kind: 'valid'; readonly proxy: ProxySettings }
  | { readonly kind: 'invalid'; readonly problem: string };

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads the proxy variables as the runner does (actions/runner, RunnerWebProxy.cs): lower case
 * wins, `http://` is added where the scheme is missing, and https never uses `http_proxy`.
 */
export function readProxy(env: Env, scheme: 'http:' | 'https:'): ProxyRead {
  const name = scheme === 'https:' ? 'https_proxy' : 'http_proxy';
  const url = variable(env, name);
  const noProxy = variable(env, 'no_proxy');
  if (url === '') return { kind: 'valid', proxy: { url: '', noProxy } };
  const parsed = parseProxy(url);
  return parsed === null
    ? {
        kind: 'invalid',
        problem: `${name.toUpperCase()} is not the URL of an http or https proxy; mend or unset it.`,
      }
    : { kind: 'valid', proxy: { url: parsed.href, noProxy } };
}

/** Passwords in the proxy variables, as they stand there and decoded. */
export function proxySecrets(env: Env): readonly string[] {
  return ['https_proxy', 'http_proxy'].flatMap((name) => {
    const value = variable(env, name);
    const written = /:([^:@/]*)@[^@]*$/.exec(value)?.[1] ?? '';
    return [written, parseProxy(value)?.password ?? '', decoded(written)].filter(
      (secret) => secret !== '',
    );
  });
}

function variable(env: Env, name: string): string {
  return (env[name] || env[name.toUpperCase()] || '').trim();
}

function parseProxy(value: string): URL | null {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  if (!URL.canParse(url)) return null;
  const parsed = new URL(url);
  return /^https?:$/.test(parsed.protocol) && parsed.hostname !== '' ? parsed : null;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
