import { isFinal, type JobState, type Turn } from './turn.ts';

// The state of a job for people to read, the same everywhere: an icon and a word, a title for a single
// job, and a few words of detail.

export interface Label {
  readonly kind: Kind;
  readonly icon: string;
  readonly word: string;
  /** A constant: the runner does not mask the titles of annotations. */
  readonly title: string;
  /** After a number of jobs. */
  readonly phrase: string;
  /** Empty if the title says everything. */
  readonly detail: string;
}

/** In this order: those that need attention come first. */
export const WORDS = {
  failed: ['❌', 'failed', 'Agent failed', 'failed'],
  unknown: ['⚠️', 'unknown', 'Result unknown', 'with an unknown result'],
  'not-sent': ['⚠️', 'not sent', 'Message not sent', 'without a message'],
  'timed-out': ['⏱️', 'timed out', 'Wait timed out', 'timed out'],
  cancelled: ['⏹️', 'cancelled', 'Run cancelled', 'cancelled'],
  archived: ['🗄️', 'archived', 'Agent job archived', 'archived'],
  sending: ['⏳', 'sending', 'Sending the message to the agent', 'about to get the message'],
  working: ['⏳', 'working', 'Agent is working', 'working'],
  sent: ['📨', 'sent', 'Message sent to the agent', 'got the message'],
  completed: ['✅', 'completed', 'Agent completed', 'completed'],
  skipped: ['⏭️', 'skipped', 'Message skipped', 'skipped'],
} as const satisfies Readonly<
  Record<string, readonly [icon: string, word: string, title: string, phrase: string]>
>;
export type Kind = keyof typeof WORDS;
const KINDS: readonly string[] = Object.keys(WORDS);

function toLabel(kind: Kind, detail: string): Label {
  const [icon, word, title, phrase] = WORDS[kind];
  return { kind, icon, word, title, phrase, detail };
}

export function labelOfState({ isReadOnly, record, turn }: JobState): Label {
  return labelOf(turn, record?.status ?? null, isReadOnly);
}

/** `status` is the current status of the job. */
export function labelOf(turn: Turn, status: string | null, isReadOnly = false): Label {
  const kind = kindOf(turn, isReadOnly);
  return toLabel(kind, detailOf(kind, turn, status, isReadOnly));
}

/** The label of a turn that later turns followed. If its end was not polled, it is not known. */
export function labelOfEarlier(turn: Turn): Label {
  if (turn.endedAt !== null) return labelOf(turn, null);
  return turn.delivery === 'sent' ? toLabel('sent', '') : toLabel('unknown', IN_DOUBT);
}

/** The label of a job that nothing was sent to. */
export function labelOfStatus(status: string | null): Label {
  if (isFinal(status)) return toLabel(status, '');
  return toLabel(status === 'active' ? 'working' : 'unknown', '');
}

function kindOf({ result, delivery, endedAt }: Turn, isReadOnly: boolean): Kind {
  if (endedAt === null && !isReadOnly) return delivery === 'sent' ? 'working' : 'sending';
  if (result === 'active') return 'working';
  if (result !== 'error') return result;
  return isReadOnly || delivery === 'sent' || delivery === 'unknown' ? 'unknown' : 'not-sent';
}

function detailOf(
  kind: Kind,
  { delivery, confirmed, prLinkChange }: Turn,
  status: string | null,
  isReadOnly: boolean,
): string {
  switch (kind) {
    case 'completed':
      // If it is not confirmed, the link may belong to an earlier turn.
      if (confirmed === false) return UNCONFIRMED;
      return isReadOnly || prLinkChange === null ? '' : CHANGES[prLinkChange];
    case 'failed':
      return confirmed === false ? 'possibly on an earlier message' : '';
    case 'timed-out':
      if (!isReadOnly && delivery !== 'sent') return 'message not sent';
      if (status === null) return 'the agent may still be working';
      return isFinal(status) ? 'not confirmed' : 'the agent is still working';
    case 'cancelled':
      return isReadOnly ? STOPPED : CANCELLED[delivery];
    case 'unknown':
      if (isReadOnly) return 'the job could not be polled';
      return delivery === 'sent' ? 'the job can no longer be polled' : IN_DOUBT;
    default:
      return '';
  }
}

export const UNCONFIRMED = 'unconfirmed';
const CHANGES = {
  created: 'pull request created',
  updated: 'pull request updated',
  none: 'no files changed',
} as const;
const STOPPED = 'stopped waiting, the agent keeps working';
const IN_DOUBT = 'the message may or may not have been delivered';
const CANCELLED = {
  sending: IN_DOUBT,
  sent: STOPPED,
  'not-sent': 'message not sent',
  unknown: IN_DOUBT,
} as const;

/** For example `completed, pull request updated`. */
export function inWords({ word, detail }: Label): string {
  return detail === '' ? word : `${word}, ${detail}`;
}

/** The number of jobs with each word, for example `7 failed, 51 completed`. */
export function countLabels(labels: readonly Label[], separator = ', '): string {
  const words = labels.toSorted(byAttention).map(({ word }) => word);
  return [...Map.groupBy(words, (word) => word)]
    .map(([word, { length }]) => `${length} ${word}`)
    .join(separator);
}

export function byAttention(one: Label, other: Label): number {
  return KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind);
}
