import type { GiveUp } from '../agent/client.ts';
import type { Inputs } from '../inputs.ts';
import { followsUnfinished, isOvertaken, type LedgerJob } from '../memory/ledger.ts';
import { join, NO_REASON, ours, type Reason, sentence } from '../reason.ts';
import { isFinal, type JobState, type Status, type Turn } from '../turn.ts';

// The result of a job, and the sentence that explains it.

export interface End extends Pick<Turn, 'result' | 'reason'> {
  /** Whether the final status certainly belongs to the message. */
  readonly isConfirmed?: boolean;
}

/** The job is in a status in which it does not get the message. */
export interface Unwanted {
  readonly kind: 'unwanted';
  readonly onlyWhen: ReadonlySet<Status>;
}

const IT_MAY_HAVE_ARRIVED = ours(
  'The message may or may not have been delivered; it was not sent again. Check the job before you ' +
    'send it again.',
);

/** What is true if the process is killed now. */
export function reasonNow(delivery: Turn['delivery'], isReadOnly: boolean, wait: boolean): End {
  if (isReadOnly) {
    return { result: 'error', reason: ours('The run ended while the job was being polled.') };
  }
  switch (delivery) {
    case 'not-sent':
    case 'sending':
      return { result: 'error', reason: ours('The run ended before the message was sent.') };
    case 'unknown':
      return {
        result: 'error',
        reason: ours(
          'The run ended while the message was being sent. Check the job before you send it again.',
        ),
      };
    case 'sent':
      return {
        result: 'sent',
        reason: ours(wait ? 'The run ended before the agent was done.' : ''),
      };
  }
}

/** The job has a final status that counts as the end of the turn. It is confirmed if `doubt` is empty. */
export function done({ jobId, record }: JobState, doubt: Reason): End {
  const isConfirmed = doubt.length === 0;
  switch (record?.status) {
    case 'completed': {
      const completed = isConfirmed ? NO_REASON : sentence`Job ${jobId} is completed.`;
      return { result: 'completed', isConfirmed, reason: join([completed, doubt]) };
    }
    case 'archived': {
      const archived = sentence`Job ${jobId} was archived, so the agent does not work on it.`;
      return { result: 'archived', isConfirmed, reason: join([archived, doubt]) };
    }
    default: {
      const failed = sentence`The agent failed on job ${jobId}.`;
      const check = ours('The API does not say why; check the job in the Mintlify dashboard.');
      return { result: 'failed', isConfirmed, reason: join([failed, doubt, check]) };
    }
  }
}

/** The state after the comment was read again: the final status may belong to a message of another run. */
export function reviewState(state: JobState, { turns }: LedgerJob): JobState {
  const { turn } = state;
  const isFollowed = isOvertaken(turn, turns);
  if (turn.confirmed !== true || !(isFollowed || followsUnfinished(turn, turns))) return state;
  const { reason } = done(state, isFollowed ? OVERTAKEN : FOLLOWS_UNFINISHED);
  return { ...state, turn: { ...turn, confirmed: false, reason } };
}

/** Another run or a later attempt sends the same message; `other` is null if it is not known which one. */
export function handledElsewhere(jobId: string, own: Turn, other: Turn | null): End {
  const isLater = other !== null && other.runId === own.runId && other.attempt > own.attempt;
  const who =
    other === null ? ours('another run, step or matrix job') : sentence`run ${other.runId}`;
  const why = isLater
    ? ours('a later attempt of this run has begun')
    : sentence`${who} handles the same comment`;
  return { result: 'skipped', reason: sentence`Nothing was sent to job ${jobId}: ${why}.` };
}

export const OVERTAKEN = ours(
  'Another message was sent to it since: this is possibly the answer to that one.',
);

/** A doubt: the agent may have started on an earlier message after ours was sent. */
const FOLLOWS_UNFINISHED = ours(
  'An earlier message to it has no confirmed end: this is possibly the answer to that one.',
);

/** Why a final status may not belong to our message. */
export function doubtOf({ base, sentAt }: Turn, settleMs: number): Reason {
  if (sentAt === null) return NO_REASON;
  if (base === null) {
    return ours(
      'Its status before the message is not known: this is possibly from an earlier turn. Check ' +
        'the job.',
    );
  }
  return ours(
    isFinal(base.status)
      ? `It showed that before the message, and still ${span(settleMs)} after it (settle-seconds): ` +
          'this is possibly from the earlier turn. Check the job.'
      : 'The agent was already working when the message was sent: this is possibly the end of that work.',
  );
}

