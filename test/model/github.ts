import type { GitHub } from '../../src/github/api.ts';
import { GitHubError } from '../../src/github/errors.ts';
import { type NoteData, readNote } from '../../src/note/data.ts';
import type { VirtualClock } from './clock.ts';
import type { Span } from './service.ts';

// A simulated GitHub: what a run does with its comment, and with pull requests.

export interface GitHubScript {
  /** What becomes of the first comment. `lost`: it is made, but the answer is lost; `gone`: it is not made. */
  readonly create: 'made' | 'refused' | 'limited' | 'lost' | 'gone';
  /** Milliseconds that each call takes, and that GitHub asks to wait for if the rate is limited. */
  readonly callMs: number;
  readonly pauseMs: number | null;
  /** Whether edits fail. */
  readonly isReadOnly: boolean;
  /** The bodies of our comments that are there before. */
  readonly comments: readonly string[];
}

export interface SimulatedGitHub {
  readonly connect: () => Promise<GitHub>;
  /** Our notes, as each of them was at each time: oldest first. */
  readonly notes: readonly (readonly NoteData[])[];
  /** The calls that create a comment. */
  readonly creations: readonly Span[];
}

/** As in src/github/api.ts. */
const CALL_MS = 10_000;
const AFTER_CANCEL_MS = 4000;

export function simulatedGitHub(
  script: GitHubScript,
  project: string,
  clock: VirtualClock,
  signal: AbortSignal,
): SimulatedGitHub {
  const notes: NoteData[][] = [];
  const bodies: string[] = [...script.comments];
  const creations: Span[] = [];
  const over = new AbortController();
  const endSoon = (): void => void clock.after(AFTER_CANCEL_MS, () => over.abort());
  if (signal.aborted) endSoon();
  else signal.addEventListener('abort', endSoon, { once: true });

  async function call<T>(answer: () => T): Promise<T> {
    const none = new GitHubError(0, 'GitHub did not answer in time');
    await clock.sleep(Math.min(script.callMs, CALL_MS), over.signal).catch(() => {
      throw none;
    });
    if (script.callMs > CALL_MS) throw none;
    return answer();
  }

  function write(index: number, body: string): void {
    const note = readNote(body, project);
    if (typeof note === 'string') throw new Error(`A comment has no note: ${body.slice(0, 200)}`);
    notes[index] = [...(notes[index] ?? []), note];
    bodies[script.comments.length + index] = body;
  }

  const urlOf = (id: number): string =>
    `https://github.com/octo/agents/pull/7#issuecomment-${id + 1}`;

  function create(body: string): { id: number; url: string } {
    if (script.create === 'refused') throw new GitHubError(403, 'GitHub answered 403');
    if (script.create === 'limited' && creations.length === 1) {
      throw new GitHubError(429, 'GitHub answered 429', undefined, script.pauseMs);
    }
    const isFirst = creations.length === 1;
    if (script.create === 'gone' && isFirst) throw new GitHubError(0, 'no answer');
    const id = notes.length;
    write(id, body);
    if (script.create === 'lost' && isFirst) throw new GitHubError(502, 'GitHub answered 502');
    return { id: id + 1, url: urlOf(id) };
  }

  const own = () =>
    bodies.map((body, index) => {
      const id = index - script.comments.length;
      return { nodeId: String(index), body, url: urlOf(id), isHidden: false };
    });

  const github: Pick<GitHub, (typeof CALLS)[number]> = {
    ownComments: () => call(own),
    newestOwnComments: () => call(own),
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
        if (script.isReadOnly) throw new GitHubError(404, 'GitHub answered 404');
        write(id - 1, body);
      }),
    pullRequest: () => call(() => ({ head: 'c'.repeat(40), commits: 3 })),
    commits: () => call(() => ['c'.repeat(40)]),
  };
  // The others are for commands, and for the check of permissions.
  return { connect: async () => github as GitHub, notes, creations };
}

const CALLS = [
  ...(['ownComments', 'newestOwnComments', 'hide', 'createComment', 'updateComment'] as const),
  ...(['pullRequest', 'commits'] as const),
];
