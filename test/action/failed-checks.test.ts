import { describe, expect, it } from 'vitest';
import { titleOf } from '../../src/labels.ts';
import type { JournalEntry, Reply } from '../sim/agent.ts';
import {
  checks,
  issueComment,
  type Json,
  pullOfCommit,
  pullRequest,
  SHA,
  type WebhookEvent,
  workflowRun,
} from '../sim/events.ts';
import {
  errors,
  JOB,
  meetAt,
  notes,
  ownComments,
  PULL,
  type Scenario,
  type Simulation,
  simulate,
} from './scenario.ts';

// Events about a commit: which pull request they are about, and that only the newest commit gets a message, once.

const OTHER = 8;
const NEWER = 'b'.repeat(40);
const PULLS = { issues: [PULL, OTHER].map((number) => ({ number, pullRequest: true })) };
const SKIPPED = { result: 'skipped', delivery: 'not-sent' };
const SENT = { result: 'sent', delivery: 'sent' };
const FAILED = workflowRun({ pullRequests: [PULL] });
const OUTDATED = workflowRun({ pullRequests: [PULL], head: NEWER });
const ABOUT_COMMITS = ['workflow_run', 'check_suite', 'check_run'] as const;

/** An event about a commit, with these fields. */
function aboutCommit(name: (typeof ABOUT_COMMITS)[number], fields: Json): WebhookEvent {
  const { payload } = name === 'workflow_run' ? workflowRun() : checks(name);
  return { name, payload: { ...payload, [name]: { ...(payload[name] as Json), ...fields } } };
}

function hundred(repositoryId: number): readonly Json[] {
  return Array.from({ length: 100 }, (_, index) => pullOfCommit(100 + index, SHA, repositoryId));
}

/** Replies to these calls of GitHub. */
function replying(sim: () => Simulation, name: string, reply: () => Reply | undefined) {
  return (_: JournalEntry) => (sim().github.calls().at(-1)?.name === name ? reply() : undefined);
}

describe.each(ABOUT_COMMITS)('the comment on %s is', (name) => {
  const own = pullOfCommit(PULL);
  const foreign = pullOfCommit(OTHER, SHA, 2);

  it.each<[string, Json, number | null, Scenario['with']?]>([
    ['on the only pull request of the commit', { pull_requests: [own] }, PULL],
    ['on the only one in this repository', { pull_requests: [foreign, own, foreign] }, PULL],
    ['on the only one of 101', { pull_requests: [...hundred(2), own] }, PULL],
    ['on that of pr-number', { pull_requests: [own] }, OTHER, { 'pr-number': OTHER }],
    ['on that of pr-number, if there is none', { pull_requests: [] }, 8, { 'pr-number': OTHER }],
    ['missing, if the commit has none', { pull_requests: [] }, null],
    ['missing, if they are in other repositories', { pull_requests: [foreign] }, null],
    ['missing, if there are two', { pull_requests: [own, pullOfCommit(OTHER)] }, null],
    ['missing, if there are a hundred', { pull_requests: hundred(1) }, null],
    ['missing, if the payload has no list', { pull_requests: undefined }, null],
    ['missing, if the list is none', { pull_requests: 'x' }, null],
    ['missing, if a pull request is none', { pull_requests: [own, { number: '1/../2' }] }, null],
    ['missing, if its repository is gone', { pull_requests: [{ ...own, base: {} }] }, null],
    ['missing, if the commit is none', { head_sha: 'main', pull_requests: [own] }, null],
  ])('%s', async (_, fields, expected, inputs) => {
    await using sim = await simulate({ github: PULLS });
    const event = aboutCommit(name, fields);
    const result = await sim.runHere({ step: { event }, ...(inputs && { with: inputs }) });
    expect(result.conclusion).toBe('success');
    expect(result.outputs).toMatchObject(SENT);
    const commented = [PULL, OTHER].filter((number) => ownComments(sim.github, number).length > 0);
    expect(commented).toEqual(expected === null ? [] : [expected]);
    if (expected === null) expect(sim.github.calls()).toHaveLength(1);
  });
});

it.each(ABOUT_COMMITS)('the built action sends on %s, with a comment', async (name) => {
  await using sim = await simulate();
  const event = aboutCommit(name, { pull_requests: [pullOfCommit(PULL)] });
  const { outputs } = await sim.run({ step: { event }, with: { wait: true } });
  expect(outputs).toMatchObject({ result: 'completed', delivery: 'sent', confirmed: 'true' });
  expect(notes(sim.github)).toMatchObject([{ commit: SHA, byBot: false }]);
});

