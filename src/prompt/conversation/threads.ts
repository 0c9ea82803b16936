import type { ReviewThread, ThreadComment } from '../../github/conversation.ts';
import { blocks } from '../../markdown.ts';
import type { Redact } from '../../runner/logger.ts';
import { quote } from '../../text.ts';
import { NO_GUESS, quoteLines } from '../quote.ts';
import { cleanText } from '../sanitize/sanitize.ts';
import type { Missing, Thing } from '../sections.ts';
import { accountOf, judge, type Speakers } from './authors.ts';
import { describePlace, linesNow } from './code-place.ts';
import { quoteDiff } from './review.ts';

// The threads in the review of a pull request.

/** Lines of a diff above a thread, and characters of each. */
const MOST_THREAD_LINES = 10;
const LONGEST_THREAD_LINE = 200;

/** Which comment or review it is, as in notes: its kind and ID. In GraphQL, `databaseId` has only 32 bits. */
export function keyOfUrl(url: string): string {
  const [, fragment = '', id = ''] =
    /#(issuecomment-|discussion_r|pullrequestreview-)(\d+)$/.exec(url) ?? [];
  return `${KINDS[fragment] ?? ''}:${id}`;
}

const KINDS: Readonly<Record<string, string>> = {
  'issuecomment-': 'comment',
  discussion_r: 'review-comment',
  'pullrequestreview-': 'review',
};

/** Whether the comment of this key is in the thread, or the thread begins with that of an ID. */
export function isThreadOf(thread: ReviewThread, key: string, firstId: number): boolean {
  const keys = thread.comments.nodes.map(({ url }) => keyOfUrl(url));
  return keys.includes(key) || isFirst(thread.first.nodes[0], firstId);
}

/** Whether the ID is that of the comment. Once the first one of a thread is deleted, another one is first there. */
export function isFirst(comment: Pick<ThreadComment, 'url'> | undefined, firstId: number): boolean {
  return keyOfUrl(comment?.url ?? '') === `review-comment:${firstId}`;
}

/** The thread without drafts, which only the owner of a personal token sees, and without some other comments. */
export function withoutComments(
  thread: ReviewThread,
  isDropped: (comment: ThreadComment) => boolean,
): ReviewThread {
  const { nodes, totalCount } = thread.comments;
  const kept = nodes.filter((one) => one.state !== 'PENDING' && !isDropped(one));
  const dropped = nodes.length - kept.length;
  return { ...thread, comments: { nodes: kept, totalCount: totalCount - dropped } };
}

/** What stands above an open thread: where it is, and the code. */
export function headOf(thread: ReviewThread, redact: Redact): string {
  const diff = redact(thread.first.nodes[0]?.diffHunk ?? '');
  const hunk = quoteDiff(diff, MOST_THREAD_LINES, LONGEST_THREAD_LINE);
  return blocks([`An open thread on ${whereIn(thread, redact)}:`, hunk]);
}

function whereIn(thread: ReviewThread, redact: Redact): string {
  const diffHunk = thread.first.nodes[0]?.diffHunk ?? '';
  const place = { path: redact(thread.path), ...linesNow(thread), diffHunk };
  return describePlace(place, thread.isOutdated);
}

/** Threads that are told in a line each, the newest ones. */
const MOST_LINES = 20;
/** Characters of the last comment in it. */
const LONGEST_LAST = 100;

/** Open threads that are only named. `threads`: the oldest first. `url`: where people find the rest. */
export async function nameThreads(
  threads: readonly ReviewThread[],
  speakers: Speakers,
  redact: Redact,
  url: string,
): Promise<Thing> {
  const named = threads.slice(-MOST_LINES);
  const lines: string[] = [];
  for (const thread of named) {
    const last = thread.comments.nodes.at(-1);
    const isHeard = last !== undefined && judge(last, speakers).kind !== 'left out';
    const text = isHeard ? redact((await cleanText(last.body)).trim()) : '';
    const said = text === '' ? '' : `: ${quote(text, LONGEST_LAST)}`;
    lines.push(`On ${whereIn(thread, redact)} (${thread.first.nodes[0]?.url ?? url})${said}`);
  }
  if (lines.length === 0) return { place: 'words' };
  const left = threads.length - named.length;
  const missing: Missing[] =
    left > 0 ? [{ what: `${left} more open threads`, why: `see ${url}` }] : [];
  return {
    place: 'words',
    parts: ['Other open threads:', quoteLines(lines.join('\n'))],
    shown: lines.length === 1 ? 'link of 1 open thread' : `links of ${lines.length} open threads`,
    missing,
  };
}

/** What is said of the first comment of a thread if the message does not have it: without it, a reply means little. */
export function tellFirst(thread: ReviewThread, firstId: number, speakers: Speakers): Thing | null {
  const [first] = thread.first.nodes;
  const what = 'the first comment of the thread';
  if (first === undefined || !isFirst(first, firstId)) {
    return missingFirst('', 'it was deleted', { what, why: 'it was deleted' });
  }
  const heard = judge(first, speakers);
  if (heard.kind !== 'left out') return null;
  const { by, why, isFault, told } = heard;
  const name = speakers.redact(accountOf(first)?.login ?? '');
  const missing = first.isMinimized ? { what, why: told } : { what: what + by, why, isFault };
  return missingFirst(name === '' ? '' : `, by ${quote(name, 100)},`, why || told, missing);
}

function missingFirst(by: string, why: string, missing: Missing): Thing {
  const part = `The first comment of this thread${by} is not shown: ${why}. ${NO_GUESS}`;
  return { place: 'reply', parts: [part], missing: [{ ...missing, isTold: true }] };
}
