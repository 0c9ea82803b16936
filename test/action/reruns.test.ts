import { expect, it } from 'vitest';
import { type RecordedJob, shortHash } from '../../src/ledger/record.ts';
import { MARKER } from '../../src/text.ts';
import { type Answer, turnTo } from '../sim/agent.ts';
import { schedule } from '../sim/events.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { type Blow, ORIGINS, type Origin, openAttempts, purposeOf } from './attempts.ts';
import { JOB, PROJECT, PULL, type Scenario, type Simulation } from './scenario.ts';

// What a re-run does, by how the attempt before has ended. The table of what it finds is in unit/decide.test.ts.

type Ending = 'sends' | 'goes on' | 'is refused';

interface Row {
  readonly title: string;
  /** How the first attempt ends. */
  readonly blow?: Blow;
  readonly posts?: Answer;
  readonly polls?: Answer;
  /** Whether the agent is at work on something else in the first attempt, which waits for that. */
  readonly isBusy?: boolean;
  /** The calls to GitHub that fail in the first attempt, or whose answers are lost. */
  readonly fails?: string;
  readonly loses?: string;
  readonly ending: Ending;
}

const killed = (at: string | RegExp, isApplied = false): Blow => ({ at, isApplied, by: 'SIGKILL' });
const cancelled = (at: string | RegExp, isApplied = false): Blow => {
  return { at, isApplied, by: 'SIGINT' };
};
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

it.concurrent.each(CASES)(
  'a re-run of $origin $ending if the attempt before $title',
  async (row) => {
    const { title, origin, ending, blow, posts, polls, isBusy = false } = row;
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

    let last: StepResult | undefined;
    for (attempt = 2; attempt <= 3; attempt++) {
      last = await run(attempt);
      if (ending === 'is refused') expectRefused(last, sim, comments);
      else expectDone(last);
      expect(sim.agent.accepted()).toHaveLength(ending === 'is refused' ? before : 1);
    }
    if (ending !== 'is refused') {
      // What has ended has its comment already.
      const newest = title === 'saw the end' || row.loses !== undefined ? 1 : 2;
      expect(sim.notes().at(-1)).toMatchObject({ attempt: newest, jobs: [{ delivery: 'sent' }] });
      return;
    }
    // The error links to what must be deleted if the message is to be sent all the same.
    for (const { id } of sim.ownComments()) {
      expect(last?.outputs.reason).toContain(`#issuecomment-${id}`);
      sim.github.deleteComment(id);
    }
    expectDone(await run(attempt));
    expect(sim.agent.accepted()).toHaveLength(before + 1);
  },
);

