import pLimit from 'p-limit';
import type { Clock } from './clock.ts';
import type { Console } from './console.ts';
import { oneLine } from './foreign-text.ts';
import { type GitHub, GitHubError, neededFor, whyOf } from './github/api.ts';
import { type Conversation, openConversation } from './github/conversation.ts';
import type { Ledger, LedgerJob, LedgerTurn } from './github/ledger.ts';
import type { JobResult } from './outcome.ts';
import { createPatience, type Patience } from './patience.ts';
import type { Memory } from './plan.ts';
import { renderLedger, type Site } from './report/comment.ts';
import type { Redact } from './secrets.ts';

/**
 * Tells the people of the conversations, and remembers for later runs. Whatever goes wrong here
 * never changes the result of what was sent.
 */
export interface Reporter {
  /** What the conversation remembers. */
  recall(conversation: number | null): Promise<Memory>;
  /** Says which turn a job's results belong to from now on, and where it is reported. */
  assign(jobId: string, assignment: Assignment): void;
  /** Notes that messages are about to go out. It takes 10 s at most, and never rejects. */
  sending(results: readonly JobResult[]): Promise<void>;
  /**
   * Takes in what became of a job. A conversation is told, without holding up the run, once the
   * messages of all its jobs are out, and once all of them have ended.
   */
  note(result: JobResult, stage: 'delivered' | 'ended'): void;
  /** Shows how it ended, wherever that was not told yet. */
  finish(): Promise<Written>;
}

export interface Written {
  /** Of the comments. */
  readonly urls: readonly string[];
  /** The text of comments that could not be written, or empty. */
  readonly unwritten: string;
}

/** What is known of a turn before its message goes out. */
export type TurnStart = Pick<
  LedgerTurn,
  'key' | 'by' | 'prompt' | 'startedAt' | 'runId' | 'runAttempt'
> & {
  /** Of a turn of an earlier run; else the result tells it. */
  readonly delivery?: LedgerTurn['delivery'];
};

export interface ReporterOptions {
  /** Whether anything is told and remembered at all. */
  readonly comment: boolean;
  readonly projectId: string;
  readonly wait: boolean;
  readonly site: Site;
  /** Rejects with a `GitHubError` where there is no way to GitHub. */
  readonly connect: () => Promise<GitHub>;
  readonly console: Console;
  readonly redact: Redact;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** For all that the run waits for on GitHub. */
  readonly patience: Patience;
}

/** Milliseconds that reading, and that writing with it, may delay a message. */
const BEFORE_MESSAGE_MS = 10_000;
/** Conversations that are read, and that are written, at the same time. */
const MOST_READS_AT_A_TIME = 8;
const MOST_WRITES_AT_A_TIME = 4;

/** How far a job has come, as far as people are told. */
type Stage = 'sending' | 'delivered' | 'ended';

export interface Assignment {
  readonly turn: TurnStart;
  readonly conversation: number | null;
  /** Whether its message went out before this run. */
  readonly isOut: boolean;
}

/** A job that made another pull request is told of on both. */
type Assigned = Omit<Assignment, 'conversation'> & { readonly conversations: ReadonlySet<number> };

interface Standing {
  readonly result: JobResult;
  readonly stage: Stage;
}

/** A conversation, and what it was told. */
interface Place {
  readonly number: number;
  readonly conversation: Promise<Conversation>;
  /** What it remembers, once somebody asks. */
  memory: Promise<Ledger | null> | null;
  /** Writes of this place, one after the other: each reads what the one before has left. */
  writing: Promise<void>;
  /** What was told last while the run went on: how far how many jobs had come. */
  told: { readonly stage: Stage; readonly jobs: number } | null;
  /** Whether something has changed since it was told. */
  isStale: boolean;
  url: string;
  /** Why it could not be told, or has not been yet; null if it was, or there was nothing to tell. */
  failure: unknown;
}

