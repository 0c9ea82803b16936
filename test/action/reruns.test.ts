import { describe, expect, it } from 'vitest';
import { EMPTY } from '../../src/memory/ledger.ts';
import { composeText, readText } from '../../src/memory/text.ts';
import type { AgentOptions } from '../sim/agent.ts';
import { issueComment, push } from '../sim/events.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import {
  errors,
  JOB,
  LONG_TURN,
  PROJECT,
  PULL,
  type Scenario,
  simulate,
  warnings,
} from './scenario.ts';

const OWN_LINK = `https://github.com/octo/agents/pull/${PULL}`;
const ATTEMPT_2: Scenario['step'] = { github: { run_attempt: '2' } };

interface Attempts {
  /** The request at which the first attempt is killed, which needs a process. */
  readonly killAt?: 'message' | 'poll';
  readonly between?: () => void;
  /** Whether both attempts run the built action. */
  readonly isBuilt?: boolean;
}

/** Runs a first attempt, and then a re-run. */
async function rerun(scenario: Scenario, { killAt, between, isBuilt = false }: Attempts = {}) {
  let kill: (() => void) | undefined;
  const agent: Partial<AgentOptions> = {
    jobs: [
      {
        id: JOB,
        turns: [
          {
            steps: [
              { afterMs: 2000, set: { status: 'active' } },
              { afterMs: 100_000, set: { status: 'completed' } },
            ],
          },
        ],
      },
    ],
    onPost() {
      if (killAt !== 'message') return undefined;
      kill?.();
      return { fault: 'hang', accept: true };
    },
    onGet(n) {
      if (killAt === 'poll' && n === 4) kill?.();
      return undefined;
    },
    ...scenario.agent,
  };
  await using sim = await simulate({ ...scenario, agent });
  const run = isBuilt ? sim.run : sim.runHere;
  async function runKilled() {
    const run = sim.start();
    kill = () => run.kill('SIGKILL');
    const result = await run.result;
    kill = undefined;
    return result;
  }
  const first = await (killAt === undefined ? run() : runKilled());
  between?.();
  const github = { ...scenario.step?.github, run_attempt: '2' };
  const second = await run({ step: { ...scenario.step, github } });
  return { first, second, posts: sim.agent.posts().length, sim };
}

