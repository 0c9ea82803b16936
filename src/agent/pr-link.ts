/** What a `prLink` of the service turned out to be. */
export type PrLink =
  | { readonly kind: 'none' }
  | { readonly kind: 'link'; readonly url: string }
  | { readonly kind: 'refused'; readonly why: string };

const CODE_HOSTS = ['github.com', 'gitlab.com', 'bitbucket.org'];

/** `/owner/repo/pull/N`, `/group/.../-/merge_requests/N` and `/owner/repo/pull-requests/N`. */
const PULL_REQUEST_PATHS = [
  /^\/[\w.-]+\/[\w.-]+\/pull\/[1-9]\d{0,9}$/,
  /^(\/[\w.-]+){2,20}\/-\/merge_requests\/[1-9]\d{0,9}$/,
  /^(\/(?:[\w.-]|%7[bd])+){2,4}\/pull-requests\/[1-9]\d{0,9}$/i,
];

/**
 * Checks a link before it goes anywhere: https, no user info, the host of the job's own
 * repository or a known code host, and the path of a pull request. The link is built anew from
 * its parts, so nothing else that stood in it is passed on. It is never fetched.
 */
export function checkPrLink(
  link: string | null,
  { serverUrl, repository }: { readonly serverUrl: string; readonly repository: string | null },
): PrLink {
  if (link === null || link === '') return { kind: 'none' };
  if (/[\s\p{C}\\]/u.test(link) || !URL.canParse(link)) {
    return { kind: 'refused', why: 'it is not a URL' };
  }
  const url = new URL(link);
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    return { kind: 'refused', why: 'it is not a plain https link' };
  }
  const hosts = [...CODE_HOSTS, hostOf(serverUrl), hostOf(repository ?? '')];
  if (!hosts.includes(url.host) || !/^[a-z0-9.-]+(:\d+)?$/.test(url.host)) {
    return { kind: 'refused', why: 'it does not lead to a known code host' };
  }
  const path = url.pathname.replace(/\/$/, '');
  const dots = path.split('/').some((segment) => /^\.+$/.test(segment));
  if (dots || !PULL_REQUEST_PATHS.some((pattern) => pattern.test(path))) {
    return { kind: 'refused', why: 'it does not lead to a pull request' };
  }
  return { kind: 'link', url: `https://${url.host}${path}` };
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}