describe('nothing is sent about a commit', () => {
  it.each(['run', 'runHere'] as const)(
    'that was not the newest at the time of the event (%s)',
    async (how) => {
      await using sim = await simulate({ step: { event: OUTDATED } });
      const result = await sim[how]();
      expect(result.conclusion).toBe('success');
      expect(result.outputs).toMatchObject({
        ...SKIPPED,
        reason: 'The pull request has newer commits; their own checks decide.',
      });
      expect(result.annotations).toHaveLength(1);
      expect(sim.agent.journal).toEqual([]);
      expect(sim.github.writes()).toEqual([]);
    },
  );

  it('that is no longer the newest just before the message', async () => {
    await using sim = await simulate({ step: { event: FAILED } });
    sim.github.push(PULL, NEWER);
    const result = await sim.runHere();
    expect(result.conclusion).toBe('success');
    expect(result.outputs).toMatchObject(SKIPPED);
    expect(result.outputs.reason).toContain('newer commits');
    expect(sim.agent.posts()).toEqual([]);
    expect(notes(sim.github)).toMatchObject([{ jobs: [{ delivery: 'not-sent' }] }]);
    expect(ownComments(sim.github)[0]?.body).toContain(titleOf('skipped'));
  });

  it('that is no longer the newest after a wait for earlier work', async () => {
    await using sim = await simulate({
      with: { wait: true },
      agent: {
        jobs: [{ id: JOB }],
        onGet(n) {
          if (n === 2) sim.github.push(PULL, NEWER);
          return n < 4 ? { body: { id: JOB, status: 'active' } } : undefined;
        },
      },
      step: { event: FAILED },
    });
    const { outputs } = await sim.run();
    expect(outputs).toMatchObject(SKIPPED);
    expect(outputs.reason).toContain('newer commits');
    expect(sim.agent.posts()).toEqual([]);
    expect(notes(sim.github)).toMatchObject([{ over: true, jobs: [{ delivery: 'not-sent' }] }]);
  });

  it('that is no longer the newest after a pause between two tries', async () => {
    await using sim = await simulate({
      agent: {
        jobs: [{ id: JOB }],
        onPost() {
          sim.github.forcePush(PULL, NEWER);
          return { status: 429, headers: { 'retry-after': '30' } };
        },
      },
      step: { event: FAILED },
    });
    const { outputs } = await sim.runHere();
    expect(outputs).toMatchObject(SKIPPED);
    expect(sim.agent.posts()).toHaveLength(1);
    expect(sim.agent.accepted()).toEqual([]);
  });

  it('by a re-run of a person either', async () => {
    const agent = { jobs: [{ id: JOB }], onPost: () => ({ status: 401 }) };
    await using sim = await simulate({ agent, step: { event: FAILED } });
    expect((await sim.runHere()).outputs.result).toBe('error');
    sim.github.push(PULL, NEWER);
    const github = { run_attempt: '2', triggering_actor: 'alice' };
    expect((await sim.runHere({ step: { github } })).outputs).toMatchObject(SKIPPED);
    expect(sim.agent.posts()).toHaveLength(1);
  });

  it('without a comment either', async () => {
    await using sim = await simulate({ with: { comment: false }, step: { event: OUTDATED } });
    expect((await sim.runHere()).outputs).toMatchObject(SKIPPED);
    const newest = { event: FAILED };
    expect((await sim.runHere({ step: newest })).outputs).toMatchObject(SENT);
    sim.github.push(PULL, NEWER);
    expect((await sim.runHere({ step: newest })).outputs).toMatchObject(SKIPPED);
    expect(sim.agent.posts()).toHaveLength(1);
  });
});

describe('a message about a commit is sent', () => {
  it.each<[string, () => Reply | undefined]>([
    ['fails', () => ({ status: 500 })],
    ['is refused', () => ({ status: 403 })],
    ['is reset', () => ({ fault: 'reset' })],
    ['has no answer', () => ({ fault: 'hang' })],
    ['makes no sense', () => ({ body: { head: { sha: 'main' } } })],
  ])('if the question for the newest commit %s', async (_, reply) => {
    await using sim = await simulate({
      github: { on: replying(() => sim, 'GET pulls/#', reply) },
      step: { event: FAILED },
    });
    sim.github.push(PULL, NEWER);
    expect((await sim.runHere()).outputs).toMatchObject(SENT);
  });

  it('if pr-number names another pull request, which is not asked', async () => {
    await using sim = await simulate({ github: PULLS, with: { 'pr-number': OTHER } });
    expect((await sim.runHere({ step: { event: OUTDATED } })).outputs).toMatchObject(SENT);
    expect(sim.github.calls('GET pulls/#')).toEqual([]);
    const own = { 'pr-number': PULL };
    const again = await sim.runHere({ step: { event: OUTDATED }, with: own });
    expect(again.outputs).toMatchObject(SKIPPED);
  });
});

