import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { isOutdatedBy, limitsIn, Note } from '../../../src/comment/tracking-comment.ts';
import type { GitHub } from '../../../src/github/client.ts';
import { GitHubError } from '../../../src/github/errors.ts';
import { composeComment, composeReply, toReplyId } from '../../../src/ledger/marker.ts';
import type { CommentRecord, RecordedJob } from '../../../src/ledger/record.ts';
import { NOTE, START } from '../record.ts';

const PAGE = 'https://github.com/octo/agents/pull/7';
const OWN_URL = `${PAGE}#issuecomment-50`;
const DONE: RecordedJob = {
  ...{ id: 'job-1', delivery: 'sent' },
  ended: { result: 'completed', confirmed: true, at: START },
};
const OWN: CommentRecord = { ...NOTE, run: '9', jobs: [{ id: 'job-1', delivery: 'sending' }] };

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
  let time = START;
  const now = () => time;
  const pass = (ms: number): void => {
    time += ms;
  };
  const sleep = async (ms: number): Promise<void> => {
    slept.push(ms);
    pass(ms);
  };
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
    clock: { ...systemClock, now, sleep },
    ...{ github: github as GitHub, signal: cancel.signal, conversation: 7 },
    ...{ data: () => OWN, render: () => text.now, until: START + leftMs },
  });
  return { note, slept, text, cancel, now, pass, ...bodies };
}

function close(note: Note) {
  return note.edit().then((edited) => note.repeatLast(edited, Infinity));
}

const OTHER = 'dd'.repeat(8);
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
    ['a second apart at least', [limited(0), limited(0)], [1000, 2000], 'ok'],
    ['a minute after one without a time', [limited()], [60_000], 'ok', 99_000],
    ['once after that', [limited(), limited()], [60_000], 'slow. This is a rate limit', 99_000],
    ['not without time for that', [limited()], [], 'slow. This is a rate limit'],
    ['not after one of more than a minute', [limited(61_000)], [], 'slow. This is', 99_000],
    ['not after one beyond the deadline', [limited(30_000)], [], 'slow. This is a rate limit'],
    ['not after a refusal', [new GitHubError(404, 'gone')], [], 'gone. Check “pr-number”'],
  ])('is tried %s', async (_, create, pauses, said, leftMs) => {
    const { note, slept, created } = open({ create, leftMs });
    const result = await note.create();
    expect(result.kind === 'ok' ? 'ok' : result.problem).toContain(said);
    expect(note.url).toBe(said === 'ok' ? OWN_URL : '');
    expect([slept, created.length]).toEqual([pauses, 1 + pauses.length]);
  });

  it.each([unwritten, lost])('is not repeated after a cancellation', async (error) => {
    const { note, created, cancel } = open({ create: [error] });
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
    expect(await close(note)).toEqual({ kind: 'ok', value: OWN_URL });
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
    const closed = close(note);
    await new Promise(setImmediate);
    expect(begun).toBe(1);
    resolve();
    await closed;
    expect(begun).toBe(3);
  });

  const bad = new GitHubError(502, 'bad');
  const dead = new GitHubError(401, 'dead');
  it.each<[string, readonly unknown[], readonly number[], string, number?]>([
    ['an answer that was lost', [lost], [15_000], 'ok'],
    ['nine of them', Array(9).fill(bad), Array(8).fill(15_000), 'not up to date: bad.'],
    ['the eighth', Array(8).fill(bad), Array(8).fill(15_000), 'ok'],
    ['a run without time', Array(2).fill(bad), [15_000], 'not up to date: bad.', 0],
    ['a rate limit', [limited(7000)], [15_000], 'ok'],
    ['one of half a minute', [limited(30_000)], [30_000], 'ok'],
    ['one without a time', [limited(), limited()], [60_000, 60_000], 'ok'],
    ['one without a time, and no time', [limited()], [15_000], 'ok', 0],
    ['one of an hour', Array(2).fill(limited(3_600_000)), [15_000], 'date: slow. This is'],
    ['a comment that is gone', [new GitHubError(404, 'gone')], [], 'Somebody has deleted the'],
    ['a page of a firewall', [new GitHubError(403, 'no')], [], 'not up to date: no.'],
    ['a dead token', [dead], [], 'not up to date: dead. Tokens of GitHub Apps live an hour.'],
  ])('end with the last one again, if that may help: %s', async (...row) => {
    const [, edit, pauses, said, leftMs] = row;
    const { note, slept, edited, now } = open({ edit });
    await note.create();
    const closed = await note.repeatLast(await note.edit(), now() + (leftMs ?? 600_000));
    expect(closed.kind === 'ok' ? 'ok' : closed.problem).toContain(said);
    expect([slept, edited.length]).toEqual([pauses, 1 + pauses.length]);
  });

  it('are done if only the repetition fails', async () => {
    const { note, text } = open({ edit: [lost, undefined, bad] });
    await note.create();
    note.write();
    await new Promise(setImmediate);
    text.now = 'done';
    expect(await close(note)).toEqual({ kind: 'ok', value: OWN_URL });
  });

  it('end with the last one twice if an earlier one had no answer: it may come late', async () => {
    const { note, slept, edited, text } = open({ edit: [lost] });
    await note.create();
    note.write();
    await new Promise(setImmediate);
    text.now = 'done';
    expect(await close(note)).toEqual({ kind: 'ok', value: OWN_URL });
    expect([slept, edited]).toEqual([[15_000], ['new', 'done', 'done']]);
  });

  it.each<[string, readonly unknown[], readonly number[]]>([
    ['three times', Array(9).fill(bad), [500, 1000, 1500]],
    ['until it is done', [bad, bad], [500, 1000]],
    ['never if it cannot help', [dead], []],
  ])('are repeated soon after a cancellation: %s', async (_, edit, pauses) => {
    const { note, slept, cancel } = open({ edit });
    await note.create();
    cancel.abort();
    await close(note);
    expect(slept).toEqual(pauses);
  });

  it('are not repeated if the first one took the time of a cancelled run', async () => {
    const { note, slept, cancel, pass } = open({ edit: [bad] });
    await note.create();
    cancel.abort();
    const edited = await note.edit();
    pass(6000);
    expect(await note.repeatLast(edited, Infinity)).toMatchObject({ kind: 'problem' });
    expect(slept).toEqual([]);
  });
});

