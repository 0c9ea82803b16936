import { deliveryOf, type Job } from './job.ts';

// The state of a job for people to read, the same in comments, the summary and the log: an icon and a word, and a title for a
// single job.

/** In this order: those that need attention come first. */
export const WORDS = {
  failed: ['❌', 'failed', 'Agent failed'],
  'delivery unknown': ['⚠️', 'delivery unknown', 'Delivery unknown'],
  unreachable: ['⚠️', 'result unknown', 'Result unknown: the agent job cannot be polled'],
  'not-sent': ['⚠️', 'not sent', 'Message not sent'],
  unconfirmed: ['⚠️', 'unconfirmed', 'Result may be from earlier work'],
  limited: ['🛑', 'limit reached', 'Limit reached: message not sent'],
  'timed-out': ['⏱️', 'timed out', 'Timed out: the agent may still be working'],
  cancelled: ['⏹️', 'cancelled', 'Run cancelled: the agent may still be working'],
  archived: ['🗄️', 'archived', 'Agent job archived'],
  waiting: ['⏳', 'waiting', 'Waiting for earlier work: message not sent yet'],
  sending: ['⏳', 'sending', 'Sending a message to the agent'],
  creating: ['⏳', 'creating', 'Creating an agent job'],
  working: ['⏳', 'working', 'Agent is working'],
  sent: ['📨', 'sent', 'Message sent to the agent'],
  completed: ['✅', 'completed', 'Agent completed'],
  skipped: ['⏭️', 'skipped', 'Job skipped: no message sent'],
} as const satisfies Readonly<Record<string, readonly [icon: string, word: string, title: string]>>;
export type Kind = keyof typeof WORDS;
const KINDS: readonly string[] = Object.keys(WORDS);

/** Jobs that this run still works on. */
export const OPEN: ReadonlySet<Kind> = new Set(['waiting', 'sending', 'creating', 'working']);
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

export function kindOf(job: Job): Kind {
  const { end, isReadOnly, isWaiting } = job;
  const isSent = isReadOnly || job.message.kind === 'sent';
  if (end === undefined) {
    if (isWaiting) return 'waiting';
    if (isSent) return 'working';
    return job.id === '' ? 'creating' : 'sending';
  }
  if (end.limit !== undefined) return 'limited';
  switch (end.result) {
    case 'active':
      return 'working';
    case 'completed':
    case 'failed':
      return end.confirmed === false ? 'unconfirmed' : end.result;
    case 'error':
    case 'timed-out':
    case 'cancelled':
      if (!isSent) return deliveryOf(job) === 'unknown' ? 'delivery unknown' : 'not-sent';
      return end.result === 'error' ? 'unreachable' : end.result;
    case 'archived':
    case 'sent':
      return end.result;
    case 'skipped':
      return end.isStopped ? 'not-sent' : 'skipped';
  }
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
