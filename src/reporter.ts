import type { Clock } from './clock.ts';
import type { Console } from './console.ts';
import { oneLine } from './foreign-text.ts';
import { type GitHub, GitHubError } from './github/api.ts';
import { type Conversation, openConversation } from './github/conversation.ts';
import type { Ledger, LedgerJob, LedgerTurn } from './github/ledger.ts';
import type { JobResult } from './outcome.ts';
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
  assign(jobId: string, turn: TurnStart, conversation: number | null): void;
  /** Notes that messages are about to go out. It takes 10 s at most, and never rejects. */
  sending(results: readonly JobResult[]): Promise<void>;
  /** Shows that messages are out. It does not hold up the run. */
  delivered(results: readonly JobResult[]): void;
  /** Shows how it ended. */
  finish(results: readonly JobResult[]): Promise<Written>;
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
>;

export interface ReporterOptions {
  readonly mode: 'update' | 'new' | 'off';
  readonly projectId: string;
  readonly wait: boolean;
  readonly site: Site;
  readonly runName: string;
  /** Rejects with a `GitHubError` where there is no way to GitHub. */
  readonly connect: () => Promise<GitHub>;
  readonly console: Console;
  readonly redact: Redact;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Milliseconds that all reading and writing before a message may delay it. */
const BEFORE_MESSAGE_MS = 10_000;

type Phase = 'sending' | 'delivered' | 'ended';
interface Assignment {
  readonly turn: TurnStart;
  readonly conversation: number | null;
}

export function openReporter(options: ReporterOptions): Reporter {
  const { mode, projectId, console, site } = options;
  const assignments = new Map<string, Assignment>();
  const conversations = new Map<number, Promise<Conversation>>();
  const urls = new Map<number, string>();
  /** The conversations whose last write failed, with the error. */
  const failures = new Map<number, unknown>();
  let warned = false;
  let delayLeftMs = BEFORE_MESSAGE_MS;
  let queue: Promise<void> = Promise.resolve();

  function conversationAt(number: number): Promise<Conversation> {
    const open = conversations.get(number) ?? connectTo(number);
    conversations.set(number, open);
    return open;
  }

  async function connectTo(number: number): Promise<Conversation> {
    const github = await options.connect();
    return openConversation(github, {
      number,
      projectId,
      shared: mode === 'update',
      runName: options.runName,
      render: (ledger) => renderLedger(ledger, site),
      redact: options.redact,
    });
  }

  function warn(number: number, error: unknown): void {
    if (!warned) console.warning(unwritable(number, error));
    warned = true;
  }

  async function write(number: number, ledger: Ledger, isLast: boolean): Promise<void> {
    try {
      const conversation = await conversationAt(number);
      urls.set(number, await conversation.write(ledger, isLast));
      failures.delete(number);
    } catch (error) {
      failures.set(number, error);
    }
  }

  /** One write after the other: each reads what the one before has left. */
  function enqueue(results: readonly JobResult[], phase: Phase): Promise<void> {
    const ledgers = [...ledgersOf(results, phase)];
    queue = queue.then(async () => {
      for (const [number, ledger] of ledgers) await write(number, ledger, phase === 'ended');
    });
    return queue;
  }

  function ledgersOf(results: readonly JobResult[], phase: Phase): Map<number, Ledger> {
    const ledgers = new Map<number, Ledger>();
    if (mode === 'off') return ledgers;
    for (const result of results) {
      const { turn, conversation } = assignments.get(result.jobId) ?? NOWHERE;
      if (turn === null || conversation === null) continue;
      const jobs = ledgers.get(conversation)?.jobs ?? [];
      const job = toLedgerJob(result, turn, phase, options.wait);
      ledgers.set(conversation, { projectId, jobs: [...jobs, job] });
    }
    return ledgers;
  }

  /** Waits for something before a message, or rejects once that has delayed it for too long. */
  async function inTime<T>(work: Promise<T>): Promise<T> {
    const started = options.clock.now();
    const done = new AbortController();
    const wait = options.clock.sleep(delayLeftMs, AbortSignal.any([done.signal, options.signal]));
    const late = wait.then(() => {
      throw new GitHubError(0, 'GitHub did not answer in time');
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      done.abort();
      delayLeftMs = Math.max(0, delayLeftMs - (options.clock.now() - started));
    }
  }

  async function readLedger(number: number): Promise<Ledger | null> {
    return (await conversationAt(number)).recall();
  }

  return {
    async recall(conversation) {
      if (mode !== 'update' || conversation === null) return { kind: 'none' };
      try {
        return { kind: 'read', ledger: await inTime(readLedger(conversation)) };
      } catch (error) {
        warn(conversation, error);
        return { kind: 'unreadable', why: phrase(error) };
      }
    },
    assign(jobId, turn, conversation) {
      assignments.set(jobId, { turn, conversation });
    },
    async sending(results) {
      if (mode !== 'update') return;
      await inTime(enqueue(results, 'sending')).catch(() => {});
    },
    delivered(results) {
      void enqueue(results, 'delivered');
    },
    async finish(results) {
      await enqueue(results, 'ended');
      for (const [number, error] of failures) warn(number, error);
      const failed = [...ledgersOf(results, 'ended')].filter(([number]) => failures.has(number));
      const texts = failed.map(([, ledger]) => renderLedger(ledger, site));
      return { urls: [...urls.values()], unwritten: options.redact(texts.join('\n\n')) };
    },
  };
}

const NOWHERE = { turn: null, conversation: null };

function toLedgerJob(result: JobResult, start: TurnStart, phase: Phase, wait: boolean): LedgerJob {
  const { resumption, source } = result;
  const turn: LedgerTurn = {
    ...start,
    delivery: phase === 'sending' && result.delivery === 'not-sent' ? 'sending' : result.delivery,
    outcome: phase === 'ended' ? result.outcome : wait || phase === 'sending' ? null : 'sent',
    confirmed: result.confirmed,
    prLinkChange: result.prLinkChange,
    reason: phase === 'ended' ? result.reason : '',
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

function phrase(error: unknown): string {
  return error instanceof GitHubError ? error.message : 'an unexpected error';
}

function unwritable(number: number, error: unknown): string {
  return (
    `The comment on #${number} could not be read or written: ${phrase(error)}. The job summary ` +
    'holds its text, and nothing is remembered for later runs. The job needs `permissions:` with ' +
    '`pull-requests: write` (on an issue `issues: write`), which runs from forks never get.'
  );
}
