import { quote } from '../text.ts';

// The state of a job for people to read, the same in comments, the summary and the log.

/** `underway`: the run still works on it. `calm`: it needs no attention. `bad`: it does. */
type Group = 'underway' | 'calm' | 'bad';

interface Row {
  readonly icon: string;
  readonly word: string;
  /** A constant: the runner does not mask the titles of annotations. */
  readonly title: string;
  readonly group: Group;
  /** Once a command has ended. */
  readonly next?: (command: string, createsJobs: boolean) => string | undefined;
}

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

function row(icon: string, word: string, title: string, group: Group, next?: Row['next']): Row {
  return { icon, word, title, group, ...(next && { next }) };
}

/** In this order: those that need attention come first. */
export const LABELS = {
  failed: row('❌', 'failed', 'Agent failed', 'bad', tryAgain),
  'delivery unknown': row('⚠️', 'delivery unknown', 'Delivery unknown', 'bad'),
  unreachable: row(
    '⚠️',
    'result unknown',
    'Result unknown: the status of the job cannot be read',
    'bad',
  ),
  'not-sent': row('⚠️', 'not sent', 'Message not sent', 'bad'),
  /** As `not-sent`, and no message to this job ever will be. */
  closed: row('⚠️', 'not sent', 'Message not sent', 'bad', beginAnew),
  unconfirmed: row('⚠️', 'unconfirmed', 'Result may be from before this message', 'bad', improve),
  'failure unconfirmed': row(
    '⚠️',
    'unconfirmed',
    'Agent failed, perhaps before this message',
    'bad',
    improve,
  ),
  limited: row('🛑', 'limit reached', 'Limit reached: message not sent', 'bad', resume),
  'still failing': row('🛑', 'still failing', 'The check still fails', 'bad', resume),
  'timed-out': row('⏱️', 'timed out', 'Timed out: the agent may still be working', 'bad'),
  cancelled: row('⏹️', 'stopped', 'Run stopped: the agent may still be working', 'bad'),
  archived: row('🗄️', 'archived', 'Agent job archived', 'bad', beginAnew),
  waiting: row('⏳', 'waiting', 'Agent is busy: message not sent yet', 'underway'),
  sending: row('⏳', 'sending', 'Sending a message to the agent', 'underway'),
  creating: row('⏳', 'creating', 'Creating an agent job', 'underway'),
  working: row('⏳', 'working', 'Agent is working', 'underway'),
  sent: row('📨', 'sent', 'Message sent to the agent', 'calm'),
  completed: row('✅', 'completed', 'Agent completed', 'calm', improve),
  skipped: row('⏭️', 'skipped', 'Job skipped: no message sent', 'calm'),
};
export type Label = keyof typeof LABELS;
export const LABEL_NAMES = Object.keys(LABELS) as Label[];

export function isUnderway(label: Label): boolean {
  return LABELS[label].group === 'underway';
}

export function isBad(label: Label): boolean {
  return LABELS[label].group === 'bad';
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
