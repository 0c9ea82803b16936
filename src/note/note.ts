import type { GitHub } from '../github/api.ts';
import { GitHubError, hintFor, isUnclear, whyOf } from '../github/errors.ts';
import type { Runtime } from '../runner/environment.ts';
import { ok, problem, type Result, sentences } from '../text.ts';
import { type AboutNote, type NoteData, readNote } from './data.ts';

// The comment of this process: it alone edits it, and it never reads it back. All calls to GitHub about our
// comments are here.

interface NoteOptions extends Pick<Runtime, 'clock' | 'signal' | 'random' | 'log'> {
  readonly github: GitHub;
  readonly conversation: number;
  /** The whole comment as it should be now. */
  readonly compose: () => string;
  /** The random name in it. */
  readonly id: string;
  /** Until when a creation that GitHub refuses for its rate is tried again. */
  readonly deadline: number;
}

/** Milliseconds between edits: in the first ten minutes, and later. */
const EDIT_INTERVAL_MS = 60_000;
const LATER_INTERVAL_MS = 300_000;
const LATER_MS = 600_000;
/** Milliseconds after which a comment whose creation had no response is looked for. */
const LOOK_AGAIN_MS = 3000;
/** Milliseconds, if GitHub refuses a comment for its rate and does not say for how long; and a random part. */
const RATE_PAUSE_MS = 60_000;
const RATE_SPREAD_MS = 30_000;

export class Note {
  readonly #options: NoteOptions;
  /** The URL of the comment; empty if it does not exist. */
  url = '';
  /** Whether the last edit waits for a rate limit, or has done so. */
  hasPaused = false;
  /** 0 before the comment is created, and nothing edits it before that. */
  #id = 0;
  #createdAt = 0;
  #editedAt = 0;
  /** Calls off the edit that is due; null if none is. */
  #due: AbortController | null = null;
  #isClosed = false;
  /** Ends when the last edit is made. */
  #editing: Promise<unknown> = Promise.resolve();

  constructor(options: NoteOptions) {
    this.#options = options;
  }

  /** Creates the comment. Resolves to a sentence if that failed. */
  async create(): Promise<string | null> {
    const { clock, signal, random, deadline, github, conversation, compose } = this.#options;
    for (;;) {
      try {
        this.#start(await github.createComment(conversation, compose()));
        return null;
      } catch (error) {
        const pauseMs = ratePauseMs(error, RATE_PAUSE_MS + random() * RATE_SPREAD_MS);
        if (pauseMs > 0 && !signal.aborted && clock.now() + pauseMs < deadline) {
          this.#options.log.info(
            `GitHub takes no comment for now. Trying again in ${Math.ceil(pauseMs / 1000)} s.`,
          );
          await clock.sleep(pauseMs, signal).catch(() => {});
          if (!signal.aborted) continue;
        }
        if (isUnclear(error) && (await this.#wasCreated())) return null;
        return sentences(`The comment could not be created: ${whyOf(error)}.`, hintFor(error));
      }
    }
  }

  /** Something has changed: the comment is edited soon, but not too often. */
  touch(): void {
    if (this.#isClosed || this.#due !== null) return;
    const due = new AbortController();
    this.#due = due;
    const { clock } = this.#options;
    const now = clock.now();
    const interval = now - this.#createdAt < LATER_MS ? EDIT_INTERVAL_MS : LATER_INTERVAL_MS;
    const pauseMs = Math.max(0, this.#editedAt + interval - now);
    const edit = (): void => void this.#edit();
    clock.sleep(pauseMs, due.signal).then(edit, () => {});
  }

  /** Edits the comment now. */
  write(): void {
    void this.#edit();
  }

  /** Makes the last edit. Resolves to a sentence if that failed. */
  async close(): Promise<string | null> {
    this.#isClosed = true;
    const { clock, signal } = this.#options;
    let error = await this.#edit();
    const pauseMs = ratePauseMs(error, RATE_PAUSE_MS);
    const mayPass = pauseMs > 0 || isUnclear(error);
    if (error !== null && mayPass && pauseMs <= RATE_PAUSE_MS && !signal.aborted) {
      this.hasPaused = pauseMs > 0;
      await clock.sleep(pauseMs, signal).catch(() => {});
      error = await this.#edit();
    }
    return error === null
      ? null
      : sentences(`The comment could not be updated: ${whyOf(error)}.`, hintFor(error));
  }

  #start({ id, url }: { readonly id: number; readonly url: string }): void {
    this.#id = id;
    this.url = url;
    this.#createdAt = this.#options.clock.now();
    this.#editedAt = this.#createdAt;
  }

  /** Looks once for a comment whose creation had no response. */
  async #wasCreated(): Promise<boolean> {
    const { clock, signal, github, conversation, id } = this.#options;
    await clock.sleep(LOOK_AGAIN_MS, signal).catch(() => {});
    try {
      const comments = await github.newestOwnComments(conversation);
      const own = comments.find(isNoteOf(id));
      const number = Number(/#issuecomment-(\d+)$/.exec(own?.url ?? '')?.[1]);
      if (own === undefined || !(number > 0)) return false;
      this.#start({ id: number, url: own.url });
      return true;
    } catch {
      return false;
    }
  }

  /** One edit at a time, so that an older text never follows a newer one. Resolves to why it failed, or null. */
  #edit(): Promise<unknown> {
    const { github, compose, clock } = this.#options;
    this.#due?.abort();
    this.#due = null;
    const edited = this.#editing.then(async () => {
      this.#editedAt = clock.now();
      try {
        await github.updateComment(this.#id, compose());
        return null;
      } catch (error) {
        // It is tried again later.
        this.touch();
        return error;
      }
    });
    this.#editing = edited;
    return edited;
  }
}

/** Finds the comment of the process with this ID. */
function isNoteOf(id: string): (comment: { readonly body: string }) => boolean {
  return ({ body }) => body.includes(`"id":"${id}"`);
}

/** Milliseconds until GitHub takes a comment that it has refused for its rate; 0 for any other error. */
function ratePauseMs(error: unknown, otherwise: number): number {
  return error instanceof GitHubError && error.status === 429 ? error.pauseMs || otherwise : 0;
}

/** All notes of the project in a conversation, or why they are not known. */
export async function readNotes(
  github: GitHub,
  conversation: number,
  project: string,
): Promise<Result<readonly NoteData[]>> {
  try {
    const comments = await github.ownComments(conversation);
    const notes: NoteData[] = [];
    for (const { body, url } of comments) {
      const note = readNote(body, project);
      if (note === 'unreadable') {
        return problem(
          `a comment of this action cannot be read, ${url}; delete it if it is not needed`,
        );
      }
      if (note !== 'none') notes.push(note);
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
