// The routes of the REST API.

import type { Answer } from '../agent.ts';
import type { Call } from './call-log.ts';
import { createComment, updateComment } from './comments.ts';
import { permission } from './permissions.ts';
import { compare, pullRequest, pullsOf } from './pulls.ts';
import { type Repository, refusal } from './repository.ts';
import type { openRuns } from './runs.ts';

export const NOT_FOUND = refusal(404, 'Not Found');
const FORBIDDEN = refusal(403, 'Resource not accessible by integration');

/** Whether the token lacks the permission for a call that reads or writes. */
export type Forbids = (isWrite: boolean) => boolean;

interface Context {
  readonly repository: Repository;
  readonly runs: ReturnType<typeof openRuns>;
  /** Where the logs are. */
  readonly logOrigin: string;
  readonly forbids: Forbids;
  /** Called for a call that the simulation does not have, which fails the test. */
  readonly onUnknown: (name: string) => void;
}

export function rest(context: Context, call: Call): Answer {
  const { repository, runs, logOrigin, forbids, onUnknown } = context;
  const { name, method, request, login, query } = call;
  if (forbids(method !== 'GET')) return FORBIDDEN;
  if (call.repository?.toLowerCase() !== repository.name.toLowerCase()) return NOT_FOUND;

  const [first = 0] = call.numbers;
  const issue = repository.issues.get(first);
  const pull = issue?.pullRequest ? issue : undefined;
  const comment = repository.find(first);
  const routes: Readonly<Record<string, () => Answer | undefined>> = {
    'POST issues/#/comments': () => issue && createComment(repository, issue, request),
    'PATCH issues/comments/#': () => comment && updateComment(repository, comment, request),
    'GET pulls/#': () => pull && pullRequest(repository, pull),
    'GET commits/*/pulls': () => pullsOf(repository, login),
    'GET compare/*': () => compare(repository, login),
    'GET actions/runs': () => runs.listRuns(query),
    'GET actions/runs/#': () => runs.findRun(first),
    'GET commits/*/check-runs': () => runs.listChecks(login, query),
    'GET check-runs/#/annotations': () => runs.listAnnotations(first, query),
    'GET actions/jobs/#/logs': () => runs.redirect(first, logOrigin),
    'GET collaborators/*/permission': () => permission(repository, login),
  };
  const route = routes[name];
  if (route === undefined) onUnknown(name);
  return route?.() ?? NOT_FOUND;
}
