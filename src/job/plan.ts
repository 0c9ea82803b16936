import type { GiveUp } from '../agent/client.ts';
import type { RunContext } from '../context.ts';
import type { Memory } from '../memory/announcements.ts';
import { findEarlier, isCommand } from '../memory/claim.ts';
import {
  findJob,
  isOvertaken,
  isSameOrOlderRun,
  isWithdrawn,
  type Ledger,
  type LedgerJob,
} from '../memory/ledger.ts';
import { join, ours, type Reason, reasonToText, sentence } from '../reason.ts';
import { hasEnded, type JobState, type Turn } from '../turn.ts';
import { type End, reasonNow } from './reasons.ts';

// What to do for each job, from what is remembered of earlier attempts and runs.

/** What is remembered, or why the job, which names its pull request, could not be polled. */
export type JobMemory = Memory | GiveUp;

export type Plan =
  | {
      readonly kind: 'send';
      readonly warning: string;
      /** The turn of an earlier attempt that was not sent; null if there is none. */
      readonly earlier: Turn | null;
    }
  /** An earlier attempt sent the message, or may have: continue from there. */
  | { readonly kind: 'resume'; readonly turn: Turn; readonly isOvertaken: boolean }
  | { readonly kind: 'ended'; readonly job: LedgerJob; readonly turn: Turn }
  /** `isUnknown`: it is not known whether an earlier attempt sent the message. */
  | { readonly kind: 'refuse'; readonly end: End; readonly isUnknown: boolean }
  /** With `send: false`; `turn` is the message of an earlier run that the agent is still working on. */
  | { readonly kind: 'read-only'; readonly turn: Turn | null };

const SEND: Plan = { kind: 'send', warning: '', earlier: null };

/**
 * Whether to send the message. A re-run does only if it was certainly not sent before: the comment must say
 * that, or be complete and not mention the message.
 */
export function planJob(
  { inputs, conversation }: Pick<RunContext, 'inputs' | 'conversation'>,
  memory: JobMemory,
  jobId: string,
  own: Turn,
): Plan {
  if (own.attempt === 1) return SEND;
  if (memory !== null && 'why' in memory) return refuseUnpolled(jobId, memory);
  if (memory?.kind === 'ok') {
    const { ledger, isWhole } = memory.value;
    const job = findJob(ledger, jobId);
    const earlier = findEarlier(job?.turns ?? [], own);
    const isComplete = isWhole && !isTrimmed(ledger, own);
    if (job !== undefined && earlier !== null && (isComplete || isSure(earlier, own))) {
      return planAgain(job, earlier, own, inputs.wait);
    }
  }
  const why = whyUnknown(memory, own, conversation);
  if (why === null) return SEND;
  return inputs.resendOnRerun ? resend(jobId, why) : refuseUnknown(jobId, why);
}

/** Why an earlier attempt may have sent the message although no turn mentions it; null if none has. */
function whyUnknown(memory: Memory, own: Turn, conversation: number | null): Reason | null {
  if (memory === null) {
    return conversation === null
      ? ours('there is no pull request or issue with a comment')
      : ours('comment is false');
  }
  if (memory.kind === 'problem') return sentence`the comment cannot be read: ${memory.problem}`;
  if (!memory.value.isWhole) return ours('a comment of this action cannot be read');
  if (isTrimmed(memory.value.ledger, own)) return ours('the comment has no room for all messages');
  // A conversation that the event or `pr-number` names is the same in all attempts.
  return conversation !== null
    ? null
    : ours('the comment does not mention it, and the job may have had another pull request');
}

/** Whether turns for the message may be missing because there was no room. Those for a command are of any run. */
function isTrimmed({ trimmed }: Ledger, own: Turn): boolean {
  return trimmed !== null && (isCommand(own) || isSameOrOlderRun(own.runId, trimmed));
}

/**
 * Whether a turn says what became of the message, even if other turns are missing. `not-sent` does not if it is
 * of another use of the step or another leg, whose own message it was, or if it was withdrawn.
 */
function isSure(earlier: Turn, own: Turn): boolean {
  if (earlier.delivery !== 'not-sent') return true;
  const isSame = earlier.runId === own.runId && earlier.leg === own.leg;
  return isSame && earlier.promptHash === own.promptHash && !isWithdrawn(earlier);
}

function planAgain(job: LedgerJob, earlier: Turn, own: Turn, wait: boolean): Plan {
  if (earlier.delivery === 'not-sent') {
    // This run must not change the turn of another run, and a withdrawn one does not say what others have
    // sent, so it starts one of its own.
    const isOfRun = earlier.runId === own.runId && !isWithdrawn(earlier);
    return { kind: 'send', warning: '', earlier: isOfRun ? earlier : null };
  }
  return wait && hasEnded(earlier)
    ? { kind: 'ended', job, turn: earlier }
    : { kind: 'resume', turn: earlier, isOvertaken: isOvertaken(earlier, job.turns) };
}

