import type { Context } from '../context.ts';
import type { Classifier, GitHub } from '../github/client.ts';
import { describeError } from '../github/errors.ts';
import { isBadResult } from '../job/stop-reasons.ts';
import { commentId } from '../ledger/ledger.ts';
import { parseRecord, parseReply, type ReplyId, toReplyId } from '../ledger/marker.ts';
import type { CommentRecord } from '../ledger/record.ts';
import type { TrackingComment } from './tracking-comment.ts';

// Which of our comments on a page say nothing of use once a run has said something new.

/** A tracking comment, or a reply: then the record is that of the message it answers. */
interface Comment extends ReplyId {
  readonly isReply: boolean;
  readonly record: CommentRecord | undefined;
}

/** How a message has ended. `open`: it may still be sent, or its run was killed. */
type Ending = 'open' | 'in doubt' | 'limit' | 'bad' | 'good';

/** When a newer comment, of which there is something to tell, stands for an older one. */
const IS_SUPERSEDED: Readonly<Record<Ending, (older: Comment, own: Comment) => boolean>> = {
  open: () => false,
  'in doubt': () => false,
  // A person who goes on has also seen what checks were told of a limit.
  limit: (older, own) => isFollowed(older, own) || (older.step === own.step && own.by === 'person'),
  bad: (older, own) => isFollowed(older, own) || (isOfProject(older, own) && wasSentTo(older, own)),
  // Each command has its own answer.
  good: (older, own) => (older.isReply ? isFollowed(older, own) : isRepeated(older, own)),
};

/** `itself`: null if the own comment stays. */
export async function collapse(
  { github, runtime: { signal, log } }: Pick<Context, 'github' | 'runtime'>,
  own: Pick<TrackingComment, 'conversation' | 'url' | 'nodeId' | 'record'>,
  { itself, hasNews }: { readonly itself: Classifier | null; readonly hasNews: boolean },
): Promise<void> {
  if (signal.aborted) return;
  const collapsed: [string, Classifier][] = itself === null ? [] : [[own.nodeId, itself]];
  const listed = hasNews ? await github.newestOwnComments(own.conversation).catch(() => []) : [];
  const bodies = listed.map(({ body }) => body);
  for (const { id, body, url, isMinimized } of listed) {
    const isAbove = !isMinimized && commentId(url) < commentId(own.url);
    const isOld = isAbove && isSuperseded(body, own.record, bodies);
    if (isOld || (isAbove && (await isOfKilledRun(github, body, own.record)))) {
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
  const record = parseRecord(body, own.project);
  if (typeof record === 'string' || record.run === own.run) return false;
  const isOpen = classifyEnding(record) === 'open' && wasSentTo({ record }, { record: own });
  return isOpen && (await github.isRunOver(record.run).catch(() => false));
}

/** `bodies`: of all our comments on the page. */
export function isSuperseded(body: string, own: CommentRecord, bodies: readonly string[]): boolean {
  const older = parseOlder(body, own.project, bodies);
  if (older === undefined || (!older.isReply && older.record?.process === own.process))
    return false;
  // Only what could not begin is told by a reply alone.
  const ending = older.record === undefined ? 'bad' : classifyEnding(older.record);
  return IS_SUPERSEDED[ending](older, { ...toReplyId(own), isReply: false, record: own });
}

function parseOlder(body: string, project: string, bodies: readonly string[]): Comment | undefined {
  const reply = parseReply(body);
  const record = parseRecord(body, project);
  if (typeof record !== 'string') return { ...toReplyId(record), isReply: false, record };
  if (reply === undefined) return undefined;
  const records = bodies.map((one) => parseRecord(one, project));
  const answered = records.findLast(
    (one) => typeof one !== 'string' && toReplyId(one).message === reply.message,
  );
  return { ...reply, isReply: true, record: typeof answered === 'string' ? undefined : answered };
}

function classifyEnding({ jobs }: CommentRecord): Ending {
  if (jobs.some(({ delivery }) => delivery === 'unknown')) return 'in doubt';
  if (jobs.some(({ delivery, ended }) => delivery === 'sending' || ended === undefined)) {
    return 'open';
  }
  if (jobs.every(({ limited = false }) => limited)) return 'limit';
  return jobs.some(isBadEnd) ? 'bad' : 'good';
}

function isBadEnd({ ended, isRed }: CommentRecord['jobs'][number]): boolean {
  return !ended || isRed === true || isBadResult(ended.result) || ended.result === 'cancelled';
}

/** By the same message, or the next one of the step for a person, or for a check. */
function isFollowed(older: Comment, own: Comment): boolean {
  return older.message === own.message || (older.step === own.step && older.by === own.by);
}

/** A reply without a record may be that of another project, whose steps are others. */
function isOfProject(older: Comment, own: Comment): boolean {
  return older.record !== undefined || older.step === own.step;
}

/** What was bad is mended, also by another step. */
function wasSentTo(older: Pick<Comment, 'record'>, own: Pick<Comment, 'record'>): boolean {
  const bad = older.record?.jobs.filter(isBadEnd) ?? [];
  const sent = own.record?.jobs.filter(({ delivery }) => delivery === 'sent') ?? [];
  return sent.length > 0 && bad.every(({ id }) => sent.some((job) => job.id === id));
}

function isRepeated({ step, record: older }: Comment, { step: ownStep, record: own }: Comment) {
  if (older?.command !== '' || own?.command !== '' || step !== ownStep) return false;
  const ids = new Set(own.jobs.map(({ id }) => id));
  return older.jobs.length === ids.size && older.jobs.every(({ id }) => ids.has(id));
}