describe('a re-run sends nothing and', () => {
  it('reports that an earlier attempt sent the message', async () => {
    const { first, second, posts } = await rerun({}, { isBuilt: true });
    expect(first.outputs.result).toBe('sent');
    expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(posts).toBe(1);
  });

  it('continues to wait if the earlier attempt was killed', async () => {
    const { first, second, posts } = await rerun(
      { with: { wait: true } },
      { killAt: 'poll', isBuilt: true },
    );
    expect(first.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(second.outputs).toMatchObject({
      result: 'completed',
      delivery: 'sent',
      confirmed: 'true',
    });
    expect(posts).toBe(1);
  });

  it('continues to wait even if only-when excludes the status, because the message has changed it', async () => {
    const { second, posts } = await rerun(
      {
        with: { wait: true, 'only-when': 'completed' },
        agent: { jobs: [{ id: JOB, base: { status: 'completed' }, turns: [LONG_TURN] }] },
      },
      { killAt: 'poll' },
    );
    expect(second.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(posts).toBe(1);
  });

  it('continues to wait if the earlier attempt timed out', async () => {
    const { first, second, posts } = await rerun({ with: { wait: true, 'timeout-minutes': '1' } });
    expect(first.outputs.result).toBe('timed-out');
    expect(second.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
    expect(posts).toBe(1);
  });

  it('continues to wait on a runner with a clock that is an hour behind', async () => {
    const behind = `Object.defineProperty(performance, 'timeOrigin', {
      value: performance.timeOrigin - 3_600_000,
    });`;
    const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(behind)}`];
    await using sim = await simulate({
      with: { wait: true },
      agent: {
        jobs: [
          {
            id: JOB,
            base: { status: 'active' },
            turns: [{ steps: [{ afterMs: 200_000, set: { status: 'completed' } }] }],
          },
        ],
      },
    });
    const first = await sim.runHere({ with: { 'timeout-minutes': '1' } });
    expect(first.outputs.result).toBe('timed-out');
    const second = await sim.run({ step: { ...ATTEMPT_2, nodeArgs } });
    expect(second.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(sim.time.elapsed()).toBeLessThan(400_000);
  });

  it('reports the final status that the earlier attempt saw', async () => {
    const { first, second, posts, sim } = await rerun({ with: { wait: true } });
    expect(first.outputs.result).toBe('completed');
    const polls = sim.agent.gets().length;
    expect(second.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
    expect(posts).toBe(1);
    expect(polls).toBe(JSON.parse(first.outputs.results ?? '')[0].polls);
  });

  it('ignores an invalid link that someone put into the comment', async () => {
    await using sim = await simulate({ with: { wait: true } });
    await sim.runHere();
    const [comment] = sim.github.comments(PULL);
    const data = readText(comment?.body ?? '', PROJECT);
    if (comment === undefined || typeof data === 'string') throw new Error('it cannot be read');
    const jobs = data.jobs.map((job) => ({
      ...job,
      record: job.record && { ...job.record, prLink: 'https://github.com:x/octo/agents/pull/7' },
    }));
    const edited = composeText(PROJECT, { ...data, jobs }, () => 'What people see.');
    sim.github.editComment(comment.id, edited);
    const second = await sim.runHere({ step: ATTEMPT_2 });
    expect(second.outputs).toMatchObject({ result: 'completed', 'pr-link': '' });
  });

  it('polls the job if the earlier attempt was killed while it sent the message', async () => {
    const { second, posts } = await rerun({ with: { wait: true } }, { killAt: 'message' });
    expect(second.outputs).toMatchObject({
      result: 'completed',
      delivery: 'sent',
      confirmed: 'false',
    });
    expect(posts).toBe(1);
  });

  it('fails without wait if the earlier attempt was killed while it sent the message', async () => {
    const { second, posts } = await rerun({}, { killAt: 'message' });
    expect(second.outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
    expect(errors(second)).toEqual([expect.stringContaining('it was not sent again')]);
    expect(posts).toBe(1);
  });

  it('fails if the comment cannot be read', async () => {
    let isBroken = false;
    const { second, posts } = await rerun(
      {
        github: {
          issues: [{ number: PULL }],
          on: ({ method, path }) =>
            isBroken && (method === 'GET' || path === '/graphql') ? { status: 500 } : undefined,
        },
      },
      {
        between: () => {
          isBroken = true;
        },
      },
    );
    expect(second.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(errors(second)).toEqual([
      expect.stringMatching(
        /cannot tell whether .* the comment cannot be read: GitHub answered 500\. /,
      ),
    ]);
    expect(warnings(second)).toEqual([]);
    expect(posts).toBe(1);
  });

  it.each<[string, Scenario, string]>([
    ['with comment: false', { with: { comment: false } }, 'comment is false'],
    [
      'if neither the event nor the job names a conversation',
      { step: { event: push() } },
      'there is no pull request or issue with a comment',
    ],
  ])('fails if no comment can have the note: %s', async (_, scenario, why) => {
    const { first, second, posts } = await rerun(scenario);
    expect(first.outputs.delivery).toBe('sent');
    expect(second.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(errors(second)).toEqual([
      expect.stringMatching(
        RegExp(
          `cannot tell whether an earlier attempt sent it, because ${why}\\. To send it, start`,
        ),
      ),
    ]);
    expect(posts).toBe(1);
  });
});

describe('a re-run that does not know whether an earlier attempt sent the message', () => {
  it.each([
    ['is skipped if only-when excludes the status', 'failed', 'skipped', /it is active, and/],
    ['fails if only-when includes the status', 'active', 'error', /cannot tell whether an earlier/],
  ])('%s', async (_, onlyWhen, result, reason) => {
    await using sim = await simulate({
      with: { comment: false, 'only-when': onlyWhen },
      agent: { jobs: [{ id: JOB, base: { status: 'active' } }] },
      step: ATTEMPT_2,
    });
    const { outputs } = await (result === 'error' ? sim.run() : sim.runHere());
    expect(outputs).toMatchObject({ result, delivery: 'not-sent', status: 'active' });
    expect(outputs.reason).toMatch(reason);
    expect(sim.agent.posts()).toEqual([]);
  });
});

it('a re-run that cannot poll the job for its pull request does not poll it again for only-when', async () => {
  await using sim = await simulate({
    with: { 'only-when': 'failed' },
    agent: { onGet: () => ({ status: 404 }) },
    step: { event: push(), github: { run_attempt: '2' } },
  });
  const { outputs } = await sim.runHere();
  expect(outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
  expect(sim.agent.journal).toHaveLength(1);
});

describe('a re-run sends', () => {
  it('the message if an earlier attempt certainly did not send it', async () => {
    let first = true;
    const onPost = () => {
      const refuse = first;
      first = false;
      return refuse ? { status: 401 } : undefined;
    };
    const { second } = await rerun({ agent: { onPost } }, { isBuilt: true });
    expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
  });

  it.each<[string, Scenario, string]>([
    ['with comment: false', { with: { comment: false } }, 'comment is false'],
    [
      'if neither the event nor the job names a conversation',
      { step: { event: push() } },
      'there is no pull request or issue with a comment',
    ],
    [
      'on a command that has the rocket, with comment: false',
      {
        with: { comment: false, command: '/agent', prompt: '' },
        github: { issues: [{ number: PULL, comments: [{ author: 'alice', body: '/agent go' }] }] },
        step: { event: issueComment({ number: PULL, body: '/agent go' }) },
      },
      'comment is false',
    ],
  ])(
    'the message with resend-on-rerun and a warning if an earlier attempt may have sent it: %s',
    async (_, scenario, why) => {
      const inputs = { ...scenario.with, 'resend-on-rerun': true };
      const github = { ...scenario.step?.github, triggering_actor: 'alice' };
      const step = { ...scenario.step, github };
      const { second, posts } = await rerun({ ...scenario, with: inputs, step });
      expect(second.outputs.result).toBe('sent');
      expect(warnings(second)).toEqual([
        `The message to job job-1 is sent, although this re-run cannot tell whether an earlier attempt sent it: ${why} (resend-on-rerun).`,
      ]);
      expect(posts).toBe(2);
    },
  );

  it('nothing, even with resend-on-rerun, if the comment says that the message was sent', async () => {
    const { second, posts } = await rerun({ with: { 'resend-on-rerun': true } });
    expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(warnings(second)).toEqual([]);
    expect(posts).toBe(1);
  });
});

it('another step of the same run sends its own message', async () => {
  await using sim = await simulate();
  await sim.runHere();
  const inputs = { prompt: 'Something else.' };
  const github = { action: 'follow-up-2' };
  await sim.runHere({ with: inputs, step: { github } });
  const again = await sim.runHere({
    with: inputs,
    step: { github: { ...github, run_attempt: '2' } },
  });
  expect(again.outputs.delivery).toBe('sent');
  expect(sim.agent.accepted()).toHaveLength(2);
});

it('a first attempt that cannot read the comment sends the message with a warning', async () => {
  await using sim = await simulate({
    github: {
      issues: [{ number: PULL }],
      on: ({ method, path }) =>
        method === 'GET' || path === '/graphql' ? { status: 500 } : undefined,
    },
  });
  const result = await sim.runHere();
  expect(result.outputs.result).toBe('sent');
  expect(warnings(result)).toEqual([
    expect.stringMatching(
      /^The comment on #7 could not be read .* a re-run will not know what was sent/,
    ),
  ]);
});

describe('an unreadable comment is not changed, and a re-run sends nothing', () => {
  const body = composeText(PROJECT, EMPTY, () => 'What people see.');
  it.each([
    ['written by a later version', body.replace('data 1 ', 'data 2 ')],
    ['edited by hand', body.replace(/data 1 (\w+) .*? -->/, 'data 1 $1 none -->')],
    ['without its first line', body.slice(body.indexOf('\n') + 1)],
    ['without its data', body.slice(0, body.lastIndexOf('\n'))],
  ])('%s', async (name, broken) => {
    await using sim = await simulate();
    const run = name === 'edited by hand' ? sim.run : sim.runHere;
    sim.github.addComment(PULL, 'github-actions[bot]', broken);
    const first = await run();
    expect(first.outputs.result).toBe('sent');
    expect(warnings(first)).toEqual([
      expect.stringContaining('edited by hand or written by a later version'),
    ]);
    const second = await run({ step: ATTEMPT_2 });
    expect(second.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(errors(second)).toEqual([
      expect.stringContaining('because a comment of this action cannot be read'),
    ]);
    expect(sim.github.comments(PULL).map(({ body }) => body)).toEqual([broken]);
  });

  it('a comment with other line endings is readable', async () => {
    await using sim = await simulate();
    await sim.runHere();
    const [comment] = sim.github.comments(PULL);
    sim.github.editComment(comment?.id ?? 0, `${comment?.body.replaceAll('\n', '\r\n')}\r\n`);
    const second = await sim.runHere({ step: ATTEMPT_2 });
    expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(sim.agent.posts()).toHaveLength(1);
  });
});

describe('a later attempt does not send the message again', () => {
  it('after an attempt that could not read the comment', async () => {
    let isBroken = false;
    await using sim = await simulate({
      github: {
        issues: [{ number: PULL }],
        on: ({ path }) => (isBroken && path === '/graphql' ? { status: 500 } : undefined),
      },
    });
    await sim.runHere();
    isBroken = true;
    const second = await sim.runHere({ step: ATTEMPT_2 });
    expect(second.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    isBroken = false;
    const third = await sim.runHere({ step: { github: { run_attempt: '3' } } });
    expect(third.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(sim.agent.posts()).toHaveLength(1);
  });

  it('if GraphQL fails and the login of the app is unknown', async () => {
    let isBroken = false;
    await using sim = await simulate({
      github: {
        viewer: { login: 'my-app[bot]', id: 77, type: 'Bot' },
        issues: [{ number: PULL }],
        on: ({ path }) => (isBroken && path === '/graphql' ? { status: 502 } : undefined),
      },
    });
    await sim.runHere();
    isBroken = true;
    const second = await sim.runHere({ step: ATTEMPT_2 });
    expect(second.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(sim.agent.posts()).toHaveLength(1);
    expect(sim.github.comments(PULL)).toHaveLength(1);
  });

  it('if only the link of the job leads to the comment', async () => {
    const prLink = `https://github.com/octo/agents/pull/${PULL}`;
    await using sim = await simulate({
      agent: { jobs: [{ id: JOB, base: { prLink } }] },
      step: { event: push() },
    });
    await sim.runHere();
    const second = await sim.runHere({ step: ATTEMPT_2 });
    // Each attempt polls the job once to find the pull request with the comment.
    expect(sim.agent.gets()).toHaveLength(2);
    expect(JSON.parse(second.outputs.results ?? '')).toMatchObject([{ result: 'sent', polls: 1 }]);
  });

  it('if only the job names the pull request, and the poll for it fails', async () => {
    const prLink = `https://github.com/octo/agents/pull/${PULL}`;
    let isBroken = false;
    await using sim = await simulate({
      agent: {
        jobs: [{ id: JOB, base: { prLink } }],
        onGet: () => (isBroken ? { status: 500 } : undefined),
      },
      step: { event: push() },
    });
    await sim.runHere();
    isBroken = true;
    const second = await sim.runHere({ step: ATTEMPT_2 });
    expect(second.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(errors(second)).toEqual([
      expect.stringMatching(
        /cannot tell whether an earlier attempt sent it\. The API answered 500/,
      ),
    ]);
    expect(sim.agent.posts()).toHaveLength(1);
  });

  it('if only the job names the pull request, and other comments delay the poll for it', async () => {
    const two = ['job-1', 'job-2'].map((id, index) => ({ id, number: 11 + index }));
    let [isRerun, pollsUntilError] = [false, 0];
    await using sim = await simulate({
      with: { 'job-id': 'job-1 job-2', wait: true },
      step: { event: push() },
      github: {
        issues: two.map(({ number }) => ({ number, pullRequest: true })),
        on: ({ method }) => (isRerun && method === 'PATCH' ? { fault: 'hang' } : undefined),
      },
      agent: {
        jobs: two.map(({ id, number }) => ({
          id,
          base: { prLink: `https://github.com/octo/agents/pull/${number}` },
        })),
        onPost: (_, { path }) => (!isRerun && path.includes('job-1') ? { status: 401 } : undefined),
        onGet(_, { path }) {
          if (!path.includes('job-2')) return undefined;
          pollsUntilError -= 1;
          return pollsUntilError === 0
            ? { status: 503, headers: { 'retry-after': '60' } }
            : undefined;
        },
      },
      time: { graceMs: 150 },
    });
    await sim.runHere();
    [isRerun, pollsUntilError] = [true, 1];
    const second = await sim.runHere({ step: ATTEMPT_2 });
    expect(JSON.parse(second.outputs.results ?? '')).toMatchObject([
      // Its note could not be written, so nothing was sent.
      { result: 'error', delivery: 'not-sent' },
      { result: 'completed', delivery: 'sent', reason: '' },
    ]);
    expect(sim.agent.accepted()).toMatchObject([{ jobId: 'job-2' }]);
  });

  it.runIf(HAS_SIGNALS)(
    'if only the poll before the message returned the pull request',
    async () => {
      await using sim = await simulate({
        with: { wait: true },
        step: { event: push() },
        agent: {
          jobs: [
            {
              id: JOB,
              base: { prLink: OWN_LINK },
              turns: [{ ...LONG_TURN, answer: { prLink: undefined } }],
            },
          ],
        },
      });
      const run = sim.start({
        step: { onLine: (line) => void (/remain/.test(line) && run.kill('SIGKILL')) },
      });
      await run.result;
      await sim.run({ step: ATTEMPT_2 });
      expect(sim.agent.accepted()).toHaveLength(1);
    },
  );

  it('or take the effect of another message as evidence of delivery', async () => {
    let isLost = true;
    await using sim = await simulate({
      with: { wait: true },
      agent: {
        onPost() {
          const lost = isLost;
          isLost = false;
          return lost ? { fault: 'reset', accept: false } : undefined;
        },
      },
    });
    const first = await sim.runHere();
    expect(first.outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
    await sim.runHere({ with: { prompt: 'Something else.' } });
    const again = await sim.runHere({ step: ATTEMPT_2 });
    expect(again.outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
    expect(sim.agent.accepted()).toHaveLength(1);
  });

  it('and does not confirm the final status if another message was sent since', async () => {
    const steps = [
      { afterMs: 2000, set: { status: 'active' } },
      { afterMs: 100_000, set: { status: 'completed' } },
    ];
    await using sim = await simulate({
      with: { wait: true },
      agent: { jobs: [{ id: JOB, turns: [{ steps }] }] },
    });
    const first = await sim.runHere({ with: { 'timeout-minutes': '1' } });
    expect(first.outputs).toMatchObject({ result: 'timed-out', delivery: 'sent' });
    const other = await sim.runHere({ with: { prompt: 'Something else.' } });
    expect(other.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
    const again = await sim.runHere({ step: ATTEMPT_2 });
    expect(again.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
    expect(again.outputs.reason).toContain('Another message was sent to it since');
    expect(sim.agent.accepted()).toHaveLength(2);
  });
});

it('a re-run that cannot write its note sends nothing, and the next re-run sends the message', async () => {
  let posts = 0;
  let isDown = false;
  await using sim = await simulate({
    agent: { jobs: [{ id: JOB }], onPost: () => (++posts === 1 ? { status: 401 } : undefined) },
    github: {
      issues: [{ number: PULL }],
      on: ({ method }) => (isDown && method === 'PATCH' ? { status: 502 } : undefined),
    },
  });
  await sim.runHere();
  isDown = true;
  const second = await sim.runHere({ step: ATTEMPT_2 });
  expect(second.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
  expect(errors(second)).toEqual([
    expect.stringContaining('the message could not be noted in the comment'),
  ]);
  isDown = false;
  const third = await sim.runHere({ step: { github: { run_attempt: '3' } } });
  expect(third.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
  expect(sim.agent.accepted()).toHaveLength(1);
});

it.runIf(HAS_SIGNALS)(
  'a re-run that is cancelled while it writes its note has the result cancelled',
  async () => {
    let cancel: (() => void) | undefined;
    await using sim = await simulate({
      with: { wait: true },
      agent: { jobs: [{ id: JOB }], onPost: () => ({ status: 401 }) },
      github: {
        issues: [{ number: PULL }],
        on({ method }) {
          if (cancel === undefined || method !== 'PATCH') return undefined;
          cancel();
          return { fault: 'hang' };
        },
      },
    });
    await sim.runHere();
    const run = sim.start({ step: ATTEMPT_2 });
    cancel = () => run.kill('SIGINT');
    const result = await run.result;
    expect(result.outputs).toMatchObject({ result: 'cancelled', delivery: 'not-sent' });
    expect(sim.agent.posts()).toHaveLength(1);
  },
);

it('a re-run sends the message if no earlier attempt reached the step', async () => {
  await using sim = await simulate();
  const second = await sim.runHere({ step: ATTEMPT_2 });
  expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
  expect(second.annotations).toEqual([]);
  // Before it sends, it reads the comment again after a pause, with the edit history.
  expect(second.virtualMs).toBeGreaterThan(3000);
  expect(sim.github.calls('read+history')).toHaveLength(1);
  expect(sim.agent.accepted()).toHaveLength(1);
});

it('a re-run sends the message again if someone deleted the comment', async () => {
  await using sim = await simulate();
  await sim.runHere();
  sim.github.deleteComment(sim.github.comments(PULL)[0]?.id ?? 0);
  const second = await sim.runHere({ step: ATTEMPT_2 });
  expect(second.outputs.result).toBe('sent');
  expect(sim.agent.accepted()).toHaveLength(2);
});

describe('if the API refused one of two messages to a job, a re-run sends only that one', () => {
  const RULES = 'Follow the style guide. '.repeat(50);
  type Inputs = Scenario['with'];
  it.each<[string, (name: string, attempt: number) => Inputs]>([
    [
      'with a matrix that changes',
      (name, attempt) => ({
        prompt: `Document ${name}.`,
        'matrix-leg': JSON.stringify({ name, attempt }),
      }),
    ],
    ['with long prompts that begin alike', (name) => ({ prompt: `${RULES} Document ${name}.` })],
  ])('%s', async (_, inputsFor) => {
    const done = { steps: [{ afterMs: 60_000, set: { status: 'failed' } }] };
    for (const order of ['B', 'AB', 'BA']) {
      await using sim = await simulate({
        with: { wait: true, 'settle-seconds': '0' },
        agent: {
          jobs: [{ id: JOB, turns: [done] }],
          onPost: (n) =>
            n === 1 ? { status: 429, headers: { 'retry-after': '9999' } } : undefined,
        },
      });
      for (const name of ['A', 'B']) await sim.runHere({ with: inputsFor(name, 1) });
      for (const name of order) await sim.runHere({ with: inputsFor(name, 2), step: ATTEMPT_2 });
      const sent = sim.agent.accepted().map(({ prompt }) => prompt.slice(-2));
      expect(sent).toEqual(order === 'B' ? ['B.'] : ['B.', 'A.']);
    }
  });
});

it('a first attempt warns if it cannot write its note, and a re-run sends the message again', async () => {
  let isDown = true;
  await using sim = await simulate({
    github: {
      issues: [{ number: PULL }],
      on: ({ method, path }) =>
        isDown && method === 'POST' && path.endsWith('/comments') ? { status: 403 } : undefined,
    },
  });
  const first = await sim.runHere();
  expect(warnings(first)).toEqual([
    expect.stringContaining('a re-run will not know what was sent, and may send it again'),
  ]);
  isDown = false;
  const second = await sim.runHere({ step: ATTEMPT_2 });
  expect(second.outputs.result).toBe('sent');
  expect(sim.agent.accepted()).toHaveLength(2);
});

it.each<[string, Scenario]>([
  ['on another pull request', { with: { 'pr-number': '8' } }],
  ['by a step that now has another name', { step: { github: { action: 'follow-up-2' } } }],
])('a re-run sends the message again if the note is %s', async (_, before) => {
  await using sim = await simulate({
    github: { issues: [PULL, 8].map((number) => ({ number, pullRequest: true })) },
  });
  await sim.runHere(before);
  const second = await sim.runHere({ step: ATTEMPT_2 });
  expect(second.outputs.result).toBe('sent');
  expect(sim.agent.accepted()).toHaveLength(2);
});

it('a re-run finds a note that someone overwrote in the edit history', async () => {
  await using sim = await simulate();
  await sim.runHere();
  sim.github.editComment(sim.github.comments(PULL)[0]?.id ?? 0, 'Done, thank you.');
  const second = await sim.runHere({ step: ATTEMPT_2 });
  expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
  expect(sim.agent.accepted()).toHaveLength(1);
  expect(sim.github.comments(PULL).map(({ body }) => body)).toContain('Done, thank you.');
});

it.each<[string, Scenario, number]>([
  ['whose note GitHub accepts too late', {}, 60],
  ['that times out first', { with: { 'timeout-minutes': '0.05' } }, 0],
])(
  'after a re-run %s, the next one still finds the note in the edit history',
  async (_, again, limitS) => {
    let limits = 0;
    await using sim = await simulate({
      github: {
        issues: [{ number: PULL, pullRequest: true }],
        trouble: {
          limits: ({ name }) =>
            name === 'POST issues/#/comments' && limits-- > 0 ? limitS : undefined,
        },
      },
    });
    await sim.runHere();
    sim.github.editComment(sim.github.comments(PULL)[0]?.id ?? 0, 'Done, thank you.');
    if (limitS > 0) limits = 1;
    const second = await sim.runHere({ ...again, step: ATTEMPT_2 });
    expect(second.outputs.delivery).toBe('not-sent');
    const third = await sim.runHere({ step: { github: { run_attempt: '3' } } });
    expect(third.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(sim.agent.accepted()).toHaveLength(1);
  },
);

it('an attempt that reports late that it sent nothing does not make a later one send again', async () => {
  await using sim = await simulate({
    agent: {
      jobs: [{ id: JOB }],
      onGet: () => ({ fault: 'hang' }),
    },
  });
  // GitHub lost the connection to the runner of the first attempt, whose poll before the message gets no response.
  const lost = sim.runHere({ with: { wait: true, 'timeout-minutes': '0.25' } });
  await sim.runHere({ step: ATTEMPT_2 });
  expect((await lost).outputs).toMatchObject({ result: 'timed-out', delivery: 'not-sent' });
  const third = await sim.runHere({ step: { github: { run_attempt: '3' } } });
  expect(third.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
  expect(sim.agent.accepted()).toHaveLength(1);
});

it('an attempt that continues after GitHub has started the next one is skipped', async () => {
  await using sim = await simulate();
  // GitHub lost the connection to the runner of the first attempt before its note.
  const second = await sim.runHere({ step: ATTEMPT_2 });
  expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
  const first = await sim.runHere();
  expect(first.outputs).toMatchObject({
    result: 'skipped',
    delivery: 'not-sent',
    reason: 'Nothing was sent to job job-1: a later attempt of this run has begun.',
  });
  expect(sim.agent.accepted()).toHaveLength(1);
  const third = await sim.runHere({ step: { github: { run_attempt: '3' } } });
  expect(third.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
  expect(sim.agent.accepted()).toHaveLength(1);
});
