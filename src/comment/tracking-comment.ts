import type { Classifier, CreatedComment, GitHub } from '../github/client.ts';
import {
  GitHubError,
  hintFor,
  isBySettings,
  isUnclear,
  LONGEST_RATE_PAUSE_MS,
  mayPassLater,
  whyOf,
} from '../github/errors.ts';
import { statusWith } from '../job/outcome.ts';
import { commentId } from '../ledger/ledger.ts';
import {
  composeComment,
  parseRecord,
  parseReply,
  type ReplyId,
  toReplyId,
} from '../ledger/marker.ts';
import type { CommentRecord } from '../ledger/record.ts';
import type { Runtime } from '../runner/environment.ts';
import { type Ok, ok, problem, type Result, sentences } from '../text.ts';

// The comment of this process: it alone edits it, and it never reads it back. All calls to GitHub about our
// comments are here.

/** Where and until when a comment is created. */
interface CommentPlace extends Pick<Runtime, 'clock' | 'signal'> {
  readonly github: GitHub;
  readonly conversation: number;
  /** A time of the clock: the creation is not repeated later. */
  readonly until: number;
}

interface NoteOptions extends CommentPlace {
  /** What it says now: to other runs, and to people in at most so many characters. */
  readonly data: () => CommentRecord;
  readonly render: (limit: number) => string;
}

/** The signal of a pause that no cancellation ends. */
const { signal: NEVER } = new AbortController();
const MOST_CREATIONS = 3;
/** Milliseconds between two creations if the first was certainly not written. */
const CREATE_AGAIN_MS = 1000;
/** Milliseconds that GitHub asks to wait, once, after a rate limit that names no time. */
const UNNAMED_PAUSE_MS = 60_000;
/** Milliseconds before an edit is made once more: one without an answer may come late, and be the last word. */
const EDIT_AGAIN_MS = 15_000;
/** Milliseconds for which the last edit is repeated, while there is time. */
const LAST_EDITS_MS = 120_000;
/** Milliseconds before each further last edit of a run that is cancelled, and for all of them: the runner ends it soon. */
const CANCELLED_AGAIN_MS = [500, 1000, 1500];
const CANCELLED_EDITS_MS = 4000;

type Edited = 'done' | GitHubError;

export class Note {
  readonly #options: NoteOptions;
  /** The URL of the comment; empty if it does not exist. */
  url = '';
  /** 0 before the comment is created, and nothing edits it before that. */
  #id = 0;
  /** Its ID in GraphQL. */
  #nodeId = '';
  /** Ends when the last edit is made. */
  #editing: Promise<unknown> = Promise.resolve();
  /** Whether an edit is still to begin, which will have the newest text. */
  #isDue = false;
  /** Whether an edit had no answer. */
  #mayBeLate = false;
  #cancelledAt = Infinity;
  readonly #pauses = [...CANCELLED_AGAIN_MS];

  constructor(options: NoteOptions) {
    this.#options = options;
    const { clock, signal } = options;
    const setCancelled = (): void => {
      this.#cancelledAt = clock.now();
    };
    if (signal.aborted) setCancelled();
    signal.addEventListener('abort', setCancelled, { once: true });
  }

  /** Creates the comment. If that fails, no message may be sent: the comment may not exist. */
  async create(): Promise<Ok<string> | NotCreated> {
    const created = await createComment(this.#options, () => this.#compose());
    if (created.kind === 'problem') return created;
    this.recognize(created.value);
    return ok(this.url);
  }

  /** This is the comment: its creation had an answer, or a list shows it. */
  recognize({ url, nodeId }: Pick<CreatedComment, 'url' | 'nodeId'>): void {
    this.#id = commentId(url);
    this.#nodeId = nodeId;
    this.url = url;
  }

  /** Edits the comment soon: edits follow one another, so that an older text never replaces a newer one. */
  write(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    void this.edit();
  }

  /**
   * Repeats the last edit, of which the first answer is given, if that may help: until GitHub has taken it, for two minutes until
   * a time of the clock, and once in any case. A problem is a sentence.
   */
  async repeatLast(first: Edited, until: number): Promise<Result<string>> {
    const { clock, signal } = this.#options;
    const end = Math.min(until, clock.now() + LAST_EDITS_MS);
    if (first === 'done' && this.#mayBeLate && !signal.aborted) {
      await clock.sleep(EDIT_AGAIN_MS, signal).catch(() => {});
      await this.edit();
    }
    let edited = first;
    for (let again = 1; edited !== 'done'; again += 1) {
      const askedMs = pauseBeforeEdit(edited);
      if (askedMs === undefined) break;
      const pauseMs = signal.aborted
        ? this.#pauseIfCancelled()
        : fitPause(askedMs, end - clock.now(), again === 1);
      if (pauseMs === undefined) break;
      await clock.sleep(pauseMs, signal.aborted ? NEVER : signal).catch(() => {});
      edited = await this.edit();
    }
    return edited === 'done' ? ok(this.url) : problem(explainLastEdit(edited));
  }

  /** Undefined if there is no time. */
  #pauseIfCancelled(): number | undefined {
    const pauseMs = this.#pauses.shift();
    const leftMs = this.#cancelledAt + CANCELLED_EDITS_MS - this.#options.clock.now();
    return pauseMs !== undefined && pauseMs < leftMs ? pauseMs : undefined;
  }

