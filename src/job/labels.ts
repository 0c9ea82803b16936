import { quote } from '../text.ts';

// The state of a job for people to read, the same in comments, the summary and the log.

const improve = (command: string): string =>
  `Not right? Comment ${quote(command)} and what to change.`;
/** Where nothing changed, nothing can be wrong. */
export const askForMore = (command: string): string =>
  `Comment ${quote(command)} and what is missing.`;
const tryAgain = (command: string): string =>
  `Comment ${quote(`${command} try again`)} to try again.`;
const resume = (command: string): string => `To go on, comment ${quote(command)} and what to do.`;
const beginAnew = (_: string, createsJobs: boolean): string | undefined =>
  createsJobs ? 'Comment on a new issue to begin a new job.' : undefined;

/**
 * `title`: a constant, because the runner does not mask the titles of annotations. `next`: once a
 * command has ended.
 */
function row(
  icon: string,
  word: string,
  title: string,
  next?: (command: string, createsJobs: boolean) => string | undefined,
) {
  return { icon, word, title, next };
}

const BAD = {
  failed: row('❌', 'failed', 'Agent failed', tryAgain),
  'delivery unknown': row('⚠️', 'delivery unknown', 'Delivery unknown'),
  unreachable: row('⚠️', 'result unknown', 'Result unknown: the status of the job cannot be read'),
  'not-sent': row('⚠️', 'not sent', 'Message not sent'),
  /** As `not-sent`, and no message to this job ever will be. */
  closed: row('⚠️', 'not sent', 'Message not sent', beginAnew),
  unconfirmed: row('⚠️', 'unconfirmed', 'Result may be from before this message', improve),
  'failure unconfirmed': row(
    '⚠️',
    'unconfirmed',
    'Agent failed, perhaps before this message',
    improve,
  ),
  limited: row('🛑', 'limit reached', 'Limit reached: message not sent', resume),
  'still failing': row('🛑', 'still failing', 'The check still fails', resume),
  'timed-out': row('⏱️', 'timed out', 'Timed out: the agent may still be working'),
  cancelled: row('⏹️', 'stopped', 'Run stopped: the agent may still be working'),
  archived: row('🗄️', 'archived', 'Agent job archived', beginAnew),
};
/** The run still works on it. */
const UNDERWAY = {
  waiting: row('⏳', 'waiting', 'Agent is busy: message not sent yet'),
  sending: row('⏳', 'sending', 'Sending a message to the agent'),
  creating: row('⏳', 'creating', 'Creating an agent job'),
  working: row('⏳', 'working', 'Agent is working'),
};
/** In this order: those that need attention come first. */
export const LABELS = {
  ...BAD,
  ...UNDERWAY,
  sent: row('📨', 'sent', 'Message sent to the agent'),
  completed: row('✅', 'completed', 'Agent completed', improve),
  skipped: row('⏭️', 'skipped', 'Job skipped: no message sent'),
};
export type Label = keyof typeof LABELS;
export const LABEL_NAMES = Object.keys(LABELS) as Label[];

export function isUnderway(label: Label): boolean {
  return label in UNDERWAY;
}

/** It needs attention. */
export function isBad(label: Label): boolean {
  return label in BAD;
}

/** `7 failed, 51 completed` */
export function countLabels(labels: readonly Label[]): string {
  return [...Map.groupBy(labels.toSorted(byAttention), (label) => LABELS[label].word)]
    .map(([word, { length }]) => `${length} ${word}`)
    .join(', ');
}

export function byAttention(one: Label, other: Label): number {
  return LABEL_NAMES.indexOf(one) - LABEL_NAMES.indexOf(other);
}
