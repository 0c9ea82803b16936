import type { Clock } from './clock.ts';
import type { Console } from './console.ts';
import { connectGitHub, GitHubError } from './github/api.ts';
import { type Conversation, openConversation } from './github/conversation.ts';
import { fromMarker, type Ledger, type LedgerTurn, toMarker } from './github/ledger.ts';
import type { JobResult } from './outcome.ts';
import { renderLedger, type Site } from './report/comment.ts';
import type { Redact } from './secrets.ts';

/** Tells the people of the conversation. Whatever goes wrong here never changes the result. */
export interface Reporter {
  /** Shows that the message is out. It does not hold up the run. */
  delivered(results: readonly JobResult[]): void;
  /** Shows how it ended. */
  finish(results: readonly JobResult[]): Promise<Written>;
}

export interface Written {
  /** Of the comment, or empty. */
  readonly url: string;
  /** The text of a comment that could not be written, or empty. */
  readonly unwritten: string;
}

export interface ReporterOptions {
  readonly mode: 'update' | 'new' | 'off';
  readonly conversation: number | null;
  readonly projectId: string;
  readonly prompt: string;
  readonly wait: boolean;
  readonly token: string;
  readonly userAgent: string;
  readonly run: RunFacts;
  readonly console: Console;
  readonly redact: Redact;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The runner's variables that reports are made of. */
export interface RunFacts extends Site {
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  readonly runId: string;
  readonly runAttempt: string;
  /** Who started the run; null where nobody in particular did. */
  readonly by: string | null;
}

/** Characters of the prompt that the comment shows. */
const SHOWN_PROMPT = 1000;
/** Milliseconds that reporting may take once the run is cancelled. */
const AFTER_CANCEL_MS = 4000;
/** Opens the comments that are not updated later, so that they too are known to be ours. */
const REPORT_MARKER = '<!-- agent-follow-up:report -->';

export function openReporter(options: ReporterOptions): Reporter {
  const { mode, conversation: number, projectId, console, redact, run } = options;
  if (mode === 'off' || number === null) {
    return { delivered() {}, finish: async () => ({ url: '', unwritten: '' }) };
  }
  const startedAt = options.clock.date().toISOString();
  let conversation: Promise<Conversation> | undefined;
  let url = '';
  let failed = false;
  let pending: Promise<void> = Promise.resolve();

  async function write(ledger: Ledger): Promise<void> {
    const marker = mode === 'update' ? toMarker(ledger) : REPORT_MARKER;
    conversation ??= connect(number as number, options);
    url = await (await conversation).write(redact(`${marker}\n${renderLedger(ledger, run)}`));
  }

  /** Writes one after the other; the first failure is a warning, a later one is the same. */
  function enqueue(ledger: Ledger): Promise<void> {
    pending = pending.then(() =>
      write(ledger).catch((error) => {
        if (!failed) console.warning(unwritable(number as number, error));
        failed = true;
        url = '';
      }),
    );
    return pending;
  }

  return {
    delivered(results) {
      const turn = { outcome: options.wait ? null : 'sent', reason: '' } as const;
      void enqueue(
        toLedger(results, { projectId, turn: (result) => toTurn({ ...result, ...turn }) }),
      );
    },
    async finish(results) {
      const ledger = toLedger(results, { projectId, turn: toTurn });
      await enqueue(ledger);
      return { url, unwritten: url === '' ? redact(renderLedger(ledger, run)) : '' };
    },
  };

  function toTurn(result: Omit<JobResult, 'outcome'> & Pick<LedgerTurn, 'outcome'>): LedgerTurn {
    return {
      by: run.by,
      prompt: options.prompt.slice(0, SHOWN_PROMPT).toWellFormed(),
      delivery: result.delivery,
      outcome: result.outcome,
      confirmed: result.confirmed,
      prLinkChange: result.prLinkChange,
      reason: result.reason,
      startedAt,
      elapsedSeconds: result.elapsedSeconds,
      runId: run.runId,
      runAttempt: run.runAttempt,
    };
  }
}

async function connect(number: number, options: ReporterOptions): Promise<Conversation> {
  const { token, run, userAgent, clock, signal, mode, projectId } = options;
  if (token === '') throw new GitHubError(0, 'github-token is empty');
  const github = await connectGitHub({ ...run, token, userAgent, clock });
  const hurry = (): void => github.hurry(AFTER_CANCEL_MS);
  if (signal.aborted) hurry();
  else signal.addEventListener('abort', hurry, { once: true });
  const isOurs = (body: string): boolean => fromMarker(body)?.projectId === projectId;
  return openConversation(github, { number, isOurs: mode === 'update' ? isOurs : null });
}

function toLedger(
  results: readonly JobResult[],
  { projectId, turn }: { projectId: string; turn: (result: JobResult) => LedgerTurn },
): Ledger {
  return {
    projectId,
    jobs: results.map((result) => ({
      id: result.jobId,
      status: result.status,
      model: result.model,
      repository: result.source?.repository ?? null,
      ref: result.source?.ref ?? null,
      prLink: result.prLink,
      turns: [turn(result)],
    })),
  };
}

function unwritable(number: number, error: unknown): string {
  const why = error instanceof GitHubError ? error.message : 'an unexpected error';
  return (
    `The comment on #${number} could not be written: ${why}. The job summary holds its text. ` +
    'The job needs `permissions:` with `pull-requests: write` (on an issue `issues: write`), ' +
    'which runs from forks never get.'
  );
}
