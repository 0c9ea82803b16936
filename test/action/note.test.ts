import { describe, expect, it } from 'vitest';
import { titleOf } from '../../src/labels.ts';
import type { Answer, Reply } from '../sim/agent.ts';
import { mergeGroup, pullRequest, schedule } from '../sim/events.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import { type Origin, openAttempts, purposeOf, purposes, triggerOf } from './attempts.ts';
import {
  errors,
  JOB,
  LONG_TURN,
  ownComments,
  PULL,
  type Scenario,
  type Simulation,
  simulate,
  warnings,
} from './scenario.ts';

// The comment of a run is its note, and the 🚀 claims a command: what happens if GitHub refuses them, or is slow. What
// the comment shows is in comments.test.ts, and how many calls it takes in budgets.test.ts.

const SENT = { result: 'sent', delivery: 'sent' };
const NOT_SENT = { result: 'error', delivery: 'not-sent' };
const RATE: Answer = {
  status: 403,
  body: { message: 'You have exceeded a secondary rate limit.' },
};

/** A run usually ends within 30 s. */
const WITH_PAUSE: Answer = { status: 429, headers: { 'retry-after': '60' } };

/** Answers the calls to GitHub that are for this. */
function answering(purpose: string, reply: (nth: number) => Reply | undefined) {
  let nth = 0;
  return (sim: () => Simulation): NonNullable<GitHubOptions['on']> =>
    () => {
      const call = sim().github.calls().at(-1);
      return call !== undefined && purposeOf(call) === purpose ? reply(++nth) : undefined;
    };
}

/** Runs a scenario in which GitHub answers these calls. */
async function play(origin: Origin, scenario: Scenario, replies?: ReturnType<typeof answering>) {
  const on = replies?.(() => attempts.sim);
  const github = { ...scenario.github, ...(on && { on }) };
  await using attempts = await openAttempts(origin, { ...scenario, github });
  const result = await attempts.run(1);
  return { result, sim: attempts.sim };
}

