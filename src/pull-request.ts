import { ok, problem, type Result } from './result.ts';

export type PullRequestState = 'open' | 'closed' | 'merged';

export interface PullRequestHead {
  readonly number: number;
  /** Its newest commit. */
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

/** `PULL_REQUEST` must know the same paths. */
const PULL_REQUEST_PATHS = [
  /^\/[\w.-]+\/[\w.-]+\/pull\/[1-9]\d{0,9}$/,
  /^(\/[\w.-]+){2,20}\/-\/merge_requests\/[1-9]\d{0,9}$/,
  /^(\/(?:[\w.-]|%7[bd])+){2,4}\/pull-requests\/[1-9]\d{0,9}$/i,
];

const PAGE_OF_PULL_REQUEST =
  /(?<=\/\d+)\/(?:(?:files|commits|changes|checks|diffs?|pipelines)(?:\/.*)?)?$/;

/** The link is rebuilt from its parts, so nothing else is passed on. It is never fetched. */
export function checkPrLink(link: string): Result<string> {
  const url = /[\s\p{C}\\]/u.test(link) ? null : URL.parse(link);
  if (url === null) return problem('it is not a URL');
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    return problem('it is not a plain https link');
  }
  if (!/^[a-z0-9.-]+(:\d+)?$/.test(url.host)) return problem('its host is not a plain name');
  const path = url.pathname.replace(PAGE_OF_PULL_REQUEST, '');
  const dots = path.split('/').some((segment) => /^\.+$/.test(segment));
  if (dots || !PULL_REQUEST_PATHS.some((pattern) => pattern.test(path))) {
    return problem('it does not lead to a pull request');
  }
  return ok(`https://${url.host}${path}`);
}

const PULL_REQUEST = /^\/(.+?)(?:\/-)?\/(pull|pull-requests|merge_requests)\/(\d+)$/;

/** `#42`, or `!42` of a merge request. The link was checked before. */
export function pullRequestName(prLink: string, isHere: boolean): string {
  const { host, pathname } = new URL(prLink);
  const [, repository = '', kind, digits] = pathname.split(PULL_REQUEST);
  const number = `${kind === 'merge_requests' ? '!' : '#'}${digits}`;
  if (isHere) return number;
  return `${host === 'github.com' ? repository : `${host}/${repository}`}${number}`;
}

/** The number of a pull request in this repository; null for any other link. */
export function ownPullRequest(prLink: string | null, repositoryUrl: string): number | null {
  const [, repository, number] = /^(.+)\/pull\/([1-9]\d{0,9})$/.exec(prLink ?? '') ?? [];
  return repository?.toLowerCase() === repositoryUrl.toLowerCase() ? Number(number) : null;
}
