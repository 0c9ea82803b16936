import pLimit from 'p-limit';
import type { Clock } from '../clock.ts';
import { type GitHub, GitHubError, neededFor, whyOf } from '../github/api.ts';
import { createDeadline, type Deadline } from '../github/deadline.ts';
import type { Log } from '../runner/log.ts';
import type { JobState, Turn } from '../turn.ts';
import { type Conversation, openConversation } from './conversation.ts';
import { type Ledger, toLedgerRecord } from './ledger.ts';

// Who is told what, and when. Whatever goes wrong here never changes the result of what was sent.

/** Loads the comments, then records the progress of this run in them. */
export interface Updates {
  /** What the conversation remembers. */
  load(conversation: number | null): Promise<Memory>;
  /**
   * Notes that messages are about to go out. It takes 10 s at most, and never rejects. Resolves to
   * whether each of them that has a place is noted there.
   */
  announce(states: readonly JobState[]): Promise<boolean>;
  /**
   * Takes in how far a job is and, where that is new, where it is told of. A conversation is told,
   * without holding up the run, once the messages of all its jobs are out, and once all have ended.
   */
  update(state: JobState, conversation: number | null): void;
  /** Shows how it ended, wherever that was not told yet. */
  flush(): Promise<Written>;
}

/** What the conversation remembers of earlier runs and attempts. */
export type Memory =
  | { readonly kind: 'read'; readonly ledger: Ledger | null }
  /** There is none: no conversation, or no comments. */
  | { readonly kind: 'none' }
  | {
      readonly kind: 'unreadable';
      readonly why: string;
      /** Whether it was the end of the run that cut the reading short. */
      readonly isCancelled: boolean;
    };

export interface Written {
  /** Of the comments. */
  readonly urls: readonly string[];
  /** The text of comments that could not be written, or empty. */
  readonly unwritten: string;
}

export interface UpdatesOptions {
  /** Whether anything is told and remembered at all. */
  readonly comment: boolean;
  readonly projectId: string;
  readonly wait: boolean;
  /** The visible part of a comment. */
  readonly render: (ledger: Ledger) => string;
  /** Rejects with a `GitHubError` where there is no way to GitHub. */
  readonly connect: () => Promise<GitHub>;
  readonly log: Log;
  readonly redact: (text: string) => string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** For all that the run waits for on GitHub. */
  readonly deadline: Deadline;
}

/** Milliseconds: one budget for reads, and one for reads and writes together. */
const BEFORE_MESSAGE_MS = 10_000;
/** Conversations that are read, and that are written, at the same time. */
const MOST_READS_AT_A_TIME = 8;
const MOST_WRITES_AT_A_TIME = 4;

/** How far a job has come, as far as people are told; from the first to the last. */
const STAGES = ['sending', 'delivered', 'ended'] as const;
type Stage = (typeof STAGES)[number];