  /**
   * Collapses the comment itself, if it says no more, and those above that say nothing of use once its process is done.
   * `hasTold`: it has sent a message, or told its end. It changes no text.
   */
  async collapse(itself: Classifier | null, hasTold: boolean): Promise<void> {
    const { github, conversation } = this.#options;
    const collapsed: [string, Classifier][] = itself === null ? [] : [[this.#nodeId, itself]];
    const own = this.#options.data();
    // What gives way to another run leaves the comments of that one.
    if (itself !== 'OUTDATED') {
      const comments = await github.newestOwnComments(conversation).catch(() => []);
      const limits = limitsIn(comments, own.project);
      for (const { id, body, url, isMinimized } of comments) {
        const isAbove = !isMinimized && commentId(url) < commentId(this.url);
        if (isAbove && isOutdatedBy(body, own, hasTold, limits)) collapsed.push([id, 'OUTDATED']);
      }
    }
    if (collapsed.length > 0) await github.hide(collapsed);
  }

  #compose(): string {
    const { data, render } = this.#options;
    return composeComment(data(), render);
  }

  /** Edits the comment, and resolves to what GitHub answered. */
  edit(): Promise<Edited> {
    const { github } = this.#options;
    const edited = this.#editing.then(async () => {
      this.#isDue = false;
      try {
        await github.updateComment(this.#id, this.#compose());
        return 'done';
      } catch (error) {
        this.#mayBeLate ||= isUnclear(error);
        return error instanceof GitHubError ? error : new GitHubError(0, 'an unexpected error');
      }
    });
    this.#editing = edited;
    return edited;
  }
}

/** A sentence. */
function explainLastEdit(error: GitHubError): string {
  // The process has created it, so it was there.
  if ([404, 410].includes(error.status)) return 'Somebody has deleted the comment.';
  return sentences(`The comment is not up to date: ${whyOf(error)}.`, hintForEdit(error));
}

/** The token was good when the comment was created. */
function hintForEdit(error: GitHubError): string {
  return error.status === 401 ? 'Tokens of GitHub Apps live an hour.' : hintFor(error);
}

/** Milliseconds until GitHub may take the same edit; undefined if it will refuse that again. */
function pauseBeforeEdit(error: GitHubError): number | undefined {
  if (!isUnclear(error) && error.status !== 429) return undefined;
  const { status, pauseMs = status === 429 ? UNNAMED_PAUSE_MS : 0 } = error;
  return Math.max(EDIT_AGAIN_MS, pauseMs);
}

/** Milliseconds; undefined if there is no time. The first repetition needs none. */
function fitPause(askedMs: number, leftMs: number, isFirst: boolean): number | undefined {
  if (askedMs <= leftMs) return askedMs;
  return isFirst ? EDIT_AGAIN_MS : undefined;
}

/**
 * Why there is no comment; the problem is a sentence. `unclear`: there may be one, or it may appear later. `no answer`: GitHub was
 * not reached. `settings`: a setting or a permission is wrong.
 */
export interface NotCreated {
  readonly kind: 'problem';
  readonly problem: string;
  readonly cause: 'unclear' | 'rate limit' | 'no answer' | 'settings' | 'refused';
}

