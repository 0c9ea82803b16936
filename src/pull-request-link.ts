import { ok, problem, type Result } from './result.ts';

// The links to pull requests: on which hosts and paths they are, which ones are accepted from the API, and
// what they say. Nothing here makes a request.

const CODE_HOSTS = ['github.com', 'gitlab.com', 'bitbucket.org'];

/** Patterns of the parts that tell nothing about a repository, also of links to issues and comments. */
export const COMMON_PARTS: readonly string[] = [
  `https?://(?:(?:${CODE_HOSTS.map((host) => RegExp.escape(host)).join('|')})/)?`,
  '/(?:pull|issues|-/merge_requests|pull-requests)/\\d{1,10}(?:#issuecomment-\\d{1,20})?(?![\\w-])',
];

/** `COMMON_PARTS` and `PULL_REQUEST` must know the same paths. */
const PULL_REQUEST_PATHS = [
  /^\/[\w.-]+\/[\w.-]+\/pull\/[1-9]\d{0,9}$/,
  /^(\/[\w.-]+){2,20}\/-\/merge_requests\/[1-9]\d{0,9}$/,
  /^(\/(?:[\w.-]|%7[bd])+){2,4}\/pull-requests\/[1-9]\d{0,9}$/i,
];

/**
 * Accepts only https without user info, to a known code host or that of one of the URLs, with the path of a
 * pull request. The link is rebuilt from these parts, so nothing else is passed on. It is never fetched.
 */
export function checkPrLink(
  link: string | null,
  hostUrls: readonly string[],
): Result<string | null> {
  if (link === null || link === '') return ok(null);
  const url = /[\s\p{C}\\]/u.test(link) ? null : URL.parse(link);
  if (url === null) return problem('it is not a URL');
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    return problem('it is not a plain https link');
  }
  const hosts = [...CODE_HOSTS, ...hostUrls.map((hostUrl) => URL.parse(hostUrl)?.host)];
  if (!hosts.includes(url.host) || !/^[a-z0-9.-]+(:\d+)?$/.test(url.host)) {
    return problem('it does not lead to a known code host');
  }
  const path = url.pathname.replace(/\/$/, '');
  const dots = path.split('/').some((segment) => /^\.+$/.test(segment));
  if (dots || !PULL_REQUEST_PATHS.some((pattern) => pattern.test(path))) {
    return problem('it does not lead to a pull request');
  }
  return ok(`https://${url.host}${path}`);
}

/** The form of all links that pass the check. */
const CHECKED_LINK = /^https:\/\/[\w.:-]+\/[\w./%-]+$/;

/** Links in a comment were checked before, but people may have edited the comment. */
export function isLink(url: string | null): url is string {
  if (url === null || !CHECKED_LINK.test(url) || !URL.canParse(url)) return false;
  const { href, pathname } = new URL(url);
  return href === url && PULL_REQUEST_PATHS.some((pattern) => pattern.test(pathname));
}

/** The paths of all links that pass the check. */
const PULL_REQUEST = /^\/(.+?)(?:\/-)?\/(pull|pull-requests|merge_requests)\/(\d+)$/;

/** The repository of a pull request, and its number with `#` or `!`. */
export function readPullRequest(url: string): { repository: string; number: string } | null {
  const [, repository, kind, digits] = PULL_REQUEST.exec(new URL(url).pathname) ?? [];
  if (repository === undefined) return null;
  return { repository, number: `${kind === 'merge_requests' ? '!' : '#'}${digits}` };
}

/** The number of a pull request in this repository; null for any other link. */
export function ownPullRequest(prLink: string | null, repositoryUrl: string): number | null {
  const prefix = `${repositoryUrl}/pull/`.toLowerCase();
  if (prLink === null || !prLink.toLowerCase().startsWith(prefix)) return null;
  const number = /^[1-9]\d{0,9}$/.exec(prLink.slice(prefix.length));
  return number === null ? null : Number(number[0]);
}
