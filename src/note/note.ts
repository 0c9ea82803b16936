import type { CreatedComment, GitHub } from '../github/api.ts';
import { GitHubError, hintFor, isUnclear, LONGEST_RATE_PAUSE_MS, whyOf } from '../github/errors.ts';
import { statusWith } from '../job/ends.ts';
import type { Runtime } from '../runner/environment.ts';
import { ok, problem, type Result, sentences } from '../text.ts';
import { composeNote, type FoundNote, type NoteData, readNote } from './data.ts';

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
  readonly data: () => NoteData;
  readonly render: (limit: number) => string;
}

const MOST_CREATIONS = 3;
/** Milliseconds between two creations if the first was certainly not written. */
const CREATE_AGAIN_MS = 1000;
/** Milliseconds after which the last edit is made once more: one without an answer may come late, and be the last word. */
const LAST_EDIT_AGAIN_MS = 15_000;

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

  constructor(options: NoteOptions) {
    this.#options = options;
  }

  /** Creates the comment. A problem is a sentence, and no message may be sent then: the comment may not exist. */
  async create(): Promise<Result<string>> {
    const created = await createComment(this.#options, () => this.#compose());
    if (created.kind === 'problem') return created;
    this.#id = created.value.id;
    this.#nodeId = created.value.nodeId;
    this.url = created.value.url;
    return ok(this.url);
  }

  /** Edits the comment soon: edits follow one another, so that an older text never replaces a newer one. */
  write(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    void this.#edit();
  }

  /** Edits the comment, and resolves to what GitHub answered. */
  edit(): Promise<'done' | GitHubError> {
    return this.#edit();
  }

  /** Makes the last edit. A problem is a sentence. */
  async close(): Promise<Result<string>> {
    const { clock, signal } = this.#options;
    let edited = await this.#edit();
    if ((this.#mayBeLate || edited !== 'done') && !signal.aborted) {
      const { pauseMs = 0 } = edited === 'done' ? {} : edited;
      const askedMs = pauseMs <= LONGEST_RATE_PAUSE_MS ? pauseMs : 0;
      await clock.sleep(Math.max(LAST_EDIT_AGAIN_MS, askedMs), signal).catch(() => {});
      const again = await this.#edit();
      if (edited !== 'done') edited = again;
    }
    return edited === 'done' ? ok(this.url) : problem(explainEdit(edited));
  }

  /** Hides the comment itself, because another one says the same. Other runs still read it. */
  hide(): Promise<void> {
    return this.#options.github.hide([this.#nodeId]);
  }

  /**
   * Hides older comments about the same jobs as outdated, if their processes are done: those of the step, and if this one has seen
   * the end of the work, also those of others that do not wait for it. It changes no text.
   */
  async hideOlder(): Promise<void> {
    const { github, conversation } = this.#options;
    const own = this.#options.data();
    // Each command has its own answer.
    if (own.command !== '') return;
    const comments = await github.newestOwnComments(conversation);
    const older = comments.filter(({ body, url, isMinimized }) => {
      const isOlder = !isMinimized && commentId(url) < commentId(this.url);
      const note = isOlder ? readNote(body, own.project) : 'none';
      return typeof note !== 'string' && isReplaced(note, own);
    });
    if (older.length > 0) await github.hide(older.map(({ id }) => id));
  }

  #compose(): string {
    const { data, render } = this.#options;
    return composeNote(data(), render);
  }

  #edit(): Promise<'done' | GitHubError> {
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
export function explainEdit(error: GitHubError): string {
  return sentences(`The comment could not be updated: ${whyOf(error)}.`, hintFor(error));
}

/** Creates a comment, and repeats that if it was certainly not written. A problem is a sentence. */
export async function createComment(
  { github, conversation, clock, signal, until }: CommentPlace,
  compose: () => string,
): Promise<Result<CreatedComment>> {
  for (let failed = 1; ; failed += 1) {
    try {
      return ok(await github.createComment(conversation, compose()));
    } catch (error) {
      const pauseMs = pauseBeforeCreation(error, failed);
      if (signal.aborted || clock.now() + pauseMs >= until) {
        const what = mayExist(error)
          ? 'It is not known whether the comment was created'
          : 'The comment could not be created';
        return problem(sentences(`${what}: ${whyOf(error)}.`, hintFor(error)));
      }
      await clock.sleep(pauseMs, signal).catch(() => {});
    }
  }
}

function mayExist(error: unknown): boolean {
  return isUnclear(error) && !(error instanceof GitHubError && !error.wasWritten);
}

/** Milliseconds; Infinity if the comment may exist, or will be refused again. */
function pauseBeforeCreation(error: unknown, failed: number): number {
  if (!(error instanceof GitHubError) || failed >= MOST_CREATIONS) return Infinity;
  if (!error.wasWritten) return CREATE_AGAIN_MS * failed;
  const { status, pauseMs = Infinity } = error;
  return status === 429 && pauseMs <= LONGEST_RATE_PAUSE_MS ? pauseMs : Infinity;
}

/** The ID of a comment in the REST API; later comments have higher ones. NaN if the URL has none. */
export function commentId(url: string): number {
  return Number(/#issuecomment-([1-9]\d*)$/.exec(url)?.[1]);
}

/** All notes of the project in a conversation, the oldest first, or why they are not known. `until`: a time of the clock. */
export async function readNotes(
  github: GitHub,
  conversation: number,
  project: string,
  until: number,
): Promise<Result<readonly FoundNote[]>> {
  try {
    const comments = await github.ownComments(conversation, until);
    const notes: FoundNote[] = [];
    for (const { body, url, isEdited } of comments) {
      const note = readNote(body, project, isEdited);
      if (note === 'unreadable') {
        return problem(
          `a comment of this action cannot be read, ${url}; delete it if it is not needed`,
        );
      }
      if (note !== 'none') notes.push({ ...note, url });
    }
    return ok(notes);
  } catch (error) {
    return problem(`the comments of the conversation cannot be read: ${whyOf(error)}`);
  }
}

function isReplaced(note: NoteData, own: NoteData): boolean {
  const idsOf = ({ jobs }: NoteData): string =>
    jobs
      .map(({ id }) => id)
      .sort()
      .join();
  if (note.command !== '' || idsOf(note) !== idsOf(own)) return false;
  if (!note.jobs.every(({ delivery, ended }) => delivery !== 'sending' && ended !== undefined)) {
    return false;
  }
  const sawEnd = own.jobs.every(({ ended }) => ended && statusWith(ended.result) !== undefined);
  const doesNotWait = note.jobs.every(({ ended }) => ended?.result === 'sent');
  return note.step === own.step || (sawEnd && doesNotWait);
}
