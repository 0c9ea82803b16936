import * as z from 'zod/mini';
import { DELIVERIES, OUTCOMES } from '../outcome.ts';

// What the action remembers of a conversation, carried by its own comment in a hidden marker.

/** `sending` is written before the message goes out: what came of it is not known yet. */
const deliveries = ['sending', ...DELIVERIES] as const;
const nullableText = z.nullable(z.string());
const digits = z.string().check(z.regex(/^\d{0,20}$/));
const time = z.iso.datetime();

const turnSchema = z.object({
  /** Who asked for what, in which run: the same for every attempt of that run. */
  key: z.string(),
  /** Null where nobody in particular asked. */
  by: nullableText,
  /** The beginning of what went out. */
  prompt: z.string(),
  delivery: z.enum(deliveries),
  /** Null while the agent works. */
  outcome: z.nullable(z.enum(OUTCOMES)),
  confirmed: z.nullable(z.boolean()),
  prLinkChange: z.enum(['created', 'updated', 'none']),
  reason: z.string(),
  /** ISO 8601. */
  startedAt: time,
  /** When the service answered the message; null as long as it has not. */
  sentAt: z.nullable(time),
  /** From then to the end. */
  elapsedSeconds: z.nullable(z.number()),
  /** What the look before the message saw, so that another attempt can go on waiting. */
  base: z.nullable(
    z.object({ status: nullableText, prLink: nullableText, archivedAt: nullableText }),
  ),
  evidence: z.boolean(),
  runId: digits,
  runAttempt: digits,
});
export type LedgerTurn = Readonly<z.infer<typeof turnSchema>>;

const jobSchema = z.object({
  id: z.string().check(z.regex(/^(?!\.{1,2}$)[\w\-.~:@]{1,256}$/)),
  status: nullableText,
  model: nullableText,
  repository: nullableText,
  ref: nullableText,
  /** Checked before it came here. */
  prLink: nullableText,
  /** The newest first. */
  turns: z.array(turnSchema),
});
export type LedgerJob = Readonly<Omit<z.infer<typeof jobSchema>, 'turns'>> & {
  readonly turns: readonly LedgerTurn[];
};

const ledgerSchema = z.object({ projectId: z.string(), jobs: z.array(jobSchema) });
export interface Ledger {
  readonly projectId: string;
  readonly jobs: readonly LedgerJob[];
}

const MARKER = /^<!-- agent-follow-up:v(\d+) (\{[^<>]*\}) -->/;
const VERSION = '1';

/** Opens a comment that no later run reads, so that it too is known to be ours. */
export function toReportMarker(name: string): string {
  return `<!-- agent-follow-up:report ${name.replace(/[^\w:.]/g, '_')} -->`;
}

/** What a comment carries at its very start. */
export type Marker =
  | { readonly kind: 'ledger'; readonly ledger: Ledger }
  /** By a later version of this action, or edited by hand: to be left as it is. */
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'none' };

/** The marker that opens the comment. No text inside can end it. */
export function toMarker(ledger: Ledger): string {
  const json = JSON.stringify(ledger).replace(
    /[<>&\u007f-\u009f\u2028\u2029]|-(?=-)/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `<!-- agent-follow-up:v${VERSION} ${json} -->`;
}

/** Reads the marker of a project; a comment of another project has none. */
export function fromMarker(body: string, projectId: string): Marker {
  if (!body.startsWith('<!-- agent-follow-up:v')) return { kind: 'none' };
  const [, version, json = ''] = MARKER.exec(body) ?? [];
  try {
    const data: unknown = JSON.parse(json);
    if (isOfAnotherProject(data, projectId)) return { kind: 'none' };
    return version === VERSION
      ? { kind: 'ledger', ledger: ledgerSchema.parse(data) }
      : { kind: 'unreadable' };
  } catch {
    return { kind: 'unreadable' };
  }
}

function isOfAnotherProject(data: unknown, projectId: string): boolean {
  const named = z.object({ projectId: z.string() }).safeParse(data);
  return named.success && named.data.projectId !== projectId;
}

/** Puts our own turns into what stands in the comment by now. Others' turns stay as they are. */
export function merge(standing: Ledger, own: Ledger): Ledger {
  const others = standing.jobs.filter(({ id }) => findJob(own, id) === undefined);
  return {
    projectId: own.projectId,
    jobs: [...own.jobs.map((job) => mergeJob(findJob(standing, job.id), job)), ...others].sort(
      (one, other) => newest(other).localeCompare(newest(one)),
    ),
  };
}

function mergeJob(standing: LedgerJob | undefined, own: LedgerJob): LedgerJob {
  if (standing === undefined) return own;
  const kept = standing.turns.filter((turn) => !own.turns.some((one) => replaces(one, turn)));
  const keys = new Set(kept.map(({ key }) => key));
  const turns = [...own.turns.filter(({ key }) => !keys.has(key)), ...kept];
  return {
    ...(own.status === null ? standing : own),
    turns: turns.sort((one, other) => other.startedAt.localeCompare(one.startedAt)),
  };
}

/** Whether a ledger holds all turns of another just as they are there. */
export function contains(ledger: Ledger, own: Ledger): boolean {
  // The schema gives both sides the same order of fields.
  const canonical = (turn: LedgerTurn): string => JSON.stringify(turnSchema.parse(turn));
  return own.jobs.every((job) => {
    const standing = new Set(findJob(ledger, job.id)?.turns.map(canonical));
    return job.turns.every((turn) => standing.has(canonical(turn)));
  });
}

/** Whether our turn is the same one, and does not forget a message that may be out. */
function replaces(own: LedgerTurn, standing: LedgerTurn): boolean {
  if (own.key !== standing.key) return false;
  const mayBeOut =
    standing.delivery === 'sent' ||
    standing.delivery === 'unknown' ||
    (standing.delivery === 'sending' && standing.runAttempt !== own.runAttempt);
  return own.delivery !== 'not-sent' || !mayBeOut;
}

export function findJob(ledger: Ledger, id: string): LedgerJob | undefined {
  return ledger.jobs.find((job) => job.id === id);
}

function newest({ turns }: LedgerJob): string {
  return startOf(turns[0]);
}

function oldest({ turns }: LedgerJob): string {
  return startOf(turns.at(-1));
}

/** Empty for a job without turns, which comes after all others. */
function startOf(turn: LedgerTurn | undefined): string {
  return turn?.startedAt ?? '';
}

/**
 * Drops the oldest turns, and then the jobs that have not been spoken to for longest, until the
 * text is at most `limit` characters long. What is newest always stays.
 */
export function trim(
  ledger: Ledger,
  render: (ledger: Ledger) => string,
  limit: number,
): { readonly ledger: Ledger; readonly text: string } {
  let kept = ledger;
  for (;;) {
    const text = render(kept);
    const smaller = withoutOldest(kept);
    if (text.length <= limit || smaller === null) return { ledger: kept, text };
    kept = smaller;
  }
}

function withoutOldest(ledger: Ledger): Ledger | null {
  const long = ledger.jobs.filter(({ turns }) => turns.length > 1);
  const [first] = long.toSorted((one, other) => oldest(one).localeCompare(oldest(other)));
  if (first !== undefined) {
    const shorter = { ...first, turns: first.turns.slice(0, -1) };
    return { ...ledger, jobs: ledger.jobs.map((job) => (job === first ? shorter : job)) };
  }
  return ledger.jobs.length > 1 ? { ...ledger, jobs: ledger.jobs.slice(0, -1) } : null;
}