export function openReporter(options: ReporterOptions): Reporter {
  const { comment, projectId, console, site, clock, signal, patience } = options;
  const assignments = new Map<string, Assigned>();
  const standings = new Map<string, Standing>();
  const places = new Map<number, Place>();
  // Where a job is seen late, its notes are read when those of others are written already.
  const reading = createPatience(clock, BEFORE_MESSAGE_MS);
  const beforeMessage = createPatience(clock, BEFORE_MESSAGE_MS);
  const readInTurn = pLimit(MOST_READS_AT_A_TIME);
  const writeInTurn = pLimit(MOST_WRITES_AT_A_TIME);
  const writtenAt: number[] = [];
  let warned = false;

  function placeAt(number: number): Place {
    const place = places.get(number) ?? {
      number,
      conversation: connectTo(number),
      memory: null,
      writing: Promise.resolve(),
      told: null,
      isStale: false,
      url: '',
      failure: null,
    };
    // It is awaited where it is needed; until then nobody handles that it fails.
    place.conversation.catch(() => {});
    places.set(number, place);
    return place;
  }

  async function connectTo(number: number): Promise<Conversation> {
    const github = await options.connect();
    return openConversation(github, {
      number,
      projectId,
      render: (ledger) => renderLedger(ledger, site),
      redact: options.redact,
    });
  }

  function warn(untold: readonly [Place, ...Place[]], error: unknown): void {
    if (!warned) console.warning(unwritable(untold, error));
    warned = true;
  }

  function jobsAt(number: number): readonly string[] {
    return [...assignments].flatMap(([jobId, { conversations }]) =>
      conversations.has(number) ? [jobId] : [],
    );
  }

  function ledgerOf(place: Place): Ledger {
    const jobs = jobsAt(place.number).flatMap((jobId) => {
      const standing = standings.get(jobId);
      const turn = assignments.get(jobId)?.turn;
      return standing && turn ? [toLedgerJob(standing, turn)] : [];
    });
    return { projectId, jobs };
  }

  function enqueue(place: Place): void {
    place.isStale = true;
    place.failure ??= tooLate();
    place.writing = place.writing.then(() => writeInTurn(() => write(place)));
  }

  function allWritten(): Promise<unknown> {
    return Promise.all([...places.values()].map(({ writing }) => writing));
  }

  async function write(place: Place): Promise<void> {
    if (!place.isStale) return;
    // Of jobs that get no message nothing is said, unless it was said before that they would.
    const isWorthIt =
      place.url !== '' || ledgerOf(place).jobs.some(({ turns }) => turns.some(isTold));
    if (isWorthIt) {
      const afterMs = pauseMs(writtenAt, clock.now());
      writtenAt.push(clock.now() + afterMs);
      await clock.sleep(afterMs, signal).catch(() => {});
    }
    place.isStale = false;
    place.failure = isWorthIt ? tooLate() : null;
    if (!isWorthIt) return;
    try {
      const isLast = stageOf(place) === 'ended';
      place.url = await (await place.conversation).write(ledgerOf(place), isLast);
      place.failure = null;
    } catch (error) {
      place.failure = error;
    }
  }

  /** What all jobs of a conversation have come to, or passed. */
  function stageOf(place: Place): Stage | undefined {
    const stages = jobsAt(place.number).map(
      (jobId) =>
        standings.get(jobId)?.stage ?? (assignments.get(jobId)?.isOut ? 'delivered' : 'sending'),
    );
    return STAGES.find((stage) => stages.includes(stage));
  }

  function placesOf(jobId: string): readonly Place[] {
    return [...(assignments.get(jobId)?.conversations ?? [])].map(placeAt);
  }

  /** Tells a conversation how far its jobs have come, if that is news. */
  function tell(place: Place): void {
    place.isStale = true;
    const stage = stageOf(place);
    // Without a wait the end follows at once.
    if (stage !== 'ended' && !(stage === 'delivered' && options.wait)) return;
    // What comes after the end is told when all is over, but for a job that nothing was told of:
    // where jobs name the conversation themselves, one may come late, and has to be remembered.
    const jobs = jobsAt(place.number).length;
    const { told } = place;
    if (told?.jobs === jobs && (told.stage === 'ended' || told.stage === stage)) return;
    place.told = { stage, jobs };
    enqueue(place);
  }

  return {
    async recall(number) {
      if (!comment || number === null) return { kind: 'none' };
      const place = placeAt(number);
      place.memory ??= readInTurn(async () => (await place.conversation).recall());
      try {
        // What reading takes is not left for writing; what writing took leaves reading its time.
        beforeMessage.waitFor(place.memory, signal).catch(() => {});
        const inTime = patience.waitFor(reading.waitFor(place.memory, signal));
        return { kind: 'read', ledger: await inTime };
      } catch (error) {
        if (signal.aborted) {
          return { kind: 'unreadable', why: 'the run was cancelled', isCancelled: true };
        }
        warn([place], error);
        return { kind: 'unreadable', why: whyOf(error) };
      }
    },
    assign(jobId, { conversation, ...assignment }) {
      const conversations = new Set(assignments.get(jobId)?.conversations);
      if (conversation !== null) conversations.add(conversation);
      assignments.set(jobId, { ...assignment, conversations });
    },
    async sending(results) {
      // One that has ended by now gets no message, and is not said to.
      const toCome = results.filter(({ jobId }) => !standings.has(jobId));
      for (const result of toCome) standings.set(result.jobId, { result, stage: 'sending' });
      if (!comment) return;
      for (const place of new Set(toCome.flatMap(({ jobId }) => placesOf(jobId)))) enqueue(place);
      await patience.waitFor(beforeMessage.waitFor(allWritten(), signal)).catch(() => {});
    },
    note(result, stage) {
      standings.set(result.jobId, { result, stage });
      if (!comment) return;
      for (const place of placesOf(result.jobId)) tell(place);
    },
    async finish() {
      for (const place of places.values()) if (place.isStale) enqueue(place);
      await patience.waitFor(allWritten()).catch(() => {});
      const untold = [...places.values()].filter(({ failure }) => failure !== null);
      const [first, ...others] = untold;
      if (first) warn([first, ...others], first.failure);
      const texts = untold.map((place) => renderLedger(ledgerOf(place), site));
      const urls = [...places.values()].map(({ url }) => url).filter((url) => url !== '');
      return { urls, unwritten: texts.join('\n\n') };
    },
  };
}

