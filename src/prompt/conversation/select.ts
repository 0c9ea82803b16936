import {
  type Conversation,
  MOST_COMMENTS,
  MOST_REVIEWS,
  MOST_THREADS,
  type Post,
  type PostedReview,
  type ReviewThread,
  type ThreadComment,
} from '../../github/conversation.ts';
import { MARKER } from '../../text.ts';
import { isBot } from '../../trigger/account.ts';
import { type CommentTrigger, keyOfComment } from '../../trigger/trigger.ts';
import { accountOf } from './authors.ts';
import { keyOfUrl, withoutComments } from './threads.ts';

// Which of all that was said in a conversation belongs to a message: what was published since the last one that a person asked
// for. Only GitHub's times count.

export interface Scope {
  readonly asked: CommentTrigger;
  /** When the comment of the last message was created, in milliseconds since 1970; -Infinity for none. */
  readonly since: number;
  /** The kinds and IDs of comments and reviews that have been sent, or may have been. */
  readonly sent: ReadonlySet<string>;
}

export interface SaidSince {
  readonly comments: readonly Post[];
  readonly reviews: readonly PostedReview[];
  /** Open ones, with a comment since. */
  readonly threads: readonly ReviewThread[];
  /** Open ones, without. */
  readonly quiet: readonly ReviewThread[];
  /** Pages that were not read, and may have more of it. */
  readonly unread: readonly string[];
}

/** `reply`: the thread of the command, which stands elsewhere. */
export function chooseSince(
  { comments, reviews, reviewThreads }: Conversation,
  scope: Scope,
  reply: ReviewThread | undefined,
): SaidSince {
  const open = (reviewThreads?.nodes ?? []).filter((one) => !one.isResolved && one !== reply);
  const threads: ReviewThread[] = [];
  const quiet: ReviewThread[] = [];
  for (const thread of open) {
    const own = withoutTask(thread, scope);
    if (own.comments.nodes.length === 0) continue;
    // A reply in the review that is sent belongs to what it replies to.
    const isSince = thread.comments.nodes.some(
      (one) => one.state !== 'PENDING' && isPublishedSince(one, scope),
    );
    (isSince ? threads : quiet).push(own);
  }
  return {
    comments: comments.nodes.filter((one) => isWord(one, scope) && !isOfProgram(one)),
    reviews: (reviews?.nodes ?? []).filter(
      (one) => one.state !== 'PENDING' && one.body.trim() !== '' && isWord(one, scope),
    ),
    threads,
    quiet,
    unread: [
      hasUnread(comments, scope) ? `all comments before the newest ${MOST_COMMENTS}` : '',
      reviews && hasUnread(reviews, scope) ? `all reviews before the newest ${MOST_REVIEWS}` : '',
      // Each of them may have a new comment.
      reviewThreads?.pageInfo.hasPreviousPage
        ? `all threads before the newest ${MOST_THREADS}`
        : '',
    ].filter((what) => what !== ''),
  };
}

/** The thread without the command itself, the review that is sent, and what has been sent. */
export function withoutTask(thread: ReviewThread, scope: Scope): ReviewThread {
  return withoutComments(thread, (comment) => isTask(comment, scope));
}

function isTask({ url, pullRequestReview }: ThreadComment, scope: Scope): boolean {
  const { kind, id } = scope.asked;
  const review = keyOfUrl(pullRequestReview?.url ?? '');
  return isTaken(url, scope) || (kind === 'review' && review === `review:${id}`);
}

function isTaken(url: string, { asked, sent }: Scope): boolean {
  const key = keyOfUrl(url);
  return key === keyOfComment(asked) || sent.has(key);
}

/** Comments of this action are no words. */
function isWord(text: Post, scope: Scope): boolean {
  const isOurs = text.body.trimStart().startsWith(MARKER);
  return !isOurs && !isTaken(text.url, scope) && isPublishedSince(text, scope);
}

/** Such as the table of a preview: in a conversation, programs only report. */
function isOfProgram(text: Post): boolean {
  const account = accountOf(text);
  return account !== null && isBot(account);
}

/** What was said in the second of the note was read after it. What has no time counts as new. */
function isPublishedSince(text: Post, { since }: Scope): boolean {
  return !(timeOf(text) <= since);
}

/** When it was published, in milliseconds since 1970; NaN if GitHub does not tell. */
export function timeOf({ publishedAt }: Post): number {
  return Date.parse(publishedAt ?? '');
}

/** If the oldest one that was read is older, so are all before. */
function hasUnread(
  { pageInfo, nodes }: Pick<Conversation['comments'], 'pageInfo' | 'nodes'>,
  { since }: Scope,
): boolean {
  const [oldest] = nodes;
  return pageInfo.hasPreviousPage && !(oldest !== undefined && timeOf(oldest) <= since);
}
