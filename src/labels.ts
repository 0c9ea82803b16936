import { type Job, statusOf } from './job.ts';

// The state of a job for people to read, the same everywhere: an icon and a word, a title for a single
// job, and a few words of detail.

/** In this order: those that need attention come first. */
export const WORDS = {
  failed: ['❌', 'failed', 'Agent failed'],
  unknown: ['⚠️', 'unknown', 'Result unknown'],
  'not-sent': ['⚠️', 'not sent', 'Message not sent'],
  unconfirmed: ['⚠️', 'unconfirmed', 'Agent stopped: perhaps not this message'],
  'timed-out': ['⏱️', 'timed out', 'Wait timed out'],
  cancelled: ['⏹️', 'cancelled', 'Run cancelled'],
  archived: ['🗄️', 'archived', 'Agent job archived'],
  waiting: ['⏳', 'waiting', 'Waiting for earlier work'],
  sending: ['⏳', 'sending', 'Message to the agent'],
  working: ['⏳', 'working', 'Agent is working'],
  sent: ['📨', 'sent', 'Message sent to the agent'],
  completed: ['✅', 'completed', 'Agent completed'],
  skipped: ['⏭️', 'skipped', 'Message skipped'],
} as const satisfies Readonly<Record<string, readonly [icon: string, word: string, title: string]>>;
export type Kind = keyof typeof WORDS;
const KINDS: readonly string[] = Object.keys(WORDS);

/** Jobs that this run still works on. */
export const OPEN: ReadonlySet<Kind> = new Set(['waiting', 'sending', 'working']);
/** Jobs that need no attention. */
export const CALM: ReadonlySet<Kind> = new Set([...OPEN, 'sent', 'completed', 'skipped']);

export function iconOf(kind: Kind): string {
  return WORDS[kind][0];
}

export function wordOf(kind: Kind): string {
  return WORDS[kind][1];
}

/** A constant: the runner does not mask the titles of annotations. */
export function titleOf(kind: Kind): string {
  return WORDS[kind][2];
}

export function kindOf({ end, delivery, isReadOnly, isWaiting, isPosting }: Job): Kind {
  if (end === null) {
    if (isWaiting) return 'waiting';
    return delivery === 'sent' || isReadOnly ? 'working' : 'sending';
  }
  switch (end.result) {
    case 'active':
      return 'working';
    case 'completed':
      return end.confirmed === false ? 'unconfirmed' : 'completed';
    case 'error':
      if (delivery === 'sending' && !isPosting) return 'not-sent';
      return isReadOnly || delivery !== 'not-sent' ? 'unknown' : 'not-sent';
    default:
      return end.result;
  }
}

/** What the title does not say; empty if it says everything. */
export function detailOf(job: Job): string {
  const { end, delivery, isReadOnly, isPosting } = job;
  const isSent = isReadOnly || delivery === 'sent';
  switch (kindOf(job)) {
    case 'failed':
      return end?.confirmed === false ? 'perhaps on an earlier message' : '';
    case 'unknown':
      return isSent ? 'the job can no longer be polled' : IN_DOUBT;
    case 'timed-out':
      if (!isSent) return 'message not sent';
      return statusOf(job) === 'active' ? 'the agent is still working' : 'not confirmed';
    case 'cancelled':
      if (isSent) return '';
      return delivery === 'unknown' || isPosting ? IN_DOUBT : 'message not sent';
    default:
      return '';
  }
}

const IN_DOUBT = 'the message may or may not have been delivered';

/** For example `timed out, the agent is still working`. */
export function inWords(job: Job): string {
  const detail = detailOf(job);
  return wordOf(kindOf(job)) + (detail === '' ? '' : `, ${detail}`);
}

/** The number of jobs with each word, for example `7 failed, 51 completed`. */
export function countKinds(kinds: readonly Kind[], separator = ', '): string {
  return [...Map.groupBy(kinds.toSorted(byAttention), wordOf)]
    .map(([word, { length }]) => `${length} ${word}`)
    .join(separator);
}

export function byAttention(one: Kind, other: Kind): number {
  return KINDS.indexOf(one) - KINDS.indexOf(other);
}
