import { createHash } from 'node:crypto';
import type { GiveUp } from '../agent/client.ts';
import { findJob, isUpTo, type Ledger, type LedgerJob } from '../memory/ledger.ts';
import type { Memory } from '../memory/updates.ts';
import { hasEnded, type JobState, type Turn } from '../turn.ts';
import { type End, reasonNow } from './reasons.ts';

// What to do for each job, from what is remembered of earlier attempts and runs.

/** What is remembered, or why it cannot be known where that would stand. */
export type Located = Memory | { readonly kind: 'not-found'; readonly ending: GiveUp };

/** What to do for one job, with the reason where that is not simply to send. */
export type Plan =
  | { readonly kind: 'send'; readonly warning: string }
  /** An earlier attempt sent the message, or may have: go on from there. */
  | { readonly kind: 'resume'; readonly turn: Turn; readonly isOvertaken: boolean }
  /** An earlier attempt saw the end. */
  | { readonly kind: 'ended'; readonly job: LedgerJob; readonly turn: Turn }
  | { readonly kind: 'refuse'; readonly end: End }
  /** Nothing is to be sent; `turn` is the message of an earlier run that is not answered yet. */
  | { readonly kind: 'look'; readonly turn: Turn | null };

interface Circumstances {
  readonly memory: Located;
  readonly jobId: string;
  /** Of the turn that this run is asked for. */
  readonly key: string;
  readonly runId: string;
  /** 1 for the first run, more for a re-run. */
  readonly attempt: number;
  readonly wait: boolean;
}

/** Whether the message of this run goes out now, or has gone out before. */
export function planJob({ memory, jobId, key, runId, attempt, wait }: Circumstances): Plan {
  switch (memory.kind) {
    case 'unreadable':
      return attempt > 1
        ? refuseRerun(
            `what the conversation remembers cannot be read: ${memory.why}`,
            memory.isCancelled ? 'cancelled' : 'error',
          )
        : { kind: 'send', warning: '' };
    case 'not-found':
      return refuseUnseen(jobId, memory.ending);
    case 'none':
      return {
        kind: 'send',
        warning:
          attempt > 1
            ? `This is a re-run without a memory of what was sent before; the message to job ${jobId} is sent ` +
              'again. A memory takes comment: true, and a pull request or issue.'
            : '',
      };
    case 'read': {
      const job = memory.ledger === null ? undefined : findJob(memory.ledger, jobId);
      const turn = job?.turns.find((candidate) => candidate.key === key);
      if (job === undefined || turn === undefined)
        return planUnknown(memory.ledger, { jobId, runId, attempt });
      return turn.delivery === 'not-sent'
        ? { kind: 'send', warning: '' }
        : planAgain(job, turn, wait);
    }
  }
}

/** Where nothing is remembered of a turn, it was never begun, or there was no room for it. */
function planUnknown(
  ledger: Ledger | null,
  { jobId, runId, attempt }: Pick<Circumstances, 'jobId' | 'runId' | 'attempt'>,
): Plan {
  if (attempt === 1) return { kind: 'send', warning: '' };
  const forgotten = ledger?.forgotten;
  return forgotten !== undefined && isUpTo(runId, forgotten)
    ? refuseRerun('the comment had no room left to remember all messages of that time')
    : {
        kind: 'send',
        warning:
          `This is a re-run, and the conversation remembers no message of an earlier attempt to job ${jobId}; ` +
          'it is sent now. If an earlier attempt sent it all the same, it is sent twice.',
      };
}

/** In a re-run, a job that cannot say where it is remembered what was sent to it gets nothing. */
function refuseUnseen(jobId: string, ending: GiveUp): Plan {
  const nothing = `Nothing was sent to job ${jobId} in this re-run: it could not be seen`;
  const unknown = 'so the action cannot tell whether it was sent before.';
  switch (ending.kind) {
    case 'refused':
      return refuse('error', `${nothing}, ${unknown} ${ending.why} ${SEND_ANYWAY}`);
    case 'stopped':
      return refuse(
        'skipped',
        `${nothing} before the service took no more messages. ${ending.why}`,
      );
    case 'timed-out':
      return refuse(
        'timed-out',
        `${nothing} within timeout-minutes, ${unknown} ${ending.why}`.trim(),
      );
    case 'cancelled':
      return refuse('cancelled', `${nothing} before the run was cancelled, ${unknown}`);
  }
}

function refuse(result: End['result'], reason: string): Plan {
  return { kind: 'refuse', end: { result, reason } };
}

const SEND_ANYWAY = 'To send it again, start a new run or write a new comment.';

