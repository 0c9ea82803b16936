import type { GitHub } from '../github/api.ts';
import { GitHubError, hintFor, isUnclear, whyOf } from '../github/errors.ts';
import type { Runtime } from '../runner/environment.ts';
import { ok, problem, type Result, sentences } from '../text.ts';
import { type AboutNote, type FoundNote, readNote } from './data.ts';

// The comment of this process: it alone edits it, and it never reads it back. All calls to GitHub about our
// comments are here.

interface NoteOptions extends Pick<Runtime, 'clock' | 'signal'> {
  readonly github: GitHub;
  readonly conversation: number;
  /** The whole comment as it should be now. */
  readonly compose: () => string;
  /** The random name in it. */
  readonly id: string;
  /** When its creation must have ended. */
  readonly until: number;
}

/** Milliseconds after which a comment whose creation had no response is looked for. */
const LOOK_AGAIN_MS = 3000;
/** Milliseconds that the last edit waits for a rate limit, and if GitHub does not say for how long. */
const LONGEST_RATE_PAUSE_MS = 60_000;
const RATE_PAUSE_MS = 45_000;

export class Note {
  readonly #options: NoteOptions;
  /** The URL of the comment; empty if it does not exist. */
  url = '';
  /** Milliseconds that the last edit waits for a rate limit. */
  pausedMs = 0;
  /** 0 before the comment is created, and nothing edits it before that. */
  #id = 0;
  /** Ends when the last edit is made. */
  #editing: Promise<unknown> = Promise.resolve();
  /** Whether an edit is still to begin, which will have the newest text. */
  #isDue = false;

  constructor(options: NoteOptions) {
    this.#options = options;
  }

  /** Creates the comment. A problem is a sentence, and the comment does not exist then, as far as that is known. */
  async create(): Promise<Result<string>> {
    const { github, conversation, compose } = this.#options;
    try {
      return this.#start(await github.createComment(conversation, compose()));
    } catch (error) {
      const created = isUnclear(error) ? await this.#find() : 'nothing';
      if (created !== 'nothing') return this.#start(created);
      const why = `The comment could not be created: ${whyOf(error)}.`;
      return problem(sentences(why, hintFor(error)));
    }
  }

  /** Edits the comment soon: edits follow one another, so that an older text never replaces a newer one. */
  write(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    void this.#edit();
  }

  /** Makes the last edit. A problem is a sentence. */
  async close(): Promise<Result<string>> {
    const { clock, signal } = this.#options;
    let edited = await this.#edit();
    if (edited !== 'done' && this.#mayPass(edited)) {
      await clock.sleep(this.pausedMs, signal).catch(() => {});
      edited = await this.#edit();
    }
    if (edited === 'done') return ok(this.url);
    const why = `The comment could not be updated: ${whyOf(edited)}.`;
    return problem(sentences(why, hintFor(edited)));
  }

  /** Whether a second edit may succeed, after a pause for a rate limit. */
  #mayPass(error: GitHubError): boolean {
    const pauseMs = error.status === 429 ? error.pauseMs || RATE_PAUSE_MS : 0;
    if (pauseMs > LONGEST_RATE_PAUSE_MS || this.#options.signal.aborted) return false;
    this.pausedMs = pauseMs;
    return pauseMs > 0 || isUnclear(error);
  }

  #start({ id, url }: { readonly id: number; readonly url: string }): Result<string> {
    this.#id = id;
    this.url = url;
    return ok(url);
  }

  /** Looks once for a comment whose creation had no response. */
  async #find(): Promise<{ id: number; url: string } | 'nothing'> {
    const { clock, signal, github, conversation, id, until } = this.#options;
    if (clock.now() + LOOK_AGAIN_MS > until) return 'nothing';
    await clock.sleep(LOOK_AGAIN_MS, signal).catch(() => {});
    try {
      const comments = await github.newestOwnComments(conversation);
      const { url = '' } = comments.find(isNoteOf(id)) ?? {};
      return commentId(url) > 0 ? { id: commentId(url), url } : 'nothing';
    } catch {
      return 'nothing';
    }
  }

  #edit(): Promise<'done' | GitHubError> {
    const { github, compose } = this.#options;
    const edited = this.#editing.then(async () => {
      this.#isDue = false;
      try {
        await github.updateComment(this.#id, compose());
        return 'done';
      } catch (error) {
        return error instanceof GitHubError ? error : new GitHubError(0, 'an unexpected error');
      }
    });
    this.#editing = edited;
    return edited;
  }
}

/** The ID of a comment in the REST API; later comments have higher ones. NaN if the URL has none. */
export function commentId(url: string): number {
  return Number(/#issuecomment-([1-9]\d*)$/.exec(url)?.[1]);
}

/** Finds the comment of the process with this ID. */
function isNoteOf(id: string): (comment: { readonly body: string }) => boolean {
  return ({ body }) => body.includes(`"id":"${id}"`);
}

/** All notes of the project in a conversation, or why they are not known. */
export async function readNotes(
  github: GitHub,
  conversation: number,
  project: string,
): Promise<Result<readonly FoundNote[]>> {
  try {
    const comments = await github.ownComments(conversation);
    const notes: FoundNote[] = [];
    for (const { body, url } of comments) {
      const note = readNote(body, project);
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

/** Hides the older comments of the same series as outdated, if their process is over. It changes no text. */
export async function hideOlder(
  github: GitHub,
  conversation: number,
  own: AboutNote,
  now: number,
): Promise<void> {
  const comments = await github.newestOwnComments(conversation);
  const end = comments.findIndex(isNoteOf(own.id));
  const older = comments.slice(0, Math.max(0, end)).filter(({ body, isMinimized }) => {
    const note = isMinimized ? 'none' : readNote(body, own.project);
    if (typeof note === 'string' || note.series !== own.series) return false;
    const isEarlier = note.run === own.run && note.attempt < own.attempt;
    return note.over || isEarlier || note.deadline < now;
  });
  if (older.length > 0) await github.hide(older.map(({ id }) => id));
}
