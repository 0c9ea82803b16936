// Parses the path of a request.

export interface Route {
  /** `owner/name`; null if the path is not that of a repository. */
  readonly repository: string | null;
  /** The path in the repository, with `#` for numbers and `*` for a login; or the whole path. */
  readonly route: string;
  readonly numbers: readonly number[];
  readonly login: string;
}

export function readRoute(path: string): Route {
  const { pathname } = new URL(path, 'http://localhost');
  const [first, owner, name, ...rest] = pathname.split('/').slice(1).map(decodeURIComponent);
  if (first !== 'repos') {
    return { repository: null, route: pathname.slice(1), numbers: [], login: '' };
  }
  const repository = `${owner}/${name}`;
  // A login may consist of digits.
  const [kind, login = '', ...more] = rest;
  if (kind === 'collaborators') {
    return { repository, route: [kind, '*', ...more].join('/'), numbers: [], login };
  }
  const isNumber = (part: string): boolean => /^\d+$/.test(part);
  const route = rest.map((part) => (isNumber(part) ? '#' : part)).join('/');
  return { repository, route, numbers: rest.filter(isNumber).map(Number), login: '' };
}