describe('a commit gets one message', () => {
  const later = (run_id: string) => ({ github: { run_id } });

  it('if several workflows fail on it', async () => {
    await using sim = await simulate({ step: { event: FAILED } });
    expect((await sim.run()).outputs).toMatchObject(SENT);
    for (const run_id of ['2', '3']) {
      const result = await sim.run({ step: later(run_id) });
      expect(result.conclusion).toBe('success');
      expect(result.outputs).toMatchObject({
        ...SKIPPED,
        reason: 'Another run sends, or has sent, a message about this commit.',
      });
    }
    expect(sim.agent.posts()).toHaveLength(1);
    expect(ownComments(sim.github)).toHaveLength(1);
  });

  it('if three runs in processes of their own do so at once', async () => {
    await using sim = await simulate({
      with: { 'max-messages': 5 },
      step: { event: FAILED },
      // None of them sees the comment of another one before its own.
      github: { ...PULLS, on: meetAt(3, 'POST issues/#/comments', () => sim) },
      time: { graceMs: 60_000 },
    });
    const runs = ['2', '3', '4'].map((run_id) => sim.start({ step: later(run_id) }).result);
    const results = (await Promise.all(runs)).map(({ outputs }) => outputs.result);
    expect(results.sort()).toEqual(['sent', 'skipped', 'skipped']);
    expect(sim.agent.posts()).toHaveLength(1);
    const deliveries = notes(sim.github).map(({ jobs }) => jobs[0]?.delivery);
    expect(deliveries).toEqual(['sent', 'not-sent', 'not-sent']);
    // What was not sent has no number.
    const counted = ownComments(sim.github).map(({ body }) => /message \d of 5/.test(body));
    expect(counted).toEqual([true, false, false]);
  });

  it('that may have arrived, or whose run was killed', async () => {
    const onPost = () => ({ status: 502 });
    await using sim = await simulate({ agent: { jobs: [{ id: JOB }], onPost } });
    const first = await sim.runHere({ step: { event: FAILED } });
    expect(first.outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
    const [doubtful] = ownComments(sim.github);
    const killed = doubtful?.body.replace('"unknown"', '"sending"').replace(SHA, NEWER) ?? '';
    sim.github.addComment(PULL, 'github-actions[bot]', killed);
    for (const sha of [SHA, NEWER]) {
      const event = workflowRun({ pullRequests: [PULL], sha });
      const { outputs } = await sim.runHere({ step: { event, ...later('2') } });
      expect(outputs).toMatchObject(SKIPPED);
    }
    expect(sim.agent.posts()).toHaveLength(1);
  });

  it('and another one if the first was certainly not sent', async () => {
    const onPost = (n: number) => (n === 1 ? { status: 401 } : undefined);
    await using sim = await simulate({ agent: { jobs: [{ id: JOB }], onPost } });
    expect((await sim.runHere({ step: { event: FAILED } })).outputs.result).toBe('error');
    const again = await sim.runHere({ step: { event: FAILED, ...later('2') } });
    expect(again.outputs).toMatchObject(SENT);
  });

  it('of each step, of each job, and each time without comments', async () => {
    const jobs = [{ id: JOB }, { id: 'job-2' }];
    await using sim = await simulate({ agent: { jobs }, step: { event: FAILED } });
    for (const more of [
      {},
      { step: { github: { run_id: '2', job: 'other' } } },
      { step: later('3'), with: { 'matrix-leg': '{"part":2}' } },
      { step: later('4'), with: { 'job-id': 'job-2' } },
      { step: later('5'), with: { comment: false } },
      { step: later('6'), with: { comment: false } },
    ]) {
      expect((await sim.runHere(more)).outputs).toMatchObject(SENT);
    }
    const both = { step: later('7'), with: { 'job-id': `${JOB} job-2`, wait: true } };
    expect((await sim.runHere(both)).outputs).toMatchObject(SKIPPED);
  });

  it('also if the event names no pull request, on that of pr-number', async () => {
    await using sim = await simulate({ with: { 'pr-number': PULL } });
    for (const [run_id, pull_requests, expected] of [
      ['1', [], SENT],
      ['2', undefined, SKIPPED],
    ] as const) {
      const event = aboutCommit('check_suite', { pull_requests });
      const { outputs } = await sim.runHere({ step: { event, ...later(run_id) } });
      expect(outputs).toMatchObject(expected);
    }
  });

  it('which a re-run goes on with, whatever has happened since', async () => {
    await using sim = await simulate({
      with: { 'max-messages': 1, wait: true },
      step: { event: FAILED },
    });
    expect((await sim.runHere()).outputs).toMatchObject({ result: 'completed' });
    sim.github.push(PULL, NEWER);
    const event = workflowRun({ pullRequests: [PULL], sha: NEWER });
    const other = await sim.runHere({ step: { event, ...later('2') } });
    expect(other.outputs.reason).toContain('has sent, or may have sent, 1 without a command');
    const facts = { run_attempt: '2', triggering_actor: 'alice' };
    const again = await sim.runHere({ step: { event: FAILED, github: facts } });
    expect(again.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(sim.agent.posts()).toHaveLength(1);
  });
});

describe('of what may stop a message, the first counts:', () => {
  const unsent = { ...SKIPPED };
  const limited = { with: { 'max-messages': 1 }, github: PULLS };

  async function sendOnce(sim: Simulation, sha: string): Promise<void> {
    const event = workflowRun({ sha });
    const { outputs } = await sim.runHere({ step: { event }, with: { 'pr-number': PULL } });
    expect(outputs).toMatchObject(SENT);
  }

  it.each<[string, string, WebhookEvent, RegExp]>([
    ['the commit', SHA, OUTDATED, /about this commit/],
    ['then newer commits', NEWER, OUTDATED, /newer commits/],
    ['then the limit', NEWER, FAILED, /has sent, or may have sent, 1 without a command/],
  ])('%s', async (_, sentAbout, event, reason) => {
    await using sim = await simulate(limited);
    await sendOnce(sim, sentAbout);
    const { outputs } = await sim.runHere({ step: { event, github: { run_id: '2' } } });
    expect(outputs).toMatchObject(unsent);
    expect(outputs.reason).toMatch(reason);
    // Only the limit is told by a comment.
    expect(ownComments(sim.github)).toHaveLength(event === FAILED ? 2 : 1);
  });
});

describe('a job that a run without a message has named on the pull request', () => {
  const opened = pullRequest({ number: PULL });
  const named = { with: { send: false, wait: true, prompt: '' }, step: { event: opened } };

  it.each<[string, (sim: Simulation) => Pick<Scenario, 'with' | 'step'>]>([
    ['a failed check', () => ({ step: { event: FAILED } })],
    ['a push', () => ({ step: { event: pullRequest({ number: PULL, action: 'synchronize' }) } })],
    [
      'a command',
      ({ github }) => {
        const body = '/agent go on';
        const { id } = github.addComment(PULL, 'alice', body);
        const event = issueComment({ number: PULL, body, id });
        return { step: { event }, with: { command: '/agent', prompt: '' } };
      },
    ],
  ])('%s sends a message to, without job-id', async (_, more) => {
    await using sim = await simulate();
    expect((await sim.run(named)).outputs).toMatchObject({ result: 'completed' });
    const { with: inputs, step } = more(sim);
    const { outputs } = await sim.run({
      with: { ...inputs, 'job-id': '' },
      step: { ...step, github: { run_id: '2' } },
    });
    expect(outputs).toMatchObject({ ...SENT, 'job-id': JOB });
  });

  it('is known five minutes later, while that run still waits', async () => {
    const working = { steps: [{ afterMs: 20 * 60_000, set: { status: 'completed' } }] };
    await using sim = await simulate({
      agent: {
        jobs: [{ id: JOB, base: { status: 'active' }, turns: [working] }],
        onGet: (_, { at }) =>
          at - sim.time.started < 15 * 60_000
            ? undefined
            : { body: { id: JOB, status: 'completed' } },
      },
    });
    const waiting = sim.runHere(named);
    await sim.pass(5 * 60_000);
    const event = pullRequest({ number: PULL, action: 'synchronize' });
    const step = { event, github: { run_id: '2' } };
    const pushed = await sim.runHere({ with: { 'job-id': '' }, step });
    expect(pushed.outputs).toMatchObject({ ...SENT, 'job-id': JOB });
    expect((await waiting).outputs.result).toBe('completed');
  });
});

describe.each(ABOUT_COMMITS)('%s on a pull request where no comment names a job', (name) => {
  it('is skipped, green', async () => {
    await using sim = await simulate({ with: { 'job-id': '' } });
    const event = aboutCommit(name, { pull_requests: [pullOfCommit(PULL)] });
    const result = await sim.run({ step: { event } });
    expect(result.conclusion).toBe('success');
    expect(result.outputs).toMatchObject({
      ...SKIPPED,
      reason: 'No comment of this action names an agent job here.',
    });
    expect(errors(result)).toEqual([]);
    expect(sim.github.writes()).toEqual([]);
    expect(sim.agent.journal).toEqual([]);
  });
});
