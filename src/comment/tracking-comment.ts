import type { GitHub } from '../github/client.ts';
import {
  classifyError,
  describeError,
  GitHubError,
  hintFor,
  LONGEST_RATE_PAUSE_MS,
  mayPassLater,
} from '../github/errors.ts';
import type { CreatedComment } from '../github/responses.ts';
import { commentId } from '../ledger/ledger.ts';
import type { CommentRecord } from '../ledger/record.ts';
import type { Runtime } from '../runner/environment.ts';
import { sentences } from '../text.ts';
import { type Ok, ok, problem, type Result } from '../value-or-problem.ts';

// The comment of this process: it alone edits it, and it never reads it back.

interface NewComment extends Pick<Runtime, 'clock' | 'signal'> {
  readonly github: GitHub;
  readonly conversation: number;
  /** The creation is not repeated later. */
  readonly until: number;
  readonly compose: () => string;
}

export type NotCreated = ReturnType<typeof notCreated>;

const MOST_CREATIONS = 3;
const CREATE_AGAIN_MS = 1000;
/** An edit without an answer may come late, and be the last word. */
const LAST_EDITS = { everyMs: 15_000, forMs: 120_000 };
/** The same for a run that is cancelled: the runner ends it soon. */
const CANCELLED_EDITS = { everyMs: 1000, forMs: 4000 };
const { signal: NEVER } = new AbortController();

export class TrackingComment {
  readonly #options: NewComment;
  readonly conversation: number;
  readonly record: () => CommentRecord;
  url = '';
  nodeId = '';
  #editing: Promise<unknown> = Promise.resolve();
  /** Whether an edit is still to begin, which will have the newest text. */
  #isDue = false;
  #mayBeLate = false;

  constructor(options: NewComment & { readonly record: () => CommentRecord }) {
    this.#options = options;
    this.conversation = options.conversation;
    this.record = options.record;
  }

  /** If that fails, no message may be sent: the comment may not exist. */
  async create(): Promise<Ok<CreatedComment> | NotCreated> {
    const created = await createComment(this.#options);
    if (created.kind === 'ok') this.recognize(created.value);
    return created;
  }

  recognize({ url, nodeId }: Pick<CreatedComment, 'url' | 'nodeId'>): void {
    this.nodeId = nodeId;
    this.url = url;
  }

  /** Soon: edits follow one another, so that an older text never replaces a newer one. */
  write(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    void this.edit();
  }

  /** Repeats the last edit if it failed, or if one without an answer may still overtake it. */
  async repeatLast(first: GitHubError | undefined, until: number): Promise<Result<string>> {
    const { clock, signal } = this.#options;
    let since = clock.now();
    // Room for one more, also if the run is at its deadline: the clock has gone on since.
    const end = Math.max(until, since + 2 * LAST_EDITS.everyMs);
    let failed = first;
    let isOver = failed === undefined && (!this.#mayBeLate || signal.aborted);
    while (!isOver && (failed === undefined || mayPassLater(failed))) {
      const { everyMs, forMs } = signal.aborted ? CANCELLED_EDITS : LAST_EDITS;
      // The runner soon ends a run that is cancelled.
      const limitMs = failed === undefined || signal.aborted ? 0 : rateLimitPause(failed);
      const pauseMs = Math.max(everyMs, limitMs);
      if (clock.now() + pauseMs > Math.min(end, since + forMs)) break;
      await clock.sleep(pauseMs, signal.aborted ? NEVER : signal).catch(() => {
        since = clock.now();
      });
      const repeated = await this.edit();
      isOver = failed === undefined || repeated === undefined;
      if (failed !== undefined) failed = repeated;
    }
    return failed === undefined ? ok(this.url) : problem(explainLastEdit(failed));
  }

  /** Resolves to why it failed. */
  edit(): Promise<GitHubError | undefined> {
    const { github, compose } = this.#options;
    const edited = this.#editing.then(async () => {
      this.#isDue = false;
      try {
        await github.updateComment(commentId(this.url), compose());
        return undefined;
      } catch (error) {
        this.#mayBeLate ||= classifyError(error) === 'unclear';
        return error instanceof GitHubError ? error : new GitHubError(0, 'an unexpected error');
      }
    });
    this.#editing = edited;
    return edited;
  }
}

function explainLastEdit(error: GitHubError): string {
  // The process has created it, so it was there, and the token was good.
  if ([404, 410].includes(error.status)) return 'Somebody has deleted the comment.';
  const hint = error.status === 401 ? 'Tokens of GitHub Apps live an hour.' : hintFor(error);
  return sentences(`The comment is not up to date: ${describeError(error)}.`, hint);
}

/** Milliseconds: a minute after a limit without a time, 0 if there is no limit. */
function rateLimitPause({ status, pauseMs }: GitHubError): number {
  return pauseMs ?? (status === 429 ? 60_000 : 0);
}

/** Repeats a creation that was certainly not written. */
export async function createComment(comment: NewComment): Promise<Ok<CreatedComment> | NotCreated> {
  const { github, conversation, compose, clock, signal, until } = comment;
  for (let failed = 1; ; failed += 1) {
    try {
      return ok(await github.createComment(conversation, compose()));
    } catch (error) {
      const pauseMs = failed < MOST_CREATIONS ? pauseBeforeCreation(error, failed) : Infinity;
      if (signal.aborted || clock.now() + pauseMs >= until) return notCreated(error);
      await clock.sleep(pauseMs, signal).catch(() => {});
    }
  }
}

/** Infinity if the comment may exist, or will be refused again, as would several at once. */
function pauseBeforeCreation(error: unknown, failed: number): number {
  if (!(error instanceof GitHubError)) return Infinity;
  if (!error.wasWritten) return CREATE_AGAIN_MS * failed;
  const pauseMs = Math.max(rateLimitPause(error), CREATE_AGAIN_MS * failed);
  return error.status !== 429 || pauseMs > LONGEST_RATE_PAUSE_MS ? Infinity : pauseMs;
}

/** `unclear`: it may exist or appear later. `no answer`: GitHub was not reached. */
function notCreated(error: unknown) {
  const cause = classifyError(error);
  const what =
    cause === 'unclear'
      ? 'It is not known whether the comment was created'
      : 'The comment could not be created';
  const why = sentences(`${what}: ${describeError(error)}.`, hintFor(error));
  return { ...problem(why), cause };
}
