import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { GitHub } from '../../src/github/api.ts';
import { GitHubError } from '../../src/github/errors.ts';
import { composeAnswer, composeNote, type NoteData } from '../../src/note/data.ts';
import { hideOlder, Note, readNotes } from '../../src/note/note.ts';
import { NOTE, START } from './record.ts';

const body = (parts: Partial<NoteData>): string => composeNote({ ...NOTE, ...parts }, () => '');

it.each<[string, string, boolean, boolean]>([
  ['of a process that is over', body({ id: 'a', run: '2', over: true }), false, true],
  ['of an earlier attempt', body({ id: 'a' }), false, true],
  ['after its deadline', body({ id: 'a', run: '2', deadline: START - 1 }), false, true],
  ['of a process that may still run', body({ id: 'a', run: '2' }), false, false],
  ['of a later attempt', body({ id: 'a', attempt: 3 }), false, false],
  ['of this process', body({ over: true }), false, false],
  ['of another series', body({ id: 'a', series: 'ee', over: true }), false, false],
  ['of a command', body({ id: 'a', series: '', over: true }), false, false],
  ['of another project', body({ id: 'a', project: 'ab', over: true }), false, false],
  ['that is hidden already', body({ id: 'a', over: true }), true, false],
  ['that is no note', composeAnswer('x'), false, false],
  ['that cannot be read', body({ id: 'a', over: true }).replace('"version":1', ''), false, false],
])('whether hideOlder hides a comment %s', async (_, text, isHidden, expected) => {
  const hidden: string[] = [];
  const github = {
    newestOwnComments: async () => [
      { id: 'IC_1', url: '', body: text, isMinimized: isHidden },
      { id: 'IC_2', url: '', body: body({}), isMinimized: false },
      { id: 'IC_3', url: '', body: body({ id: 'a', over: true }), isMinimized: false },
    ],
    hide: async (ids: readonly string[]) => void hidden.push(...ids),
  } as unknown as GitHub;
  await hideOlder(github, 7, { ...NOTE, attempt: 2 }, START);
  expect(hidden).toEqual(expected ? ['IC_1'] : []);
});

it('readNotes returns the notes of the project, or names the comment that cannot be read', async () => {
  const url = 'https://github.com/octo/agents/pull/7#issuecomment-1';
  const read = (...bodies: readonly string[]) => {
    const ownComments = async () => bodies.map((text) => ({ id: '', body: text, url }));
    return readNotes({ ownComments } as unknown as GitHub, 7, NOTE.project);
  };
  expect(await read('x', body({}), composeAnswer('x'), body({ project: 'ab' }))).toEqual({
    ...{ kind: 'ok', value: [{ ...NOTE, url }] },
  });
  expect(await read(body({}), body({}).replace('"version":1', '"version":2'))).toEqual({
    kind: 'problem',
    problem: expect.stringContaining(`cannot be read, ${url}; delete it`),
  });
});

describe('Note', () => {
  const URL_OF_IT = 'https://github.com/octo/agents/pull/7#issuecomment-5';
  const limited = (pauseMs: number | null) => new GitHubError(429, 'slow', undefined, pauseMs);

  /** A note whose edits fail with these errors, one after the other. */
  async function open(errors: readonly unknown[] = [], signal = new AbortController().signal) {
    const slept: number[] = [];
    const edits: string[] = [];
    const text = { now: 'new' };
    const note = new Note({
      clock: { ...systemClock, now: () => START, sleep: async (ms) => void slept.push(ms) },
      ...{ signal, conversation: 7, id: 'random', until: Infinity, compose: () => text.now },
      github: {
        createComment: async () => ({ id: 5, url: URL_OF_IT }),
        async updateComment(_: number, edited: string) {
          const error = errors[edits.length];
          edits.push(edited);
          if (error !== undefined) throw error;
        },
      } as Partial<GitHub> as GitHub,
    });
    expect(await note.create()).toEqual({ kind: 'ok', value: URL_OF_IT });
    return { note, slept, edits, text };
  }

  it('is edited with the newest text, once for what is due', async () => {
    const { note, edits, text } = await open();
    note.write();
    note.write();
    text.now = 'newer';
    note.write();
    expect(await note.close()).toEqual({ kind: 'ok', value: URL_OF_IT });
    expect(edits).toEqual(['newer', 'newer']);
  });

  it.each<[string, readonly unknown[], readonly number[], string]>([
    ['a lost connection', [new GitHubError(0, 'lost')], [0], 'ok'],
    ['two of them', [new GitHubError(0, 'lost'), new GitHubError(502, 'bad')], [0], 'bad.'],
    ['a refusal', [new GitHubError(404, 'gone')], [], 'gone. Check “pr-number”'],
    ['a rate limit', [limited(7000)], [7000], 'ok'],
    ['a rate limit without a time', [limited(null)], [45_000], 'ok'],
    ['a rate limit of an hour', [limited(3_600_000)], [], 'slow. This is a rate limit of GitHub'],
    ['a bug', [new TypeError('x is not a function')], [0], 'ok'],
    ['a lasting bug', Array(2).fill(new TypeError('x')), [0], 'an unexpected error.'],
  ])('repeats its last edit once, if that may help: %s', async (_, errors, pauses, said) => {
    const { note, slept, edits } = await open(errors);
    const closed = await note.close();
    expect(closed.kind === 'ok' ? 'ok' : closed.problem).toContain(said);
    expect([slept, edits.length]).toEqual([pauses, 1 + pauses.length]);
    expect(note.pausedMs).toBe(pauses[0] ?? 0);
  });

  it('does not repeat its last edit after a cancellation', async () => {
    const { note, edits } = await open([limited(7000)], AbortSignal.abort());
    expect(await note.close()).toMatchObject({ kind: 'problem' });
    expect(edits).toHaveLength(1);
  });
});
