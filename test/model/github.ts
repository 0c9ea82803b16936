import type { GitHub } from '../../src/github/api.ts';
import { GitHubError } from '../../src/github/errors.ts';
import { composeNote, type NoteData, readNote } from '../../src/note/data.ts';
import { EPOCH, type VirtualClock } from './clock.ts';
import type { Scenario } from './scenario.ts';
import type { Span } from './service.ts';

// A simulated GitHub: what a run does with its comments, and with pull requests.

/** As in src/github/api.ts. */
export const CALL_MS = 10_000;
export const AFTER_CANCEL_MS = 4000;
export const AFTER_LIMIT_MS = 1500;

interface WrittenNote extends NoteData {
  readonly writtenAt: number;
}

/** `earlier`: the comments that are there before. */
export function simulatedGitHub(
  { github: script }: Pick<Scenario, 'github'>,
  earlier: readonly NoteData[],
  clock: VirtualClock,
  signal: AbortSignal,
) {
  const notes: WrittenNote[] = [];
  const bodies = earlier.map((note) => composeNote(note, () => ''));
  const creations: Span[] = [];
  const over = new AbortController();
  let until = Infinity;
  const endSoon = (): void => void clock.after(AFTER_CANCEL_MS, () => over.abort());
  signal.addEventListener('abort', endSoon, { once: true });

  async function call<T>(answer: () => T): Promise<T> {
    const mostMs = Math.max(0, Math.min(CALL_MS, until - clock.now()));
    const isSilent = script.callMs > mostMs;
    await clock.sleep(isSilent ? mostMs : script.callMs, over.signal).catch(() => {});
    if (isSilent || over.signal.aborted) throw new GitHubError(0, 'GitHub did not answer in time');
    return answer();
  }

  function write(index: number, body: string): void {
    const note = readNote(body, earlier[0]?.project ?? '');
    if (typeof note === 'string') throw new Error(`A comment has no note: ${body.slice(0, 200)}`);
    notes.push({ ...note, writtenAt: clock.now() });
    bodies[index] = body;
  }

  const urlOf = (index: number): string =>
    `https://github.com/octo/agents/pull/7#issuecomment-${index}`;

  function create(body: string): { id: number; url: string } {
    const fate = creations.length === 1 ? script.create : 'made';
    if (fate === 'refused') throw new GitHubError(403, 'GitHub answered 403');
    if (fate === 'gone') throw new GitHubError(0, 'GitHub did not answer');
    if (fate === 'limited') {
      throw new GitHubError(429, 'GitHub answered 429', undefined, script.pauseMs);
    }
    const id = bodies.length;
    write(id, body);
    if (fate === 'lost') throw new GitHubError(502, 'GitHub answered 502');
    return { id, url: urlOf(id) };
  }

  const shown = { isMinimized: false, viewerDidAuthor: true };
  const listed = () =>
    bodies.map((body, index) => ({ id: String(index), body, url: urlOf(index), ...shown }));

  // The other calls are for commands, and for the check of permissions.
  const github: Partial<GitHub> = {
    limitTo(time) {
      until = time - EPOCH + AFTER_LIMIT_MS;
    },
    ownComments() {
      if (script.hidesNotes) throw new GitHubError(403, 'GitHub answered 403');
      return call(listed);
    },
    newestOwnComments: () => call(listed),
    hide: () => call(() => {}),
    async createComment(_, body) {
      const span: Span = { startedAt: clock.now(), endedAt: Infinity };
      creations.push(span);
      try {
        return await call(() => create(body));
      } finally {
        span.endedAt = clock.now();
      }
    },
    updateComment: (id, body) =>
      call(() => {
        if (script.refusesEdits) throw new GitHubError(404, 'GitHub answered 404');
        write(id, body);
      }),
    pullRequest: () => call(() => ({ head: 'c'.repeat(40), commits: 3 })),
    commits: () => call(() => [{ sha: 'c'.repeat(40), title: 'A change' }]),
  };
  return {
    client: github as GitHub,
    /** What the notes of the run said, from the creation to the last edit. */
    notes: notes as readonly WrittenNote[],
    /** The calls that create a comment. */
    creations: creations as readonly Span[],
  };
}
