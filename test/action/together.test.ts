import { describe, expect, it } from 'vitest';
import { type JobScript, type Reply, type TurnScript, turnTo } from '../sim/agent.ts';
import * as on from '../sim/events.ts';
import { ALICE, type Person, SHA, type WebhookEvent } from '../sim/events.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { JOB, PULL, type Scenario, type Simulation, simulate, visibleIn } from './scenario.ts';

// What several people, pushes and checks make of one job: each end is told to somebody, and no page says what is no longer so.

const BOB: Person = { login: 'bob', id: 1002, type: 'User' };
const AGENT: Person = { login: 'mintlify[bot]', id: 3003, type: 'Bot' };
const ISSUE = 3;
const LINK = `https://github.com/octo/agents/pull/${PULL}`;
const COMMAND = { wait: true, command: '/agent', prompt: '', 'allowed-bots': AGENT.login };
const [OLD, SHORT] = ['e'.repeat(40), { 'timeout-minutes': 2 }];
const NEW = 'd'.repeat(40);
const DEAD = { status: 401, body: { error: 'Invalid API key' } };

const LONG_TURN = turnTo('completed', 180_000);
const onItsPull = (...turns: TurnScript[]): { jobs: JobScript[] } => ({
  jobs: [{ id: JOB, base: { prLink: LINK }, turns }],
});
const FAILS = onItsPull(turnTo('failed'));
const DONE = onItsPull(turnTo('completed'));
const AT_WORK = { jobs: [{ id: JOB, base: { prLink: LINK, status: 'active' } }] };

const WRITES = { permission: 'write' } as const;
const PAGE: GitHubOptions = {
  issues: [{ number: PULL, pullRequest: true }, { number: ISSUE }],
  collaborators: { alice: { ...ALICE, ...WRITES }, bob: { ...BOB, ...WRITES } },
};

function open(scenario: Scenario = {}): Promise<Simulation> {
  const inputs = { ...COMMAND, ...scenario.with };
  return simulate({ agent: DONE, github: PAGE, ...scenario, with: inputs });
}

let runs = 0;
/** A run of its own. */
async function run(sim: Simulation, given: WebhookEvent, inputs = {}): Promise<StepResult> {
  runs += 1;
  return sim.runHere({ with: inputs, step: { event: given, github: { run_id: `${runs}` } } });
}

function says(sim: Simulation, author: Person, number = PULL) {
  return sim.ask('/agent Go on.', { author, number, onPullRequest: number === PULL });
}

const failed = (sender: Person, sha = SHA) =>
  on.workflowRun({ pullRequests: [PULL], sha, sender, fields: { id: 5, conclusion: 'failure' } });
const merged = on.event('pull_request', 'closed', {
  ...{ number: PULL, sender: BOB },
  pull_request: { number: PULL, merged: true, state: 'closed', user: ALICE },
});

/** The comments of the action, as people see them. */
function answers({ github }: Simulation, number = PULL) {
  return github
    .comments(number)
    .filter(({ body }) => body.startsWith('<!-- agent-follow-up -->'))
    .map(({ body, ...rest }) => ({ ...rest, text: visibleIn(body) }));
}

