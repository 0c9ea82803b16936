import * as z from 'zod/mini';
import type { Redact } from '../runner/secrets.ts';
import { oneLine } from '../sanitize.ts';
import {
  DELIVERIES,
  hasEnded,
  type JobRecord,
  newTurn,
  RESULTS,
  redactStatus,
  type Turn,
} from '../turn.ts';

// What the action remembers of a conversation, carried by its own comment in a hidden marker.

/** What is remembered of a job. */
export interface LedgerJob {
  readonly id: string;
  /** As it was shown last; null if it never was. */
  readonly record: LedgerRecord | null;
  /** The newest first. */
  readonly turns: readonly Turn[];
}
export type LedgerRecord = Pick<JobRecord, 'status' | 'model' | 'source' | 'prLink'>;

/** What is worth remembering of a record: one line of each text. */
export function toLedgerRecord({ status, model, source, prLink }: JobRecord): LedgerRecord {
  const short = (text: string | null): string | null => (text === null ? null : oneLine(text));
  return {
    status,
    model: short(model),
    source: source && { repository: oneLine(source.repository), ref: short(source.ref) },
    prLink,
  };
}

export interface Ledger {
  readonly projectId: string;
  readonly jobs: readonly LedgerJob[];
  /**
   * The newest run of which a turn had to be dropped whose message may be out: of that run and all
   * before it, a turn that is not here may have been.
   */
  readonly forgotten?: string | undefined;
}

const nullableText = z.nullable(z.string());
const digits = z.string().check(z.regex(/^\d{0,20}$/));
const time = z.pipe(z.iso.datetime(), z.transform(Date.parse));

const turnSchema = z.object({
  key: z.string(),
  by: nullableText,
  prompt: z.string(),
  /** `sending` is written before the message goes out: what came of it is not known yet. */
  delivery: z.enum(['sending', ...DELIVERIES]),
  /** Null while the agent works. */
  result: z.nullable(z.enum(RESULTS)),
  confirmed: z.nullable(z.boolean()),
  prLinkChange: z.nullable(z.enum(['created', 'updated', 'none'])),
  reason: z.string(),
  startedAt: time,
  sentAt: z.nullable(time),
  endedAt: z.nullable(time),
  base: z.nullable(
    z.object({ status: nullableText, prLink: nullableText, archivedAt: nullableText }),
  ),
  evidence: z.boolean(),
  runId: digits,
  runAttempt: z.string().check(z.regex(/^\d{0,15}$/)),
});

const ledgerSchema = z.object({
  projectId: z.string(),
  jobs: z.array(
    z.object({
      id: z.string().check(z.regex(/^(?!\.{1,2}$)[\w\-.~:@]{1,256}$/)),
      status: nullableText,
      model: nullableText,
      repository: nullableText,
      ref: nullableText,
      prLink: nullableText,
      turns: z.array(turnSchema),
    }),
  ),
  forgotten: z.optional(digits),
});
type Written = z.infer<typeof ledgerSchema>;

function decode({ jobs, ...ledger }: Written): Ledger {
  return { ...ledger, jobs: jobs.map(decodeJob) };
}

function decodeJob({ id, turns, repository, ref, ...record }: Written['jobs'][number]): LedgerJob {
  const source = repository === null ? null : { repository, ref };
  return { id, record: { ...record, source }, turns: turns.map(decodeTurn) };
}

/** Of a turn under way no end is written; one that stands there all the same is none. */
function decodeTurn({
  runAttempt,
  result,
  reason,
  ...turn
}: Written['jobs'][number]['turns'][number]): Turn {
  const start = { ...newTurn({ ...turn, attempt: Number(runAttempt) }), ...turn };
  const isOver = turn.endedAt !== null && result !== null;
  return isOver ? { ...start, result, reason } : { ...start, endedAt: null };
}

function encode({ projectId, jobs, forgotten }: Ledger): object {
  return { projectId, jobs: jobs.map(encodeJob), forgotten };
}

function encodeJob({ id, record, turns }: LedgerJob): object {
  return {
    id,
    status: record?.status ?? null,
    model: record?.model ?? null,
    repository: record?.source?.repository ?? null,
    ref: record?.source?.ref ?? null,
    prLink: record?.prLink ?? null,
    turns: turns.map(encodeTurn),
  };
}

function encodeTurn(turn: Turn): object {
  const isOver = turn.endedAt !== null;
  return {
    key: turn.key,
    by: turn.by,
    prompt: turn.prompt,
    delivery: turn.delivery,
    result: isOver ? turn.result : null,
    confirmed: turn.confirmed,
    prLinkChange: turn.prLinkChange,
    reason: isOver ? turn.reason : '',
    startedAt: toIso(turn.startedAt),
    sentAt: toIso(turn.sentAt),
    endedAt: toIso(turn.endedAt),
    base: turn.base,
    evidence: turn.evidence,
    runId: turn.runId,
    runAttempt: String(turn.attempt),
  };
}

function toIso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
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
  const json = JSON.stringify(encode(ledger)).replace(
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
      ? { kind: 'ledger', ledger: decode(ledgerSchema.parse(data)) }
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
  const cleanRecord = ({ status, model, source, prLink }: LedgerRecord): LedgerRecord => ({
    status: cleanStatus(status),
    model: clean(model),
    source: source && { repository: redact(source.repository), ref: clean(source.ref) },
    prLink: clean(prLink),
  });
  const cleanTurn = ({ base, ...turn }: Turn): Turn => ({
    ...turn,
    by: clean(turn.by),
    prompt: redact(turn.prompt),
    reason: redact(turn.reason),
    base: base && {
      status: cleanStatus(base.status),
      prLink: clean(base.prLink),
      archivedAt: clean(base.archivedAt),
    },
  });
  return {
    ...ledger,
    jobs: ledger.jobs.map(({ id, record, turns }) => ({
      id,
      record: record && cleanRecord(record),
      turns: turns.map(cleanTurn),
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
      .sort((one, other) => other.startedAt - one.startedAt)
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
    ...own,
    record: own.record ?? standing?.record ?? null,
    turns: turns.sort((one, other) => other.startedAt - one.startedAt),
  };
}

function isSkipped({ result, endedAt }: Turn): boolean {
  return endedAt !== null && result === 'skipped';
}

/** Whether a ledger holds all turns of another just as they are there, and none that it skipped. */
export function contains(ledger: Ledger, own: Ledger): boolean {
  const canonical = (turn: Turn): string => JSON.stringify(encodeTurn(turn));
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
    const keptTurn = (turn: Turn): readonly Turn[] =>
      isSkipped(turn) ? [turn] : turns.filter(({ key }) => key === turn.key);
    return { ...job, turns: job.turns.flatMap(keptTurn) };
  });
  return { ...own, jobs };
}

/**
 * Whether our turn is the same one, and forgets neither a message that may be out nor how the agent's
 * work ended.
 */
function replaces(own: Turn, standing: Turn): boolean {
  if (own.key !== standing.key) return false;
  if (hasEnded(standing) && !hasEnded(own)) return false;
  const mayBeOut =
    standing.delivery === 'sent' ||
    standing.delivery === 'unknown' ||
    (standing.delivery === 'sending' && standing.attempt !== own.attempt);
  return own.delivery !== 'not-sent' || !mayBeOut;
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
    .toSorted((one, other) => one.startedAt - other.startedAt);
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
