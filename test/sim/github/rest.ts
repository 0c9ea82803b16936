// The routes of the REST API.

import type { Answer } from '../agent.ts';
import type { Call } from './call-log.ts';
import { createComment, updateComment } from './comments.ts';
import type { Issue } from './issues.ts';
import { permission } from './permissions.ts';
import { listCommits, pullRequest } from './pulls.ts';
import { type Reactions, react, type Subject, unreact } from './reactions.ts';
import { type Repository, refusal } from './repository.ts';

export const NOT_FOUND = refusal(404, 'Not Found');
const FORBIDDEN = refusal(403, 'Resource not accessible by integration');

/** Whether the token lacks the permission for a call that reads or writes. */
export type Forbids = (isWrite: boolean) => boolean;

interface Context {
  readonly repository: Repository;
  readonly reactions: Reactions;
  readonly forbids: Forbids;
  /** The URL of this API. */
  readonly origin: string;
}

export function rest(context: Context, call: Call): Answer {
  const { repository, reactions, forbids, origin } = context;
  const { issues, find } = repository;
  const { name, method, request, login, numbers } = call;
  if (forbids(method !== 'GET')) return FORBIDDEN;
  if (call.repository?.toLowerCase() !== repository.name.toLowerCase()) return NOT_FOUND;

  const [first = 0, second = 0] = numbers;
  const issue = issues.get(first);
  const pull = issue?.pullRequest ? issue : undefined;
  const comment = find('comments', first);
  const reviewed = find('reviewComments', first);
  const page = new URL(request.path, origin);
  const reactTo = (subject: Subject['subject'], on: Issue): Answer =>
    react(repository, reactions, { subject, id: first, issue: on }, request);
  const unreactTo = (subject: Subject['subject']): Answer | undefined =>
    unreact(reactions, subject, first, second);
  const routes: Readonly<Record<string, () => Answer | undefined>> = {
    'POST issues/#/comments': () => issue && createComment(repository, issue, request),
    'PATCH issues/comments/#': () => comment && updateComment(repository, comment, request),
    'POST issues/comments/#/reactions': () => comment && reactTo('issue_comment', comment.issue),
    'DELETE issues/comments/#/reactions/#': () => comment && unreactTo('issue_comment'),
    'POST pulls/comments/#/reactions': () => reviewed && reactTo('review_comment', reviewed.issue),
    'DELETE pulls/comments/#/reactions/#': () => reviewed && unreactTo('review_comment'),
    'GET pulls/#': () => pull && pullRequest(repository, pull),
    'GET pulls/#/commits': () => pull && listCommits(pull, page),
    'GET collaborators/*/permission': () => permission(repository, login),
  };
  return routes[name]?.() ?? NOT_FOUND;
}
