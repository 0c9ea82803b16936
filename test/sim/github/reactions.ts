// Reactions to issues and to both kinds of comments, each of which a user gives once, and to reviews.

import type { Answer, JournalEntry } from '../agent.ts';
import { type Issue, type Repository, readJson, refusal } from './repository.ts';

export interface Reaction {
  readonly subject: 'issue' | 'issue_comment' | 'review_comment' | 'review';
  /** The id of the comment, the number of the issue, or the node id of the review. */
  readonly id: number | string;
  readonly content: string;
  readonly user: string;
}

interface Subject {
  readonly subject: Reaction['subject'];
  readonly id: number;
  /** Where it stands. */
  readonly issue: Issue;
}

const REACTIONS = ['+1', '-1', 'laugh', 'confused', 'heart', 'hooray', 'rocket', 'eyes'];

export function react(
  { viewer, now }: Repository,
  reactions: Reaction[],
  { subject, id, issue }: Subject,
  request: JournalEntry,
): Answer {
  if (issue.locked === true) return refusal(403, 'The conversation is locked.');
  const content = String(readJson(request).content);
  if (!REACTIONS.includes(content)) return refusal(422, 'Validation Failed');
  const isSame = (one: Reaction): boolean =>
    one.subject === subject && one.id === id && one.content === content;
  const before = reactions.findIndex(isSame);
  if (before < 0) reactions.push({ subject, id, content, user: viewer.login });
  const number = (before < 0 ? reactions.length - 1 : before) + 1;
  return {
    status: before < 0 ? 201 : 200,
    body: { id: number, content, user: viewer, created_at: now() },
  };
}

/** The mutation of GraphQL, which REST has no equal of. */
export function reactToReview(
  { viewer }: Repository,
  reactions: Reaction[],
  { id, content }: Readonly<Record<string, unknown>>,
): Answer {
  const name = String(content).toLowerCase();
  reactions.push({ subject: 'review', id: String(id), content: name, user: viewer.login });
  return { body: { data: { addReaction: { clientMutationId: null } } } };
}