/** From the first to the last. */
const STAGES = ['sending', 'delivered', 'ended'] as const;

/** At the most one author's new and changed texts on GitHub are 80 a minute and 500 an hour. */
const WRITE_LIMITS = [
  { writes: 60, ms: 60_000 },
  { writes: 400, ms: 3_600_000 },
];

/** Milliseconds until another comment may be written, from when the earlier ones were. */
export function pauseMs(writtenAt: readonly number[], now: number): number {
  const pauses = WRITE_LIMITS.map(({ writes, ms }) => (writtenAt.at(-writes) ?? -ms) + ms - now);
  return Math.max(0, ...pauses);
}

function isTold({ result }: LedgerTurn): boolean {
  return result !== 'skipped';
}

function toLedgerJob({ result, stage }: Standing, start: TurnStart): LedgerJob {
  const { resumption, source } = result;
  const delivery = start.delivery ?? result.delivery;
  const turn: LedgerTurn = {
    ...start,
    delivery: stage === 'sending' && delivery === 'not-sent' ? 'sending' : delivery,
    result: stage === 'ended' ? result.result : null,
    confirmed: result.confirmed,
    prLinkChange: result.prLinkChange,
    reason: stage === 'ended' ? result.reason : '',
    sentAt: resumption.sentAt?.toISOString() ?? null,
    elapsedSeconds: result.elapsedSeconds,
    base: resumption.base,
    evidence: resumption.evidence,
  };
  return {
    id: result.jobId,
    status: result.status,
    model: short(result.model),
    repository: short(source?.repository),
    ref: short(source?.ref),
    prLink: result.prLink,
    turns: [turn],
  };
}

function short(text: string | null | undefined): string | null {
  return typeof text === 'string' ? oneLine(text) : null;
}

function tooLate(): GitHubError {
  return new GitHubError(0, 'the time for it was over, 30 s in a run');
}

function unwritable([first, ...others]: readonly [Place, ...Place[]], error: unknown): string {
  const more =
    ['', ', and that on 1 other,'][others.length] ?? `, and those on ${others.length} others,`;
  const remembered = [first, ...others].some(({ url }) => url === '')
    ? 'nothing is remembered for later runs'
    : 'later runs may not know how it ended';
  const told =
    `The comment on #${first.number}${more} could not be read or written: ${whyOf(error)}. The job ` +
    `summary holds its text, and ${remembered}.`;
  return `${told} ${neededFor(error)}`.trim();
}
