// Reactions to both kinds of comments and to reviews. A user can add each reaction once:
// https://docs.github.com/en/rest/reactions/reactions

import { isDeepStrictEqual } from 'node:util';
import type { Answer, JournalEntry } from '../agent.ts';
import type { CommentKind, Found } from './issues.ts';
import { type Repository, readJson, refusal } from './repository.ts';

export interface Reaction {
  readonly subject: CommentKind | 'review';
  /** The ID of the comment, or the node ID of the review. */
  readonly id: number | string;
  readonly content: string;
  readonly user: string;
}

export type Reactions = ReturnType<typeof openReactions>;

const CONTENTS = ['+1', '-1', 'laugh', 'confused', 'heart', 'hooray', 'rocket', 'eyes'];

export function openReactions() {
  const all: Reaction[] = [];
  return {
    /** The oldest first. */
    all: all as readonly Reaction[],
    /** Returns whether it is new. */
    add(reaction: Reaction): boolean {
      const isNew = !all.some((one) => isDeepStrictEqual(one, reaction));
      if (isNew) all.push(reaction);
      return isNew;
    },
  };
}

/** 201, or 200 if the user has already added the same reaction. */
export function react(
  { viewer }: Repository,
  reactions: Reactions,
  { kind: subject, issue, comment: { id } }: Found,
  request: JournalEntry,
): Answer {
  if (issue.locked) return refusal(403, 'The conversation is locked.');
  const content = String(readJson(request).content);
  if (!CONTENTS.includes(content)) return refusal(422, 'Validation Failed');
  const isNew = reactions.add({ subject, id, content, user: viewer.login });
  return { status: isNew ? 201 : 200, body: { content, user: viewer } };
}