describe('a note collapses above it', () => {
  const body = (parts: Partial<CommentRecord>): string =>
    composeComment(
      { ...OWN, run: '1', process: 'dd'.repeat(8), jobs: [DONE], ...parts },
      () => 'x',
    );
  it.each<[string, Partial<CommentRecord>, boolean]>([
    ['of an earlier run', {}, true],
    ['of an earlier attempt', { run: '9' }, true],
    ['that was not sent', { jobs: [{ ...DONE, delivery: 'not-sent' }] }, true],
    ['that may still be sent', { jobs: [{ id: 'job-1', delivery: 'sending' }] }, false],
    ['of a process that was killed', { jobs: [{ id: 'job-1', delivery: 'sent' }] }, false],
    ['about another job', { jobs: [{ ...DONE, id: 'job-2' }] }, false],
    ['about more jobs', { jobs: [DONE, { ...DONE, id: 'job-2' }] }, false],
    ['of another step', { step: OTHER }, false],
    ['of a command', { command: 'comment:7' }, false],
    ['of another project', { project: OTHER }, false],
    ['of its own process', { process: OWN.process }, false],
  ])('a note of a step %s: %j', (_, parts, expected) => {
    expect(isOutdatedBy(body(parts), OWN, false, new Set())).toBe(expected);
  });

  const check: Partial<CommentRecord> = {};
  const person: Partial<CommentRecord> = { askedBy: 'mona', command: 'comment:7' };
  const others: Partial<CommentRecord> = { run: '8' };
  it.each<[string, Partial<CommentRecord>, Partial<CommentRecord>, boolean, boolean]>([
    ['its own message', check, {}, true, true],
    ['its own message, by a person', person, person, true, true],
    ['other checks, for a check', check, { ...others }, true, true],
    ['other people, for a person', person, { ...person, ...others }, true, true],
    ['people, for a check', check, { ...person, ...others }, false, false],
    ['checks, for a person', person, { ...others }, false, true],
    ['another step', check, { ...others, step: OTHER }, false, false],
  ])('replies, limits, and replies that tell them, of %s', (_, own, other, reply, limit) => {
    const mine = { ...OWN, ...own };
    const jobs = [{ id: 'job-2', delivery: 'not-sent', limited: true }] as const;
    const about = { ...OWN, ...other };
    const bodies = [composeReply(toReplyId(about), 'x'), body({ ...about, process: OTHER, jobs })];
    const limits = limitsIn(
      bodies.map((text) => ({ body: text })),
      OWN.project,
    );
    const which = (hasTold: boolean, told: ReadonlySet<string>) =>
      bodies.map((text) => isOutdatedBy(text, mine, hasTold, told));
    expect(which(true, new Set())[0]).toBe(reply);
    expect(which(true, limits)).toEqual([limit, limit]);
    // A process that has told nothing leaves them.
    expect(which(false, limits)).toEqual([false, false]);
  });

  it('nothing else', () => {
    const damaged = body({}).slice(0, -20);
    const both = body({
      jobs: [
        { id: 'a', delivery: 'not-sent', limited: true },
        { id: 'b', delivery: 'sent' },
      ],
    });
    const all = [damaged, both, 'x'].map((text) => isOutdatedBy(text, OWN, true, new Set()));
    expect(all).toEqual([false, false, false]);
  });

  it.each<['DUPLICATE' | 'OUTDATED' | null, readonly string[]]>([
    [null, ['IC_1 OUTDATED']],
    ['DUPLICATE', ['IC_50 DUPLICATE', 'IC_1 OUTDATED']],
    // It gives way to another run.
    ['OUTDATED', ['IC_50 OUTDATED']],
  ])('with one call, what is shown and has a smaller number: %s', async (itself, expected) => {
    const hidden: string[] = [];
    const older = {
      id: 'IC_1',
      url: `${PAGE}#issuecomment-9`,
      body: body({}),
      viewerDidAuthor: true,
    };
    const { note } = open(
      {},
      {
        newestOwnComments: async () => [
          { ...older, isMinimized: false },
          { ...older, id: 'IC_2', isMinimized: true },
          { ...older, id: 'IC_3', url: `${PAGE}#issuecomment-51`, isMinimized: false },
        ],
        hide: async (given) => void hidden.push(...given.map((one) => one.join(' '))),
      },
    );
    await note.create();
    await note.collapse(itself, true);
    expect(hidden).toEqual(expected);
  });
});
