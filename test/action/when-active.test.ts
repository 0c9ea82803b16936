import { describe, expect, it } from 'vitest';
import { LABELS, type Label } from '../../src/job/labels.ts';
import type { AgentOptions } from '../sim/agent.ts';
import { type Simulation, simulate, visibleIn } from './scenario.ts';

// A message to a job on which the agent is at work waits until it is done.

const WAIT = { wait: true };
const SENT = { result: 'completed', delivery: 'sent' };
const MINUTE = 60_000;

type Status = (minute: number) => string | undefined;

/** The agent is at earlier work for these minutes. The message then takes it a minute. */
function busy(minutes: number, more: Status = () => undefined) {
  const start = new Map<string, number>();
  const sent: string[] = [];
  return {
    onPost: (_, { path }) => void sent.push(path),
    onGet(_, { path, at }) {
      start.set(path, start.get(path) ?? at);
      if (sent.some((message) => message.startsWith(`${path}/`))) return undefined;
      const minute = (at - (start.get(path) ?? 0)) / MINUTE;
      const status = more(minute) ?? (minute < minutes ? 'active' : 'completed');
      return { body: { id: path.split('/').at(-1), status, prLink: null } };
    },
  } satisfies Partial<AgentOptions>;
}

/** Virtual minutes from the start of the run to the message. */
function sentAfter({ agent }: Simulation, startedAt: number): number {
  return ((agent.accepted()[0]?.at ?? Infinity) - startedAt) / MINUTE;
}

describe('a message to a job at work', () => {
  it('waits until that is done, and its end is then confirmed', async () => {
    await using sim = await simulate({ with: WAIT, agent: busy(5) });
    const startedAt = sim.time.now();
    const { outputs, annotations, stdout } = await sim.run();
    expect(outputs).toMatchObject({ ...SENT, confirmed: 'true', reason: '' });
    expect(annotations).toEqual([]);
    expect(sentAfter(sim, startedAt)).toBeGreaterThan(5);
    expect(sentAfter(sim, startedAt)).toBeLessThan(6.5);
    expect(stdout).toMatch(/^The agent is at work\. The message waits until /m);
    const waits = /^Waiting until the agent is done with .*: the job is active; time-out in .*\.$/m;
    expect(stdout).toMatch(waits);
    // Whoever else waited for that work has to see its end first.
    expect(stdout).toMatch(/^The job is completed; time-out in .*\.$/m);
    const titles = sim.commentTexts().map((text) => text.split('\n')[0]);
    const words = [LABELS.waiting.title, LABELS.working.title, LABELS.completed.icon];
    expect(titles).toEqual(words.map((text) => expect.stringContaining(text)));
  });

  it('does not keep the comment from telling that another one is sent', async () => {
    const agent = busy(5);
    const told = new Set<string>();
    await using sim: Simulation = await simulate({
      with: { ...WAIT, 'job-id': 'job-1,job-2' },
      agent: {
        ...{ ...agent, jobs: [{ id: 'job-1' }, { id: 'job-2' }] },
        onGet(n, request) {
          if (!request.path.endsWith('job-2')) return undefined;
          const [note] = sim.notes();
          if (note !== undefined) told.add(note.jobs.map(({ delivery }) => delivery).join());
          return agent.onGet(n, request);
        },
      },
    });
    expect((await sim.runHere()).outputs.delivery).toBe('sent');
    expect([...told]).toEqual(['sent,sending', 'sent,sent']);
  });

  it('waits on if another message comes first', async () => {
    let polls = 0;
    // Done for one poll; the one just before the message shows that the agent is at work again.
    const again = (minute: number) => {
      if (minute < 2 || minute > 4) return undefined;
      polls += 1;
      return polls === 1 ? 'completed' : 'active';
    };
    await using sim = await simulate({ with: WAIT, agent: busy(2, again) });
    const startedAt = sim.time.now();
    const { outputs } = await sim.runHere();
    expect(outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
    expect(sentAfter(sim, startedAt)).toBeGreaterThan(4);
  });

  it.each<[number, object]>([
    [0, WAIT],
    [5, { wait: true, 'only-when': 'active, completed' }],
    [5, {}],
  ])('that is done in %i minutes is sent at once with %j', async (minutes, inputs) => {
    const more = { ...inputs, 'timeout-minutes': '2' };
    await using sim = await simulate({ with: more, agent: busy(minutes) });
    const startedAt = sim.time.now();
    const { outputs, stdout } = await sim.runHere();
    expect(outputs.delivery).toBe('sent');
    expect(sentAfter(sim, startedAt)).toBeLessThan(0.5);
    expect(stdout).not.toContain('The message waits');
  });
});

/** Each with what one warning, and the summary, say of it at the end. */
const REFUSALS = [
  [401, 'Bad credentials', 'GitHub answered 401: “Bad credentials”. Tokens of GitHub Apps live'],
  [403, 'is locked', 'GitHub answered 403: “is locked”. The conversation is locked: unlock it'],
  [404, 'Not Found', 'Somebody has deleted the comment.'],
  [410, 'Gone', 'Somebody has deleted the comment.'],
] as const;
const NOT_SENT = { result: 'error', delivery: 'not-sent' };
const edits = ({ github }: Simulation) => github.calls('PATCH issues/comments/#').length;
/** From when on it can no longer be edited, for how many minutes the agent is at earlier work, and the label that the comment then keeps. */
const MOMENTS: readonly [string, (sim: Simulation) => boolean, number, object, Label | null][] = [
  ['before the note', () => true, 0, NOT_SENT, null],
  ['after the note', ({ notes }) => notes().length > 0, 0, SENT, 'sending'],
  ['during the wait', ({ agent }) => agent.gets().length > 3, 5, SENT, 'waiting'],
  ['after the message', ({ agent }) => agent.accepted().length > 0, 0, SENT, 'sending'],
  ['at the end', (sim) => edits(sim) > 1, 0, SENT, 'working'],
];
const ROWS = MOMENTS.flatMap(([moment, ...expected]) =>
  REFUSALS.map(([status, ...words]) => [status, moment, words, ...expected] as const),
);

const TITLE = 'a comment that gets %i %s says what is true, or was true then, with one warning';
it.concurrent.each(ROWS)(TITLE, async (...row) => {
  const [status, , [message, said], isThere, minutes, expected, label] = row;
  let isBroken = false;
  await using sim: Simulation = await simulate({
    ...{ with: WAIT, agent: busy(minutes) },
    github: {
      on({ method, path }) {
        isBroken ||= isThere(sim);
        const isAboutIt = status === 401 || /comments/.test(path);
        return isBroken && method !== 'GET' && isAboutIt
          ? { status, body: { message } }
          : undefined;
      },
    },
  });
  const { outputs, conclusion, warnings, summary } = await sim.runHere();
  const isSent = expected === SENT;
  expect(isBroken).toBe(true);
  expect(outputs).toMatchObject(expected);
  expect(conclusion).toBe(isSent ? 'success' : 'failure');
  expect(warnings).toEqual(isSent ? [expect.stringContaining(said)] : []);
  if (isSent) expect(summary).toContain(said.split('“')[0]);
  expect(sim.agent.accepted()).toHaveLength(isSent ? 1 : 0);
  // One when the message is out, and one at the end.
  expect(edits(sim)).toBe(isSent ? 2 : 0);
  const kept = sim.ownComments().map(({ body }) => visibleIn(body).split('\n')[0]);
  expect(kept).toEqual(label === null ? [] : [expect.stringContaining(LABELS[label].title)]);
});
