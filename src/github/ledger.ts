import * as z from 'zod/mini';
import { DELIVERIES, OUTCOMES } from '../outcome.ts';
import { type Redact, redactStatus } from '../secrets.ts';

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
  result: z.nullable(z.enum(OUTCOMES)),
  confirmed: z.nullable(z.boolean()),
  prLinkChange: z.nullable(z.enum(['created', 'updated', 'none'])),
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

const ledgerSchema = z.object({
  projectId: z.string(),
  jobs: z.array(jobSchema),
  forgotten: z.optional(digits),
});
export interface Ledger {
  readonly projectId: string;
  readonly jobs: readonly LedgerJob[];
  /**
   * The newest run of which a turn had to be dropped whose message may be out: of that run and all
   * before it, a turn that is not here may have been.
   */
  readonly forgotten?: string | undefined;
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

/**
 * Takes out of a ledger that was read what is a secret by now: an earlier run may not have known it,
 * and who may edit comments may have edited this one. What a run has written itself stays the same.
 */
export function redactLedger(ledger: Ledger, redact: Redact): Ledger {
  const clean = (text: string | null): string | null => text && redact(text);
  const cleanStatus = (status: string | null): string | null =>
    status && redactStatus(status, redact);
  return {
    ...ledger,
    jobs: ledger.jobs.map((job) => ({
      ...job,
      status: cleanStatus(job.status),
      model: clean(job.model),
      repository: clean(job.repository),
      ref: clean(job.ref),
      prLink: clean(job.prLink),
      turns: job.turns.map((turn) => ({
        ...turn,
        by: clean(turn.by),
        prompt: redact(turn.prompt),
        reason: redact(turn.reason),
        base: turn.base && {
          status: cleanStatus(turn.base.status),
          prLink: clean(turn.base.prLink),
          archivedAt: clean(turn.base.archivedAt),
        },
      })),
    })),
  };
}

function isOfAnotherProject(data: unknown, projectId: string): boolean {
  const named = z.object({ projectId: z.string() }).safeParse(data);
  return named.success && named.data.projectId !== projectId;
}

/**
 * Puts our own turns into what stands in the comment by now. Others' turns stay as they are. A
 * turn that was skipped leaves nothing behind, for nothing was said to the agent; nor does a job
 * without any turn.
 */
export function merge(standing: Ledger, own: Ledger): Ledger {
  const others = standing.jobs.filter(({ id }) => findJob(own, id) === undefined);
  return {
    projectId: own.projectId,
    jobs: [...own.jobs.map((job) => mergeJob(findJob(standing, job.id), job)), ...others]
      .flatMap((job) => job.turns.slice(0, 1).map(({ startedAt }) => ({ job, startedAt })))
      .sort((one, other) => other.startedAt.localeCompare(one.startedAt))
      .map(({ job }) => job),
    forgotten: newerRun(standing.forgotten, own.forgotten),
  };
}

function newerRun(one: string | undefined, other: string | undefined): string | undefined {
  return isUpTo(one, other) ? other : one;
}

/** Whether a run is no newer than another; GitHub counts its runs upwards. */
export function isUpTo(run: string | undefined, other: string | undefined): boolean {
  return BigInt(run || 0) <= BigInt(other || 0);
}

function mergeJob(standing: LedgerJob | undefined, own: LedgerJob): LedgerJob {
  const before = standing?.turns ?? [];
  const kept = before.filter((turn) => !own.turns.some((one) => replaces(one, turn)));
  const keys = new Set(kept.map(({ key }) => key));
  const turns = [...own.turns.filter((turn) => !keys.has(turn.key) && !isSkipped(turn)), ...kept];
  return {
    ...(own.status === null && standing !== undefined ? standing : own),
    turns: turns.sort((one, other) => other.startedAt.localeCompare(one.startedAt)),
  };
}

function isSkipped({ result }: LedgerTurn): boolean {
  return result === 'skipped';
}

/** Whether a ledger holds all turns of another just as they are there, and none that it skipped. */
export function contains(ledger: Ledger, own: Ledger): boolean {
  // The schema gives both sides the same order of fields.
  const canonical = (turn: LedgerTurn): string => JSON.stringify(turnSchema.parse(turn));
  return own.jobs.every((job) => {
    const turns = findJob(ledger, job.id)?.turns ?? [];
    const standing = new Set(turns.map(canonical));
    return job.turns.every((turn) =>
      isSkipped(turn) ? turns.every(({ key }) => key !== turn.key) : standing.has(canonical(turn)),
    );
  });
}

/** Our own turns as another ledger has kept them; a turn that is not kept there is left out. */
export function ownPart(kept: Ledger, own: Ledger): Ledger {
  const jobs = own.jobs.map((job) => {
    const turns = findJob(kept, job.id)?.turns ?? [];
    const keptTurn = (turn: LedgerTurn): readonly LedgerTurn[] =>
      isSkipped(turn) ? [turn] : turns.filter(({ key }) => key === turn.key);
    return { ...job, turns: job.turns.flatMap(keptTurn) };
  });
  return { ...own, jobs };
}

/**
 * Whether our turn is the same one, and forgets neither a message that may be out, nor, in a re-run
 * that does not wait, how it ended.
 */
function replaces(own: LedgerTurn, standing: LedgerTurn): boolean {
  if (own.key !== standing.key) return false;
  if (own.result === 'sent' && hasEnded(standing)) return false;
  const mayBeOut =
    standing.delivery === 'sent' ||
    standing.delivery === 'unknown' ||
    (standing.delivery === 'sending' && standing.runAttempt !== own.runAttempt);
  return own.delivery !== 'not-sent' || !mayBeOut;
}

type EndedTurn = LedgerTurn & { readonly result: 'completed' | 'failed' | 'archived' };

/** Whether the end of a turn was seen. */
export function hasEnded(turn: LedgerTurn): turn is EndedTurn {
  return turn.result === 'completed' || turn.result === 'failed' || turn.result === 'archived';
}

export function findJob(ledger: Ledger, id: string): LedgerJob | undefined {
  return ledger.jobs.find((job) => job.id === id);
}

/** Characters of a prompt that remain when the room gets scarce. */
const SHORT_PROMPT = 80;

/**
 * Makes the text at most `limit` characters long: first prompts are shortened, the oldest first,
 * then the oldest turns go, and at last the jobs that have not been spoken to for longest. What
 * is newest always stays, and that something is gone which may have been sent is remembered.
 */
export function trim(
  ledger: Ledger,
  render: (ledger: Ledger) => string,
  limit: number,
): { readonly ledger: Ledger; readonly text: string } {
  const older = ledger.jobs
    .flatMap(({ turns }) => turns.slice(1))
    .toSorted((one, other) => one.startedAt.localeCompare(other.startedAt));
  const latest = ledger.jobs.flatMap(({ turns }) => turns.slice(0, 1)).reverse();
  const shortable = [...older, ...latest];
  const droppable = [...older, ...latest.slice(0, -1)];

  function reduced(steps: number): Ledger {
    const short = new Set(shortable.slice(0, steps));
    const dropped = new Set(droppable.slice(0, Math.max(0, steps - shortable.length)));
    const jobs = ledger.jobs.map((job) => ({
      ...job,
      turns: job.turns
        .filter((turn) => !dropped.has(turn))
        .map((turn) => (short.has(turn) ? { ...turn, prompt: shorten(turn.prompt) } : turn)),
    }));
    const forgotten = [...dropped]
      .filter(({ delivery }) => delivery !== 'not-sent')
      .map(({ runId }) => runId)
      .reduce(newerRun, ledger.forgotten);
    return { ...ledger, jobs: jobs.filter(({ turns }) => turns.length > 0), forgotten };
  }

  // The fewest steps that are enough, found by halving.
  let [tooFew, enough] = [-1, shortable.length + droppable.length];
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (render(reduced(middle)).length <= limit) enough = middle;
    else tooFew = middle;
  }
  const kept = reduced(enough);
  return { ledger: kept, text: render(kept) };
}

function shorten(prompt: string): string {
  return prompt.length <= SHORT_PROMPT
    ? prompt
    : `${prompt.slice(0, SHORT_PROMPT - 1).toWellFormed()}…`;
}
