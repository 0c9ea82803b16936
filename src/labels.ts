import { isFinal, type Turn } from './turn.ts';

// How a job stands, in the words in which people are told of it everywhere: an icon and a word, a title
// where it stands alone, and what more there is to say in a few words.

/** What needs attention first. */
export const KINDS = [
  'failed',
  'unknown',
  'not-sent',
  'timed-out',
  'cancelled',
  'archived',
  'sending',
  'working',
  'sent',
  'completed',
  'skipped',
] as const;
export type Kind = (typeof KINDS)[number];

export interface Label {
  readonly kind: Kind;
  readonly icon: string;
  readonly word: string;
  /** A constant: the runner does not mask the titles of annotations. */
  readonly title: string;
  /** After a number of jobs. */
  readonly phrase: string;
  /** Empty where the title says it all. */
  readonly detail: string;
}

const WORDS: Readonly<Record<Kind, Omit<Label, 'kind' | 'detail'>>> = {
  failed: { icon: '❌', word: 'failed', title: 'Agent failed', phrase: 'failed' },
  unknown: {
    ...{ icon: '⚠️', word: 'unknown', title: 'Result unknown' },
    phrase: 'with an unknown result',
  },
  'not-sent': {
    ...{ icon: '⚠️', word: 'not sent', title: 'Message not sent' },
    phrase: 'without a message',
  },
  'timed-out': { icon: '⏱️', word: 'timed out', title: 'Wait timed out', phrase: 'timed out' },
  cancelled: { icon: '⏹️', word: 'cancelled', title: 'Run cancelled', phrase: 'cancelled' },
  archived: { icon: '🗄️', word: 'archived', title: 'Agent job archived', phrase: 'archived' },
  sending: {
    ...{ icon: '⏳', word: 'sending', title: 'Sending the message to the agent' },
    phrase: 'about to get the message',
  },
  working: { icon: '⏳', word: 'working', title: 'Agent is working', phrase: 'working' },
  sent: {
    ...{ icon: '📨', word: 'sent', title: 'Message sent to the agent' },
    phrase: 'got the message',
  },
  completed: { icon: '✅', word: 'completed', title: 'Agent completed', phrase: 'completed' },
  skipped: { icon: '⏭️', word: 'skipped', title: 'Message skipped', phrase: 'skipped' },
};

type Facts = Pick<Turn, 'result' | 'delivery' | 'confirmed' | 'prLinkChange' | 'endedAt'>;

/** `status` is that of the job by now; `isLook` if nothing was to be sent. */
export function labelOf(turn: Facts, status: string | null, isLook = false): Label {
  const kind = kindOf(turn, isLook);
  return { kind, ...WORDS[kind], detail: detailOf(kind, turn, status, isLook) };
}

/** Of a turn that others came after. Where its end was not seen, nobody knows it any more. */
export function labelOfEarlier(turn: Facts & Pick<Turn, 'startedAt'>): Label {
  const { endedAt, startedAt, delivery } = turn;
  if (endedAt !== null) return labelOf(turn, null);
  return delivery === 'sent'
    ? labelOf({ ...turn, endedAt: startedAt, result: 'sent' }, null)
    : labelOf({ ...turn, endedAt: startedAt, result: 'error', delivery: 'unknown' }, null);
}

/** Of a job that nothing was sent to. */
export function labelOfStatus(status: string | null): Label {
  const kind = STATUS_KINDS.get(status) ?? 'unknown';
  return { kind, ...WORDS[kind], detail: '' };
}

const STATUS_KINDS: ReadonlyMap<string | null, Kind> = new Map([
  ['active', 'working'],
  ['completed', 'completed'],
  ['archived', 'archived'],
  ['failed', 'failed'],
]);

function kindOf({ result, delivery, endedAt }: Facts, isLook: boolean): Kind {
  if (endedAt === null && !isLook) return delivery === 'sent' ? 'working' : 'sending';
  if (result === 'active') return 'working';
  if (result !== 'error') return result;
  return isLook || delivery === 'sent' || delivery === 'unknown' ? 'unknown' : 'not-sent';
}

function detailOf(
  kind: Kind,
  { delivery, confirmed, prLinkChange }: Facts,
  status: string | null,
  isLook: boolean,
): string {
  switch (kind) {
    case 'completed':
      // Without a confirmation the link may be the earlier turn's.
      if (confirmed === false) return UNCONFIRMED;
      return isLook || prLinkChange === null ? '' : CHANGES[prLinkChange];
    case 'failed':
      return confirmed === false ? 'possibly on an earlier message' : '';
    case 'timed-out':
      if (!isLook && delivery !== 'sent') return 'message not sent';
      if (status === null) return 'the agent may still be working';
      return isFinal(status) ? 'not confirmed' : 'the agent is still working';
    case 'cancelled':
      return isLook ? STOPPED : CANCELLED[delivery];
    case 'unknown':
      if (isLook) return 'the job could not be read';
      return delivery === 'sent' ? 'the job can no longer be watched' : IN_DOUBT;
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
const STOPPED = 'stopped watching, the agent keeps working';
const IN_DOUBT = 'the message may or may not have been delivered';
const CANCELLED = {
  sending: IN_DOUBT,
  sent: STOPPED,
  'not-sent': 'message not sent',
  unknown: IN_DOUBT,
} as const;

/** In one line: `completed, pull request updated`. */
export function inWords({ word, detail }: Label): string {
  return detail === '' ? word : `${word}, ${detail}`;
}

/** How many there are of each word, what needs attention first: `7 failed, 51 completed`. */
export function countLabels(labels: readonly Label[], separator = ', '): string {
  const words = labels.toSorted(byAttention).map(({ word }) => word);
  return [...Map.groupBy(words, (word) => word)]
    .map(([word, { length }]) => `${length} ${word}`)
    .join(separator);
}

export function byAttention(one: Label, other: Label): number {
  return KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind);
}