function resend(jobId: string, why: Reason): Plan {
  const warning =
    `The message to job ${jobId} is sent, although this re-run cannot tell whether an earlier ` +
    `attempt sent it: ${reasonToText(why)} (resend-on-rerun).`;
  return { kind: 'send', warning, earlier: null };
}

function refuseUnknown(jobId: string, why: Reason): Plan {
  return refuse(
    'error',
    sentence`Nothing was sent to job ${jobId}: this re-run cannot tell whether an earlier attempt sent
      it, because ${why}. To send it, start a new run, write a new comment, or set
      ${'resend-on-rerun: true'}.`,
    true,
  );
}

/** In a re-run, nothing is sent to a job if it could not be polled to find its comment. */
function refuseUnpolled(jobId: string, giveUp: GiveUp): Plan {
  const nothing = sentence`Nothing was sent to job ${jobId} in this re-run: it could not be polled`;
  const unknown = ours('so the action cannot tell whether an earlier attempt sent it.');
  switch (giveUp.kind) {
    case 'refused':
    // It cannot occur: these polls go on when the send queue is stopped.
    case 'stopped':
      return refuse('error', sentence`${nothing}, ${unknown} ${giveUp.why}`);
    case 'timed-out':
      return refuse(
        'timed-out',
        join([sentence`${nothing} within timeout-minutes, ${unknown}`, giveUp.why]),
      );
    case 'cancelled':
      return refuse(
        'cancelled',
        sentence`The run was cancelled before it was known what an earlier attempt had sent to job
          ${jobId}; nothing was sent now.`,
      );
  }
}

function refuse(result: End['result'], reason: Reason, isUnknown = false): Plan {
  return { kind: 'refuse', end: { result, reason }, isUnknown };
}

/** How to poll a job without sending anything: it continues with the newest message that was sent. */
export function planReadOnly(memory: JobMemory, jobId: string, wait: boolean): Plan {
  const job = memory?.kind === 'ok' ? findJob(memory.value.ledger, jobId) : undefined;
  const turn = job?.turns.find(({ delivery }) => delivery !== 'not-sent');
  const isOpen = wait && turn !== undefined && turn.delivery === 'sent' && !hasEnded(turn);
  return { kind: 'read-only', turn: isOpen ? turn : null };
}

/** The first state of a planned job; `own` is the turn as this run would start it. */
export function stateOf(unplanned: JobState, plan: Plan, own: Turn, wait: boolean): JobState {
  const { jobId, isReadOnly } = unplanned;
  switch (plan.kind) {
    case 'ended': {
      const record = plan.job.record && { ...NO_RECORD, id: jobId, ...plan.job.record };
      return { ...unplanned, record, turn: takeOver(plan.turn, own) };
    }
    case 'resume': {
      const turn = takeOver(plan.turn, own);
      const base = plan.isOvertaken ? null : turn.base;
      return open({ ...turn, base }, turn.delivery === 'sent' ? 'sent' : 'unknown');
    }
    case 'read-only': {
      // A copy of the turn of an earlier run, which this run may change.
      const turn = plan.turn && { ...plan.turn, owner: own.owner, writes: 0 };
      return open(turn ?? own, turn?.delivery ?? 'not-sent');
    }
    case 'send':
      return open({ ...own, mark: plan.earlier?.mark ?? own.mark }, 'not-sent');
    case 'refuse':
      return open(own, 'not-sent');
  }

  function open(turn: Turn, delivery: Turn['delivery']): JobState {
    const now = reasonNow(delivery, isReadOnly, wait);
    const opened = { ...turn, delivery, ...now, confirmed: null, endedAt: null };
    return { ...unplanned, record: null, turn: opened };
  }
}

const NO_RECORD = { linkProblem: null, createdAt: null, archivedAt: null };

/** The turn of an earlier attempt, which this attempt continues. */
function takeOver(turn: Turn, { owner, ownerLeg, ownerPromptHash, attempt }: Turn): Turn {
  return { ...turn, owner, ownerLeg, ownerPromptHash, attempt, writes: 0 };
}

/** The state of a job before it is known what an earlier attempt has sent. */
export function unplannedState(jobId: string, own: Turn, isReadOnly: boolean): JobState {
  const unknown = {
    delivery: 'unknown',
    result: 'error',
    reason: ours('The run ended before it was known what an earlier attempt had sent.'),
  } as const;
  const now = isReadOnly ? reasonNow('not-sent', isReadOnly, true) : unknown;
  const turn = { ...own, ...now };
  return { jobId, isReadOnly, record: null, turn, polls: 0, firstSeenAt: null };
}
