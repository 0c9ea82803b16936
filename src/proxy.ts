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
    // Up to the last `@`, after the first `:`, as people write passwords that need encoding.
    const written = /^[^:@]*:(.*)@/.exec(value.replace(SCHEME, ''))?.[1] ?? '';
    const parsed = parseProxy(value)?.password ?? '';
    // A mask on a very short value would blank ordinary words, here and in later jobs.
    return [written, parsed, decodeURIComponent(parsed)].filter((secret) => secret.length >= 4);
  });
}

function variable(env: Env, name: string): string {
  return (env[name] || env[name.toUpperCase()] || '').trim();
}

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;

function parseProxy(value: string): URL | null {
  const url = SCHEME.test(value) ? value : `http://${value}`;
  if (!URL.canParse(url)) return null;
  const parsed = new URL(url);
  const usable = /^https?:$/.test(parsed.protocol) && parsed.hostname !== '';
  return usable && canDecode(`${parsed.username}:${parsed.password}`) ? parsed : null;
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
