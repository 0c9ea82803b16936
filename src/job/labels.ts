// The state of a job for people to read, the same in comments, the summary and the log.

const IMPROVE = 'Not right? Comment “{command}” and what to change.';
/** Where nothing changed, nothing can be wrong. */
export const ASK_FOR_MORE = 'Comment “{command}” and what is missing.';
const TRY_AGAIN = 'Comment “{command} try again” to try again.';
const RESUME = 'To go on, comment “{command}” and what to do.';
/** Only where a command begins a job. */
export const BEGIN_ANEW = 'Comment on a new issue to begin a new job.';

/** `title`: without texts by others, which the runner does not mask. `next`: after a command. */
function row(icon: string, word: string, title: string, next = '') {
  return { icon, word, title, next };
}

const BAD = {
  failed: row('❌', 'failed', 'Agent failed', TRY_AGAIN),
  'delivery unknown': row('⚠️', 'delivery unknown', 'Delivery unknown'),
  unreachable: row('⚠️', 'result unknown', 'Result unknown: the status of the job cannot be read'),
  'not-sent': row('⚠️', 'not sent', 'Message not sent'),
  /** As `not-sent`, and no message to this job ever will be. */
  closed: row('⚠️', 'not sent', 'Message not sent', BEGIN_ANEW),
  unconfirmed: row('⚠️', 'unconfirmed', 'Result may be from before this message', IMPROVE),
  'failed before': row('⚠️', 'unconfirmed', 'Agent failed, perhaps before this message', IMPROVE),
  limited: row('🛑', 'limit reached', 'Limit reached: message not sent', RESUME),
  'still failing': row('🛑', 'still failing', 'The check still fails', RESUME),
  'timed-out': row('⏱️', 'timed out', 'Timed out: the agent may still be working'),
  cancelled: row('⏹️', 'stopped', 'Run stopped: the agent may still be working'),
  archived: row('🗄️', 'archived', 'Agent job archived', BEGIN_ANEW),
};
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
  completed: row('✅', 'completed', 'Agent completed', IMPROVE),
  skipped: row('⏭️', 'skipped', 'Job skipped: no message sent'),
};
export type Label = keyof typeof LABELS;
export const LABEL_NAMES = Object.keys(LABELS) as Label[];

export function isUnderway(label: Label): boolean {
  return label in UNDERWAY;
}

export function isBad(label: Label): boolean {
  return label in BAD;
}

export function countLabels(labels: readonly Label[]): string {
  return [...Map.groupBy(labels.toSorted(byAttention), (label) => LABELS[label].word)]
    .map(([word, { length }]) => `${length} ${word}`)
    .join(', ');
}

export function byAttention(one: Label, other: Label): number {
  return LABEL_NAMES.indexOf(one) - LABEL_NAMES.indexOf(other);
}
