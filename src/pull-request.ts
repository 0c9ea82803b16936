import { ok, problem, type Result } from './value-or-problem.ts';

type PullRequestState = 'open' | 'closed' | 'merged';

export interface PullRequestHead {
  readonly number: number;
  readonly sha: string;
  readonly ref: string;
  readonly state: PullRequestState;
}

export interface PullRequest extends PullRequestHead {
  readonly commits: number;
}

/** GitHub has no state of its own for merged ones. */
export function parseState(state: string, mergedAt: string | null | undefined): PullRequestState {
  if (state !== 'closed') return 'open';
  return (mergedAt ?? null) === null ? 'closed' : 'merged';
}

/** On github.com or a GitHub Enterprise Server; more may follow, as for its files. */
const PULL_REQUEST = /^((?:\/(?!\.+\/)[\w.-]{1,100}){2}\/pull\/[1-9]\d{0,9})(\/.*)?$/;

/** The link is rebuilt from its parts, so nothing else is passed on. It is never fetched. */
export function checkPrLink(link: string): Result<string> {
  const url = /[\s\p{C}\\]/u.test(link) ? null : URL.parse(link);
  if (url === null) return problem('it is not a URL');
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    return problem('it is not a plain https link');
  }
  if (!/^[a-z0-9.-]{1,253}(:\d+)?$/.test(url.host)) return problem('its host is not a plain name');
  const path = PULL_REQUEST.exec(url.pathname)?.[1];
  if (path === undefined) return problem('it does not lead to a pull request on GitHub');
  return ok(`https://${url.host}${path}`);
}

/** `#42`, with its repository and host as far as needed. The link was checked before. */
export function pullRequestName(prLink: string, isHere: boolean): string {
  const { host, pathname } = new URL(prLink);
  const [, repository = '', number = ''] = /^\/(.+)\/pull\/(\d+)$/.exec(pathname) ?? [];
  if (isHere) return `#${number}`;
  return `${host === 'github.com' ? '' : `${host}/`}${repository}#${number}`;
}

/** Null for a link to anything else. */
export function ownPullRequest(prLink: string | null, repositoryUrl: string): number | null {
  const [, repository, number] = /^(.+)\/pull\/([1-9]\d{0,9})$/.exec(prLink ?? '') ?? [];
  return repository?.toLowerCase() === repositoryUrl.toLowerCase() ? Number(number) : null;
}
