import type { Clock } from '../clock.ts';
import { ok, problem, type Result } from '../value-or-problem.ts';
import type { Log, Redact } from './logger.ts';

export type Env = Readonly<Record<string, string | undefined>>;

export interface Runtime {
  readonly env: Env;
  readonly log: Log;
  readonly redact: Redact;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly random: () => number;
  /** Both throw if the file cannot be written. */
  readonly writeOutputs: (outputs: Readonly<Record<string, string>>) => void;
  readonly writeSummary: (markdown: string) => void;
}

export type RunInfo = Readonly<ReturnType<typeof readRunInfo>>;

export function readRunInfo(env: Env) {
  const apiUrl = env.GITHUB_API_URL || 'https://api.github.com';
  const { GITHUB_SERVER_URL: serverUrl = '', GITHUB_REPOSITORY: repository = '' } = env;
  const server = URL.canParse(serverUrl) ? serverUrl : 'https://github.com';
  const attempt = env.GITHUB_RUN_ATTEMPT ?? '';
  return {
    apiUrl: apiUrl.replace(/\/+$/, ''),
    repository,
    repositoryUrl: `${server.replace(/\/+$/, '')}/${repository}`,
    runId: env.GITHUB_RUN_ID ?? '',
    attempt: /^[1-9]\d{0,8}$/.test(attempt) ? Number(attempt) : 1,
    /** The same in all attempts of all runs. */
    step: `${env.GITHUB_JOB ?? ''}:${env.GITHUB_ACTION ?? ''}`,
    workflow: env.GITHUB_WORKFLOW_REF?.split('@')[0] || env.GITHUB_WORKFLOW || '',
    triggeringActor: env.GITHUB_TRIGGERING_ACTOR || '',
  };
}

export interface ProxySettings {
  readonly url: string;
  readonly noProxy: string;
}

/**
 * Lower case takes precedence, and https never uses the proxy of http (actions/runner,
 * RunnerWebProxy.cs). The problem does not quote the password.
 */
export function readNetworkSettings(env: Env, { protocol }: URL): Result<ProxySettings> {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    return problem(
      'NODE_TLS_REJECT_UNAUTHORIZED is 0, so certificate checks are turned off; remove it, and ' +
        'set NODE_EXTRA_CA_CERTS for a private CA',
    );
  }
  const nameOf = (lower: string): string => (env[lower] ? lower : lower.toUpperCase());
  const name = nameOf(protocol === 'https:' ? 'https_proxy' : 'http_proxy');
  const value = (env[name] ?? '').trim();
  const noProxy = (env[nameOf('no_proxy')] ?? '').trim();
  if (value === '') return ok({ url: '', noProxy });
  const url = URL.parse(/^https?:\/\//i.test(value) ? value : `http://${value}`);
  // What follows a slash or a bare % may be the rest of a password that is not encoded.
  const isPlain = /^https?:\/\/([^/?#%]|%[\da-f]{2})+\/$/i.test(url?.href ?? '');
  if (url !== null && isPlain && url.port !== '0') return ok({ url: url.href, noProxy });
  const example = '“http://user:password@proxy.example:3128”';
  return problem(
    `${name} must be the URL of an http or https proxy, as in ${example}; fix or unset it`,
  );
}

/** Not the password of a proxy: errors of Node have at most its host and port. */
export function readSecrets(env: Env): readonly string[] {
  return [env['INPUT_API-KEY'], env['INPUT_GITHUB-TOKEN']].flatMap((value) => value?.trim() || []);
}