export function timedOut(
  { jobId, record }: JobState,
  { timeoutMs }: Pick<Inputs, 'timeoutMs'>,
  lastMiss: Reason,
): End {
  const status = record?.status ?? null;
  const limit = ours(`${span(timeoutMs)} (timeout-minutes)`);
  const said = isFinal(status)
    ? sentence`Job ${jobId} is ${status}, but within ${limit} it was not confirmed that this
        status belongs to the message. Check the job; timeout-minutes should be well above settle-seconds.`
    : sentence`The agent was not done with job ${jobId} within ${limit}; its status is
        ${status ?? ours('not known')}, and the agent ${ours(status === null ? 'may keep' : 'keeps')}
        working. Raise timeout-minutes, or wait in a later run with send: false and wait: true.`;
  const miss = lastMiss.length === 0 ? NO_REASON : sentence`The last poll failed: ${lastMiss}`;
  return { result: 'timed-out', reason: join([said, miss]) };
}

/** Too many polls failed. */
export function lost({ jobId, isReadOnly }: JobState, failures: number, why: Reason): End {
  const count = ours(failures === 1 ? '' : ` (${failures} polls failed in a row)`);
  return {
    result: 'error',
    reason: isReadOnly
      ? sentence`Job ${jobId} cannot be polled${count}. ${why}`
      : sentence`The message was delivered, but job ${jobId} can no longer be polled${count}. ${why}
          The agent may keep working; check the job, or wait in a later run with send: false and
          wait: true.`,
  };
}

export function stoppedWaiting({ isReadOnly }: JobState): End {
  const when = isReadOnly ? '' : ' after the message was delivered';
  const again = isReadOnly ? '' : ' A re-run continues to wait if the comment shows the message.';
  return {
    result: 'cancelled',
    reason: ours(`The run was cancelled${when}: stopped waiting; the agent keeps working.${again}`),
  };
}

/** It is not known whether the message was delivered. */
export function doubtful(why: Reason, isCancelled: boolean): End {
  const cancelled = ours('The run was cancelled while the message was being sent.');
  return isCancelled
    ? { result: 'cancelled', reason: join([cancelled, IT_MAY_HAVE_ARRIVED]) }
    : { result: 'error', reason: sentence`${why} ${IT_MAY_HAVE_ARRIVED}` };
}

/** The message was certainly not sent or, with `send: false`, the job could not be polled. */
export function notSent(
  { jobId, isReadOnly, record }: JobState,
  { timeoutMs }: Pick<Inputs, 'timeoutMs'>,
  cause: GiveUp | Unwanted,
): End {
  const nothing = isReadOnly
    ? sentence`Job ${jobId} could not be polled`
    : sentence`Nothing was sent to job ${jobId}`;
  switch (cause.kind) {
    case 'refused':
      return { result: 'error', reason: sentence`${nothing}. ${cause.why}` };
    case 'stopped':
      return {
        result: 'skipped',
        reason: sentence`${nothing}, because the API accepts no more messages for now. ${cause.why}`,
      };
    case 'unwanted': {
      const status = record?.status ?? ours('in an unknown status');
      const wanted = ours([...cause.onlyWhen].join(', '));
      return {
        result: 'skipped',
        reason: sentence`${nothing}: it is ${status}, and only-when is ${wanted}.`,
      };
    }
    case 'timed-out': {
      const limit = ours(`${span(timeoutMs)} (timeout-minutes)`);
      const late = sentence`${nothing} within ${limit}.`;
      return { result: 'timed-out', reason: join([late, cause.why]) };
    }
    case 'cancelled': {
      const what = isReadOnly ? sentence`job ${jobId} was polled` : ours('the message was sent');
      return { result: 'cancelled', reason: sentence`The run was cancelled before ${what}.` };
    }
  }
}

function span(ms: number): string {
  if (ms < 60_000) return `${Math.round(ms) / 1000} s`;
  const minutes = Math.round(ms / 600) / 100;
  return minutes === 1 ? '1 minute' : `${minutes} minutes`;
}
