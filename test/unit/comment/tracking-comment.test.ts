import { expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { TrackingComment } from '../../../src/comment/tracking-comment.ts';
import type { GitHub } from '../../../src/github/client.ts';
import { GitHubError } from '../../../src/github/errors.ts';
import { composeComment } from '../../../src/ledger/marker.ts';
import type { CommentRecord } from '../../../src/ledger/record.ts';
import { NOTE, START } from '../record.ts';

const PAGE = 'https://github.com/octo/agents/pull/7';
const OWN_URL = `${PAGE}#issuecomment-50`;
const OWN: CommentRecord = { ...NOTE, run: '9', jobs: [{ id: 'job-1', delivery: 'sending' }] };

interface Failures {
  /** Until the deadline. */
  readonly leftMs?: number | undefined;
  readonly create?: readonly unknown[];
  readonly edit?: readonly unknown[];
  /** The pause in which the run is cancelled. */
  readonly cancelIn?: number | undefined;
}

/** A comment; its calls to GitHub fail with these errors, one after the other, and then succeed. */
function open(given: Failures = {}, more: Partial<GitHub> = {}) {
  const { create = [], edit = [], leftMs = 30_000, cancelIn } = given;
  const slept: number[] = [];
  const bodies = { created: [] as string[], edited: [] as string[] };
  const text = { now: 'new' };
  const cancel = new AbortController();
  let time = START;
  const now = () => time;
  const sleep = async (ms: number): Promise<void> => {
    if (slept.push(ms) === cancelIn) cancel.abort();
    if (slept.length === cancelIn) throw cancel.signal.reason;
    time += ms;
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
  const comment = new TrackingComment({
    clock: { ...systemClock, now, sleep },
    ...{ github: github as GitHub, signal: cancel.signal, conversation: 7 },
    ...{ record: () => OWN, compose: () => composeComment(OWN, () => text.now) },
    until: START + leftMs,
  });
  return { comment, slept, text, cancel, now, ...bodies };
}

function close(comment: TrackingComment) {
  return comment.edit().then((edited) => comment.repeatLast(edited, Infinity));
}

const unwritten = new GitHubError(0, 'refused', { wasWritten: false });
const lost = new GitHubError(0, 'lost');
const limited = (pauseMs?: number): GitHubError =>
  new GitHubError(429, 'slow', pauseMs === undefined ? {} : { pauseMs });

it.each<[string, readonly unknown[], readonly number[], string, number?]>([
  ['again if it was certainly not written', [unwritten, unwritten], [1000, 2000], 'ok'],
  ['three times at most', Array(3).fill(unwritten), [1000, 2000], 'created: refused.'],
  ['again after a rate limit', [limited(7000)], [7000], 'ok'],
  ['not without time for that', [limited()], [], 'slow. This is a rate limit'],
  ['not after one of more than a minute', [limited(61_000)], [], 'slow. This is', 99_000],
  ['not after one beyond the deadline', [limited(30_000)], [], 'slow. This is a rate limit'],
  ['not after a refusal', [new GitHubError(404, 'gone')], [], 'gone. Check “pr-number”'],
])('the creation of a comment is tried %s', async (_, create, pauses, said, leftMs) => {
  const { comment, slept, created } = open({ create, leftMs });
  const result = await comment.create();
  expect(result.kind === 'ok' ? 'ok' : result.problem).toContain(said);
  expect(comment.url).toBe(said === 'ok' ? OWN_URL : '');
  expect([slept, created.length]).toEqual([pauses, 1 + pauses.length]);
});

it.each([unwritten, lost])('a creation is not repeated if cancelled: %s', async (error) => {
  const { comment, created, cancel } = open({ create: [error] });
  cancel.abort();
  expect(await comment.create()).toMatchObject({ kind: 'problem' });
  expect(created).toHaveLength(1);
});

it('edits have the newest text, once for what is due', async () => {
  const { comment, edited, text } = open();
  await comment.create();
  comment.write();
  comment.write();
  text.now = 'newer';
  comment.write();
  expect(await close(comment)).toEqual({ kind: 'ok', value: OWN_URL });
  expect(edited).toEqual(['newer', 'newer']);
});

it('edits follow one another, so that an older text never replaces a newer one', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let begun = 0;
  const updateComment = (): Promise<void> => {
    begun += 1;
    return promise;
  };
  const { comment } = open({}, { updateComment });
  await comment.create();
  comment.write();
  await new Promise(setImmediate);
  comment.write();
  const closed = close(comment);
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
  ['a run without time', Array(3).fill(bad), [15_000, 15_000], 'not up to date: bad.', 0],
  ['a rate limit', [limited(7000)], [15_000], 'ok'],
  ['one without a time', [limited(), limited()], [60_000, 60_000], 'ok'],
  ['one of an hour', [limited(3_600_000)], [], 'date: slow. This is'],
  ['a comment that is gone', [new GitHubError(404, 'gone')], [], 'Somebody has deleted the'],
  ['a page of a firewall', [new GitHubError(403, 'no')], [], 'not up to date: no.'],
  ['a dead token', [dead], [], 'not up to date: dead. Tokens of GitHub Apps live an hour.'],
])('edits end with the last one again, if that may help: %s', async (...row) => {
  const [, edit, pauses, said, leftMs] = row;
  const { comment, slept, edited, now } = open({ edit });
  await comment.create();
  const closed = await comment.repeatLast(await comment.edit(), now() + (leftMs ?? 600_000));
  expect(closed.kind === 'ok' ? 'ok' : closed.problem).toContain(said);
  expect([slept, edited.length]).toEqual([pauses, 1 + pauses.length]);
});

it('edits are done if only the repetition fails', async () => {
  const { comment, text } = open({ edit: [lost, undefined, bad] });
  await comment.create();
  comment.write();
  await new Promise(setImmediate);
  text.now = 'done';
  expect(await close(comment)).toEqual({ kind: 'ok', value: OWN_URL });
});

it('edits end with the last one twice if an earlier one may come late', async () => {
  const { comment, slept, edited, text } = open({ edit: [lost, limited()] });
  await comment.create();
  await comment.edit();
  await comment.edit();
  text.now = 'done';
  expect(await close(comment)).toEqual({ kind: 'ok', value: OWN_URL });
  expect([slept, edited]).toEqual([[15_000], ['new', 'new', 'done', 'done']]);
});

it.each<[string, readonly unknown[], readonly number[], number?]>([
  ['for 4 s', Array(9).fill(bad), Array(4).fill(1000)],
  ['also in a pause', Array(9).fill(bad), [15_000, ...Array(4).fill(1000)], 1],
  ['until it is done', [bad, bad], [1000, 1000]],
  ['never if it cannot help', [dead], []],
])('edits are repeated soon after a cancellation: %s', async (_, edit, pauses, cancelIn) => {
  const { comment, slept, cancel } = open({ edit, cancelIn });
  await comment.create();
  if (cancelIn === undefined) cancel.abort();
  await close(comment);
  expect(slept).toEqual(pauses);
});
