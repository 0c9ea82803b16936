// Reactions to both kinds of comments and to reviews. A user can add each reaction once:
// https://docs.github.com/en/rest/reactions/reactions

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

interface Entry {
  readonly number: number;
  readonly reaction: Reaction;
  readonly createdAt: string;
}

export type Reactions = ReturnType<typeof openReactions>;

const CONTENTS = ['+1', '-1', 'laugh', 'confused', 'heart', 'hooray', 'rocket', 'eyes'];

export function openReactions(now: () => string) {
  const entries = new Map<number, Entry>();
  let lastNumber = 0;

  return {
    /** The oldest first. */
    all: (): readonly Reaction[] => [...entries.values()].map(({ reaction }) => reaction),
    /** Returns the entry, which may have existed before. */
    add(reaction: Reaction): { readonly entry: Entry; readonly isNew: boolean } {
      const known = entries.values().find(({ reaction: one }) => isSame(one, reaction));
      if (known !== undefined) return { entry: known, isNew: false };
      lastNumber += 1;
      const entry = { number: lastNumber, reaction, createdAt: now() };
      entries.set(lastNumber, entry);
      return { entry, isNew: true };
    },
    /** Returns whether it existed. */
    remove(subject: CommentKind, id: number, number: number): boolean {
      const reaction = entries.get(number)?.reaction;
      return reaction?.subject === subject && reaction.id === id && entries.delete(number);
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
  const { entry, isNew } = reactions.add({ subject, id, content, user: viewer.login });
  return {
    status: isNew ? 201 : 200,
    body: { id: entry.number, content, user: viewer, created_at: entry.createdAt },
  };
}

/** Undefined if it does not exist. */
export function unreact(
  reactions: Reactions,
  { kind, comment }: Found,
  number: number,
): Answer | undefined {
  return reactions.remove(kind, comment.id, number) ? { status: 204 } : undefined;
}

function isSame(one: Reaction, other: Reaction): boolean {
  const isSameKind = one.subject === other.subject && one.content === other.content;
  return isSameKind && one.id === other.id && one.user === other.user;
}