function refuseRerun(why: string, result: 'error' | 'cancelled' = 'error'): Plan {
  return refuse(
    result,
    `This is a re-run, and ${why}. So the action cannot tell whether it was sent before, and sends ` +
      `nothing. ${SEND_ANYWAY}`,
  );
}

/** How to look at a job without sending anything: from where the newest that went out left it. */
export function planLook(memory: Located, jobId: string, wait: boolean): Plan {
  const job = memory.kind === 'read' && memory.ledger !== null && findJob(memory.ledger, jobId);
  const turn = job ? job.turns.find(({ delivery }) => delivery !== 'not-sent') : undefined;
  const isOpen = wait && turn !== undefined && turn.delivery === 'sent' && !hasEnded(turn);
  return { kind: 'look', turn: isOpen ? turn : null };
}

function planAgain(job: LedgerJob, turn: Turn, wait: boolean): Plan {
  if (wait && hasEnded(turn)) return { kind: 'ended', job, turn };
  // What the job shows by now may be the answer to a message that was sent since.
  const isOvertaken = job.turns.some(
    ({ key, delivery, startedAt }) =>
      key !== turn.key && delivery !== 'not-sent' && startedAt > turn.startedAt,
  );
  return { kind: 'resume', turn, isOvertaken };
}

/** The state in which a planned job begins; `start` is the turn as this run would begin it. */
export function stateOf(
  jobId: string,
  plan: Plan,
  start: Turn,
  { wait, polls }: { readonly wait: boolean; readonly polls: number },
): JobState {
  const isLook = plan.kind === 'look';
  const blank = { jobId, isLook, record: null, polls, timeline: [] };
  switch (plan.kind) {
    case 'ended': {
      const record = plan.job.record && { ...NO_RECORD, id: jobId, ...plan.job.record };
      return { ...blank, record, turn: plan.turn };
    }
    case 'resume': {
      const { by, startedAt, sentAt, evidence, delivery } = plan.turn;
      const base = plan.isOvertaken ? null : plan.turn.base;
      const turn = { ...start, by, startedAt, sentAt, evidence, base };
      return { ...blank, turn: open(turn, delivery === 'sent' ? 'sent' : 'unknown') };
    }
    case 'look':
      return { ...blank, turn: open(plan.turn ?? start, plan.turn?.delivery ?? 'not-sent') };
    default:
      return { ...blank, turn: open(start, 'not-sent') };
  }

  function open(turn: Turn, delivery: Turn['delivery']): Turn {
    const { result, reason } = reasonNow(delivery, isLook, wait);
    return { ...turn, delivery, result, reason, confirmed: null, endedAt: null };
  }
}

/** The state of a job of which it is not known yet what an earlier attempt has sent. */
export function stateUnplanned(jobId: string, start: Turn, isLook: boolean): JobState {
  const unknown = {
    delivery: 'unknown',
    result: 'error',
    reason: 'The run ended before it was known what an earlier attempt had sent.',
  } as const;
  const now = isLook ? reasonNow('not-sent', isLook, true) : unknown;
  return { jobId, isLook, record: null, turn: { ...start, ...now }, polls: 0, timeline: [] };
}

const NO_RECORD = { linkProblem: null, createdAt: null, archivedAt: null };

/** The job that is meant where none is named, or why that is not clear. */
export type Remembered =
  | { readonly kind: 'job'; readonly jobId: string }
  | { readonly kind: 'unclear'; readonly problem: string };

export function rememberedJob(memory: Memory): Remembered {
  if (memory.kind === 'unreadable') {
    return {
      kind: 'unclear',
      problem: `job-id is empty, and what the conversation remembers cannot be read: ${memory.why}.`,
    };
  }
  const jobs = memory.kind === 'read' ? (memory.ledger?.jobs ?? []) : [];
  const [only] = jobs;
  if (only !== undefined && jobs.length === 1) return { kind: 'job', jobId: only.id };
  if (only === undefined) {
    return {
      kind: 'unclear',
      problem:
        'job-id is empty, and this conversation remembers no job yet; give job-id once, and ' +
        'later runs on the same pull request or issue may leave it out.',
    };
  }
  return {
    kind: 'unclear',
    problem:
      `job-id is empty, and this conversation remembers ${jobs.length} jobs: ` +
      `${jobs.map(({ id }) => id).join(', ')}. Set job-id to one of them, for example ` +
      `"job-id: ${only.id}", or use one workflow with a command of its own for each.`,
  };
}

/**
 * Names a turn: who asked (a comment, or else this step of this run; never the attempt), and a
 * hash of what was asked of which job. The same key is the same message.
 */
export function turnKey(origin: string, asked: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(asked)).digest('hex').slice(0, 16);
  return `${origin}:${hash}`;
}
