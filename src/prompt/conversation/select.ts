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
import type { Result } from '../../value-or-problem.ts';

export interface RequestPage {
  readonly source: CommentTrigger;
  readonly number: number;
  readonly isPull: boolean;
  /** Whether it is the pull request of the job, and the message goes to that job alone. */
  readonly isOwn: boolean;
  readonly isNew: boolean;
  /** What has been sent before; a problem says why that is not known. */
  readonly ledger: Result<unknown>;
  /** When the comment of the last message was created, in milliseconds; -Infinity for none. */
  readonly since: number;
  /** The keys of comments and reviews that have been sent, or may have been. */
  readonly sent: ReadonlySet<string>;
}

/** A comment, a review or a thread, which alone has a location. */
export interface PostGroup {
  readonly location: CodeLocation | null;
  readonly posts: readonly Post[];
  readonly older: number;
}

export function selectPosts(
  { comments, reviews = NONE, threads = NONE }: Conversation,
  { source, since, sent }: RequestPage,
) {
  const own = keyOfComment(source);
  const isNew = ({ at }: Post): boolean => !(at <= since);
  const isTask = ({ key, review }: Post): boolean =>
    key === own || sent.has(key) || (source.kind === 'review' && review === own);
  const withoutTask = ({ posts, ...thread }: Thread): PostGroup => {
    return { ...thread, posts: posts.filter((post) => !isTask(post)) };
  };
  const isReplied = ({ first, posts }: Thread): boolean =>
    first === `review-comment:${source.replyTo}` || posts.some(({ key }) => key === own);
  const replied = source.replyTo === null ? [] : threads.all.filter(isReplied).slice(0, 1);
  const open = threads.all.filter((one) => !one.isResolved && !replied.includes(one));
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
    // The thread that the command replies to, without it. The code above it is in the event.
    reply: replied.map((thread): PostGroup => ({ ...withoutTask(thread), location: null })),
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
