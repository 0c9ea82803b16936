import {
  type CodeLocation,
  type Conversation,
  MOST_COMMENTS,
  MOST_REVIEWS,
  MOST_THREADS,
  type Post,
  type Thread,
} from '../../github/conversation.ts';
import { MARKER } from '../../text.ts';
import { type CommentTrigger, isBot, keyOfComment } from '../../trigger/trigger.ts';

export interface Scope {
  readonly asked: CommentTrigger;
  /** When the comment of the last message was created, in milliseconds; -Infinity for none. */
  readonly since: number;
  /** The keys of comments and reviews that have been sent, or may have been. */
  readonly sent: ReadonlySet<string>;
}

/** A comment, a review or a thread. */
export interface PostGroup {
  /** Of a thread. */
  readonly location: CodeLocation | null;
  /** The oldest first. */
  readonly posts: readonly Post[];
  /** Comments before them that were not read. */
  readonly older: number;
}

/** All of it is in the order of time. */
export interface PostSelection {
  /** The thread that the command replies to, without the command; undefined if it was not read. */
  readonly reply: PostGroup | undefined;
  readonly recent: readonly PostGroup[];
  /** Open threads without a comment since the last request. */
  readonly earlier: readonly PostGroup[];
  /** What was not read, and may have more of it. */
  readonly unread: readonly string[];
}

export function selectPosts(
  { comments, reviews = NONE, threads = NONE }: Conversation,
  { asked, since, sent }: Scope,
): PostSelection {
  const own = keyOfComment(asked);
  const isNew = ({ at }: Post): boolean => !(at <= since);
  const isTask = ({ key, review }: Post): boolean =>
    key === own || sent.has(key) || (asked.kind === 'review' && review === own);
  const withoutTask = ({ posts, ...thread }: Thread): PostGroup => {
    return { ...thread, posts: posts.filter((post) => !isTask(post)) };
  };
  const isReplied = ({ first, posts }: Thread): boolean =>
    first === `review-comment:${asked.replyTo}` || posts.some(({ key }) => key === own);
  const replied = asked.replyTo === null ? undefined : threads.all.find(isReplied);
  const open = threads.all.filter((one) => !one.isResolved && one !== replied);
  const toGroups = (some: readonly Thread[]): readonly PostGroup[] =>
    some.map(withoutTask).filter(({ posts }) => posts.length > 0);
  const words = [
    // Here, programs only report, such as the table of a preview.
    ...comments.all.filter(({ author }) => author === null || !isBot(author)),
    ...reviews.all.filter(({ body }) => body.trim() !== ''),
  ].filter((post) => isNew(post) && !isTask(post) && !post.body.trimStart().startsWith(MARKER));
  // A reply in the review that is sent makes a thread new: it belongs to what it replies to.
  const recent = open.filter(({ posts }) => posts.some(isNew));
  const newestIn = ({ posts }: PostGroup): number => Math.max(...posts.map(({ at }) => at));
  const hasUnread = ({ hasMore, all: [oldest] }: Conversation['comments']): boolean =>
    hasMore && (oldest === undefined || isNew(oldest));
  return {
    // The code above it is in the event.
    reply: replied && { ...withoutTask(replied), location: null },
    recent: [
      ...words.map((post): PostGroup => ({ location: null, posts: [post], older: 0 })),
      ...toGroups(recent),
    ].toSorted((one, other) => newestIn(one) - newestIn(other)),
    earlier: toGroups(open.filter((thread) => !recent.includes(thread))),
    unread: [
      ...(hasUnread(comments) ? [`all comments before the newest ${MOST_COMMENTS}`] : []),
      ...(hasUnread(reviews) ? [`all reviews before the newest ${MOST_REVIEWS}`] : []),
      // Each of them may have a new comment.
      ...(threads.hasMore ? [`all threads before the newest ${MOST_THREADS}`] : []),
    ],
  };
}

const NONE = { hasMore: false, all: [] };