/** A job that this run tells of. One that made another pull request is told of on both. */
interface Told {
  state: JobState;
  isAnnounced: boolean;
  readonly conversations: Set<number>;
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

export function openUpdates(options: UpdatesOptions): Updates {
  const { comment, projectId, log, render, clock, signal, deadline } = options;
  const jobs = new Map<string, Told>();
  const places = new Map<number, Place>();
  // Where a job is seen late, its notes are read when those of others are written already.
  const reading = createDeadline(clock, BEFORE_MESSAGE_MS);
  const beforeMessage = createDeadline(clock, BEFORE_MESSAGE_MS);
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
      render,
      redact: options.redact,
    });
  }

  function warn(untold: readonly [Place, ...Place[]], error: unknown): void {
    if (!warned) log.warning(unwritable(untold, error));
    warned = true;
  }

  function jobsAt(number: number): readonly Told[] {
    return [...jobs.values()].filter(({ conversations }) => conversations.has(number));
  }

  /** A job that is not announced yet leaves no trace. */
  function ledgerOf({ number }: Place): Ledger {
    const told = jobsAt(number).filter(
      ({ state, isAnnounced }) =>
        isAnnounced || state.turn.delivery !== 'not-sent' || isOver(state),
    );
    return {
      projectId,
      jobs: told.map((job) => ({
        id: job.state.jobId,
        record: job.state.record && toLedgerRecord(job.state.record),
        turns: [turnOf(job)],
      })),
    };
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
    const stages = new Set(jobsAt(place.number).map(({ state }) => stageOfJob(state)));
    return STAGES.find((stage) => stages.has(stage));
  }

  function placesOf({ conversations }: Told): readonly Place[] {
    return [...conversations].map(placeAt);
  }

  /** Tells a conversation how far its jobs have come, if that is news. */
  function tell(place: Place): void {
    place.isStale = true;
    const stage = stageOf(place);
    // Without a wait the end follows at once.
    if (stage !== 'ended' && !(stage === 'delivered' && options.wait)) return;
    // What comes after the end is told when all is over, but for a job that nothing was told of:
    // where jobs name the conversation themselves, one may come late, and has to be remembered.
    const count = jobsAt(place.number).length;
    const { told } = place;
    if (told?.jobs === count && (told.stage === 'ended' || told.stage === stage)) return;
    place.told = { stage, jobs: count };
    enqueue(place);
  }

  return {
    async load(number) {
      if (!comment || number === null) return { kind: 'none' };
      const place = placeAt(number);
      place.memory ??= readInTurn(async () => (await place.conversation).load());
      try {
        // Reads use up the budget of writes as well; writes do not use up that of reads. Whether the
        // reading succeeds is awaited below.
        beforeMessage.waitFor(place.memory, signal).catch(() => {});
        const inTime = deadline.waitFor(reading.waitFor(place.memory, signal));
        return { kind: 'read', ledger: await inTime };
      } catch (error) {
        if (signal.aborted) {
          return { kind: 'unreadable', why: 'the run was cancelled', isCancelled: true };
        }
        warn([place], error);
        return { kind: 'unreadable', why: whyOf(error), isCancelled: false };
      }
    },
    async announce(states) {
      // One that has ended by now gets no message, and is not said to.
      const toCome = states.flatMap((state) => {
        const job = jobs.get(state.jobId);
        if (job === undefined || job.isAnnounced || isOver(state)) return [];
        job.state = state;
        job.isAnnounced = true;
        return [job];
      });
      if (!comment) return true;
      const concerned = new Set(toCome.flatMap(placesOf));
      for (const place of concerned) enqueue(place);
      // A message is not held up for long: the writing goes on beside it.
      await deadline.waitFor(beforeMessage.waitFor(allWritten(), signal)).catch(() => {});
      return [...concerned].every(({ failure }) => failure === null);
    },
    update(state, conversation) {
      const known = jobs.get(state.jobId);
      const job = known ?? { state, isAnnounced: false, conversations: new Set<number>() };
      jobs.set(state.jobId, job);
      job.state = state;
      if (conversation !== null) job.conversations.add(conversation);
      // Of a job that has only been planned nothing is new.
      if (!comment || known === undefined) return;
      for (const place of placesOf(job)) tell(place);
    },
    async flush() {
      for (const place of places.values()) if (place.isStale) enqueue(place);
      // What is not written by then is told below.
      await deadline.waitFor(allWritten()).catch(() => {});
      const untold = [...places.values()].filter(({ failure }) => failure !== null);
      const [first, ...others] = untold;
      if (first) warn([first, ...others], first.failure);
      const texts = untold.map((place) => render(ledgerOf(place)));
      const urls = [...places.values()].map(({ url }) => url).filter((url) => url !== '');
      return { urls, unwritten: texts.join('\n\n') };
    },
  };
}

function stageOfJob(state: JobState): Stage {
  if (isOver(state)) return 'ended';
  return state.turn.delivery === 'sent' ? 'delivered' : 'sending';
}

function isOver({ turn }: JobState): boolean {
  return turn.endedAt !== null;
}

/** Until it is known what came of an announced message, a re-run must take it for one that may be out. */
function turnOf({ state, isAnnounced }: Told): Turn {
  const { turn } = state;
  const isOpen = isAnnounced && !isOver(state) && turn.delivery === 'not-sent';
  return isOpen ? { ...turn, delivery: 'sending' } : turn;
}

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

function isTold({ result, endedAt }: Turn): boolean {
  return endedAt === null || result !== 'skipped';
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
