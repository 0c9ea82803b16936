import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { GitHub } from '../../src/github/api.ts';
import { GitHubError } from '../../src/github/errors.ts';
import {
  composeNote,
  composeReply,
  type NoteData,
  type NoteJob,
  replyIdOf,
} from '../../src/note/data.ts';
import { Note, readNotes } from '../../src/note/note.ts';
import { NOTE, START } from './record.ts';

const PAGE = 'https://github.com/octo/agents/pull/7';
const OWN_URL = `${PAGE}#issuecomment-50`;
const DONE: NoteJob = {
  ...{ id: 'job-1', delivery: 'sent' },
  ended: { result: 'completed', confirmed: true, at: START },
};
const OWN: NoteData = { ...NOTE, run: '9', jobs: [{ id: 'job-1', delivery: 'sending' }] };

interface Failures {
  /** Until the deadline. */
  readonly leftMs?: number | undefined;
  readonly create?: readonly unknown[];
  readonly edit?: readonly unknown[];
}

/** A note; its calls to GitHub fail with these errors, one after the other, and then succeed. */
function open(
  { create = [], edit = [], leftMs = 30_000 }: Failures = {},
  more: Partial<GitHub> = {},
) {
  const slept: number[] = [];
  const bodies = { created: [] as string[], edited: [] as string[] };
  const text = { now: 'new' };
  const cancel = new AbortController();
  const take = (into: string[], errors: readonly unknown[], body: string): void => {
    const error = errors[into.length];
    into.push(body.split('\n')[1] ?? '');
    if (error !== undefined) throw error;
  };
  const github: Partial<GitHub> = {
    async createComment(_, body) {
      take(bodies.created, create, body);
      return { id: 50, nodeId: 'IC_50', url: OWN_URL };
    },
    updateComment: async (_, body) => take(bodies.edited, edit, body),
    ...more,
  };
  const note = new Note({
    clock: { ...systemClock, now: () => START, sleep: async (ms) => void slept.push(ms) },
    ...{ github: github as GitHub, signal: cancel.signal, conversation: 7 },
    ...{ data: () => OWN, render: () => text.now, until: START + leftMs },
  });
  return { note, slept, text, cancel, ...bodies };
}

const unwritten = new GitHubError(0, 'refused', { wasWritten: false });
const lost = new GitHubError(0, 'lost');
const limited = (pauseMs?: number): GitHubError =>
  new GitHubError(429, 'slow', pauseMs === undefined ? {} : { pauseMs });

describe('the creation of a note', () => {
  it.each<[string, readonly unknown[], readonly number[], string, number?]>([
    ['at once', [], [], 'ok'],
    ['again if it was certainly not written', [unwritten, unwritten], [1000, 2000], 'ok'],
    ['three times at most', Array(3).fill(unwritten), [1000, 2000], 'created: refused.'],
    ['again after a rate limit', [limited(7000)], [7000], 'ok'],
    ['not after a rate limit without a time', [limited()], [], 'slow. This is a rate limit'],
    ['not after one of more than a minute', [limited(61_000)], [], 'slow. This is', 99_000],
    ['not after one beyond the deadline', [limited(30_000)], [], 'slow. This is a rate limit'],
    ['not without an answer: there may be a comment', [lost], [], 'created: lost.'],
    ['not after a server error', [new GitHubError(502, 'bad')], [], 'created: bad.'],
    ['not after a refusal', [new GitHubError(404, 'gone')], [], 'gone. Check “pr-number”'],
    ['not after a bug', [new TypeError('x')], [], 'created: an unexpected error.'],
  ])('is tried %s', async (_, create, pauses, said, leftMs) => {
    const { note, slept, created } = open({ create, leftMs });
    const result = await note.create();
    expect(result.kind === 'ok' ? 'ok' : result.problem).toContain(said);
    expect(note.url).toBe(said === 'ok' ? OWN_URL : '');
    expect([slept, created.length]).toEqual([pauses, 1 + pauses.length]);
  });

  it('is not repeated after a cancellation', async () => {
    const { note, created, cancel } = open({ create: [unwritten] });
    cancel.abort();
    expect(await note.create()).toMatchObject({ kind: 'problem' });
    expect(created).toHaveLength(1);
  });
});

