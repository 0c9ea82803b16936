import type { GitHub, ReviewComment } from '../github/api.ts';
import { hintFor, whyOf } from '../github/errors.ts';
import type { CodeContext, CommentTrigger } from '../github/event.ts';
import { code } from '../markdown.ts';
import type { Redact } from '../runner/log.ts';
import { cut, ok, plural, problem, quote, type Result, withoutInvisible } from '../text.ts';
import { cleanText } from './comment.ts';
import type { Carried } from './content.ts';
import { fenced } from './output.ts';

// The inline comments of a review, and the code that comments are about.

/**
 * Reads the inline comments by the author of the review, until a time of the clock. The problem says why it cannot be sent:
 * half a review is worse than none. This is the only text by people that does not come from the event, so what somebody else
 * has edited is refused. `areReplies`: there is no other comment.
 */
export async function readReview(
  { nodeId, authorId }: CommentTrigger,
  github: GitHub,
  until: number,
): Promise<Result<{ readonly carried: Carried; readonly areReplies: boolean }>> {
  let comments: readonly ReviewComment[];
  try {
    comments = await github.reviewComments(nodeId, until);
  } catch (error) {
    const why = `The inline comments of the review cannot be read: ${whyOf(error)}.`;
    return problem(`${why} ${hintFor(error) || 'Try again later.'}`);
  }
  const own = comments.filter(({ author }) => author?.databaseId === authorId);
  const edited = own.find(
    ({ lastEditedAt, editor }) => lastEditedAt !== null && editor?.databaseId !== authorId,
  );
  if (edited !== undefined) {
    const why = `Somebody else has edited an inline comment of the review: ${edited.url}`;
    return problem(`${why}. Write a new review.`);
  }
  const byFile = [...Map.groupBy(own, ({ path }) => path)];
  const commentsOn = new Map(byFile.map(([path, { length }]) => [path, length]));
  const attached = `+ ${plural(own.length, 'comment')} on ${plural(commentsOn.size, 'file')}`;
  return ok({
    carried: {
      ...{ parts: quoteInline(own), outputs: [] },
      attached: own.length === 0 ? [] : [attached],
      commentsOn,
    },
    areReplies: own.every(({ replyTo }) => replyTo !== null),
  });
}

/** The inline comments, in the order of the files and lines. */
export function quoteInline(comments: readonly ReviewComment[]): readonly string[] {
  const placed = comments.map((comment) => ({
    ...comment,
    line: comment.line ?? comment.originalLine,
    startLine: comment.line === null ? comment.originalStartLine : comment.startLine,
  }));
  placed.sort(
    (one, other) =>
      Number(one.path > other.path) - Number(one.path < other.path) ||
      (one.line ?? 0) - (other.line ?? 0),
  );
  return placed.map((comment, index) => {
    const age = comment.outdated ? ' of an older commit' : '';
    const where = `Comment ${index + 1} of ${comments.length}, on ${placeOf(comment)}${age}:`;
    const said = [where, quoteDiff(comment.diffHunk), cleanText(comment.body).trim()];
    return said.filter((part) => part !== '').join('\n\n');
  });
}

/** The code that a single inline comment is about. */
export function describeCode(context: CodeContext, redact: Redact): Carried {
  const where = `Context: this was written on ${placeOf(context)}.`;
  const hunk = quoteDiff(context.diffHunk);
  const part = hunk === '' ? where : `${where} The part of the diff around it:\n\n${hunk}`;
  return { parts: [part], outputs: [], attached: [`+ ${code(redact(context.path), 60)}`] };
}

export function placeOf({ path, line, startLine }: Omit<CodeContext, 'diffHunk'>): string {
  // After a line break or a quotation mark, a file name would look like text of the author.
  const file = `the file ${quote(path, 1000)}`;
  if (line === null) return file;
  return startLine === null || startLine === line
    ? `${file}, line ${line}`
    : `${file}, lines ${startLine} to ${line}`;
}

/** GitHub's part of the diff ends with the line of the comment; of a new file it begins with the first line. */
const MOST_DIFF_LINES = 50;
/** Characters of each. */
const LONGEST_DIFF_LINE = 1000;

export function quoteDiff(
  diffHunk: string,
  mostLines = MOST_DIFF_LINES,
  longestLine = LONGEST_DIFF_LINE,
): string {
  // With a line break for a lone \r, a line would not begin with the sign of the diff.
  const [head = '', ...lines] = withoutInvisible(diffHunk)
    .replace(/[\u2028\u2029]/g, '')
    .split('\n');
  const end = lines.length > mostLines ? ['…', ...lines.slice(-mostLines)] : lines;
  const hunk = [head, ...end].map((line) => cut(line, longestLine)).join('\n');
  return hunk === '' ? '' : fenced(hunk, 'diff');
}
