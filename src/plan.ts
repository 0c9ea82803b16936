import { createHash } from 'node:crypto';
import type { Earlier } from './agent/follow.ts';
import { findJob, type Ledger, type LedgerJob, type LedgerTurn } from './github/ledger.ts';
import { type JobResult, type Outcome, unknownJob } from './outcome.ts';

/** What the conversation remembers of earlier runs and attempts. */
export type Memory =
  | { readonly kind: 'read'; readonly ledger: Ledger | null }
  /** There is none: no conversation, or comments that are not updated. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unreadable'; readonly why: string };

/** What to do for one job, with the reason where that is not simply to send. */
export type Plan =
  | { readonly kind: 'send'; readonly warning: string }
  /** An earlier attempt sent the message, or may have: go on from there. */
  | { readonly kind: 'go-on'; readonly turn: LedgerTurn; readonly earlier: Earlier }
  /** An earlier attempt saw the end. */
  | { readonly kind: 'done'; readonly turn: LedgerTurn; readonly result: JobResult }
  | { readonly kind: 'refuse'; readonly reason: string };

interface Circumstances {
  readonly memory: Memory;
  readonly jobId: string;
  /** Of the turn that this run is asked for. */
  readonly key: string;
  /** 1 for the first run, more for a re-run. */
  readonly attempt: number;
  readonly wait: boolean;
}

/** Whether the message of this run goes out now, or has gone out before. */
export function planJob({ memory, jobId, key, attempt, wait }: Circumstances): Plan {
  switch (memory.kind) {
    case 'unreadable':
      return attempt > 1
        ? {
            kind: 'refuse',
            reason:
              `This is a re-run, and what the conversation remembers cannot be read: ${memory.why}. ` +
              'So the action cannot tell whether it was sent before, and sends nothing. ' +
              'To send it again, start a new run or write a new comment.',
          }
        : { kind: 'send', warning: '' };
    case 'none':
      return {
        kind: 'send',
        warning:
          attempt > 1
            ? 'This is a re-run without a memory of what was sent before; the message is sent again.'
            : '',
      };
    case 'read': {
      const job = memory.ledger === null ? undefined : findJob(memory.ledger, jobId);
      const turn = job?.turns.find((candidate) => candidate.key === key);
      if (job === undefined || turn === undefined) {
        return { kind: 'send', warning: attempt > 1 ? FORGOTTEN : '' };
      }
      return turn.delivery === 'not-sent'
        ? { kind: 'send', warning: '' }
        : planAgain(job, turn, wait);
    }
  }
}

const FORGOTTEN =
  'This is a re-run, and the conversation remembers no message of an earlier attempt; the message ' +
  'is sent.';

function planAgain(job: LedgerJob, turn: LedgerTurn, wait: boolean): Plan {
  const { outcome } = turn;
  if (wait && (outcome === 'completed' || outcome === 'failed' || outcome === 'archived')) {
    return { kind: 'done', turn, result: resultOf(job, turn, outcome) };
  }
  // What the job shows by now may be the answer to a message that was sent since.
  const isOvertaken = job.turns.some(
    ({ key, delivery, startedAt }) =>
      key !== turn.key && delivery !== 'not-sent' && startedAt > turn.startedAt,
  );
  return {
    kind: 'go-on',
    turn,
    earlier: {
      delivery: turn.delivery === 'sent' ? 'sent' : 'unknown',
      isOvertaken,
      base: isOvertaken ? null : turn.base,
      sentAt: turn.sentAt === null ? null : new Date(turn.sentAt),
      evidence: turn.evidence,
    },
  };
}

function resultOf(job: LedgerJob, turn: LedgerTurn, outcome: Outcome): JobResult {
  return {
    ...unknownJob(job.id, { delivery: 'sent', outcome, reason: turn.reason }),
    confirmed: turn.confirmed,
    status: job.status,
    prLink: job.prLink,
    prLinkChange: turn.prLinkChange,
    model: job.model,
    source: job.repository === null ? null : { repository: job.repository, ref: job.ref },
    elapsedSeconds: turn.elapsedSeconds,
    resumption: {
      base: turn.base,
      sentAt: turn.sentAt === null ? null : new Date(turn.sentAt),
      evidence: turn.evidence,
    },
  };
}

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
