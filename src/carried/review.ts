import type { GitHub } from '../github/api.ts';
import { hintFor, whyOf } from '../github/errors.ts';
import type { CommentTrigger } from '../github/event.ts';
import { ok, plural, problem, type Result } from '../text.ts';
import { quoteInline } from './comment.ts';

// The inline comments of a review.

export interface ReviewComments {
  /** For the message, in the order of the files and lines. */
  readonly parts: readonly string[];
  /** What people see instead; empty if there are none. */
  readonly summary: string;
  /** Whether all of them are replies, as in a review that GitHub makes of a single reply. */
  readonly areReplies: boolean;
}

/**
 * Reads the inline comments by the author of the review, until a time of the clock. The problem says why it cannot be sent:
 * half a review is worse than none. This is the only text by people that does not come from the event, so what somebody else
 * has edited is refused.
 */
export async function readReview(
  { nodeId, authorId }: CommentTrigger,
  github: GitHub,
  until: number,
): Promise<Result<ReviewComments>> {
  try {
    const comments = await github.reviewComments(nodeId, until);
    const own = comments.filter(({ author }) => author?.databaseId === authorId);
    const edited = own.find(
      ({ lastEditedAt, editor }) => lastEditedAt !== null && editor?.databaseId !== authorId,
    );
    if (edited !== undefined) {
      return problem(
        `Somebody else has edited an inline comment of the review: ${edited.url}. Write a new review.`,
      );
    }
    const inline = own.map((comment) => ({
      path: comment.path,
      line: comment.line ?? comment.originalLine,
      startLine: comment.line === null ? comment.originalStartLine : comment.startLine,
      diffHunk: comment.diffHunk,
      isOutdated: comment.outdated,
      text: comment.body,
    }));
    const files = new Set(inline.map(({ path }) => path)).size;
    const what = `+ ${plural(inline.length, 'comment')} on ${plural(files, 'file')}`;
    return ok({
      parts: quoteInline(inline),
      summary: inline.length === 0 ? '' : what,
      areReplies: own.every(({ replyTo }) => replyTo !== null),
    });
  } catch (error) {
    const why = `The inline comments of the review cannot be read: ${whyOf(error)}.`;
    return problem(`${why} ${hintFor(error) || 'Try again later.'}`);
  }
}
