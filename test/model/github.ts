import type { GitHub } from '../../src/github/api.ts';
import { GitHubError } from '../../src/github/errors.ts';
import { composeNote, type NoteData, readNote } from '../../src/note/data.ts';
import { EPOCH, type VirtualClock } from './clock.ts';
import type { Scenario } from './scenario.ts';
import type { Span } from './service.ts';

// A simulated GitHub: what a run does with its comments, and with pull requests.

/** As in src/github/api.ts. */
export const CALL_MS = 10_000;
export const AFTER_CANCEL_MS = 6000;

interface WrittenNote extends NoteData {
  readonly writtenAt: number;
}

interface Comment {
  readonly body: string;
  readonly createdAt: number;
}

type Kind = 'list' | 'create' | 'pull';

/** `earlier`: the comments that are there before. */
export function simulatedGitHub(
  { github: script }: Pick<Scenario, 'github'>,
  earlier: readonly NoteData[],
  clock: VirtualClock,
  signal: AbortSignal,
) {
  const notes: WrittenNote[] = [];
  const comments = earlier.map((note): Comment => {
    return { body: composeNote(note, () => ''), createdAt: clock.now() - script.earlierMs };
  });
  const calls: (Span & { readonly kind: Kind; isDone?: true; shown?: number })[] = [];
  const over = new AbortController();
  const endSoon = (): void => void clock.after(AFTER_CANCEL_MS, () => over.abort());
  signal.addEventListener('abort', endSoon, { once: true });

  async function call<T>(answer: () => T): Promise<T> {
    const isSilent = script.callMs > CALL_MS;
    await clock.sleep(isSilent ? CALL_MS : script.callMs, over.signal).catch(() => {});
    if (isSilent || over.signal.aborted) throw new GitHubError(0, 'GitHub did not answer in time');
    return answer();
  }

  /** A call that jobs wait for. */
  async function spanned<T>(
    kind: Kind,
    answer: () => T,
    refusal?: GitHubError | false,
  ): Promise<T> {
    const span: (typeof calls)[number] = { kind, startedAt: clock.now(), endedAt: Infinity };
    calls.push(span);
    try {
      if (refusal) throw refusal;
      const answered = await call(answer);
      span.isDone = true;
      if (Array.isArray(answered)) span.shown = answered.length;
      return answered;
    } finally {
      span.endedAt = clock.now();
    }
  }

  function write(index: number, body: string): void {
    const note = readNote(body, earlier[0]?.project ?? '');
    if (note === 'unreadable') throw new Error(`A note cannot be read: ${body.slice(0, 200)}`);
    if (note !== 'none') notes.push({ ...note, writtenAt: clock.now() });
    comments[index] = { createdAt: comments[index]?.createdAt ?? clock.now(), body };
  }

  function create(body: string, isFirst: boolean): { id: number; url: string } {
    const fate = isFirst ? script.create : 'made';
    if (fate === 'refused') throw new GitHubError(403, 'GitHub answered 403');
    if (fate === 'gone') throw new GitHubError(0, 'GitHub did not answer');
    if (fate === 'unwritten') throw new GitHubError(0, 'no connection', { wasWritten: false });
    if (fate === 'limited') {
      const pause = script.pauseMs === null ? {} : { pauseMs: script.pauseMs };
      throw new GitHubError(429, 'GitHub answered 429', pause);
    }
    const id = comments.length + 1;
    write(id - 1, body);
    if (fate === 'lost') throw new GitHubError(502, 'GitHub answered 502');
    return { id, url: urlOf(id) };
  }

  const shown = { isMinimized: false, viewerDidAuthor: true };
  const listed = () =>
    comments
      .map((one, index) => ({ ...one, ...shown, id: String(index + 1), url: urlOf(index + 1) }))
      .filter(({ createdAt }) => createdAt + script.lagMs <= clock.now());

  // The other calls are for commands, and for the check of permissions.
  const github: Partial<GitHub> = {
    ownComments(_, until) {
      const isRefused = script.hidesNotes || clock.now() + EPOCH > until;
      return spanned('list', listed, isRefused && new GitHubError(403, 'GitHub answered 403'));
    },
    newestOwnComments: () => call(listed),
    hide: () => call(() => {}),
    createComment(_, body) {
      const isFirst = calls.every(({ kind }) => kind !== 'create');
      return spanned('create', () => create(body, isFirst));
    },
    updateComment: (id, body) =>
      call(() => {
        if (script.refusesEdits) throw new GitHubError(404, 'GitHub answered 404');
        write(id - 1, body);
      }),
    pullRequest: () => spanned('pull', () => ({ head: 'c'.repeat(40), commits: 3 })),
  };
  return {
    client: github as GitHub,
    /** What the notes of the run said, from the creation to the last edit. */
    notes: notes as readonly WrittenNote[],
    /** The calls that jobs wait for; of a list, how many comments it showed. */
    calls: calls as readonly (typeof calls)[number][],
    /** How many comments were there before. */
    before: earlier.length,
  };
}

function urlOf(id: number): string {
  return `https://github.com/octo/agents/pull/7#issuecomment-${id}`;
}
