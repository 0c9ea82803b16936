import type { Context } from '../context.ts';
import type { Classifier, GitHub } from '../github/client.ts';
import { describeError } from '../github/errors.ts';
import { isBadResult } from '../job/stop-reasons.ts';
import { commentId } from '../ledger/ledger.ts';
import { parseRecord, parseReply, toReplyId } from '../ledger/marker.ts';
import type { CommentRecord } from '../ledger/record.ts';
import type { TrackingComment } from './tracking-comment.ts';

// Which of our comments on a page say nothing of use once a run has said something new.

export async function collapse(
  { github, runtime: { signal, log } }: Pick<Context, 'github' | 'runtime'>,
  comment: Pick<TrackingComment, 'conversation' | 'url' | 'nodeId' | 'record'>,
  { itself, hasNews }: { readonly itself: Classifier | null; readonly hasNews: boolean },
): Promise<void> {
  if (signal.aborted) return;
  const { conversation, url: ownUrl, nodeId } = comment;
  const own = comment.record();
  const collapsed: [string, Classifier][] = itself === null ? [] : [[nodeId, itself]];
  const listed = hasNews ? await github.newestOwnComments(conversation).catch(() => []) : [];
  const bodies = listed.map(({ body }) => body);
  for (const { id, body, url, isMinimized } of listed) {
    const isAbove = commentId(url) < commentId(ownUrl);
    if (isMinimized || !isAbove) continue;
    if (isSuperseded(body, own, bodies) || (await isOfKilledRun(github, body, own))) {
      collapsed.push([id, 'OUTDATED']);
    }
  }
  if (collapsed.length === 0) return;
  await github.hide(collapsed).catch((error) => {
    log.debug(`Comments were not collapsed: ${describeError(error)}.`);
  });
}

/** Says that its run goes on, which GitHub says is over. Without `actions: read`, nobody knows. */
async function isOfKilledRun(github: GitHub, body: string, own: CommentRecord): Promise<boolean> {
  const record = readableRecord(body, own);
  if (record === undefined) return false;
  const isOpen = classifyEnding(record) === 'open' && wasSentTo(record, own);
  return isOpen && (await github.isRunOver(record.run).catch(() => false));
}

/** Whether a newer comment stands for this one. `bodies`: of all our comments on the page. */
export function isSuperseded(body: string, own: CommentRecord, bodies: readonly string[]): boolean {
  const record = readableRecord(body, own);
  const older = parseReply(body) ?? (record && toReplyId(record));
  if (older === undefined || record?.process === own.process) return false;
  const { step, message, by } = toReplyId(own);
  const isOfStep = older.step === step;
  const isFollowed = older.message === message || (isOfStep && older.by === by);
  // A reply is about a message that may have a record.
  const records = bodies.map((one) => readableRecord(one, own));
  const about =
    record ?? records.findLast((one) => one && toReplyId(one).message === older.message);
  // Only what could not begin is told by a reply alone.
  switch (about === undefined ? 'bad' : classifyEnding(about)) {
    case 'limit':
      // A person who goes on has also seen what checks were told of a limit.
      return isFollowed || (isOfStep && by === 'person');
    case 'bad':
      // Also another step mends it. A reply alone may be of another project, with other steps.
      return isFollowed || ((about !== undefined || isOfStep) && wasSentTo(about, own));
    case 'good':
      // Each command has its own answer.
      return record === undefined ? isFollowed : isOfStep && isRepeated(record, own);
    default:
      return false;
  }
}

function readableRecord(body: string, { project }: CommentRecord): CommentRecord | undefined {
  const record = parseRecord(body, project);
  return typeof record === 'string' ? undefined : record;
}

/** How a message has ended. `open`: it may still be sent, or its run was killed. */
function classifyEnding({ jobs }: CommentRecord) {
  if (jobs.some(({ delivery }) => delivery === 'unknown')) return 'in doubt';
  if (jobs.some((job) => job.delivery === 'sending' || !job.ended)) return 'open';
  if (jobs.every(({ limited = false }) => limited)) return 'limit';
  return jobs.some(isBadEnd) ? 'bad' : 'good';
}

function isBadEnd({ ended, isRed }: CommentRecord['jobs'][number]): boolean {
  return !ended || isRed === true || isBadResult(ended.result) || ended.result === 'cancelled';
}

/** Whether each job with a bad end has got this message. */
function wasSentTo(older: CommentRecord | undefined, own: CommentRecord): boolean {
  const bad = older?.jobs.filter(isBadEnd) ?? [];
  const sent = own.jobs.filter(({ delivery }) => delivery === 'sent');
  return sent.length > 0 && bad.every(({ id }) => sent.some((job) => job.id === id));
}

function isRepeated(older: CommentRecord, own: CommentRecord): boolean {
  if (older.command !== '' || own.command !== '') return false;
  const ids = new Set(own.jobs.map(({ id }) => id));
  return older.jobs.length === ids.size && older.jobs.every(({ id }) => ids.has(id));
}
