import type { Context } from '../../context.ts';
import type { InlinePost } from '../../github/conversation.ts';
import { describeError, GitHubError, hintFor, mayPassLater } from '../../github/errors.ts';
import { blocks, fitting } from '../../markdown.ts';
import { ok, problem, type Result } from '../../result.ts';
import type { Redact } from '../../runner/logger.ts';
import { cut, plural, quote, sentences } from '../../text.ts';
import type { CodeContext, CommentTrigger } from '../../trigger/trigger.ts';
import { sanitize } from '../sanitize/sanitize.ts';
import { omitForRoom, type Section } from '../sections.ts';
import { formatPlace } from './format.ts';

// The inline comments of a review, and the code that a single one is about.

interface Review {
  readonly inline: readonly Section[];
  /** How many inline comments there are on each file. */
  readonly commentsOn: ReadonlyMap<string, number>;
  /** Whether there is no other comment. */
  readonly areReplies: boolean;
}

/** Fetches the inline comments by the author of the review, until a time of the clock: half a review is worse than none. */
export async function fetchReview(
  { nodeId, authorId, id, conversation }: CommentTrigger,
  { github, info, runtime }: Pick<Context, 'github' | 'info' | 'runtime'>,
  until: number,
): Promise<Result<Review>> {
  let comments: readonly InlinePost[];
  try {
    comments = await github.reviewComments(nodeId, until);
  } catch (error) {
    if (!(error instanceof GitHubError)) throw error;
    const why = `The inline comments of the review cannot be read: ${describeError(error)}.`;
    return problem(sentences(why, hintFor(error)), mayPassLater(error));
  }
  const own = comments.filter(({ author }) => (author?.id ?? null) === authorId);
  const byFile = [...Map.groupBy(own, ({ place }) => place.path)];
  const url = `${info.repositoryUrl}/pull/${conversation}#pullrequestreview-${id}`;
  return ok({
    inline: own.length === 0 ? [] : [formatInline(own, url, runtime.redact)],
    commentsOn: new Map(byFile.map(([path, { length }]) => [path, length])),
    areReplies: own.every(({ isReply }) => isReply),
  });
}

/** Characters of all inline comments in a message. */
const REVIEW_ROOM = 60_000;
/** Characters of one of them, so that the others have room, too. */
const LONGEST_COMMENT = REVIEW_ROOM / 2;

/** In the order of the files and lines. `url`: where people find those for which there is no room. */
export function formatInline(posts: readonly InlinePost[], url: string, redact: Redact): Section {
  const placed = posts.toSorted(
    ({ place: one }, { place: other }) =>
      Number(one.path > other.path) - Number(one.path < other.path) ||
      (one.line ?? 0) - (other.line ?? 0),
  );
  const whole = placed.map(({ body, place }, index) => {
    const { where, diff } = formatPlace(place, redact);
    return blocks([`Comment ${index + 1} of ${posts.length}, on ${where}:`, diff, sanitize(body)]);
  });
  const parts = fitting(
    whole.map((part) => cut(part, LONGEST_COMMENT)),
    REVIEW_ROOM,
  );
  const files = plural(new Set(posts.map(({ place }) => place.path)).size, 'file');
  const all = `${plural(posts.length, 'comment')} on ${files}`;
  const left = posts.length - parts.length;
  const shortened = parts.filter((part, index) => part !== whole[index]).length;
  return {
    place: 'task',
    parts,
    shown: left === 0 ? all : `${parts.length} of ${all}`,
    omissions: omitForRoom(shortened, left, 'comment', url),
  };
}

/** The code that a single inline comment is about. */
export function formatCode(code: CodeContext, redact: Redact): Section {
  const { where, diff } = formatPlace(code, redact);
  const context = `Context: this was written on ${where}.`;
  const part = diff === '' ? context : `${context} The part of the diff around it:\n\n${diff}`;
  return { place: 'about', parts: [part], shown: quote(redact(code.path), 60) };
}
