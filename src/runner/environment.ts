import type { Clock } from '../clock.ts';
import { ok, problem, type Result } from '../text.ts';
import type { Log, Redact } from './logger.ts';

export type Env = Readonly<Record<string, string | undefined>>;

export interface Runtime {
  readonly env: Env;
  readonly log: Log;
  readonly redact: Redact;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** 0 to 1, uniform. */
  readonly random: () => number;
  /** Both append to their file synchronously, and throw if that is not possible. */
  readonly writeOutputs: (outputs: Readonly<Record<string, string>>) => void;
  readonly writeSummary: (markdown: string) => void;
}

/** What the environment variables of the runner say about a run. */
export interface RunInfo {
  readonly apiUrl: string;
  readonly repository: string;
  readonly repositoryUrl: string;
  readonly runId: string;
  /** 1 for the first attempt, more for a re-run. */
  readonly attempt: number;
  /** Identifies this step within its workflow, and so in all attempts of all runs. */
  readonly step: string;
  /** The file of the workflow, or its name if the runner does not tell the file. */
  readonly workflow: string;
  /** Who started this attempt; empty if the runner does not say so. */
  readonly triggeringActor: string;
}

export function readRunInfo(env: Env): RunInfo {
  const apiUrl = env.GITHUB_API_URL || 'https://api.github.com';
  const serverUrl = env.GITHUB_SERVER_URL ?? '';
  // Links need one.
  const server = URL.canParse(serverUrl) ? serverUrl : 'https://github.com';
  const repository = env.GITHUB_REPOSITORY ?? '';
  const runId = env.GITHUB_RUN_ID ?? '';
  const attempt = env.GITHUB_RUN_ATTEMPT ?? '';
  return {
    apiUrl: apiUrl.replace(/\/+$/, ''),
    repository,
    repositoryUrl: `${server.replace(/\/+$/, '')}/${repository}`,
    runId,
    attempt: /^[1-9]\d{0,8}$/.test(attempt) ? Number(attempt) : 1,
    step: `${env.GITHUB_JOB ?? ''}:${env.GITHUB_ACTION ?? ''}`,
    workflow: env.GITHUB_WORKFLOW_REF?.split('@')[0] || env.GITHUB_WORKFLOW || '',
    triggeringActor: env.GITHUB_TRIGGERING_ACTOR || '',
  };
}

/** A phrase: without certificate checks, neither the key nor GitHub's answers are safe. */
export function problemWithCertificates(env: Env): string | undefined {
  return env.NODE_TLS_REJECT_UNAUTHORIZED === '0'
    ? 'NODE_TLS_REJECT_UNAUTHORIZED is 0, so certificate checks are turned off; remove it, ' +
        'and set NODE_EXTRA_CA_CERTS for a private CA'
    : undefined;
}

/** The proxy for a URL, or an empty `url` for none. */
export interface ProxySettings {
  readonly url: string;
  /** Hosts that are reached directly, in the form that curl accepts. */
  readonly noProxy: string;
}

/**
 * Reads the proxy variables (a problem is a phrase) like the runner (actions/runner, RunnerWebProxy.cs): lower case takes
 * precedence, `http://` is the default scheme, and https never uses `http_proxy`.
 */
export function readProxy(env: Env, { protocol }: URL): Result<ProxySettings> {
  const name = variableOf(env, protocol === 'https:' ? 'https_proxy' : 'http_proxy');
  const value = (env[name] ?? '').trim();
  const noProxy = (env[variableOf(env, 'no_proxy')] ?? '').trim();
  if (value === '') return ok({ url: '', noProxy });
  const parsed = parseProxy(value);
  return parsed === null ? problem(`${name} ${NO_PROXY_URL}`) : ok({ url: parsed.href, noProxy });
}

/** Whether requests to a URL go through the proxy, by the rules that undici has for NO_PROXY (env-http-proxy-agent.js). */
export function isProxied(
  { hostname, port, protocol }: URL,
  { url, noProxy }: ProxySettings,
): boolean {
  const own = port || (protocol === 'https:' ? '443' : '80');
  const host = withoutBrackets(hostname);
  const isDirect = noProxy.split(/[,\s]+/).some((entry) => {
    // The colons of an IPv6 address without brackets are not followed by a port.
    const [, before = entry, only = own] = /^(\[.+\]|[^:]+)(?::(\d+))?$/.exec(entry) ?? [];
    const name = withoutBrackets(before.toLowerCase());
    const domain = name.replace(/^\*?\./, '');
    const isApex = host === domain && !name.startsWith('*');
    const isHost = name === '*' || isApex || host.endsWith(`.${domain}`);
    return domain !== '' && only === own && isHost;
  });
  return url !== '' && !isDirect;
}

/** Of an IPv6 address. */
function withoutBrackets(host: string): string {
  return host.replace(/^\[(.+)\]$/, '$1');
}

/**
 * The secrets that texts by others may contain, read before anything else so that they can be masked. No text has the
 * password of a proxy: only its host is shown, and errors of connections are put into our own words.
 */
export function readSecrets(env: Env): readonly string[] {
  return [env['INPUT_API-KEY'], env['INPUT_GITHUB-TOKEN']].flatMap((value) => value?.trim() || []);
}

/** The variable that counts, in lower or upper case. */
function variableOf(env: Env, name: string): string {
  return env[name] ? name : name.toUpperCase();
}

const NO_PROXY_URL =
  'must be the URL of an http or https proxy, of which only the host is required, as in ' +
  '“http://user:password@proxy.example:3128”; fix or unset it';

/**
 * Credentials, host and port. What follows a slash, as the rest of a password does that is not encoded, would make
 * another host of the parts before it, and show them.
 */
const AUTHORITY = /^([^\\/?#@\p{Cc}]*@)?([\w.-]+|\[[\da-f:.]+\])(:\d+)?\/?$/iu;

function parseProxy(value: string): URL | null {
  const [, scheme = 'http://', rest = ''] = /^(https?:\/\/)?(.*)$/is.exec(value) ?? [];
  const url = AUTHORITY.test(rest) ? URL.parse(scheme + rest) : null;
  if (url === null || url.port === '0') return null;
  try {
    decodeURIComponent(`${url.username}:${url.password}`);
    return url;
  } catch {
    return null;
  }
}
