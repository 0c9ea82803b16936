import { describe, expect, it } from 'vitest';
import { MARKER } from '../../src/text.ts';
import { type JobScript, type Reply, type TurnScript, turnTo } from '../sim/agent.ts';
import * as on from '../sim/events.ts';
import { ALICE, type Person, SHA, type WebhookEvent } from '../sim/events.ts';
import type { Call } from '../sim/github/call-log.ts';
import type { WorkflowRunOptions } from '../sim/github/runs.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { JOB, PULL, type Scenario, type Simulation, simulate, visibleIn } from './scenario.ts';

// What several people, pushes and checks make of one job: each end is told to somebody, and no page says what is no longer so.

const BOB: Person = { login: 'bob', id: 1002, type: 'User' };
const AGENT: Person = { login: 'mintlify[bot]', id: 3003, type: 'Bot' };
const ISSUE = 3;
const LINK = `https://github.com/octo/agents/pull/${PULL}`;
const COMMAND = { wait: true, command: '/agent', prompt: '', 'allowed-bots': AGENT.login };
const SHORT = { 'timeout-minutes': 2 };
const [OLD, NEW] = ['e'.repeat(40), 'd'.repeat(40)];
const DEAD = { status: 401, body: { error: 'Invalid API key' } };
const DOWN = { status: 503 };

const onItsPull = (...turns: TurnScript[]): { jobs: JobScript[] } => ({
  jobs: [{ id: JOB, base: { prLink: LINK }, turns }],
});
const FAILS = onItsPull(turnTo('failed'));
const DONE = onItsPull(turnTo('completed'));
/** It is done when the run has no time left. */
const SLOW = onItsPull(turnTo('completed', 180_000), turnTo());

const WRITES = { permission: 'write' } as const;
const PAGE: GitHubOptions = {
  issues: [{ number: PULL, pullRequest: true }, { number: ISSUE }],
  collaborators: { alice: { ...ALICE, ...WRITES }, bob: { ...BOB, ...WRITES } },
};

function open(scenario: Scenario = {}): Promise<Simulation> {
  const inputs = { ...COMMAND, ...scenario.with };
  const github = { ...PAGE, ...scenario.github };
  return simulate({ agent: DONE, ...scenario, github, with: inputs });
}

let runs = 100;
/** A run of its own, and what happens so many milliseconds later. */
async function run(sim: Simulation, given: WebhookEvent, inputs = {}, more: More = {}) {
  runs += 1;
  const { later: [ms, happens] = [0, () => {}], ...step } = more;
  const happened = sim.pass(ms).then(happens);
  const github = { run_id: `${runs}`, ...more.github };
  const result = await sim.runHere({ with: inputs, step: { event: given, ...step, github } });
  await happened;
  return result;
}
type More = Scenario['step'] & { readonly later?: readonly [ms: number, happens: () => void] };

function says(sim: Simulation, author: Person, number = PULL) {
  return sim.ask('/agent Go on.', { author, number, onPullRequest: number === PULL });
}

const failed = (sender: Person, sha = SHA) =>
  on.workflowRun({ pullRequests: [PULL], sha, sender, fields: { id: 5, conclusion: 'failure' } });
const AGAIN = { run_attempt: '2', triggering_actor: 'alice' };
const merged = on.event('pull_request', 'closed', {
  ...{ number: PULL, sender: BOB },
  pull_request: { number: PULL, merged: true, state: 'closed', user: ALICE },
});

/** The comments of the action, as people see them. */
function answers({ github }: Simulation, number = PULL) {
  const own = github.comments(number).filter(({ body }) => body.startsWith(MARKER));
  return own.map(({ body, isMinimized }) => ({ isMinimized, text: visibleIn(body) }));
}

