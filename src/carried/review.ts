import type { ReviewComment } from '../github/api.ts';
import { hintFor, whyOf } from '../github/errors.ts';
import { type CodeContext, type CommentTrigger, isEdited } from '../github/event.ts';
import { blocks, code } from '../markdown.ts';
import type { Redact } from '../runner/log.ts';
import type { Start } from '../start.ts';
import { cut, ok, plural, problem, quote, type Result, withoutInvisible } from '../text.ts';
import type { Carried } from './content.ts';
import { fenced } from './output.ts';
import { cleanText } from './words.ts';

// The inline comments of a review, and the code that comments are about.

/**
 * Reads the inline comments by the author of the review, until a time of the clock. The problem says why it cannot be sent:
 * half a review is worse than none. This is the only text by people that does not come from the event, so what somebody else
 * has edited is refused. `areReplies`: there is no other comment.
 */
export async function readReview(
  { nodeId, authorId, id, conversation }: CommentTrigger,
  { github, info }: Pick<Start, 'github' | 'info'>,
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
  const edited = own.find(isEdited);
  if (edited !== undefined) {
    const why = `Somebody else has edited an inline comment of the review: ${edited.url}`;
    return problem(`${why}. Write a new review.`);
  }
  const byFile = [...Map.groupBy(own, ({ path }) => path)];
  const commentsOn = new Map(byFile.map(([path, { length }]) => [path, length]));
  const url = `${info.repositoryUrl}/pull/${conversation}#pullrequestreview-${id}`;
  return ok({
    carried: { ...(await quoteInline(own, url)), commentsOn },
    areReplies: own.every(({ replyTo }) => replyTo !== null),
  });
}

/** Characters of all inline comments in a message. */
const ROOM = 60_000;
/** Characters of one of them, so that the others have room, too. */
const LONGEST_COMMENT = ROOM / 2;
/** Of a review with more comments, less of the code around each is shown. */
const FEW = 20;

type Lines = Pick<ReviewComment, 'line' | 'startLine'>;
type OriginalLines = Pick<ReviewComment, 'originalLine' | 'originalStartLine'>;

/** The lines it is on now; if they are gone, those it was written on. */
export function linesOf(on: Lines & OriginalLines): Lines {
  if (on.line !== null) return { line: on.line, startLine: on.startLine };
  return { line: on.originalLine, startLine: on.originalStartLine };
}

/** The inline comments, in the order of the files and lines. People find those for which there is no room at the URL. */
export async function quoteInline(
  comments: readonly ReviewComment[],
  url: string,
): Promise<Carried> {
  if (comments.length === 0) return { parts: [], outputs: [], attached: [] };
  const placed = comments.map((comment) => ({
    ...comment,
    ...linesOf(comment),
  }));
  placed.sort(
    (one, other) =>
      Number(one.path > other.path) - Number(one.path < other.path) ||
      (one.line ?? 0) - (other.line ?? 0),
  );
  const parts: string[] = [];
  let room = ROOM;
  for (const [index, comment] of placed.entries()) {
    const mostLines = comments.length > FEW ? FEW_DIFF_LINES : MOST_DIFF_LINES;
    const quoted = await quoteOne(comment, mostLines);
    const part = cut(`Comment ${index + 1} of ${comments.length}, ${quoted}`, LONGEST_COMMENT);
    if (part.length > room) continue;
    room -= part.length;
    parts.push(part);
  }
  const files = plural(new Set(comments.map(({ path }) => path)).size, 'file');
  const all = `${plural(comments.length, 'comment')} on ${files}`;
  const left = comments.length - parts.length;
  if (left === 0) return { parts, outputs: [], attached: [`+ ${all}`] };
  const omitted = [`${plural(left, 'comment')} (${url})`];
  return { parts, outputs: [], attached: [`+ ${parts.length} of ${all}`], omitted };
}

async function quoteOne(comment: ReviewComment, mostLines: number): Promise<string> {
  const where = `on ${describePlace(comment, comment.outdated)}:`;
  const said = (await cleanText(comment.body)).trim();
  return blocks([where, quoteDiff(comment.diffHunk, mostLines), said]);
}

/** The code that a single inline comment is about. */
export function describeCode(context: CodeContext, redact: Redact): Carried {
  const where = `Context: this was written on ${describePlace(context)}.`;
  const hunk = quoteDiff(context.diffHunk, MOST_DIFF_LINES);
  const part = hunk === '' ? where : `${where} The part of the diff around it:\n\n${hunk}`;
  return { parts: [part], outputs: [], attached: [`+ ${code(redact(context.path), 60)}`] };
}

export function describePlace(
  { path, line, startLine, diffHunk }: CodeContext,
  isOutdated = false,
): string {
  // After a line break or a quotation mark, a file name would look like text of the author.
  const file = `the file ${quote(path, 1000)}`;
  const commit = isOutdated ? ' of an older commit' : '';
  if (line === null) return `${file}${commit}`;
  const isRange = startLine !== null && startLine !== line;
  const lines = isRange ? `lines ${startLine} to ${line}` : `line ${line}`;
  return `${file}, ${lines}${isDeleted(diffHunk) ? deletedBy(isOutdated) : commit}`;
}

/** The number of a deleted line is that of another line in the new version. A line that stays is in both. */
function isDeleted(diffHunk: string): boolean {
  return diffHunk.slice(diffHunk.lastIndexOf('\n') + 1).startsWith('-');
}

function deletedBy(isOutdated: boolean): string {
  return ` of the old version, which ${isOutdated ? 'an older commit' : 'the pull request'} deletes`;
}

/** GitHub's part of the diff ends with the line of the comment; of a new file it begins with the first line. */
const MOST_DIFF_LINES = 50;
const FEW_DIFF_LINES = 10;
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