describe('edits of a note', () => {
  it('have the newest text, once for what is due', async () => {
    const { note, edited, text } = open();
    await note.create();
    note.write();
    note.write();
    text.now = 'newer';
    note.write();
    expect(await note.close()).toEqual({ kind: 'ok', value: OWN_URL });
    expect(edited).toEqual(['newer', 'newer']);
  });

  it('follow one another, so that an older text never replaces a newer one', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let begun = 0;
    const updateComment = (): Promise<void> => {
      begun += 1;
      return promise;
    };
    const { note } = open({}, { updateComment });
    await note.create();
    note.write();
    await new Promise(setImmediate);
    note.write();
    const closed = note.close();
    await new Promise(setImmediate);
    expect(begun).toBe(1);
    resolve();
    await closed;
    expect(begun).toBe(3);
  });

  it.each<[string, readonly unknown[], readonly number[], string]>([
    ['an answer that was lost', [lost], [15_000], 'ok'],
    ['two of them', [lost, new GitHubError(502, 'bad')], [15_000], 'bad.'],
    ['a refusal', Array(2).fill(new GitHubError(404, 'gone')), [15_000], 'gone. Check “pr-number”'],
    ['a page of a firewall', [new GitHubError(403, 'no')], [15_000], 'ok'],
    ['a rate limit', [limited(7000)], [15_000], 'ok'],
    ['one of half a minute', [limited(30_000)], [30_000], 'ok'],
    ['a bug', Array(2).fill(new TypeError('x')), [15_000], 'an unexpected error.'],
  ])('end with the last one once more, if that may help: %s', async (_, edit, pauses, said) => {
    const { note, slept, edited } = open({ edit });
    await note.create();
    const closed = await note.close();
    expect(closed.kind === 'ok' ? 'ok' : closed.problem).toContain(said);
    expect([slept, edited.length]).toEqual([pauses, 1 + pauses.length]);
  });

  it('are done if only the repetition fails', async () => {
    const { note, text } = open({ edit: [lost, undefined, new GitHubError(502, 'bad')] });
    await note.create();
    note.write();
    await new Promise(setImmediate);
    text.now = 'done';
    expect(await note.close()).toEqual({ kind: 'ok', value: OWN_URL });
  });

  it('end with the last one twice if an earlier one had no answer: it may come late', async () => {
    const { note, slept, edited, text } = open({ edit: [lost] });
    await note.create();
    note.write();
    await new Promise(setImmediate);
    text.now = 'done';
    expect(await note.close()).toEqual({ kind: 'ok', value: OWN_URL });
    expect([slept, edited]).toEqual([[15_000], ['new', 'done', 'done']]);
  });

  it('are not repeated after a cancellation', async () => {
    const { note, edited, cancel } = open({ edit: [limited(7000)] });
    await note.create();
    cancel.abort();
    expect(await note.close()).toMatchObject({ kind: 'problem' });
    expect(edited).toHaveLength(1);
  });
});

it.each<[string, Partial<NoteData> | string, boolean, url?: string]>([
  ['of an earlier run', {}, true],
  ['of an earlier attempt', { run: '9' }, true],
  ['that was not sent', { jobs: [{ ...DONE, delivery: 'not-sent' }] }, true],
  ['that may still be sent', { jobs: [{ id: 'job-1', delivery: 'sending' }] }, false],
  ['of a process that was killed', { jobs: [{ id: 'job-1', delivery: 'sent' }] }, false],
  ['about another job', { jobs: [{ ...DONE, id: 'job-2' }] }, false],
  ['about more jobs', { jobs: [DONE, { ...DONE, id: 'job-2' }] }, false],
  ['of another step', { step: 'cc'.repeat(8) }, false],
  ['of a command', { command: 'comment:7' }, false],
  ['of another project', { project: 'cc'.repeat(8) }, false],
  ['below it', {}, false, `${PAGE}#issuecomment-51`],
  ['that is no note', composeReply(replyIdOf(NOTE), 'x'), false],
  ['that cannot be read', composeNote({ ...OWN, jobs: [DONE] }, () => '').slice(0, -20), false],
])('whether hideOlder hides a comment %s: %j', async (_, given, expected, url) => {
  const hidden: string[] = [];
  const text = (parts: Partial<NoteData>) =>
    composeNote({ ...OWN, run: '1', jobs: [DONE], ...parts }, () => 'x');
  const body = typeof given === 'string' ? given : text(given);
  const older = { id: 'IC_1', url: url ?? `${PAGE}#issuecomment-9`, body, viewerDidAuthor: true };
  const { note } = open(
    {},
    {
      newestOwnComments: async () => [
        { ...older, isMinimized: false },
        { ...older, id: 'IC_2', isMinimized: true },
        { ...older, id: 'IC_3', url: OWN_URL, isMinimized: false },
      ],
      hide: async (ids: readonly string[]) => void hidden.push(...ids),
    },
  );
  await note.create();
  await note.hideOlder();
  expect(hidden).toEqual(expected ? ['IC_1'] : []);
});

it('the answer to a command hides nothing, and asks nothing', async () => {
  const newestOwnComments = (): never => {
    throw new Error('It was asked.');
  };
  const note = new Note({
    ...{ clock: systemClock, signal: AbortSignal.any([]), conversation: 7, until: START },
    ...{ github: { newestOwnComments } as Partial<GitHub> as GitHub, render: () => '' },
    data: () => ({ ...OWN, command: 'comment:7' }),
  });
  await note.hideOlder();
});

it('readNotes returns the notes of the project, or names the comment that cannot be read', async () => {
  const url = `${PAGE}#issuecomment-1`;
  const body = (parts: Partial<NoteData>): string => composeNote({ ...NOTE, ...parts }, () => '');
  const read = (...bodies: readonly string[]) => {
    const ownComments = async () => bodies.map((text) => ({ id: '', body: text, url }));
    return readNotes({ ownComments } as unknown as GitHub, 7, NOTE.project, START);
  };
  const other = body({ project: 'cc'.repeat(8) });
  expect(await read('x', body({}), composeReply(replyIdOf(NOTE), 'x'), other)).toEqual({
    ...{ kind: 'ok', value: [{ ...NOTE, url }] },
  });
  expect(await read(body({}), body({}).replace('"version":1', '"version":2'))).toEqual({
    kind: 'problem',
    problem: expect.stringContaining(`cannot be read, ${url}; delete it`),
  });
});