/** The titles of those that are not collapsed. */
function openTitles(sim: Simulation): readonly string[] {
  const shown = answers(sim).filter(({ isMinimized }) => !isMinimized);
  return shown.map(({ text }) => text.split('\n')[0]?.replace(/^#+ |<[^>]*>/g, '') ?? '');
}

/** Who is mentioned, in order. */
function mentions(sim: Simulation): readonly string[] {
  return answers(sim).flatMap(({ text }) => text.match(/(?<![\w`])@[a-z]+/g) ?? []);
}

describe('a bad end is told to a person', () => {
  it.each<[string, WebhookEvent, readonly string[]]>([
    ['who pushed', on.push({ sender: BOB }), ['@bob']],
    ['who merged', merged, ['@bob']],
    ['who started it by hand', on.workflowDispatch({ sender: BOB }), ['@bob']],
    ['who published it', on.event('release', 'published', { sender: BOB }), ['@bob']],
    ['nobody on a schedule', on.schedule(), []],
    ['no bot', on.push({ sender: AGENT, ref: 'refs/heads/master' }), []],
  ])('%s', async (_, given, people) => {
    await using sim = await open({ agent: FAILS });
    const { outputs } = await run(sim, given, { prompt: 'Go.', 'pr-number': '' });
    expect(outputs.result).toBe('failed');
    expect(answers(sim)).not.toEqual([]);
    expect(mentions(sim)).toEqual(people);
  });

  it('after a check, who started the work, and then who commanded last', async () => {
    await using sim = await open({ agent: FAILS });
    await run(sim, on.push({ sender: BOB }), { prompt: 'Go.' });
    await run(sim, failed(AGENT), { prompt: '' });
    expect(mentions(sim)).toEqual(['@bob', '@bob']);
    await run(sim, says(sim, ALICE));
    sim.github.push(PULL, NEW);
    await run(sim, failed(AGENT, NEW));
    const people = ['@bob', '@bob', '@alice', '@alice'];
    expect(mentions(sim)).toEqual(people);
    const { outputs } = await run(sim, on.schedule(), { prompt: 'Go.', 'pr-number': PULL });
    expect(outputs.result).toBe('failed');
    expect(mentions(sim)).toEqual(people);
  });
});

describe('a step without a page that could not send', () => {
  it.each([
    ['push', on.push()],
    ['schedule', on.schedule()],
    ['release', on.event('release', 'published', { sender: ALICE })],
  ])('names a way that exists, and its re-run sends nothing: %s', async (_, given) => {
    for (const reply of [DEAD, DOWN]) {
      let isOver = false;
      const onGet = () => (isOver ? undefined : reply);
      await using sim = await open({ agent: { ...DONE, onGet }, with: { prompt: 'Go.' } });
      const why = [expect.stringContaining('“Run workflow”')];
      expect((await run(sim, given)).errors).toEqual(why);
      isOver = true;
      expect((await run(sim, given, {}, { github: AGAIN })).errors).toEqual(why);
      expect(sim.agent.posts()).toEqual([]);
    }
  });

  it('after a check, says so once for a commit, where a comment names the job', async () => {
    let [isDead, isHidden, isPolled] = [false, false, false];
    const onGet = () => {
      isPolled = true;
      return isDead ? DEAD : undefined;
    };
    const hides = ({ body }: { body: string }) =>
      isHidden && isPolled && body.includes('viewerDidAuthor') ? { status: 502 } : undefined;
    const agent = { ...DONE, onGet };
    await using sim = await open({ agent, github: { on: hides }, with: { 'job-id': '' } });
    await run(sim, failed(AGENT));
    expect(answers(sim)).toEqual([]);
    await run(sim, says(sim, BOB), { 'job-id': JOB });
    const before = answers(sim).length;
    isDead = true;
    await run(sim, failed(AGENT));
    await run(sim, failed(AGENT));
    const [told, ...others] = answers(sim).slice(before);
    expect(others).toEqual([]);
    expect(told?.text).toMatch(/Nothing was sent to the agent.*`CI` failed on aaaaaaa/s);
    sim.github.push(PULL, NEW);
    // If that cannot be looked up, nobody is told twice.
    [isHidden, isPolled] = [true, false];
    await run(sim, failed(AGENT, NEW));
    expect(answers(sim)).toHaveLength(before + 1);
    isHidden = false;
    await run(sim, failed(AGENT, NEW));
    expect(answers(sim)).toHaveLength(before + 2);
  });
});

describe('a check that was sent to an agent that pushed nothing', () => {
  const CI = { id: 5, sha: SHA, jobs: [{ name: 'test' }] };
  const RED = '🛑 `CI` still fails on aaaaaaa: the agent pushed nothing';
  const PASSED = { conclusion: 'success', jobs: [{ name: 'test', conclusion: 'success' }] };
  it.each<[Partial<WorkflowRunOptions>, string]>([
    [{}, RED],
    [PASSED, '✅ Agent finished: `CI` has passed since'],
    [{ conclusion: null }, '✅ Agent finished: `CI` runs again'],
  ])('is %j then: %s', async (later, title) => {
    await using sim = await open({ github: { runs: [CI] } });
    const changes = () => sim.github.addRun({ ...CI, ...later });
    const { outputs, conclusion } = await run(sim, failed(BOB), {}, { later: [30_000, changes] });
    expect(outputs).toMatchObject({ result: 'completed', commits: '0' });
    expect(conclusion).toBe('success');
    expect(openTitles(sim)).toEqual([title]);
    await run(sim, says(sim, ALICE));
    expect(openTitles(sim).includes(RED)).toBe(false);
  });

  it('is not said to be red if the commits are not known', async () => {
    const forbids = ({ name, nth }: Call) => name === 'GET pulls/#' && nth > 1;
    await using sim = await open({ github: { runs: [CI], forbids } });
    await run(sim, failed(BOB));
    expect(openTitles(sim).join()).not.toContain('🛑');
  });
});

it.each(['merged', 'closed'] as const)('the end of its pull request is told: %s', async (over) => {
  await using sim = await open();
  await run(sim, says(sim, ALICE, ISSUE));
  // While the agent works, and then elsewhere.
  const ends = () => sim.github.end(PULL, over);
  await run(sim, says(sim, BOB), {}, { later: [30_000, ends] });
  await run(sim, says(sim, BOB, ISSUE), { 'job-id': '', 'create-job': true });
  expect(sim.prompts()[2]).toContain(`pull request of this job, #${PULL}, is ${over}`);
  const texts = [PULL, ISSUE].map((number) => answers(sim, number).at(-1)?.text);
  for (const text of texts) {
    expect(text).toContain(`[#${PULL}](${LINK}), is ${over}`);
    expect(text).not.toMatch(/Not right|what is missing/);
  }
  expect(texts[1]).toContain('new issue');
});

describe('an answer that has been mended', () => {
  let isBroken = true;
  const onGet = () => (isBroken ? DEAD : undefined);
  const onPost = (n: number) => (n === 1 ? { ...DOWN, accept: true } : undefined);
  /** `isMended`: whether the next message collapses it. */
  type Bad = Pick<Scenario, 'agent' | 'with'> & { readonly isMended: boolean };
  const CASES: readonly [string, Bad][] = [
    ['not sent', { agent: { ...DONE, onGet }, isMended: true }],
    ['failed', { agent: onItsPull(turnTo('failed'), turnTo('completed')), isMended: true }],
    ['timed out', { agent: SLOW, with: SHORT, isMended: true }],
    ['unknown', { agent: { ...DONE, onPost }, isMended: false }],
  ];
  const ORDERS = ['a command, then a check', 'a check, then a command'] as const;
  const ROWS = CASES.flatMap(([name, bad]) => ORDERS.map((order) => [name, order, bad] as const));
  it.each(ROWS)('%s: %s', async (_, order, { agent = DONE, with: inputs, isMended }) => {
    isBroken = true;
    await using sim = await open({ agent });
    const [command, check] = [says(sim, ALICE), failed(BOB)];
    const [first, next] = order === ORDERS[0] ? [command, check] : [check, command];
    await run(sim, first, inputs);
    const [bad] = openTitles(sim);
    isBroken = false;
    await sim.pass(600_000);
    await run(sim, next);
    expect(openTitles(sim).includes(bad ?? '')).toBe(!isMended);
    expect(openTitles(sim)).toHaveLength(isMended ? 1 : 2);
  });

  it.each([true, false])('of a run that GitHub says is over: %s', async (isOver) => {
    const killer = new AbortController();
    const runs = [{ id: 90, jobs: [], conclusion: isOver ? 'failure' : null }];
    await using sim = await open({ github: { runs } });
    const later = [20_000, () => killer.abort()] as const;
    const more = { github: { run_id: '90' }, dies: killer.signal, later };
    await run(sim, says(sim, ALICE), SHORT, more);
    expect(openTitles(sim)).toEqual(['⏳ Agent is working']);
    await sim.pass(600_000);
    await run(sim, says(sim, BOB));
    expect(openTitles(sim)).toHaveLength(isOver ? 1 : 2);
  });

  it('by a message of another project it is not', async () => {
    const agent = { ...DONE, onPost: (n: number) => (n === 1 ? DEAD : undefined) };
    await using sim = await open({ agent });
    const inputs = { 'project-id': 'guides', 'job-id': '', 'create-job': true };
    const workflow_ref = 'octo/agents/.github/workflows/guides.yml@refs/heads/main';
    await run(sim, says(sim, ALICE), inputs, { github: { workflow_ref } });
    const [bad] = openTitles(sim);
    await run(sim, says(sim, BOB));
    expect(openTitles(sim)).toEqual([bad, '✅ Agent finished: no new commit seen']);
  });
});

it('a re-run after a time-out does not take the end of a later message for its own', async () => {
  const agent = onItsPull(turnTo('completed', 180_000), turnTo('failed'));
  await using sim = await open({ agent, with: SHORT });
  const given = says(sim, ALICE);
  const { outputs } = await run(sim, given, {}, { github: { run_id: '90' } });
  expect(outputs.result).toBe('timed-out');
  await sim.pass(600_000);
  sim.github.push(PULL, NEW);
  await run(sim, says(sim, BOB));
  await sim.pass(600_000);
  const again = await run(sim, given, {}, { github: { run_id: '90', ...AGAIN } });
  expect(again.outputs).toMatchObject({ confirmed: 'false', code: 'failed-unconfirmed' });
  expect(answers(sim).at(-1)?.text).not.toMatch(/commit|Agent failed$/m);
});

it.each<[string, (sim: Simulation) => void, string]>([
  ['one', ({ github }) => github.push(PULL, NEW), '1 new commit, by `ben`'],
  ['a rebase', ({ github }) => github.rewrite(PULL, OLD, NEW), 'The branch was rewritten'],
])('commits of others are not those of the agent: %s', async (_, change, title) => {
  const changes = { [NEW]: { author: 'ben' }, [OLD]: { author: 'ben' } };
  const agent = { ...DONE, onPost: () => void change(sim) };
  await using sim: Simulation = await open({ agent, github: { changes } });
  await run(sim, says(sim, BOB));
  expect(openTitles(sim)[0]).toContain(title);
  expect(openTitles(sim)[0]).not.toContain('Agent');
  expect(answers(sim)).toHaveLength(2);
  expect(sim.github.reactions.map(({ content }) => content).join(' ')).toBe('eyes +1');
});

it('a run that GitHub stops does not say that it was cancelled, and is mended', async () => {
  const stops = new AbortController();
  await using sim = await open({ agent: SLOW });
  const later = [30_000, () => stops.abort()] as const;
  const { outputs } = await run(sim, says(sim, BOB), {}, { stops: stops.signal, later });
  expect(outputs.reason).toContain('The run was stopped');
  expect(openTitles(sim)).toEqual([expect.stringMatching(/Run stopped/)]);
  expect(answers(sim).at(-1)?.text).not.toMatch(/cancelled/);
  await sim.pass(600_000);
  await run(sim, failed(ALICE));
  expect(openTitles(sim)).toHaveLength(1);
});

/** The agent is at work on something else for five minutes. */
function busy() {
  let since: number | undefined;
  return (_: number, { at }: { at: number }): Reply | undefined => {
    since ??= at;
    const isOver = at - since > 300_000;
    return isOver ? undefined : { body: { id: JOB, status: 'active', prLink: LINK } };
  };
}
it.each<[string, (sim: Simulation, id: number) => void, string, RegExp]>([
  ['deleted', ({ github }, id) => github.deleteComment(id), 'not-sent', /comment was deleted/],
  ['edited', ({ github }, id) => void github.editComment(id, 'No.'), 'sent', /comment was edited/],
  ['neither', () => {}, 'sent', /^(?!.*comment was)/s],
])('a command that changes while it waits %s', async (_, change, delivery, said) => {
  await using sim = await open({ agent: { ...DONE, onGet: busy() } });
  const given = says(sim, BOB);
  const { id } = sim.github.comments(PULL).at(-1) ?? { id: 0 };
  const { outputs } = await run(sim, given, {}, { later: [90_000, () => change(sim, id)] });
  expect(outputs.delivery).toBe(delivery);
  expect(sim.prompts()).toHaveLength(delivery === 'sent' ? 1 : 0);
  expect(answers(sim).at(-1)?.text).toMatch(said);
});

it('a command that is left out by the status of the job is told why, once', async () => {
  await using sim = await open({ with: { 'only-when': 'failed' } });
  const { outputs } = await run(sim, says(sim, BOB));
  expect(outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
  const why = expect.stringContaining('only failed jobs');
  expect(answers(sim).map(({ text }) => text)).toEqual([why]);
  expect(sim.agent.posts()).toEqual([]);
});