describe.concurrent('the creation of the comment', () => {
  it.each<[string, Reply, RegExp]>([
    ['410', { status: 410 }, /Check “pr-number”.*“comment: false”/],
    ['422', { status: 422 }, /GitHub answered 422.*“comment: false”/],
    ['silence', { fault: 'hang' }, /did not answer in time.*“comment: false”/],
  ])('fails within seconds by %s, and nothing is sent', async (_, reply, reason) => {
    const { result, sim } = await play(
      'a step',
      {},
      answering('note', () => reply),
    );
    expect(result.outputs).toMatchObject(NOT_SENT);
    expect(errors(result)).toEqual([expect.stringMatching(reason)]);
    expect(sim.agent.posts()).toEqual([]);
    expect(result.virtualMs).toBeLessThan(30_000);
  });

  it.each<[string, Reply]>([
    ['without a time', RATE],
    ['with 429', { status: 429 }],
    ['in the words of 422', { status: 422, body: { message: 'was submitted too quickly' } }],
  ])('fails at once if it is refused for its rate, %s, and a re-run sends', async (_, reply) => {
    let isLimited = true;
    await using attempts = await openAttempts('a comment', {
      github: {
        on: () => (isLimited && purposes(attempts.sim).at(-1) === 'note' ? reply : undefined),
      },
    });
    const { sim, run } = attempts;
    const first = await run(1);
    expect(first.outputs).toMatchObject(NOT_SENT);
    expect(errors(first)).toEqual([expect.stringContaining('rate limit')]);
    expect(first.virtualMs).toBeLessThan(30_000);
    expect(purposes(sim).at(-1)).toBe('release');
    isLimited = false;
    expect((await run(2)).outputs).toMatchObject(SENT);
    expect(sim.agent.accepted()).toHaveLength(1);
  });

  it('is not tried again by a re-run that only continues', async () => {
    let isRerun = false;
    await using attempts = await openAttempts('a step', {
      with: { wait: true },
      github: {
        on: () => (isRerun && purposes(attempts.sim).at(-1) === 'note' ? RATE : undefined),
      },
    });
    const { sim, run } = attempts;
    await run(1, { with: { wait: false } });
    isRerun = true;
    const result = await run(2);
    expect(result.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(warnings(result)[0]).toContain('rate limit');
    expect(sim.agent.accepted()).toHaveLength(1);
  });

  it('is looked for, too, if its answer is lost in a re-run that only waits', async () => {
    let isLost = false;
    await using attempts = await openAttempts('a step', {
      with: { wait: true },
      agent: { jobs: [{ id: JOB, turns: [LONG_TURN] }] },
      github: { trouble: { loses: (call) => isLost && purposeOf(call) === 'note' } },
    });
    await attempts.run(1, { with: { wait: false } });
    isLost = true;
    const { outputs } = await attempts.run(2);
    expect(outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(ownComments(attempts.sim.github).at(-1)?.body).toContain(titleOf('unconfirmed'));
    expect(outputs['comment-url']).not.toBe('');
  });

  it('is never reached if the check of the permission hangs until timeout-minutes', async () => {
    await using sim = await simulate({
      with: { 'timeout-minutes': '0.1' },
      github: { on: () => ({ fault: 'hang' }) },
      step: { event: pullRequest({ number: PULL }) },
    });
    const { outputs, virtualMs } = await sim.runHere();
    expect(outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(virtualMs).toBeLessThan(8000);
  });

  it.each([0.05, 0.1, 0.2])('that hangs ends soon after %f timeout-minutes', async (minutes) => {
    const { result, sim } = await play(
      'a step',
      { with: { 'timeout-minutes': String(minutes) } },
      answering('note', () => ({ fault: 'hang' })),
    );
    expect(result.outputs).toMatchObject({ delivery: 'not-sent' });
    expect(result.virtualMs).toBeLessThan(minutes * 60_000 + 2000);
    expect(sim.agent.posts()).toEqual([]);
  });
});

describe.concurrent('edits of the comment', () => {
  it.each<[string, (nth: number) => boolean, Reply, string?]>([
    ['are tried again', (nth) => nth <= 2, { status: 502 }],
    ['with 200 by something else are tried again', (nth) => nth <= 2, { body: '<html>' }],
    // The first one follows the message, and the second one the end of the work.
    ['at the end for their rate are tried again', (nth) => nth === 2, WITH_PAUSE],
    ['by silence are one warning', () => true, { fault: 'hang' }, 'did not answer in time'],
  ])('that fail %s, and the result stays', async (_, fails, reply, said) => {
    const replies = answering('edit', (nth) => (fails(nth) ? reply : undefined));
    const agent = { jobs: [{ id: JOB, turns: [LONG_TURN] }] };
    const { result, sim } = await play('a step', { with: { wait: true }, agent }, replies);
    expect(result.conclusion).toBe('success');
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
    expect(warnings(result)).toEqual(said === undefined ? [] : [expect.stringContaining(said)]);
    const title = titleOf(said === undefined ? 'completed' : 'sending');
    expect(ownComments(sim.github)[0]?.body).toContain(title);
  });

  it('end 75 s after the last poll at the latest if GitHub is silent after a rate limit', async () => {
    let edits = 0;
    await using attempts = await openAttempts('a step', {
      with: { wait: true },
      github: {
        on() {
          const call = attempts.sim.github.calls().at(-1);
          if (call !== undefined && purposeOf(call) === 'edit') edits += 1;
          if (edits < 2) return undefined;
          return edits === 2 ? WITH_PAUSE : { fault: 'hang' };
        },
      },
    });
    const { sim, run } = attempts;
    const result = await run(1);
    expect(result.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(warnings(result).at(-1)).toContain('did not answer in time');
    expect(sim.time.now() - (sim.agent.gets().at(-1)?.at ?? 0)).toBeLessThan(80_000);
  });

  it('show the end even if each call to GitHub takes 6 to 8 seconds', async () => {
    await using attempts = await openAttempts('a comment', {
      with: { wait: true, 'job-id': '' },
      time: { graceMs: 40 },
      github: {
        on: async () => {
          await attempts.sim.pass(6000 + Math.random() * 2000);
          return undefined;
        },
      },
    });
    const { sim, run } = attempts;
    const step = { event: mergeGroup() };
    await run(1, { with: { command: '', prompt: 'Earlier.', 'job-id': JOB }, step });
    const result = await run(1);
    expect(result.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(result.annotations).toEqual([]);
    expect(ownComments(sim.github)[1]?.body).toContain(titleOf('completed'));
  });
});

describe.concurrent('a claim', () => {
  it.each<[string, Reply | null]>([
    ['with 401', { status: 401 }],
    ['with 403', { status: 403 }],
    ['without an answer, although it was made', null],
  ])('that is refused %s sends nothing: write it again', async (_, reply) => {
    const loses: Scenario = {
      github: { trouble: { loses: (call) => reply === null && purposeOf(call) === 'claim' } },
    };
    const replies = reply === null ? undefined : answering('claim', () => reply);
    const { result, sim } = await play('a comment', loses, replies);
    expect(result.outputs).toMatchObject(NOT_SENT);
    expect(errors(result)).toEqual([expect.stringContaining('Write the command again')]);
    expect(sim.agent.posts()).toEqual([]);
    expect(purposes(sim)).not.toContain('release');
    expect(ownComments(sim.github)).toEqual([]);
  });

  it.each(['a comment', 'a review comment'] as const)(
    'of %s is taken back by the last call if nothing was sent',
    async (origin) => {
      const agent = { onPost: () => ({ status: 401 }) };
      const { result, sim } = await play(origin, { agent });
      expect(result.outputs).toMatchObject(NOT_SENT);
      expect(purposes(sim).at(-1)).toBe('release');
      expect(sim.github.calls().at(-1)?.request.status).toBe(204);
      expect(sim.github.reactions.map(({ content }) => content)).toEqual(['eyes', 'confused']);
    },
  );

  it('stays if one of its messages may have been accepted', async () => {
    const jobs = [{ id: JOB }, { id: 'job-2' }];
    const agent = { jobs, onPost: (n: number) => ({ status: n === 1 ? 401 : 503 }) };
    const { sim } = await play('a comment', { agent, with: { 'job-id': `${JOB} job-2` } });
    expect(purposes(sim)).not.toContain('release');
    expect(sim.github.reactions.map(({ content }) => content)).toContain('rocket');
  });

  it.runIf(HAS_SIGNALS)('is taken back if the run is cancelled before its note', async () => {
    await using sim = await simulate({
      // The answer comes after the signal.
      github: {
        trouble: {
          latencyMs: 600,
          meanwhile: (call) => void (purposeOf(call) === 'claim' && run.kill('SIGINT')),
        },
      },
    });
    const trigger = triggerOf(sim, 'a comment');
    const run = sim.start({ with: trigger.with, step: { event: trigger.event } });
    const { outputs } = await run.result;
    expect(outputs).toMatchObject({ result: 'cancelled', delivery: 'not-sent' });
    expect(purposes(sim)).not.toContain('note');
    expect(purposes(sim).at(-1)).toBe('release');
    expect(sim.github.reactions.map(({ content }) => content)).not.toContain('rocket');
  });

  it.runIf(HAS_SIGNALS)(
    'is taken back even if the note hangs when the run is cancelled',
    async () => {
      await using sim = await simulate({
        github: {
          on() {
            const call = sim.github.calls().at(-1);
            if (call === undefined || purposeOf(call) !== 'note') return undefined;
            run.kill('SIGINT');
            return { fault: 'hang' };
          },
        },
      });
      const trigger = triggerOf(sim, 'a comment');
      const run = sim.start({ with: trigger.with, step: { event: trigger.event } });
      const { outputs } = await run.result;
      expect(outputs).toMatchObject({ result: 'cancelled', delivery: 'not-sent' });
      expect(sim.github.reactions.map(({ content }) => content)).not.toContain('rocket');
    },
  );
});

it('300 long comments of a stranger do not block a command without job-id', async () => {
  await using attempts = await openAttempts('a comment', { with: { 'job-id': '' } });
  const { sim, run } = attempts;
  const step = { event: mergeGroup() };
  await run(1, { with: { command: '', prompt: 'Earlier.', 'job-id': JOB }, step });
  for (let n = 0; n < 300; n++) sim.github.addComment(PULL, 'mallory', 'x'.repeat(65_000));
  expect((await run(1)).outputs).toMatchObject(SENT);
  expect((await run(2)).outputs).toMatchObject(SENT);
  expect(sim.agent.accepted()).toHaveLength(2);
});

describe.concurrent('at its end a step', () => {
  const EARLIER = { github: { run_id: '1' } };
  it.each<[string, boolean, Scenario?]>([
    ['hides its older comment of a process that was killed long ago', true],
    [
      'does not hide the comment of another leg',
      false,
      { step: { ...EARLIER, matrix: { leg: 'b' } } },
    ],
    [
      'does not hide the comment of another workflow',
      false,
      {
        step: { github: { run_id: '1', workflow_ref: 'octo/agents/.github/workflows/b.yml@main' } },
      },
    ],
    [
      'does not hide a comment without a message',
      false,
      { with: { send: false, wait: true, prompt: '' } },
    ],
  ])('%s', async (_, isHidden, scenario = {}) => {
    await using attempts = await openAttempts('a step');
    const { sim, run } = attempts;
    await run(1, { step: EARLIER, ...scenario });
    const [older] = ownComments(sim.github);
    if (older === undefined) throw new Error('There is no comment.');
    const killed = older.body
      .replace('"over":true', '"over":false')
      .replace(/"deadline":\d+/, `"deadline":${Math.round(sim.time.now()) - 3_600_000}`);
    sim.github.editComment(older.id, killed);
    await run(1);
    expect(ownComments(sim.github)).toMatchObject([
      { isMinimized: isHidden, body: killed },
      { isMinimized: false },
    ]);
  });

  it('hides those among the newest 30 comments, and never the answer to a command', async () => {
    await using attempts = await openAttempts('a comment');
    const { sim, run } = attempts;
    const asStep = {
      with: { command: '', prompt: 'Again.' },
      step: { event: mergeGroup() },
    };
    await run(1, asStep);
    for (let n = 0; n < 29; n++) sim.github.addComment(PULL, 'alice', 'Hello.');
    await run(1);
    for (const runId of ['2', '3']) {
      await run(1, { ...asStep, step: { ...asStep.step, github: { run_id: runId } } });
    }
    const hidden = ownComments(sim.github).map(({ isMinimized }) => isMinimized);
    expect(hidden).toEqual([false, false, true, false]);
  });
});

it('on a schedule, each of 35 pull requests has the end in its comment, by three calls', async () => {
  const pulls = Array.from({ length: 35 }, (_, index) => index + 100);
  await using sim = await simulate({
    with: {
      ...{ wait: true, 'when-active': 'send', 'timeout-minutes': '2' },
      'job-id': pulls.map((n) => `job-${n}`).join(' '),
    },
    agent: {
      jobs: pulls.map((n) => ({
        id: `job-${n}`,
        base: { prLink: `https://github.com/octo/agents/pull/${n}` },
        turns: [LONG_TURN],
      })),
    },
    github: { issues: pulls.map((number) => ({ number, pullRequest: true })) },
    step: { event: schedule() },
  });
  await sim.runHere({ with: { wait: false }, step: { github: { run_id: '1' } } });
  const from = sim.github.calls().length;
  const { outputs } = await sim.run();
  expect(outputs).toMatchObject({ result: 'timed-out', delivery: 'sent' });
  const calls = purposes(sim, from);
  const each = ['note', 'newest', 'minimize'];
  expect(calls.toSorted()).toEqual(pulls.flatMap(() => each).toSorted());
  for (const number of pulls) {
    expect(ownComments(sim.github, number)).toMatchObject([
      { isMinimized: true },
      { body: expect.stringContaining(titleOf('timed-out')) },
    ]);
  }
});

it('on a schedule, a comment that GitHub refuses for longer than the report is given up and counted', async () => {
  const prLink = 'https://github.com/octo/agents/pull/100';
  const refused: Answer = { status: 429, headers: { 'retry-after': '40' } };
  await using sim = await simulate({
    agent: { jobs: [{ id: JOB, base: { prLink } }] },
    github: { issues: [{ number: 100, pullRequest: true }], on: () => refused },
    step: { event: schedule() },
  });
  const result = await sim.runHere();
  expect(result.outputs).toMatchObject(SENT);
  expect(warnings(result)).toEqual([expect.stringContaining('rate limit')]);
  expect(result.log).toContain('Pull requests of jobs without a comment: 1.');
});
