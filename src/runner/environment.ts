import type { Clock } from '../clock.ts';
import { ok, problem, type Result } from '../result.ts';
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
 * Reads the variable of the proxy: lower case takes precedence, and https never uses that of http, as in the runner (actions/runner,
 * RunnerWebProxy.cs). A problem is a phrase, which never quotes the password.
 */
export function readProxy(env: Env, { protocol }: URL): Result<ProxySettings> {
  const nameOf = (lower: string): string => (env[lower] ? lower : lower.toUpperCase());
  const name = nameOf(protocol === 'https:' ? 'https_proxy' : 'http_proxy');
  const value = (env[name] ?? '').trim();
  const noProxy = (env[nameOf('no_proxy')] ?? '').trim();
  if (value === '') return ok({ url: '', noProxy });
  const url = URL.parse(/^https?:\/\//i.test(value) ? value : `http://${value}`);
  // What follows a slash may be the rest of a password that is not encoded: then the host is none.
  const isPlain = url !== null && url.port !== '0' && /^https?:\/\/[^/?#]+\/$/.test(url.href);
  if (isPlain && isEncoded(url.username) && isEncoded(url.password)) {
    return ok({ url: url.href, noProxy });
  }
  const example = '“http://user:password@proxy.example:3128”';
  return problem(
    `${name} must be the URL of an http or https proxy, as in ${example}; fix or unset it`,
  );
}

function isEncoded(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}

/**
 * The secrets that texts by others may contain, read before anything else so that they can be masked. No text has the
 * password of a proxy: errors of Node have at most its host and port.
 */
export function readSecrets(env: Env): readonly string[] {
  return [env['INPUT_API-KEY'], env['INPUT_GITHUB-TOKEN']].flatMap((value) => value?.trim() || []);
}
