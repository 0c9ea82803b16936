// All calls in order, each with a name by which tests count them.

import type { JournalEntry } from '../agent.ts';
import { operationOf } from './graphql.ts';
import { type Route, readRoute } from './route.ts';

export interface Call extends Route {
  /** `PATCH issues/comments/#` for REST; the operation for GraphQL. */
  readonly name: string;
  /** Counts all calls from 1. */
  readonly n: number;
  /** Counts the calls of this name from 1. */
  readonly nth: number;
  readonly method: string;
  /** `list`, `read`, `newest`, `react`, `minimize` or `other`; null for REST. */
  readonly operation: string | null;
  /** Its `status` is that of the response. */
  readonly request: JournalEntry;
}

export function openCallLog() {
  const calls: Call[] = [];
  return {
    calls,
    add(request: JournalEntry): Call {
      const { method } = request;
      const route = readRoute(request.path);
      const isGraphql = method === 'POST' && route.route === 'graphql';
      const operation = isGraphql ? operationOf(request) : null;
      const name = operation ?? `${method} ${route.route}`;
      const nth = calls.filter((call) => call.name === name).length + 1;
      const call = { ...route, name, n: calls.length + 1, nth, method, operation, request };
      calls.push(call);
      return call;
    },
  };
}
