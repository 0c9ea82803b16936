import { describe, expect, it } from 'vitest';
import type { AgentOptions } from '../sim/agent.ts';
import { errors, JOB, PULL, type Scenario, stage, warnings } from './scenario.ts';

const ATTEMPT_2: Scenario['step'] = { github: { run_attempt: '2' } };

/** A first attempt that ends as the script says, then a re-run of it. */
async function rerun(
  scenario: Scenario,
  { killAt, between }: { killAt?: 'message' | 'look'; between?: () => void } = {},
) {
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
      if (killAt === 'look' && n === 4) kill?.();
      return undefined;
    },
    ...scenario.agent,
  };
  await using scene = await stage({ ...scenario, agent });
  const run = scene.start();
  kill = () => run.kill('SIGKILL');
  const first = await run.result;
  kill = undefined;
  between?.();
  const second = await scene.run({ step: { ...scenario.step, ...ATTEMPT_2 } });
  return { first, second, posts: scene.agent.posts().length, scene };
}

describe('a re-run does not send again', () => {
  it('what an earlier attempt sent', async () => {
    const { first, second, posts } = await rerun({});
    expect(first.outputs.outcome).toBe('sent');
    expect(second.outputs).toMatchObject({ outcome: 'sent', delivery: 'sent' });
    expect(posts).toBe(1);
  });

  it('but goes on waiting where the earlier attempt was killed', async () => {
    const { first, second, posts } = await rerun({ with: { wait: true } }, { killAt: 'look' });
    expect(first.outputs).toMatchObject({ outcome: 'sent', delivery: 'sent' });
    expect(second.outputs).toMatchObject({
      outcome: 'completed',
      delivery: 'sent',
      confirmed: 'true',
    });
    expect(posts).toBe(1);
  });

  it('but goes on waiting where the earlier attempt timed out', async () => {
    const { first, second, posts } = await rerun({ with: { wait: true, 'timeout-minutes': '1' } });
    expect(first.outputs.outcome).toBe('timed-out');
    expect(second.outputs).toMatchObject({ outcome: 'completed', confirmed: 'true' });
    expect(posts).toBe(1);
  });

  it('but reports the end that the earlier attempt saw', async () => {
    const { first, second, posts, scene } = await rerun({ with: { wait: true } });
    expect(first.outputs.outcome).toBe('completed');
    const looks = scene.agent.gets().length;
    expect(second.outputs).toMatchObject({ outcome: 'completed', confirmed: 'true' });
    expect(posts).toBe(1);
    expect(looks).toBe(JSON.parse(first.outputs.results ?? '')[0].polls);
  });

  it('what was on its way when the earlier attempt was killed: a look settles it', async () => {
    const { second, posts } = await rerun({ with: { wait: true } }, { killAt: 'message' });
    expect(second.outputs).toMatchObject({
      outcome: 'completed',
      delivery: 'sent',
      confirmed: 'true',
    });
    expect(posts).toBe(1);
  });

  it('what was on its way, where no look can settle it', async () => {
    const { second, posts } = await rerun({}, { killAt: 'message' });
    expect(second.outputs).toMatchObject({ outcome: 'error', delivery: 'unknown' });
    expect(errors(second)).toEqual([expect.stringContaining('it was not sent again')]);
    expect(posts).toBe(1);
  });

  it('where the memory cannot be read', async () => {
    let broken = false;
    const { second, posts } = await rerun(
      {
        github: {
          issues: [{ number: PULL }],
          on: ({ method, path }) =>
            broken && (method === 'GET' || path === '/graphql') ? { status: 500 } : undefined,
        },
      },
      {
        between: () => {
          broken = true;
        },
      },
    );
    expect(second.outputs).toMatchObject({ outcome: 'error', delivery: 'not-sent' });
    expect(errors(second)).toEqual([expect.stringContaining('cannot tell whether it was sent')]);
    expect(posts).toBe(1);
  });
});

describe('a re-run sends', () => {
  it('what was surely not sent before', async () => {
    let first = true;
    const onPost = () => {
      const refuse = first;
      first = false;
      return refuse ? { status: 401 } : undefined;
    };
    const { second } = await rerun({ agent: { onPost } });
    expect(second.outputs).toMatchObject({ outcome: 'sent', delivery: 'sent' });
  });

  it.each(['off', 'new'])(
    'again with comment: %s, which has no memory, and warns',
    async (comment) => {
      const { second, posts } = await rerun({ with: { comment } });
      expect(second.outputs.outcome).toBe('sent');
      expect(warnings(second)).toEqual([expect.stringContaining('without a memory')]);
      expect(posts).toBe(2);
    },
  );
});

it('another prompt in the same run is another message', async () => {
  await using scene = await stage();
  await scene.run();
  await scene.run({ with: { prompt: 'Something else.' } });
  expect(scene.agent.accepted()).toHaveLength(2);
});

it('a first attempt that cannot read its memory works without, and says so', async () => {
  await using scene = await stage({
    github: {
      issues: [{ number: PULL }],
      on: ({ method, path }) =>
        method === 'GET' || path === '/graphql' ? { status: 500 } : undefined,
    },
  });
  const result = await scene.run();
  expect(result.outputs.outcome).toBe('sent');
  expect(warnings(result)).toEqual([expect.stringContaining('nothing is remembered')]);
});

it('the ledger of a later version is left as it is', async () => {
  await using scene = await stage();
  const later = '<!-- agent-follow-up:v2 {"projectId":"project_1"} -->\nNew things';
  scene.github.addComment(PULL, 'github-actions[bot]', later);
  const result = await scene.run();
  expect(result.outputs.outcome).toBe('sent');
  expect(warnings(result)).toEqual([expect.stringContaining('later version')]);
  expect(scene.github.comments(PULL).map(({ body }) => body)).toEqual([later]);
});
