import { expect, it } from 'vitest';
import type { RecordedJob } from '../../src/ledger/record.ts';
import { type Answer, turnTo } from '../sim/agent.ts';
import { schedule } from '../sim/events.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { type Blow, ORIGINS, type Origin, openAttempts, purposeOf } from './attempts.ts';
import { JOB, PULL, type Scenario } from './scenario.ts';

// What a re-run does, by how the attempt before has ended. The table of what it finds is in unit/decide.test.ts.

interface Row {
  /** How the first attempt ends. */
  readonly title: string;
  readonly blow?: Blow;
  readonly posts?: Answer;
  readonly polls?: Answer;
  /** Whether the agent is at work on something else in it, so that it waits for that. */
  readonly isBusy?: boolean;
  /** The calls to GitHub that fail in it, or whose answers are lost. */
  readonly fails?: string;
  readonly loses?: string;
  readonly ending: 'sends' | 'goes on' | 'is refused';
}

type At = readonly [at: string | RegExp, isApplied?: boolean];
const killed = (...[at, isApplied = false]: At): Blow => ({ at, isApplied, by: 'SIGKILL' });
const cancelled = (...[at, isApplied = false]: At): Blow => ({ at, isApplied, by: 'SIGINT' });
const PAUSE = { status: 429, headers: { 'retry-after': '60' } };
const LONG_PAUSE = { status: 429, headers: { 'retry-after': '9999' } };

const BLOWS: readonly Row[] = [
  { title: 'was killed before its note', blow: killed('note'), ending: 'sends' },
  { title: 'was killed after its note', blow: killed('note', true), ending: 'is refused' },
  { title: 'was killed before the POST arrived', blow: killed('message'), ending: 'is refused' },
  { title: 'was killed during the POST', blow: killed('message', true), ending: 'is refused' },
  { title: 'was killed before it noted the POST', blow: killed('edit'), ending: 'is refused' },
  { title: 'was killed while it waited', blow: killed('edit', true), ending: 'goes on' },
  { title: 'was cancelled during the POST', blow: cancelled('message'), ending: 'is refused' },
  { title: 'was cancelled in a pause', blow: cancelled(/Trying/), posts: PAUSE, ending: 'sends' },
  { title: 'was cancelled while it waited', blow: cancelled('poll', true), ending: 'goes on' },
];
/** One for each ending, with which all origins are tried. */
const COMMON: readonly Row[] = [
  { title: 'got 401 for its message', posts: { status: 401 }, ending: 'sends' },
  { title: 'got 503', posts: { status: 503 }, ending: 'is refused' },
  { title: 'saw the end', ending: 'goes on' },
];
const OF_STEPS: readonly Row[] = [
  ...(HAS_SIGNALS ? BLOWS : []),
  { title: 'timed out behind earlier work', isBusy: true, ending: 'sends' },
  { title: 'got 401 for its poll', polls: { status: 401 }, ending: 'sends' },
  { title: 'could not create its note', fails: 'note', ending: 'sends' },
  { title: 'got no answer to the creation of its note', loses: 'note', ending: 'goes on' },
  { title: 'gave up a note that was created', loses: 'note', fails: 'list', ending: 'is refused' },
  { title: 'could not note the POST', fails: 'edit', ending: 'is refused' },
];
const CASES = ORIGINS.flatMap((origin) =>
  [...COMMON, ...(origin === 'a step' ? OF_STEPS : [])].map((row) => ({ ...row, origin })),
);

it.concurrent.each(CASES)('a re-run of $origin $ending if the one before $title', async (row) => {
  const { title, origin, ending, blow, posts, polls, isBusy = false } = row;
  const isRefused = ending === 'is refused';
  let attempt = 1;
  const atFirst = <T>(value: T): T | undefined => (attempt === 1 ? value : undefined);
  const busy = { body: { id: JOB, status: 'active' } };
  await using attempts = await openAttempts(origin, {
    with: { wait: true },
    agent: { onPost: () => atFirst(posts), onGet: () => atFirst(isBusy ? busy : polls) },
    github: {
      on: () => {
        const call = attempts.sim.github.calls().at(-1);
        const fails = call !== undefined && purposeOf(call) === atFirst(row.fails);
        return fails ? { status: 503 } : undefined;
      },
      trouble: { loses: (call) => purposeOf(call) === atFirst(row.loses) },
    },
  });
  const { sim, run } = attempts;

  const { outputs } = await run(1, { blow });
  if (blow?.by === 'SIGINT') expect(outputs.result).toBe('cancelled');
  const before = sim.agent.accepted().length;
  const comments = sim.ownComments().length;

  for (attempt = 2; attempt <= 3; attempt++) {
    const again = await run(attempt);
    if (isRefused) {
      expectRefused(again, 'It cannot tell whether an earlier attempt sent the message');
      expect(sim.ownComments()).toHaveLength(comments);
      // What must be deleted if the message is to be sent all the same.
      for (const { html_url } of sim.ownComments()) expect(again.errors[0]).toContain(html_url);
    } else expectDone(again);
    expect(sim.agent.accepted()).toHaveLength(isRefused ? before : 1);
  }
  if (!isRefused) {
    // What has ended has its comment already.
    const newest = title === 'saw the end' || row.loses !== undefined ? 1 : 2;
    expect(sim.notes().at(-1)).toMatchObject({ attempt: newest, jobs: [{ delivery: 'sent' }] });
    return;
  }
  for (const { id } of sim.ownComments()) sim.github.deleteComment(id);
  expectDone(await run(attempt));
  expect(sim.agent.accepted()).toHaveLength(before + 1);
});

