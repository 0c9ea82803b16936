// The routes of the REST API.

import type { Answer } from '../agent.ts';
import type { Call } from './call-log.ts';
import {
  createComment,
  deleteComment,
  listComments,
  restComment,
  updateComment,
} from './comments.ts';
import type { Issue } from './issues.ts';
import { permission } from './permissions.ts';
import { type Reactions, react, type Subject, unreact } from './reactions.ts';
import { type Repository, refusal, SERVER_URL } from './repository.ts';

export const NOT_FOUND = refusal(404, 'Not Found');
const FORBIDDEN = refusal(403, 'Resource not accessible by integration');

interface Context {
  readonly repository: Repository;
  readonly reactions: Reactions;
  /** Whether the token has no write access. */
  readonly readOnly: boolean;
  /** The URL of this API. */
  readonly origin: string;
}

export function rest(context: Context, call: Call): Answer {
  const { repository, reactions, readOnly, origin } = context;
  const { viewer, issues, find } = repository;
  const { name, method, request, login, numbers } = call;
  if (method !== 'GET' && readOnly) return FORBIDDEN;
  // The installation of an app has no user.
  if (name === 'GET user') return viewer.type === 'Bot' ? FORBIDDEN : { body: viewer };
  if (call.repository?.toLowerCase() !== repository.name.toLowerCase()) return NOT_FOUND;

  const [first = 0, second = 0] = numbers;
  const issue = issues.get(first);
  const comment = find('comments', first);
  const reviewed = find('reviewComments', first);
  const page = new URL(request.path, origin);
  const reactTo = (subject: Subject['subject'], on: Issue): Answer =>
    react(repository, reactions, { subject, id: first, issue: on }, request);
  const unreactTo = (subject: Subject['subject']): Answer | undefined =>
    unreact(reactions, subject, first, second);
  const routes: Readonly<Record<string, () => Answer | undefined>> = {
    'GET issues/#/comments': () => issue && listComments(repository, issue, page),
    'POST issues/#/comments': () => issue && createComment(repository, issue, request),
    'GET issues/comments/#': () => comment && { body: restComment(repository, comment.comment) },
    'PATCH issues/comments/#': () => comment && updateComment(repository, comment, request),
    'DELETE issues/comments/#': () => comment && deleteComment(repository, comment),
    'POST issues/#/reactions': () => issue && reactTo('issue', issue),
    'POST issues/comments/#/reactions': () => comment && reactTo('issue_comment', comment.issue),
    'DELETE issues/comments/#/reactions/#': () => comment && unreactTo('issue_comment'),
    'POST pulls/comments/#/reactions': () => reviewed && reactTo('review_comment', reviewed.issue),
    'DELETE pulls/comments/#/reactions/#': () => reviewed && unreactTo('review_comment'),
    'GET pulls/comments/#': () => reviewed && { body: restComment(repository, reviewed.comment) },
    'GET pulls/#': () => (issue?.pullRequest ? pullRequest(repository, issue) : undefined),
    'GET collaborators/*/permission': () => permission(repository, login),
  };
  return routes[name]?.() ?? NOT_FOUND;
}

function pullRequest({ name, pageOf }: Repository, { number, locked }: Issue): Answer {
  const repo = { full_name: name, html_url: `${SERVER_URL}/${name}` };
  const head = { ref: 'changes', sha: 'a'.repeat(40), repo };
  const base = { ref: 'main', sha: 'b'.repeat(40), repo };
  return { body: { number, state: 'open', locked, html_url: pageOf(number), head, base } };
}
