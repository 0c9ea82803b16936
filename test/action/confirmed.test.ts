import { describe, expect, it } from 'vitest';
import { iconOf, titleOf } from '../../src/labels.ts';
import type { AgentOptions, JobPart, PostReply } from '../sim/agent.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { commentTexts, errors, JOB, type Simulation, simulate, warnings } from './scenario.ts';

// `confirmed` is true only if a poll after the message showed the agent at work, and a later one done.

const LINK = 'https://github.com/octo/docs/pull/1';
const record = (status: string) => ({ id: JOB, status, prLink: null });
const at = (seconds: number, status: string, more: JobPart = {}) => ({
  afterMs: seconds * 1000,
  set: { status, ...more },
});

function job(status: string, ...steps: ReturnType<typeof at>[]): Partial<AgentOptions> {
  return { jobs: [{ id: JOB, base: { status }, turns: [{ steps }] }] };
}

/** Accepts the message, and returns this body. */
function accepts(body: object): () => PostReply {
  return () => ({ body, accept: true });
}

interface Row {
  readonly name: string;
  readonly agent: Partial<AgentOptions>;
  readonly confirmed: boolean;
  /** Default: completed. */
  readonly result?: string;
  /** Virtual seconds. */
  readonly from?: number;
  readonly to: number;
  /** What the only warning or error says. Default: there is none. */
  readonly says?: string;
  readonly reason?: string;
}

const EARLIER = 'may be the end of earlier work';
const AT_WORK = 'the agent was already at work when the message was sent';
/** The agent never takes up the message. */
const IDLE = { jobs: [{ id: JOB, turns: [{ steps: [] }] }] };

// The rules are in job.test.ts; these are the polls and messages that they get.
const ROWS: readonly Row[] = [
  {
    name: 'completed, active, completed',
    agent: job('completed', at(9, 'active'), at(40, 'completed')),
    ...{ confirmed: true, to: 46 },
  },
  {
    name: 'completed, with another link and active only in the answer to the message',
    agent: { ...IDLE, onPost: accepts({ ...record('active'), prLink: LINK }) },
    ...{ confirmed: false, from: 60, to: 66, says: EARLIER },
  },
  {
    name: 'completed, and another message at work in the pause after a 429',
    agent: {
      ...IDLE,
      onGet: (n) => ({ body: record(n <= 2 ? 'completed' : 'failed') }),
      onPost: (n) => (n === 1 ? { status: 429, headers: { 'retry-after': '60' } } : undefined),
    },
    ...{ confirmed: false, result: 'failed', from: 120, to: 130, says: EARLIER },
  },
  {
    name: 'no status, completed',
    agent: { ...IDLE, onGet: (n) => (n <= 2 ? { body: { id: JOB } } : undefined) },
    ...{ confirmed: false, from: 60, to: 80, says: 'its status before the message is not known' },
  },
  {
    name: 'completed in the first poll, active in the one just before the message',
    agent: { ...IDLE, onGet: (n) => ({ body: record(n === 2 ? 'active' : 'completed') }) },
    ...{ confirmed: false, to: 80, reason: AT_WORK },
  },
];

/** Wherever an end is not confirmed, nothing looks like success. */
function expectNoSuccess({ summary, stdout }: StepResult, { github }: Simulation): void {
  const texts = [summary, stdout, ...commentTexts(github)];
  for (const success of [iconOf('completed'), '🎉', titleOf('completed'), 'pushed']) {
    expect(texts.filter((text) => text.includes(success))).toEqual([]);
  }
  expect(github.reactions.filter(({ content }) => content === 'hooray')).toEqual([]);
}

describe.concurrent('with these statuses before and after the message', () => {
  it.each(ROWS)('$name: confirmed is $confirmed', async (row) => {
    const { confirmed, result: ended = 'completed', from = 0, to, says, reason = '' } = row;
    const inputs = { wait: true, 'when-active': 'send' };
    await using sim = await simulate({ with: inputs, agent: row.agent });
    const result = await (row === ROWS[0] ? sim.run() : sim.runHere());
    expect(result.outputs).toMatchObject({ result: ended, confirmed: String(confirmed) });
    expect(result.outputs.reason).toContain(says ?? reason);
    expect(
      [...errors(result), ...warnings(result)].filter(
        (text) => !/no status|status that/.test(text),
      ),
    ).toEqual(says === undefined ? [] : [expect.stringContaining(says)]);
    expect(result.conclusion).toBe(ended === 'completed' ? 'success' : 'failure');
    expect(result.virtualMs / 1000).toBeGreaterThanOrEqual(from);
    expect(result.virtualMs / 1000).toBeLessThan(to);
    if (!confirmed) expectNoSuccess(result, sim);
    else expect(commentTexts(sim.github).at(-1)).toContain(iconOf('completed'));
  });
});
