// All calls in order, each with a name by which tests count them.

import type { JournalEntry } from '../agent.ts';
import { operationOf } from './graphql.ts';

export interface Call {
  /** `PATCH issues/comments/#`; for GraphQL `list`, `review`, `said`, `react`, `minimize` … */
  readonly name: string;
  /** Counts all calls from 1. */
  readonly n: number;
  /** Counts the calls of this name from 1. */
  readonly nth: number;
  readonly method: string;
  /** `owner/name`; null if the path is not that of a repository. */
  readonly repository: string | null;
  /** The path in the repository, with `#` for numbers and `*` for a login or commits. */
  readonly route: string;
  readonly numbers: readonly number[];
  readonly login: string;
  readonly query: URLSearchParams;
  /** Its `status` is that of the response. */
  readonly request: JournalEntry;
}

const NUMBER = /(?<=\/)\d+(?=\/|$)/g;

export function openCallLog() {
  const calls: Call[] = [];
  return {
    calls,
    add(request: JournalEntry): Call {
      const { method } = request;
      const where = readPath(request.path);
      const name = where.route === '/graphql' ? operationOf(request) : `${method} ${where.route}`;
      const nth = calls.filter((call) => call.name === name).length + 1;
      const call = { ...where, name, n: calls.length + 1, nth, method, request };
      calls.push(call);
      return call;
    },
  };
}

function readPath(text: string) {
  const { pathname, searchParams: query } = new URL(text, 'http://localhost');
  const [, repository = null, path = pathname] =
    /^\/repos\/([^/]+\/[^/]+)\/(.*)$/.exec(pathname) ?? [];
  const [login = ''] = /(?<=^(?:collaborators|compare|commits)\/)[^/]+/.exec(path) ?? [];
  const numbers = path.match(NUMBER) ?? [];
  return {
    ...{ repository, query, login: decodeURIComponent(login), numbers: numbers.map(Number) },
    // A login may consist of digits.
    route: login === '' ? path.replace(NUMBER, '#') : path.replace(login, '*'),
  };
}
