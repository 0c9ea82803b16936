import { ok, plural, problem, type Result } from '../text.ts';
import type { GitHub } from './api.ts';
import { type Attachment, NOTHING_MORE, quoteContext, quoteInline } from './command.ts';
import { hintFor, whyOf } from './errors.ts';
import type { CommentTrigger } from './event.ts';

// What belongs to a command besides its text: the code of a review comment, and the inline comments of a review.

/**
 * Reads what belongs to a command, until a time of the clock. The problem says why it cannot be sent: half a review is worse than none. This is the
 * only text that does not come from the event, so what somebody else has edited is refused.
 */
export async function readAttachment(
  asked: CommentTrigger | null,
  github: GitHub,
  until: number,
): Promise<Result<Attachment>> {
  if (asked?.context) return ok({ parts: [quoteContext(asked.context)], summary: '' });
  if (asked?.kind !== 'review') return ok(NOTHING_MORE);
  try {
    const comments = await github.reviewComments(asked.nodeId, until);
    const own = comments.filter(({ author }) => author?.databaseId === asked.authorId);
    const edited = own.find(
      ({ lastEditedAt, editor }) => lastEditedAt !== null && editor?.databaseId !== asked.authorId,
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
    if (inline.length === 0) return ok(NOTHING_MORE);
    const files = new Set(inline.map(({ path }) => path)).size;
    const summary = `+ ${plural(inline.length, 'comment')} on ${plural(files, 'file')}`;
    return ok({ parts: quoteInline(inline), summary });
  } catch (error) {
    const why = `The inline comments of the review cannot be read: ${whyOf(error)}.`;
    return problem(`${why} ${hintFor(error) || 'Try again later.'}`);
  }
}
