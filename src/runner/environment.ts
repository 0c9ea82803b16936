// The runner's environment variables: what a run is known by, and its proxy.

import { ok, problem, type Result } from '../result.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** The runner's variables that a run is known by. */
export interface RunInfo {
  /** `https://github.com`, or that of the GitHub Enterprise server. */
  readonly serverUrl: string;
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  /** `owner/name`. */
  readonly repository: string;
  readonly runId: string;
  /** 1 for the first run, more for a re-run. */
  readonly attempt: number;
  /** Names this step of this run, whatever the attempt. */
  readonly origin: string;
  /** Who started this attempt, as far as the runner says; for people to read. */
  readonly actor: string;
  /** Who started this attempt; empty if the runner does not say so. */
  readonly triggeringActor: string;
}

const GITHUB = 'https://github.com';

export function readRunInfo(env: Env): RunInfo {
  const apiUrl = env.GITHUB_API_URL || 'https://api.github.com';
  const serverUrl = env.GITHUB_SERVER_URL ?? '';
  const attempt = Number(env.GITHUB_RUN_ATTEMPT);
  const runId = env.GITHUB_RUN_ID ?? '';
  return {
    serverUrl: URL.canParse(serverUrl) ? serverUrl : GITHUB,
    apiUrl,
    graphqlUrl: env.GITHUB_GRAPHQL_URL || `${apiUrl}/graphql`,
    repository: env.GITHUB_REPOSITORY ?? '',
    runId,
    attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : 1,
    origin: `run:${runId}:${env.GITHUB_JOB ?? ''}:${env.GITHUB_ACTION ?? ''}`,
    actor: env.GITHUB_TRIGGERING_ACTOR || env.GITHUB_ACTOR || '',
    triggeringActor: env.GITHUB_TRIGGERING_ACTOR || '',
  };
}

/** The proxy for one scheme, or an empty `url` for none. */
export interface ProxySettings {
  readonly url: string;
  /** Hosts to reach without it, in the form that curl takes. */
  readonly noProxy: string;
}

/**
 * Reads the proxy variables as the runner does (actions/runner, RunnerWebProxy.cs): lower case
 * wins, `http://` is added where the scheme is missing, and https never uses `http_proxy`.
 */
export function readProxy(env: Env, scheme: 'http:' | 'https:'): Result<ProxySettings> {
  const name = scheme === 'https:' ? 'https_proxy' : 'http_proxy';
  const url = variable(env, name);
  const noProxy = variable(env, 'no_proxy');
  if (url === '') return ok({ url: '', noProxy });
  const parsed = parseProxy(url);
  return parsed === null
    ? problem(`${name.toUpperCase()} is not the URL of an http or https proxy; fix or unset it.`)
    : ok({ url: parsed.href, noProxy });
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