/** The titles of those that are not collapsed. */
function openTitles(sim: Simulation, number = PULL): readonly string[] {
  const shown = answers(sim, number).filter(({ isMinimized }) => !isMinimized);
  return shown.map(({ text }) => text.split('\n')[0]?.replace(/^#+ |<[^>]*>/g, '') ?? '');
}

/** Who is mentioned, in order. */
function mentions(sim: Simulation, number = PULL): readonly string[] {
  return answers(sim, number).flatMap(({ text }) => text.match(/(?<![\w`])@[a-z]+/g) ?? []);
}

describe('a bad end is told to a person', () => {
  const CALLED: readonly [string, WebhookEvent, readonly string[]][] = [
    ['who pushed', on.push({ sender: BOB }), ['@bob']],
    ['who merged', merged, ['@bob']],
    ['who started it by hand', on.workflowDispatch({ sender: BOB }), ['@bob']],
    ['who published it', on.event('release', 'published', { sender: BOB }), ['@bob']],
    ['nobody on a schedule', on.schedule(), []],
    ['no bot', on.push({ sender: AGENT, ref: 'refs/heads/master' }), []],
  ];
  it.each(CALLED)('%s', async (_, given, people) => {
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
    expect(
      (await run(sim, on.schedule(), { prompt: 'Go.', 'pr-number': PULL })).outputs.result,
    ).toBe('failed');
    expect(mentions(sim)).toEqual(people);
  });

  it.each<[string, Reply]>([
    ['a key that is not valid', DEAD],
    ['an outage', { status: 503 }],
  ])('who asked, also where nothing was sent: %s', async (_, reply) => {
    await using sim = await open({ agent: { ...DONE, onGet: () => reply } });
    const { outputs } = await run(sim, says(sim, BOB));
    expect(outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(mentions(sim)).toEqual(['@bob']);
  });
});

describe('a step without a page that could not send', () => {
  it.each([
    ['push', on.push()],
    ['schedule', on.schedule()],
    ['release', on.event('release', 'published', { sender: ALICE })],
  ])('names a way that exists, and its re-run sends nothing: %s', async (_, given) => {
    for (const reply of [DEAD, { status: 503 }]) {
      let isOver = false;
      const onGet = () => (isOver ? undefined : reply);
      await using sim = await open({ agent: { ...DONE, onGet }, with: { prompt: 'Go.' } });
      const github = { run_id: '1', run_attempt: '2', triggering_actor: 'alice' };
      expect((await run(sim, given)).errors).toEqual([expect.stringContaining('“Run workflow”')]);
      isOver = true;
      const again = await sim.runHere({ step: { event: given, github } });
      expect(again.errors).toEqual([expect.stringContaining('“Run workflow”')]);
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
    const github = { ...PAGE, on: hides };
    await using sim = await open({ agent: { ...DONE, onGet }, github, with: { 'job-id': '' } });
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
  it.each<[string, () => string | null | undefined, string]>([
    ['still fails', () => undefined, RED],
    ['has passed since', () => 'success', '✅ Agent finished: `CI` has passed since'],
    ['runs again', () => null, '✅ Agent finished: `CI` runs again'],
  ])('%s', async (_, conclusion, title) => {
    await using sim = await open({ github: { ...PAGE, runs: [CI] } });
    const later = conclusion();
    const changes = sim.pass(30_000).then(() => {
      if (later !== undefined) {
        const jobs = [{ name: 'test', ...(later && { conclusion: later }) }];
        sim.github.addRun({ ...CI, conclusion: later, jobs });
      }
    });
    const { outputs, conclusion: step } = await run(sim, failed(BOB));
    await changes;
    expect(outputs).toMatchObject({ result: 'completed', commits: '0' });
    expect(step).toBe('success');
    expect(openTitles(sim)).toEqual([title]);
    await run(sim, says(sim, ALICE));
    expect(openTitles(sim).includes(RED)).toBe(false);
  });

  it('is not said to be red if the commits are not known', async () => {
    const forbids = ({ name, nth }: { name: string; nth: number }) =>
      name === 'GET pulls/#' && nth > 1;
    await using sim = await open({ github: { ...PAGE, runs: [CI], forbids } });
    await run(sim, failed(BOB));
    expect(openTitles(sim).join()).not.toContain('🛑');
  });
});

it.each(['merged', 'closed'] as const)(
  'a command elsewhere, when the pull request of the job is %s, says so to both',
  async (over) => {
    await using sim = await open();
    await run(sim, says(sim, ALICE, ISSUE));
    sim.github.end(PULL, over);
    await run(sim, says(sim, BOB, ISSUE), { 'job-id': '', 'create-job': true });
    expect(sim.prompts()[1]).toContain(`pull request of this job, #${PULL}, is ${over}`);
    const text = answers(sim, ISSUE).at(-1)?.text;
    expect(text).toContain(`[#${PULL}](${LINK}), is ${over}`);
    expect(text).toContain('new issue');
    expect(text).not.toMatch(/Not right|what is missing/);
  },
);

describe('an answer that has been mended', () => {
  interface Bad {
    readonly agent?: Scenario['agent'];
    readonly with?: Scenario['with'];
    /** Whether the next message collapses it. */
    readonly isMended: boolean;
  }
  let isBroken = true;
  const broken = <T>(reply: T) => ({ onGet: () => (isBroken ? reply : undefined) });
  const DOUBT = (n: number) => (n === 1 ? { status: 503, accept: true } : undefined);
  const CASES: readonly [string, Bad][] = [
    ['not sent', { agent: { ...DONE, ...broken(DEAD) }, isMended: true }],
    ['failed', { agent: onItsPull(turnTo('failed'), turnTo('completed')), isMended: true }],
    ['timed out', { agent: onItsPull(LONG_TURN, turnTo()), with: SHORT, isMended: true }],
    ['unknown', { agent: { ...DONE, onPost: DOUBT }, isMended: false }],
  ];
  const ORDERS = ['a command, then a check', 'a check, then a command'] as const;
  it.each(CASES.flatMap(([name, bad]) => ORDERS.map((order) => [name, order, bad] as const)))(
    '%s: %s',
    async (_, order, { agent = DONE, with: inputs = {}, isMended }) => {
      isBroken = true;
      await using sim = await open({ agent });
      const events = [says(sim, ALICE), failed(BOB)];
      const [first, next] = order === 'a check, then a command' ? events.toReversed() : events;
      if (first === undefined || next === undefined) return;
      await run(sim, first, inputs);
      const [bad] = openTitles(sim);
      isBroken = false;
      await sim.pass(600_000);
      await run(sim, next);
      expect(openTitles(sim).includes(bad ?? '')).toBe(!isMended);
      expect(openTitles(sim)).toHaveLength(isMended ? 1 : 2);
    },
  );

  it.each([true, false])('of a run that GitHub says is over: %s', async (isOver) => {
    const killer = new AbortController();
    const runs = [{ id: 90, jobs: [], conclusion: isOver ? 'failure' : null }];
    await using sim = await open({ agent: DONE, github: { ...PAGE, runs } });
    const killed = sim.pass(20_000).then(() => killer.abort());
    await sim.runHere({
      with: { 'timeout-minutes': 2 },
      step: { event: says(sim, ALICE), github: { run_id: '90' }, dies: killer.signal },
    });
    await killed;
    expect(openTitles(sim)).toEqual(['⏳ Agent is working']);
    await sim.pass(600_000);
    await run(sim, says(sim, BOB));
    expect(openTitles(sim)).toHaveLength(isOver ? 1 : 2);
  });

  it.each([
    ['not sent', DEAD],
    ['unknown', { status: 503 }],
  ])('by a message of another project it is not: %s', async (_, reply) => {
    await using sim = await open({
      agent: { ...DONE, onPost: (n) => (n === 1 ? reply : undefined) },
    });
    const workflow_ref = 'octo/agents/.github/workflows/guides.yml@refs/heads/main';
    await sim.runHere({
      with: { 'project-id': 'guides', 'job-id': '', 'create-job': true },
      step: { event: says(sim, ALICE), github: { run_id: '91', workflow_ref } },
    });
    const [bad] = openTitles(sim);
    await run(sim, says(sim, BOB));
    expect(openTitles(sim)).toEqual([bad, '✅ Agent finished: no new commit seen']);
  });
});

it('a re-run after a time-out does not take the end of a later message for its own', async () => {
  await using sim = await open({
    agent: onItsPull(turnTo('completed', 180_000), turnTo('failed')),
    with: { 'timeout-minutes': 2 },
  });
  const first = { event: says(sim, ALICE), github: { run_id: '90', triggering_actor: 'alice' } };
  const { outputs } = await sim.runHere({ step: first });
  expect(outputs.result).toBe('timed-out');
  await sim.pass(600_000);
  sim.github.push(PULL, NEW);
  await run(sim, says(sim, BOB));
  await sim.pass(600_000);
  const step = { ...first, github: { ...first.github, run_attempt: '2' } };
  const again = await sim.runHere({ step });
  expect(again.outputs).toMatchObject({ confirmed: 'false', code: 'failed-unconfirmed' });
  expect(answers(sim).at(-1)?.text).not.toMatch(/commit|Agent failed$/m);
});

it.each(['merged', 'closed'] as const)(
  'whose pull request is %s while the agent works is told that',
  async (over) => {
    await using sim = await open();
    const ended = sim.pass(30_000).then(() => sim.github.end(PULL, over));
    await run(sim, says(sim, BOB));
    await ended;
    const text = answers(sim).at(-1)?.text;
    expect(text).toContain(`[#${PULL}](${LINK}), is ${over}`);
    expect(text).not.toMatch(/Not right|what is missing/);
  },
);

it.each<[string, (sim: Simulation) => void, string, string]>([
  ['one', ({ github }) => github.push(PULL, NEW), '1 new commit, by `ben`', 'eyes +1'],
  ['a rebase', (sim) => sim.github.rewrite(PULL, OLD, NEW), 'The branch was rewritten', 'eyes +1'],
])('commits of others are not those of the agent: %s', async (_, change, title, reactions) => {
  const changes = { [NEW]: { author: 'ben' }, [OLD]: { author: 'ben' } };
  await using sim = await open({
    agent: {
      ...DONE,
      onPost() {
        change(sim);
        return undefined;
      },
    },
    github: { ...PAGE, changes },
  });
  await run(sim, says(sim, BOB));
  expect(openTitles(sim)[0]).toContain(title);
  expect(openTitles(sim)[0]).not.toContain('Agent');
  expect(answers(sim)).toHaveLength(2);
  expect(sim.github.reactions.map(({ content }) => content).join(' ')).toBe(reactions);
});

it('a run that GitHub stops does not say that it was cancelled, and is mended', async () => {
  const stops = new AbortController();
  await using sim = await open({
    agent: onItsPull(LONG_TURN, turnTo()),
  });
  const stopped = sim.pass(30_000).then(() => stops.abort());
  const step = { event: says(sim, BOB), stops: stops.signal };
  const { outputs } = await sim.runHere({ step });
  await stopped;
  expect(outputs.reason).toContain('The run was stopped');
  expect(openTitles(sim)).toEqual([expect.stringMatching(/Run stopped/)]);
  expect(answers(sim).at(-1)?.text).not.toMatch(/cancelled/);
  await sim.pass(600_000);
  await run(sim, failed(ALICE));
  expect(openTitles(sim)).toHaveLength(1);
});

const atWork = (minutes: number) => {
  const since: number[] = [];
  return (_: number, { at }: { at: number }): Reply | undefined => {
    since.push(at);
    const isOver = at - (since[0] ?? at) > minutes * 60_000;
    return isOver ? undefined : { body: { id: JOB, status: 'active', prLink: LINK } };
  };
};
it.each<[string, (sim: Simulation, id: number) => void, string, RegExp]>([
  ['deleted', ({ github }, id) => github.deleteComment(id), 'not-sent', /comment was deleted/],
  ['edited', ({ github }, id) => void github.editComment(id, 'No.'), 'sent', /comment was edited/],
  ['neither', () => {}, 'sent', /^(?!.*comment was)/s],
])('a command that changes while it waits %s', async (_, change, delivery, said) => {
  await using sim = await open({ agent: { ...DONE, onGet: atWork(5) } });
  const given = says(sim, BOB);
  const { id } = sim.github.comments(PULL).at(-1) ?? { id: 0 };
  const changed = sim.pass(90_000).then(() => change(sim, id));
  const { outputs } = await run(sim, given);
  await changed;
  expect(outputs.delivery).toBe(delivery);
  expect(sim.prompts().join()).toContain(delivery === 'sent' ? 'Go on.' : '');
  expect(answers(sim).at(-1)?.text).toMatch(said);
});

it.each<[string, Scenario, RegExp]>([
  ['by its status', { agent: AT_WORK, with: { 'only-when': 'failed' } }, /only failed jobs/],
  ['because nothing fails', { with: { 'only-when': 'failed' } }, /only failed jobs/],
])('a command that is left out is told why, once: %s', async (_, scenario, why) => {
  await using sim = await open(scenario);
  const { outputs } = await run(sim, says(sim, BOB));
  expect(outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
  expect(answers(sim).map(({ text }) => text)).toEqual([expect.stringMatching(why)]);
  expect(sim.agent.posts()).toEqual([]);
});
