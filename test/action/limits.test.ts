import { expect, it } from 'vitest';
import { LABELS } from '../../src/job/labels.ts';
import { event, type Person, pullRequest } from '../sim/events.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { meetAt, PULL, type Simulation, simulate } from './scenario.ts';

// A step sends at most so many messages in a row, with any number of runs at once, until a person writes a command. What
// counts is in unit/decide.test.ts, and runs at once with lists that are late are in note.test.ts.

const AGENT: Person = { login: 'mintlify[bot]', id: 3003, type: 'Bot' };
const BOT = { 'allowed-bots': AGENT.login };
const BY_BOT = event('issues', 'labeled', { issue: { number: PULL }, sender: AGENT });
const BY_PERSON = pullRequest({ number: PULL });
/** The title of a comment. */
const LIMIT = LABELS.limited.title;

type More = NonNullable<Parameters<Simulation['run']>[0]>;

/** Runs the step as later runs of the workflow. */
async function runs(sim: Simulation, count: number, more: More = {}): Promise<StepResult[]> {
  const results: StepResult[] = [];
  for (let n = 0; n < count; n++) {
    const run_id = String(sim.time.elapsed() + sim.github.journal.length + 1);
    results.push(await sim.runHere({ ...more, step: { github: { run_id } } }));
  }
  return results;
}

function resultsOf(results: readonly StepResult[]): readonly (string | undefined)[] {
  return results.map(({ outputs }) => outputs.result);
}

const sent = (count: number): readonly string[] => Array(count).fill('sent');

/** A command, which its own workflow sends. */
async function command(sim: Simulation): Promise<string | undefined> {
  const run_id = String(10 ** 9 + sim.github.journal.length);
  const github = { run_id, workflow: 'Commands', workflow_ref: 'o/a/commands.yml@x' };
  const step = { event: sim.ask('/agent Go on.'), github };
  return (await sim.runHere({ with: { command: '/agent', prompt: '' }, step })).outputs.result;
}

/** What the small print of each comment says of the count. */
function counts(sim: Simulation): readonly (string | undefined)[] {
  return sim.ownComments().map(({ body }) => /message \d+ of \d+(?=.*<\/sub>)/.exec(body)?.[0]);
}

/** The notes that tell a limit. */
function told(sim: Simulation): readonly string[] {
  return sim.ownComments().flatMap(({ body }) => (body.includes(LIMIT) ? body : []));
}

it('messages of a bot end after three in a row, which one comment tells', async () => {
  await using sim = await simulate({ with: BOT, step: { event: BY_BOT } });
  const results = await runs(sim, 6);
  expect(resultsOf(results)).toEqual([...sent(3), 'skipped', 'skipped', 'skipped']);
  expect(sim.agent.posts()).toHaveLength(3);
  expect(counts(sim)).toEqual(['message 1 of 3', 'message 2 of 3', 'message 3 of 3', undefined]);
  const [first = '', ...others] = told(sim);
  expect(others).toEqual([]);
  const [, title, reason, prompt] = first.split(/\n+/);
  expect(title).toMatch(/^### .* Limit reached/);
  expect(reason).toBe(
    'This message was not sent: since the last command or review by a person, the workflow has sent, or may have sent, ' +
      '3 messages. Look at what the agent did. To send this message, re-run the workflow.',
  );
  expect(prompt).toBe('> `Add error handling examples.`');
  for (const { conclusion, outputs, summary, annotations } of results.slice(3)) {
    expect(conclusion).toBe('success');
    const why = expect.stringContaining('may have sent, 3 messages');
    expect(outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent', reason: why });
    expect(summary).toContain(LIMIT);
    expect(annotations).toMatchObject([{ type: 'notice' }]);
  }
  const urls = results.slice(3).map(({ outputs }) => outputs['comment-url']);
  expect(urls).toEqual([sim.ownComments()[3]?.html_url, '', '']);
  // It is told by its comment, and not by a second one.
  expect(sim.github.comments(PULL)).toHaveLength(4);
  // A new count begins after a command, and its end is told again, once.
  for (const times of [2, 3]) {
    expect(await command(sim)).toBe('sent');
    expect(resultsOf(await runs(sim, 5))).toEqual([...sent(3), 'skipped', 'skipped']);
    expect(told(sim)).toHaveLength(times);
  }
  expect(sim.agent.posts()).toHaveLength(3 * 3 + 2);
});

it('a limit says nothing of a message that is not meant for the job, nor does a comment', async () => {
  await using sim = await simulate({ with: { 'max-messages': 1 }, step: { event: BY_PERSON } });
  expect(resultsOf(await runs(sim, 1))).toEqual(['sent']);
  const [{ outputs } = {}] = await runs(sim, 1, { with: { 'only-when': 'failed' } });
  expect(outputs?.reason).toContain('only failed jobs get the message');
  expect(sim.github.comments(PULL)).toHaveLength(1);
});

it('five runs at once, in processes of their own, never send more than three, which is told', async () => {
  await using sim = await simulate({
    with: { 'max-messages': 3 },
    // None of them sees the comment of another one before its own.
    github: { on: meetAt(5, 'POST issues/#/comments', () => sim) },
    time: { graceMs: 60_000 },
    step: { event: BY_PERSON },
  });
  const ids = ['1', '2', '3', '4', '5'];
  const starts = ids.map((run_id) => sim.start({ step: { github: { run_id } } }).result);
  const results = await Promise.all(starts);
  expect(resultsOf(results).toSorted()).toEqual([...sent(3), 'skipped', 'skipped']);
  expect(sim.agent.posts()).toHaveLength(3);
  // Those that came first, each with its own number.
  const created = sim.notes().map(({ jobs }) => jobs[0]?.delivery);
  expect(created).toEqual([...sent(3), 'not-sent', 'not-sent']);
  const numbers = [1, 2, 3].map((n) => `message ${n} of 3`);
  expect(counts(sim).filter((count) => count !== undefined)).toEqual(numbers);
  // People get a mail only of a new comment.
  const noted = new Set(sim.ownComments().map(({ id }) => id));
  const [answer, ...more] = sim.github.comments(PULL).filter(({ id }) => !noted.has(id));
  expect(answer?.body).toContain(LIMIT);
  expect(answer?.body).toContain('@alice');
  expect(told(sim).join()).not.toContain('@alice');
  // The second one may not have seen yet that the first one tells it.
  expect(more.length).toBeLessThan(2);
  expect(resultsOf(await runs(sim, 1))).toEqual(['skipped']);
  // A person has seen all of it.
  const step = { event: sim.ask('/agent Go on.') };
  await sim.runHere({ with: { command: '/agent', prompt: '' }, step });
  expect(sim.agent.posts()).toHaveLength(4);
  const open = sim.github.comments(PULL).filter(({ isMinimized }) => !isMinimized);
  expect(open.filter(({ body }) => body.includes(LIMIT))).toEqual([]);
});

it('a limit that another run tells before the own comment is there is told once', async () => {
  let creations = 0;
  await using sim = await simulate({
    with: { ...BOT, 'max-messages': 1 },
    github: {
      async on({ path, method }) {
        if (method !== 'POST' || !path.endsWith('/comments') || creations++ > 0) return undefined;
        expect(resultsOf(await runs(sim, 2))).toEqual(['sent', 'skipped']);
        return undefined;
      },
    },
    step: { event: BY_BOT },
  });
  expect((await sim.runHere()).outputs.result).toBe('skipped');
  expect(sim.github.comments(PULL)).toHaveLength(3);
});
