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
import { type Ok, ok, problem, type Result } from '../result.ts';
import type { Runtime } from '../runner/environment.ts';
import { sentences } from '../text.ts';

// The comment of this process: it alone edits it, and it never reads it back.

interface NewComment extends Pick<Runtime, 'clock' | 'signal'> {
  readonly github: GitHub;
  readonly conversation: number;
  /** The creation is not repeated later. */
  readonly until: number;
  /** The text as it is by now. */
  readonly compose: () => string;
}

interface TrackingOptions extends NewComment {
  readonly record: () => CommentRecord;
}

/** The signal of a pause that no cancellation ends. */
const { signal: NEVER } = new AbortController();
const MOST_CREATIONS = 3;
const CREATE_AGAIN_MS = 1000;
const UNNAMED_PAUSE_MS = 60_000;
/** An edit without an answer may come late, and be the last word. */
const EDIT_AGAIN_MS = 15_000;
const LAST_EDITS_MS = 120_000;
/** The same for a run that is cancelled: the runner ends it soon. */
const CANCELLED_AGAIN_MS = 1000;
const CANCELLED_EDITS_MS = 4000;

type Edited = 'done' | GitHubError;

export class TrackingComment {
  readonly #options: TrackingOptions;
  /** Empty if it does not exist. */
  url = '';
  nodeId = '';
  /** Ends when the last edit is made. */
  #editing: Promise<unknown> = Promise.resolve();
  /** Whether an edit is still to begin, which will have the newest text. */
  #isDue = false;
  /** Whether an edit had no answer. */
  #mayBeLate = false;

  constructor(options: TrackingOptions) {
    this.#options = options;
  }

  get conversation(): number {
    return this.#options.conversation;
  }

  get record(): CommentRecord {
    return this.#options.record();
  }

  /** If that fails, no message may be sent: the comment may not exist. */
  async create(): Promise<Ok<string> | NotCreated> {
    const created = await createComment(this.#options);
    if (created.kind === 'problem') return created;
    this.recognize(created.value);
    return ok(this.url);
  }

  /** This is the comment: its creation had an answer, or a list shows it. */
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

  /** Repeats the last edit, if that may help, for two minutes and once in any case. */
  async repeatLast(first: Edited, until: number): Promise<Result<string>> {
    const { clock, signal } = this.#options;
    const start = clock.now();
    const mostMs = signal.aborted ? CANCELLED_EDITS_MS : LAST_EDITS_MS;
    let end = start + Math.min(Math.max(until - start, EDIT_AGAIN_MS), mostMs);
    let edited = first;
    // An earlier one without an answer may still overtake what GitHub has taken.
    let isOver = first === 'done' && (!this.#mayBeLate || signal.aborted);
    while (!isOver) {
      const pauseMs = pauseBeforeEdit(edited, signal.aborted);
      if (pauseMs === Infinity || clock.now() + pauseMs > end) break;
      await clock.sleep(pauseMs, signal.aborted ? NEVER : signal).catch(() => {
        end = Math.min(end, clock.now() + CANCELLED_EDITS_MS);
      });
      const repeated = await this.edit();
      isOver = edited === 'done' || repeated === 'done';
      if (edited !== 'done') edited = repeated;
    }
    return edited === 'done' ? ok(this.url) : problem(explainLastEdit(edited));
  }

  edit(): Promise<Edited> {
    const { github, compose } = this.#options;
    const edited = this.#editing.then(async () => {
      this.#isDue = false;
      try {
        await github.updateComment(commentId(this.url), compose());
        return 'done';
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

/** Milliseconds until GitHub may take the same edit; Infinity if it will refuse that again. */
function pauseBeforeEdit(edited: Edited, isCancelled: boolean): number {
  if (edited === 'done') return EDIT_AGAIN_MS;
  const { status, pauseMs = status === 429 ? UNNAMED_PAUSE_MS : 0 } = edited;
  if (!mayPassLater(edited)) return Infinity;
  return isCancelled ? CANCELLED_AGAIN_MS : Math.max(EDIT_AGAIN_MS, pauseMs);
}

/** `unclear`: it may exist or appear later. `no answer`: GitHub was not reached. */
export interface NotCreated {
  readonly kind: 'problem';
  readonly problem: string;
  readonly cause: ReturnType<typeof classifyError>;
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
  const { status, wasWritten, pauseMs = UNNAMED_PAUSE_MS } = error;
  if (!wasWritten) return CREATE_AGAIN_MS * failed;
  if (status !== 429 || pauseMs > LONGEST_RATE_PAUSE_MS) return Infinity;
  return Math.max(CREATE_AGAIN_MS * failed, pauseMs);
}

function notCreated(error: unknown): NotCreated {
  const cause = classifyError(error);
  const what =
    cause === 'unclear'
      ? 'It is not known whether the comment was created'
      : 'The comment could not be created';
  const why = sentences(`${what}: ${describeError(error)}.`, hintFor(error));
  return { kind: 'problem', problem: why, cause };
}