function expectDone({ outputs, annotations }: StepResult): void {
  expect(outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
  expect(annotations).toEqual([]);
}

function expectRefused({ outputs, errors }: StepResult, why: string): void {
  expect(outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
  expect(errors).toEqual([expect.stringContaining(why)]);
}

const SENT = { result: 'sent', delivery: 'sent' };

const unread = 'the comments of the conversation cannot be read: GitHub answered';
const failing: Scenario = { github: { forbids: ({ name }) => name === 'list' } };

it.concurrent.each<[string, string, Scenario]>([
  ['the list of comments fails', unread, failing],
  ['there is no page', 'the event has no pull request', { step: { event: schedule() } }],
  ['comment is false', '“comment: false” is set', { with: { comment: false } }],
])('a re-run is refused if %s', async (_, why, more) => {
  await using attempts = await openAttempts('a step', more);
  const { sim, run } = attempts;
  expect((await run(1, more)).outputs).toMatchObject(SENT);
  expectRefused(await run(2, more), `, because ${why}`);
  expect(sim.agent.accepted()).toHaveLength(1);
});

it.concurrent.each<[string, (body: string) => string]>([
  ['written above the comment', (body) => `Careful.\n\n${body}`],
  ['deleted its first line', (body) => body.replace(/^.*\n/, '')],
])('a re-run is refused if a maintainer has %s', async (_, change) => {
  await using attempts = await openAttempts('a step');
  const { sim, run } = attempts;
  await run(1);
  const [{ id, body, html_url } = { id: 0, body: '', html_url: '' }] = sim.ownComments();
  sim.github.editComment(id, change(body), 'alice');
  const why = `, because a comment of this action cannot be read, ${html_url}; delete it`;
  expectRefused(await run(2), why);
  expect(sim.agent.accepted()).toHaveLength(1);
});

it.concurrent('a re-run that skips the job has waited for nothing that could be confirmed', async () => {
  const skips = { wait: true, 'only-when': 'failed' };
  await using attempts = await openAttempts('a step', { with: skips });
  for (const attempt of [1, 2]) {
    const { outputs } = await attempts.run(attempt);
    expect(outputs).toMatchObject({ result: 'skipped', confirmed: '' });
  }
});

it.concurrent('a re-run sends, because a copy of its note by someone else does not count', async () => {
  await using attempts = await openAttempts('a step');
  const { sim, run } = attempts;
  await run(1);
  const [own] = sim.ownComments();
  sim.github.deleteComment(own?.id ?? 0);
  sim.github.addComment(PULL, 'mallory', own?.body ?? '');
  expect((await run(2)).outputs).toMatchObject(SENT);
  expect(sim.agent.accepted()).toHaveLength(2);
});

/** A run with two jobs, of which the second one refuses its first message. */
function openTwo(origin: Origin, refusal: Answer, wait = false) {
  let isRefused = false;
  return openAttempts(origin, {
    with: { 'job-id': `${JOB} job-2`, wait },
    agent: {
      jobs: [{ id: JOB, turns: [turnTo('failed')] }, { id: 'job-2' }],
      onPost(_, { path }) {
        if (isRefused || !path.includes('job-2')) return undefined;
        isRefused = true;
        return refusal;
      },
    },
  });
}

it.each<[Origin, Answer]>([
  ['a comment', LONG_PAUSE],
  ['a comment', { status: 400 }],
  ['a step', { status: 400 }],
])('of %s to two jobs one was refused (%j); the re-run sends just that one', async (...row) => {
  await using attempts = await openTwo(...row);
  const { sim, run } = attempts;
  const deliveriesOf = ({ outputs }: StepResult) =>
    JSON.parse(outputs.results ?? '').map(({ delivery }: RecordedJob) => delivery);
  const isBuilt = row[1] === LONG_PAUSE;
  expect(deliveriesOf(await run(1, { isBuilt }))).toEqual(['sent', 'not-sent']);
  for (const attempt of [2, 3]) {
    expect(deliveriesOf(await run(attempt, { isBuilt }))).toEqual(['sent', 'sent']);
  }
  expect(sim.agent.accepted().map(({ jobId }) => jobId)).toEqual([JOB, 'job-2']);
});

it('a re-run of two jobs of which one is sent does not ask to delete their comment', async () => {
  await using attempts = await openTwo('a step', { status: 503 });
  await attempts.run(1);
  const result = await attempts.run(2);
  expectRefused(result, '1 of 2 jobs');
  expect(result.outputs.reason).toMatch(/start a new run with this job alone\.$/);
  expect(result.outputs.reason).not.toContain('delete');
  expect(attempts.sim.agent.accepted()).toHaveLength(1);
});

it('a re-run that waits for one job does not tell again that another one has failed', async () => {
  await using attempts = await openTwo('a step', { status: 401 }, true);
  await attempts.run(1);
  const { github } = attempts.sim;
  const before = github.comments(PULL).length;
  expect((await attempts.run(2)).outputs.delivery).toBe('sent');
  expect(github.comments(PULL)).toHaveLength(before + 1);
});

it('a re-run reports the end of its own message, without a poll, and not that of a later one', async () => {
  const turns = [turnTo('failed'), turnTo('completed')];
  const agent = { jobs: [{ id: JOB, turns }] };
  await using attempts = await openAttempts('a step', { with: { wait: true }, agent });
  const { run, sim } = attempts;
  const { prLink, ...first } = (await run(1)).outputs;
  expect(first).toMatchObject({ result: 'failed', confirmed: 'true' });
  const other = await run(1, { step: { github: { run_id: '2' } } });
  expect(other.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
  const polls = sim.agent.gets().length;
  const end = { result: 'failed', confirmed: 'true', status: 'failed', prLink };
  expect((await run(2)).outputs).toMatchObject(end);
  expect(sim.agent.gets()).toHaveLength(polls);
  expect(sim.agent.accepted()).toHaveLength(2);
});