/** Creates a comment, and repeats that if it was certainly not written. */
export async function createComment(
  { github, conversation, clock, signal, until }: CommentPlace,
  compose: () => string,
): Promise<Ok<CreatedComment> | NotCreated> {
  let hasWaited = false;
  for (let failed = 1; ; failed += 1) {
    try {
      return ok(await github.createComment(conversation, compose()));
    } catch (error) {
      const pauseMs = pauseBeforeCreation(error, failed, hasWaited);
      if (signal.aborted || clock.now() + pauseMs >= until) return notCreated(error);
      hasWaited ||= isUnnamedLimit(error);
      await clock.sleep(pauseMs, signal).catch(() => {});
    }
  }
}

function notCreated(error: unknown): NotCreated {
  const isInDoubt = mayExist(error);
  const what = isInDoubt
    ? 'It is not known whether the comment was created'
    : 'The comment could not be created';
  return {
    kind: 'problem',
    problem: sentences(`${what}: ${whyOf(error)}.`, hintFor(error)),
    cause: isInDoubt ? 'unclear' : causeOf(error),
  };
}

/** Of a comment that GitHub has certainly not created. */
function causeOf(error: unknown): NotCreated['cause'] {
  if (isBySettings(error)) return 'settings';
  if (!mayPassLater(error)) return 'refused';
  return error instanceof GitHubError && error.status === 429 ? 'rate limit' : 'no answer';
}

function mayExist(error: unknown): boolean {
  return isUnclear(error) && !(error instanceof GitHubError && !error.wasWritten);
}

/** Milliseconds; Infinity if the comment may exist, or will be refused again. `hasWaited`: for a limit that named no time. */
function pauseBeforeCreation(error: unknown, failed: number, hasWaited: boolean): number {
  if (!(error instanceof GitHubError) || failed >= MOST_CREATIONS) return Infinity;
  if (!error.wasWritten) return CREATE_AGAIN_MS * failed;
  if (isUnnamedLimit(error)) return hasWaited ? Infinity : UNNAMED_PAUSE_MS;
  const { status, pauseMs = Infinity } = error;
  if (status !== 429 || pauseMs > LONGEST_RATE_PAUSE_MS) return Infinity;
  // Several at once would be refused again.
  return Math.max(CREATE_AGAIN_MS * failed, pauseMs);
}

function isUnnamedLimit(error: unknown): boolean {
  return error instanceof GitHubError && error.status === 429 && error.pauseMs === undefined;
}

/** The messages, as hashes, that a limit has stopped, by their notes. A reply to one tells the limit, too. */
export function limitsIn(
  comments: readonly { readonly body: string }[],
  project: string,
): ReadonlySet<string> {
  const limits = new Set<string>();
  for (const { body } of comments) {
    const note = parseRecord(body, project);
    if (typeof note !== 'string' && isStopped(note)) limits.add(toReplyId(note).message);
  }
  return limits;
}

function isStopped({ jobs }: CommentRecord): boolean {
  return jobs.length > 0 && jobs.every(({ limited = false }) => limited);
}

/** Whether a comment of the same identity above the note says nothing of use any more once the process of the note is done. */
export function isOutdatedBy(
  body: string,
  own: CommentRecord,
  hasTold: boolean,
  limits: ReadonlySet<string>,
): boolean {
  const reply = parseReply(body);
  if (reply !== undefined) return hasTold && isFollowed(reply, toReplyId(own), limits);
  const note = parseRecord(body, own.project);
  if (typeof note === 'string' || note.process === own.process) return false;
  const isOver = isStopped(note) && hasTold && isFollowed(toReplyId(note), toReplyId(own), limits);
  return isOver || isReplaced(note, own);
}

/** A person who goes on has also seen what checks were told of a limit. */
function isFollowed(one: ReplyId, own: ReplyId, limits: ReadonlySet<string>): boolean {
  if (one.message === own.message) return true;
  const isOfSameKind = one.by === own.by || (own.by === 'person' && limits.has(one.message));
  return one.step === own.step && isOfSameKind;
}

/** Each command has its own answer. */
function isReplaced(note: CommentRecord, own: CommentRecord): boolean {
  const idsOf = ({ jobs }: CommentRecord): string =>
    jobs
      .map(({ id }) => id)
      .sort()
      .join();
  if (own.command !== '' || note.command !== '' || idsOf(note) !== idsOf(own)) return false;
  if (!note.jobs.every(({ delivery, ended }) => delivery !== 'sending' && ended !== undefined)) {
    return false;
  }
  const sawEnd = own.jobs.every(({ ended }) => ended && statusWith(ended.result) !== undefined);
  const doesNotWait = note.jobs.every(({ ended }) => ended?.result === 'sent');
  return note.step === own.step || (sawEnd && doesNotWait);
}