function expectDone(result: StepResult): void {
  expect(result.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
  expect(result.annotations).toEqual([]);
}

function expectRefused(result: StepResult, sim: Simulation, comments: number): void {
  expect(result.outputs).toMatchObject(REFUSED);
  expect(result.errors).toEqual([
    expect.stringContaining('It cannot tell whether an earlier attempt sent the message'),
  ]);
  expect(sim.ownComments()).toHaveLength(comments);
}

const REFUSED = { result: 'error', delivery: 'unknown' };
const SENT = { result: 'sent', delivery: 'sent' };

const DATA = `{"version":2,"project":"${shortHash(PROJECT)}"}`;
const DAMAGED = `${MARKER}\nWhat people see.\n\n<!-- agent-follow-up ${DATA} -->`;
const unread = 'the comments of the conversation cannot be read: GitHub';
const failing: Scenario = { github: { forbids: ({ name }) => name === 'list' } };

it.concurrent.each<[string, Origin, string, Scenario, string?]>([
  ['the list of comments fails', 'a step', `${unread} answered`, failing],
  [
    'a comment of the action cannot be read',
    'a step',
    `a comment of this action cannot be read, https://github.com/octo/agents/pull/${PULL}#issuecomment-`,
    {},
    DAMAGED,
  ],
  ['there is no page', 'a step', 'the event has no pull request', { step: { event: schedule() } }],
  ['comment is false', 'a step', '“comment: false” is set', { with: { comment: false } }],
])('a re-run is refused if %s', async (_, origin, why, more, body) => {
  await using attempts = await openAttempts(origin, more);
  const { sim, run } = attempts;
  if (body !== undefined) sim.github.addComment(PULL, 'github-actions[bot]', body);
  expect((await run(1, more)).outputs).toMatchObject(SENT);

  const second = await run(2, more);
  expect(second.outputs).toMatchObject(REFUSED);
  expect(second.errors).toEqual([expect.stringContaining(`, because ${why}`)]);
  expect(sim.agent.accepted()).toHaveLength(1);
});

it.concurrent.each<[string, (body: string) => string]>([
  ['written above the comment', (body) => `Careful.\n\n${body}`],
  ['quoted all of it', (body) => body.replace(/^/gm, '> ')],
  ['deleted its first line', (body) => body.replace(/^.*\n/, '')],
])('a re-run is refused if a maintainer has %s', async (_, change) => {
  await using attempts = await openAttempts('a step');
  const { sim, run } = attempts;
  await run(1);
  const [own] = sim.ownComments();
  if (own !== undefined) sim.github.editComment(own.id, change(own.body), 'alice');

  const second = await run(2);
  expect(second.outputs).toMatchObject(REFUSED);
  expect(second.errors).toEqual([expect.stringContaining(`${own?.html_url}; delete it`)]);
  expect(sim.agent.accepted()).toHaveLength(1);
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

it.each<[Origin, Answer]>([
  ['a comment', LONG_PAUSE],
  ['a comment', { status: 400 }],
  ['a step', { status: 400 }],
])('of %s to two jobs one was refused (%j); the re-run sends just that one', async (...row) => {
  const [origin, refusal] = row;
  let isFirst = true;
  await using attempts = await openAttempts(origin, {
    with: { 'job-id': `${JOB} job-2` },
    agent: {
      jobs: [{ id: JOB }, { id: 'job-2' }],
      onPost: (_, { path }) => (isFirst && path.includes('job-2') ? refusal : undefined),
    },
  });
  const { sim, run } = attempts;
  const deliveriesOf = ({ outputs }: StepResult) =>
    JSON.parse(outputs.results ?? '').map(({ delivery }: RecordedJob) => delivery);
  expect(deliveriesOf(await run(1, { isBuilt: true }))).toEqual(['sent', 'not-sent']);
  isFirst = false;
  for (const attempt of [2, 3]) {
    expect(deliveriesOf(await run(attempt, { isBuilt: true }))).toEqual(['sent', 'sent']);
  }
  expect(sim.agent.accepted().map(({ jobId }) => jobId)).toEqual([JOB, 'job-2']);
});

it('a re-run of two jobs of which one is sent does not ask to delete their comment', async () => {
  await using attempts = await openAttempts('a step', {
    with: { 'job-id': `${JOB} job-2` },
    agent: {
      jobs: [{ id: JOB }, { id: 'job-2' }],
      onPost: (_, { path }) => (path.includes('job-2') ? { status: 503 } : undefined),
    },
  });
  await attempts.run(1);
  const { outputs } = await attempts.run(2);
  expect(outputs).toMatchObject(REFUSED);
  expect(outputs.reason).toMatch(/1 of 2 jobs.*start a new run with this job alone\.$/);
  expect(outputs.reason).not.toContain('delete');
  expect(attempts.sim.agent.accepted()).toHaveLength(1);
});

it('a re-run that waits for one job does not tell again that another one has failed', async () => {
  let isFirst = true;
  await using attempts = await openAttempts('a step', {
    with: { 'job-id': `${JOB} job-2`, wait: true },
    agent: {
      jobs: [{ id: JOB, turns: [turnTo('failed')] }, { id: 'job-2' }],
      onPost: (_, { path }) => (isFirst && path.includes('job-2') ? { status: 401 } : undefined),
    },
  });
  await attempts.run(1);
  isFirst = false;
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
  const first = await run(1);
  expect(first.outputs).toMatchObject({ result: 'failed', confirmed: 'true' });
  const other = await run(1, { step: { github: { run_id: '2' } } });
  expect(other.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
  const polls = sim.agent.gets().length;
  const again = await run(2);
  expect(again.outputs).toMatchObject({ result: 'failed', confirmed: 'true', status: 'failed' });
  expect(again.outputs.prLink).toBe(first.outputs.prLink);
  expect(sim.agent.gets()).toHaveLength(polls);
  expect(sim.agent.accepted()).toHaveLength(2);
});
