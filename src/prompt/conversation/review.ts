import type { Context } from '../../context.ts';
import type { CodeLocation, InlinePost } from '../../github/conversation.ts';
import { fetchOrExplain } from '../../github/errors.ts';
import { blocks, fitting } from '../../markdown.ts';
import type { Redact } from '../../runner/logger.ts';
import { cut, plural, quote } from '../../text.ts';
import type { CommentTrigger } from '../../trigger/trigger.ts';
import { ok, problem } from '../../value-or-problem.ts';
import { sanitize } from '../sanitize/sanitize.ts';
import { omitForRoom, type Section } from '../sections.ts';
import { formatLocation } from './format.ts';

/** The inline comments by its author: half of them are worse than none. */
export async function fetchReview(
  { nodeId, authorId, id, conversation }: CommentTrigger,
  { github, info, runtime }: Pick<Context, 'github' | 'info' | 'runtime'>,
  until: number,
) {
  const list = () => github.reviewComments(nodeId, until);
  const read = await fetchOrExplain(list, 'pull-requests: read', runtime.signal);
  if (read.kind === 'problem') {
    const why = `The inline comments of the review cannot be read: ${read.problem}.`;
    return problem(why, read.mayPass);
  }
  const own = read.value.filter(({ author }) => (author?.id ?? null) === authorId);
  const byFile = [...Map.groupBy(own, ({ location }) => location.path)];
  const url = `${info.repositoryUrl}/pull/${conversation}#pullrequestreview-${id}`;
  return ok({
    inline: own.length === 0 ? [] : [formatInline(own, url, runtime.redact)],
    commentsOn: new Map(byFile.map(([path, { length }]) => [path, length])),
    areReplies: own.every(({ isReply }) => isReply),
  });
}

const REVIEW_ROOM = 60_000;
/** So that the others have room, too. */
const LONGEST_COMMENT = REVIEW_ROOM / 2;

/** In the order of the files and lines. `url`: where people find what there is no room for. */
export function formatInline(posts: readonly InlinePost[], url: string, redact: Redact): Section {
  const sorted = posts.toSorted(
    ({ location: one }, { location: other }) =>
      Number(one.path > other.path) - Number(one.path < other.path) ||
      (one.line ?? 0) - (other.line ?? 0),
  );
  const whole = sorted.map(({ body, location }, index) => {
    const { where, diff } = formatLocation(location, redact);
    return blocks([`Comment ${index + 1} of ${posts.length}, on ${where}:`, diff, sanitize(body)]);
  });
  const short = whole.map((part) => cut(part, LONGEST_COMMENT));
  const parts = fitting(short, REVIEW_ROOM);
  const files = new Set(posts.map(({ location }) => location.path)).size;
  const all = `${plural(posts.length, 'comment')} on ${plural(files, 'file')}`;
  const left = posts.length - parts.length;
  const shortened = parts.filter((part, index) => part !== whole[index]).length;
  return {
    slot: 'task',
    parts,
    shown: left === 0 ? all : `${parts.length} of ${all}`,
    omissions: omitForRoom({ shortened, left }, 'comment', url),
  };
}

export function formatCode(code: CodeLocation, redact: Redact): Section {
  const { where, diff } = formatLocation(code, redact);
  const context = `Context: this was written on ${where}.`;
  const part = diff === '' ? context : `${context} The part of the diff around it:\n\n${diff}`;
  return { slot: 'about', parts: [part], shown: quote(redact(code.path), 60) };
}
