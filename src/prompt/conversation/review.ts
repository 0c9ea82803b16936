import type { Start } from '../../context.ts';
import { isEdited } from '../../github/client.ts';
import { GitHubError, hintFor, mayPassLater, whyOf } from '../../github/errors.ts';
import type { ReviewComment } from '../../github/responses.ts';
import { blocks, fitting } from '../../markdown.ts';
import type { Redact } from '../../runner/logger.ts';
import {
  cut,
  ok,
  plural,
  problem,
  quote,
  type Result,
  sentences,
  withoutInvisible,
} from '../../text.ts';
import type { CodeContext, CommentTrigger } from '../../trigger/trigger.ts';
import { fenced } from '../logs/clean.ts';
import { cleanText } from '../sanitize/sanitize.ts';
import { type Thing, tellNoRoom } from '../sections.ts';
import { describePlace, linesNow } from './code-place.ts';

// The inline comments of a review, and the code that comments are about.

interface Review {
  readonly things: readonly Thing[];
  /** How many inline comments there are on each file. */
  readonly commentsOn: ReadonlyMap<string, number>;
  /** Whether there is no other comment. */
  readonly areReplies: boolean;
}

/**
 * Reads the inline comments by the author of the review, until a time of the clock. The problem says why it cannot be sent:
 * half a review is worse than none. So a review with a comment that somebody else has edited is refused.
 */
export async function readReview(
  { nodeId, authorId, id, conversation }: CommentTrigger,
  { github, info, runtime }: Pick<Start, 'github' | 'info' | 'runtime'>,
  until: number,
): Promise<Result<Review>> {
  let comments: readonly ReviewComment[];
  try {
    comments = await github.reviewComments(nodeId, until);
  } catch (error) {
    if (!(error instanceof GitHubError)) throw error;
    const why = `The inline comments of the review cannot be read: ${whyOf(error)}.`;
    return problem(sentences(why, hintFor(error)), mayPassLater(error));
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
    things: await quoteInline(own, url, runtime.redact),
    commentsOn,
    areReplies: own.every(({ replyTo }) => replyTo !== null),
  });
}

/** Characters of all inline comments in a message. */
const REVIEW_ROOM = 60_000;
/** Characters of one of them, so that the others have room, too. */
const LONGEST_COMMENT = REVIEW_ROOM / 2;
/** Of a review with more comments, or for which there is no room, less of the code around each is shown. */
const FEW = 20;

/** The inline comments, in the order of the files and lines. People find those for which there is no room at the URL. */
export async function quoteInline(
  comments: readonly ReviewComment[],
  url: string,
  redact: Redact,
): Promise<readonly Thing[]> {
  if (comments.length === 0) return [];
  const reading = comments.map(async (comment) => ({
    ...withoutSecrets(comment, redact),
    ...linesNow(comment),
    said: (await cleanText(comment.body)).trim(),
  }));
  const placed = await Promise.all(reading);
  placed.sort(
    (one, other) =>
      Number(one.path > other.path) - Number(one.path < other.path) ||
      (one.line ?? 0) - (other.line ?? 0),
  );
  const withCode = (mostLines: number): readonly string[] =>
    placed.map((comment, index) => {
      const where = `on ${describePlace(comment, comment.outdated)}:`;
      const head = `Comment ${index + 1} of ${comments.length}, ${where}`;
      return blocks([head, quoteDiff(comment.diffHunk, mostLines), comment.said]);
    });
  let whole = withCode(comments.length > FEW ? FEW_DIFF_LINES : MOST_DIFF_LINES);
  // Code must not take the room of words.
  if (!haveRoom(whole)) whole = withCode(FEW_DIFF_LINES);
  const quoted = whole.map((part) => cut(part, LONGEST_COMMENT));
  const parts = fitting(quoted, REVIEW_ROOM);
  const isCut = (part: string, index: number): boolean => part !== whole[index];
  const files = plural(new Set(comments.map(({ path }) => path)).size, 'file');
  const all = `${plural(comments.length, 'comment')} on ${files}`;
  const left = comments.length - parts.length;
  const shown = left === 0 ? all : `${parts.length} of ${all}`;
  const missing = tellNoRoom(parts.filter(isCut).length, left, 'comment', url);
  return [{ place: 'task', parts, shown, missing }];
}

function haveRoom(parts: readonly string[]): boolean {
  const areShort = parts.every(({ length }) => length <= LONGEST_COMMENT);
  return areShort && fitting(parts, REVIEW_ROOM).length === parts.length;
}

/** The code that a single inline comment is about. */
export function describeCode(code: CodeContext, redact: Redact): Thing {
  const context = withoutSecrets(code, redact);
  const where = `Context: this was written on ${describePlace(context)}.`;
  const hunk = quoteDiff(context.diffHunk, MOST_DIFF_LINES);
  const part = hunk === '' ? where : `${where} The part of the diff around it:\n\n${hunk}`;
  return { place: 'about', parts: [part], shown: quote(context.path, 60) };
}

/** Only the words of a comment are as its author has written them. */
function withoutSecrets<T extends CodeContext>(code: T, redact: Redact): T {
  return { ...code, path: redact(code.path), diffHunk: redact(code.diffHunk) };
}

/** GitHub's part of the diff ends with the line of the comment; of a new file it begins with the first line. */
const MOST_DIFF_LINES = 50;
const FEW_DIFF_LINES = 10;
/** Characters of each. */
const LONGEST_DIFF_LINE = 1000;

export function quoteDiff(
  diffHunk: string,
  mostLines: number,
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
