import { describe, expect, it } from 'vitest';
import { titleOf } from '../../src/labels.ts';
import { hashOf } from '../../src/note/data.ts';
import type { JournalEntry, Reply } from '../sim/agent.ts';
import {
  ALICE,
  checks,
  event,
  issueComment,
  mergeGroup,
  type Person,
  pullRequest,
  push,
  type WebhookEvent,
  workflowDispatch,
  workflowRun,
} from '../sim/events.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import type { StepResult, StepRun } from '../sim/runner/process.ts';
import {
  errors,
  JOB,
  KEY,
  meetAt,
  notes,
  ownComments,
  PROJECT,
  PULL,
  type Scenario,
  type Simulation,
  simulate,
  TOKEN,
} from './scenario.ts';

// A step sends at most so many messages in a row, with any number of runs at once, until a person writes a command.

const AGENT: Person = { login: 'mintlify[bot]', id: 3003, type: 'Bot' };
const BOT = { 'allowed-bots': AGENT.login };
const BY_BOT = event('issues', 'labeled', { issue: { number: PULL }, sender: AGENT });
const BY_PERSON = pullRequest({ number: PULL });
const SENT = { result: 'sent', delivery: 'sent' };
const SKIPPED = { result: 'skipped', delivery: 'not-sent' };
/** The title of a comment. */
const LIMIT = titleOf('limited');
const PULLS = { issues: [{ number: PULL, pullRequest: true }] };
const VIEWER = 'github-actions[bot]';

type More = NonNullable<Parameters<Simulation['run']>[0]>;

/** Runs the step as later runs of the workflow. */
async function runs(sim: Simulation, count: number, more: More = {}): Promise<StepResult[]> {
  const results: StepResult[] = [];
  for (let n = 0; n < count; n++) {
    const run_id = String(sim.time.elapsed() + sim.github.journal.length + 1);
    const github = { run_id, ...more.step?.github };
    results.push(await sim.runHere({ ...more, step: { ...more.step, github } }));
  }
  return results;
}

function resultsOf(results: readonly StepResult[]): readonly (string | undefined)[] {
  return results.map(({ outputs }) => outputs.result);
}

const sent = (count: number): readonly string[] => Array(count).fill('sent');

/** A command, which its own workflow sends. */
async function command(sim: Simulation, author: Person = ALICE, more: More = {}) {
  const body = '/agent Go on.';
  const { id } = sim.github.addComment(PULL, author.login, body);
  const event = issueComment({ number: PULL, body, author, id });
  const github = { run_id: String(id), workflow: 'Commands', workflow_ref: 'o/a/commands.yml@x' };
  return sim.runHere({
    with: { 'max-messages': '', command: '/agent', prompt: '', ...more.with },
    step: { event, github },
  });
}

/** What the last line of each comment says of the count. */
function counts(sim: Simulation): readonly (string | undefined)[] {
  return ownComments(sim.github).map(({ body }) => /message \d+ of \d+(?=[^\n]*$)/.exec(body)?.[0]);
}

/** The comments that tell a limit. */
function told(sim: Simulation): readonly string[] {
  return ownComments(sim.github)
    .map(({ body }) => body)
    .filter((body) => body.includes(LIMIT));
}

describe('messages of a bot', () => {
  it('end after three in a row, which one comment tells', async () => {
    await using sim = await simulate({ with: BOT, step: { event: BY_BOT } });
    const results: StepResult[] = [];
    for (const run_id of ['1', '2', '3', '4', '5', '6']) {
      results.push(await sim.run({ step: { github: { run_id } } }));
    }
    expect(resultsOf(results)).toEqual([...sent(3), 'skipped', 'skipped', 'skipped']);
    expect(sim.agent.posts()).toHaveLength(3);
    expect(counts(sim)).toEqual(['message 1 of 3', 'message 2 of 3', 'message 3 of 3', undefined]);
    const [first] = told(sim);
    expect(told(sim)).toHaveLength(1);
    const [, title, links, reason, prompt] = first?.split(/\n+/) ?? [];
    expect(title).toMatch(/^### .* Limit reached: 3 messages in a row$/);
    expect(links).toContain('[log](');
    expect(reason).toBe(
      'This message was not sent: the workflow has sent, or may have sent, 3 without a command by a person. Look at what the agent ' +
        'did. Then write a command to go on, or re-run the workflow to send this message.',
    );
    expect(prompt).toBe('> `Add error handling examples.`');
    for (const result of results.slice(3)) {
      expect(result.conclusion).toBe('success');
      expect(result.outputs).toMatchObject({
        ...SKIPPED,
        reason: expect.stringContaining('may have sent, 3'),
      });
      expect(result.summary).toContain(LIMIT);
      expect(result.annotations).toMatchObject([{ type: 'notice' }]);
    }
    expect(results[3]?.outputs['comment-url']).toBe(ownComments(sim.github)[3]?.html_url);
    expect(results[4]?.outputs['comment-url']).toBe('');
  });

  it.each<[string, Scenario['with'], WebhookEvent, number]>([
    ['of a bot, three', BOT, BY_BOT, 3],
    ['of a bot, five with the input', { ...BOT, 'max-messages': 5 }, BY_BOT, 5],
    ['of people, all', {}, BY_PERSON, 6],
    ['of people, two with the input', { 'max-messages': 2 }, BY_PERSON, 2],
    ['of people, one with the input', { 'max-messages': 1 }, BY_PERSON, 1],
    [
      'of people who comment, two with the input',
      { 'max-messages': 2 },
      issueComment({ number: PULL, body: 'Thanks.' }),
      2,
    ],
  ])('of six messages %s are sent', async (_, inputs, event, most) => {
    await using sim = await simulate({ with: inputs ?? {}, step: { event } });
    const results = resultsOf(await runs(sim, 6));
    expect(results).toEqual([...sent(most), ...Array(6 - most).fill('skipped')]);
    expect(sim.agent.posts()).toHaveLength(most);
    expect(told(sim)).toHaveLength(most < 6 ? 1 : 0);
  });

  it('count those of people, too, and commands of the same step', async () => {
    await using sim = await simulate({ with: BOT });
    expect(resultsOf(await runs(sim, 3, { step: { event: BY_PERSON } }))).toEqual(sent(3));
    expect(resultsOf(await runs(sim, 1, { step: { event: BY_BOT } }))).toEqual(['skipped']);
    expect(resultsOf(await runs(sim, 1, { step: { event: BY_PERSON } }))).toEqual(sent(1));
  });

  it('are limited also if they are commands', async () => {
    await using sim = await simulate({ with: BOT });
    const results: StepResult[] = [];
    for (let n = 0; n < 5; n++) results.push(await command(sim, AGENT));
    expect(resultsOf(results)).toEqual([...sent(3), 'skipped', 'skipped']);
    expect(told(sim)).toHaveLength(1);
    // It was not claimed.
    expect(sim.github.reactions.filter(({ content }) => content === 'rocket')).toHaveLength(3);
    expect((await command(sim)).outputs.result).toBe('sent');
    expect((await command(sim, AGENT)).outputs.result).toBe('sent');
  });

  it('make the run red with “fail-on: skipped”', async () => {
    const inputs = { 'max-messages': 1, 'fail-on': 'skipped' };
    await using sim = await simulate({ with: inputs, step: { event: BY_PERSON } });
    const [, second, third] = await runs(sim, 3);
    for (const result of [second, third]) {
      expect(result).toMatchObject({ conclusion: 'failure', outputs: SKIPPED });
    }
  });
});

describe('a new count begins after', () => {
  const starts = 'a message of a person, sent by a command';
  const failing = (status: number): Scenario['agent'] => ({
    jobs: [{ id: JOB }],
    onPost: (n) => (n === 3 ? { status } : undefined),
  });

  it.each<[string, boolean, (sim: Simulation) => Promise<unknown>, Scenario['agent']?]>([
    [starts, true, (sim) => command(sim)],
    ['one to another job', false, (sim) => command(sim, ALICE, { with: { 'job-id': 'job-2' } })],
    ['one by a bot', false, (sim) => command(sim, AGENT)],
    ['one that was refused', false, (sim) => command(sim), failing(401)],
    ['one that may have arrived', false, (sim) => command(sim), failing(502)],
    ['a comment without a command', false, (sim) => runs(sim, 1, commented('Thanks.'))],
    ['a message of another step', false, (sim) => runs(sim, 1, ofStep('other'))],
  ])('%s: %s', async (_, isNew, play, agent) => {
    const jobs = [{ id: JOB }, { id: 'job-2' }];
    await using sim = await simulate({
      with: { ...BOT, 'max-messages': 2 },
      agent: agent ?? { jobs },
      step: { event: BY_PERSON },
    });
    await runs(sim, 2);
    await play(sim);
    const [next] = await runs(sim, 1);
    expect(next?.outputs).toMatchObject(isNew ? SENT : SKIPPED);
    if (isNew) expect(counts(sim).at(-1)).toBe('message 1 of 2');
  });

  const commented = (body: string): More => ({
    with: { command: '/agent', prompt: '', 'max-messages': '' },
    step: { event: issueComment({ number: PULL, body }) },
  });
  const ofStep = (job: string): More => ({ step: { github: { job } } });

  it('a command, and its end is told again, once', async () => {
    await using sim = await simulate({ with: { 'max-messages': 2 }, step: { event: BY_PERSON } });
    for (const row of [1, 2, 3]) {
      expect(resultsOf(await runs(sim, 4))).toEqual([...sent(2), 'skipped', 'skipped']);
      expect(told(sim)).toHaveLength(row);
      expect((await command(sim)).outputs.result).toBe('sent');
    }
    expect(sim.agent.posts()).toHaveLength(9);
  });

  it('not after one that is above a message that waits for earlier work', async () => {
    await using sim = await simulate({
      with: { 'max-messages': 1 },
      agent: {
        jobs: [{ id: JOB }],
        onGet: (_, { at }) =>
          at - sim.time.started < 300_000 ? { body: { id: JOB, status: 'active' } } : undefined,
      },
      step: { event: BY_PERSON },
    });
    const waiting = sim.runHere({ with: { 'when-active': 'wait' } });
    await sim.pass(60_000);
    expect(resultsOf(await runs(sim, 1))).toEqual(['skipped']);
    // It stands below the comment of the message that waits.
    expect((await command(sim)).outputs.result).toBe('sent');
    expect(resultsOf(await runs(sim, 2))).toEqual(['sent', 'skipped']);
    expect((await waiting).outputs.result).toBe('sent');
  });
});

describe('a re-run', () => {
  const again = (triggering_actor: string, run_id: string): More => ({
    step: { github: { run_attempt: '2', triggering_actor, run_id } },
  });
  const first = { step: { github: { run_id: '1' } } };
  const stopped = { step: { github: { run_id: '2' } } };

  it.each([
    ['of a person sends', 'alice', SENT],
    ['of a bot is stopped', AGENT.login, SKIPPED],
  ])('%s what the limit has stopped', async (_, who, expected) => {
    for (const event of [BY_BOT, issueComment({ number: PULL, body: 'Thanks.', author: AGENT })]) {
      await using sim = await simulate({
        with: { ...BOT, 'max-messages': 1 },
        step: { event },
      });
      await sim.runHere(first);
      expect((await sim.runHere(stopped)).outputs).toMatchObject(SKIPPED);
      const { outputs } = await sim.run(again(who, '2'));
      expect(outputs).toMatchObject(expected);
      expect(told(sim)).toHaveLength(1);
    }
  });

  it('of a bot is limited although a person triggered the run', async () => {
    await using sim = await simulate({ with: BOT, step: { event: commentOf(ALICE) } });
    await runs(sim, 3);
    expect((await sim.runHere(again(AGENT.login, '77'))).outputs).toMatchObject(SKIPPED);
    expect((await sim.runHere(again('alice', '77'))).outputs).toMatchObject(SENT);
  });

  it('that goes on counts once, with all its attempts', async () => {
    const inputs = { 'max-messages': 2 };
    await using sim = await simulate({ with: inputs, step: { event: BY_PERSON } });
    await sim.runHere(first);
    for (const run_attempt of ['2', '3']) {
      const github = { run_id: '1', run_attempt, triggering_actor: 'alice' };
      expect((await sim.runHere({ step: { github } })).outputs).toMatchObject(SENT);
    }
    expect(notes(sim.github).map(({ run }) => run)).toEqual(['1', '1', '1']);
    expect(sim.agent.posts()).toHaveLength(1);
    expect(resultsOf(await runs(sim, 2))).toEqual(['sent', 'skipped']);
  });

  function commentOf(author: Person): WebhookEvent {
    return issueComment({ number: PULL, body: 'Thanks.', author });
  }
});

describe('of runs at once, in processes of their own,', () => {
  async function atOnce(sim: Simulation, count: number): Promise<readonly StepResult[]> {
    const ids = Array.from({ length: count }, (_, index) => String(index + 1));
    return Promise.all(ids.map((run_id) => sim.start({ step: { github: { run_id } } }).result));
  }

  it.each([1, 3, 4])('five never send more than %i', async (most) => {
    await using sim = await simulate({
      with: { ...BOT, 'max-messages': most },
      // None of them sees the comment of another one before its own.
      github: { ...PULLS, on: meetAt(5, 'POST issues/#/comments', () => sim) },
      time: { graceMs: 60_000 },
      step: { event: BY_BOT },
    });
    const results = resultsOf(await atOnce(sim, 5));
    expect(results.toSorted()).toEqual([...sent(most), ...Array(5 - most).fill('skipped')]);
    expect(sim.agent.posts()).toHaveLength(most);
    // Those that came first, each with its own number.
    const created = notes(sim.github).map(({ jobs }) => jobs[0]?.delivery);
    expect(created.slice(0, most)).toEqual(sent(most));
    expect(created.slice(most)).toEqual(created.slice(most).map(() => 'not-sent'));
    const numbers = Array.from({ length: most }, (_, index) => `message ${index + 1} of ${most}`);
    expect(counts(sim).filter((count) => count !== undefined)).toEqual(numbers);
    // Some may have been stopped at the same moment; the older ones are hidden.
    const open = ownComments(sim.github).filter(({ body, isMinimized }) => {
      return body.includes(LIMIT) && !isMinimized;
    });
    expect(open.length).toBeGreaterThan(0);
    expect(resultsOf(await runs(sim, 1))).toEqual(['skipped']);
  });

  it.runIf(HAS_SIGNALS)('one that is killed with its comment still counts', async () => {
    await using sim = await simulate({
      with: { ...BOT, 'max-messages': 2 },
      github: {
        ...PULLS,
        on(request) {
          const call = sim.github.calls().at(-1);
          if (call?.request !== request || call.name !== 'list' || call.nth !== 2) return undefined;
          killed.kill('SIGKILL');
          return { fault: 'hang' };
        },
      },
      step: { event: BY_BOT },
    });
    const killed = sim.start({ step: { github: { run_id: '1' } } });
    expect((await killed.result).signal).toBe('SIGKILL');
    expect(notes(sim.github)).toMatchObject([{ jobs: [{ delivery: 'sending' }] }]);
    const ids = ['2', '3', '4'];
    await Promise.all(ids.map((run_id) => sim.start({ step: { github: { run_id } } }).result));
    expect(sim.agent.posts()).toHaveLength(1);
  });
});

describe.runIf(HAS_SIGNALS)('a run that is killed', () => {
  it.each([1, 2, 3, 4, 5])('after its call %i to GitHub lets no second one send', async (n) => {
    let killed: StepRun | undefined;
    await using sim = await simulate({
      with: { ...BOT, 'max-messages': 1 },
      github: {
        ...PULLS,
        trouble: {
          loses(call) {
            if (call.n === n) killed?.kill('SIGKILL');
            return call.n === n;
          },
        },
      },
      step: { event: BY_BOT },
    });
    killed = sim.start({ step: { github: { run_id: '1' } } });
    expect((await killed.result).signal).toBe('SIGKILL');
    const github = { run_id: '1', run_attempt: '2', triggering_actor: AGENT.login };
    await sim.runHere({ step: { github } });
    await runs(sim, 3);
    // Whether its message may have been sent is not known after its comment.
    expect(sim.agent.posts()).toHaveLength(n === 2 || n === 3 ? 0 : 1);
  });
});

describe('if the comments cannot be counted,', () => {
  /** A comment of the action that somebody has edited. */
  const damaged = `<!-- agent-follow-up {"version":1,"project":"${hashOf(PROJECT)}"} -->`;
  const unread = /it is not known what was sent before/;
  /** Fails each list of comments from this one on. */
  const failing = (sim: () => Simulation, nth: number, reply: Reply) => (request: JournalEntry) => {
    const call = sim()
      .github.calls()
      .find((one) => one.request === request);
    return call?.name === 'list' && call.nth >= nth ? reply : undefined;
  };

  describe.each<[string, Scenario['with'], WebhookEvent]>([
    ['a limit', { 'max-messages': 5 }, BY_PERSON],
    ['a commit', {}, workflowRun({ pullRequests: [PULL] })],
  ])('for %s,', (_, inputs, event) => {
    it.each<[string, Reply]>([
      ['with 403', { status: 403 }],
      ['with 502', { status: 502 }],
      ['with nonsense', { body: { data: {} } }],
      ['without an answer', { fault: 'reset' }],
    ])('nothing is sent: the list fails %s', async (_, reply) => {
      for (const nth of [1, 2]) {
        await using sim = await simulate({
          with: inputs ?? {},
          github: {
            ...PULLS,
            on: failing(() => sim, nth, reply),
          },
          step: { event },
        });
        const result = await sim.runHere();
        expect(result).toMatchObject({
          conclusion: 'failure',
          outputs: { result: 'error', delivery: 'not-sent', reason: expect.stringMatching(unread) },
        });
        expect(errors(result)).toHaveLength(1);
        expect(sim.agent.posts()).toEqual([]);
        // The second list comes after the comment.
        const left = nth === 1 ? [] : [{ over: true, jobs: [{ delivery: 'not-sent' }] }];
        expect(notes(sim.github)).toMatchObject(left);
        expect(notes(sim.github)).toHaveLength(left.length);
        const github = { run_attempt: '2', triggering_actor: 'alice' };
        const { outputs } = await sim.runHere({ step: { github } });
        expect(outputs).toMatchObject({ result: 'error' });
        expect(sim.agent.posts()).toEqual([]);
      }
    });

    it.each([
      ['is there', false],
      ['is written meanwhile', true],
    ])('nothing is sent: a comment that cannot be read %s', async (_, isLate) => {
      await using sim = await simulate({
        with: inputs ?? {},
        github: {
          ...PULLS,
          trouble: {
            meanwhile(call, others) {
              const isNow = isLate && call.name === 'POST issues/#/comments';
              if (isNow) others.addComment(PULL, VIEWER, damaged);
            },
          },
        },
        step: { event },
      });
      if (!isLate) sim.github.addComment(PULL, VIEWER, damaged);
      const result = await sim.run();
      expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
      expect(result.outputs.reason).toMatch(/cannot be read, https:.*issuecomment-\d+; delete it/);
      expect(sim.agent.posts()).toEqual([]);
      expect(ownComments(sim.github)).toHaveLength(isLate ? 2 : 1);
    });
  });

  it.runIf(HAS_SIGNALS)('a run that is cancelled meanwhile reports that', async () => {
    await using sim = await simulate({
      with: { 'max-messages': 5 },
      github: {
        ...PULLS,
        on(request) {
          const call = sim.github.calls().find((one) => one.request === request);
          if (call?.name !== 'list' || call.nth !== 2) return undefined;
          run.kill('SIGINT');
          return { fault: 'hang' };
        },
      },
      step: { event: BY_PERSON },
    });
    const run = sim.start();
    expect((await run.result).outputs).toMatchObject({ result: 'cancelled', delivery: 'not-sent' });
    expect(sim.agent.posts()).toEqual([]);
    expect(notes(sim.github)).toMatchObject([{ over: true, jobs: [{ delivery: 'not-sent' }] }]);
  });
});

describe('where nothing can be counted,', () => {
  const toBranch = { ref: 'refs/heads/agent', sender: AGENT };
  const created = { ref: 'agent', ref_type: 'branch', sender: AGENT };
  const aboutJobs = /counted by comments, but the event has no pull request/;
  const nowhere = /counted by comments, but there is no pull request/;
  const switchedOff = /counted by comments, but “comment: false” is set/;

  it.each<[string, WebhookEvent, RegExp, Scenario['with']?]>([
    ['after a workflow without a pull request', workflowRun({ sender: AGENT }), nowhere],
    ['after checks without a pull request', checks('check_run', { sender: AGENT }), nowhere],
    ['by a push to a branch', push(toBranch), aboutJobs],
    ['by creating a branch', event('create', undefined, created), nowhere],
    ['with “comment: false”', BY_BOT, switchedOff, { comment: false }],
    [
      'with “comment: false” and pr-number',
      push(toBranch),
      switchedOff,
      { comment: false, 'pr-number': PULL },
    ],
    [
      'by a command, with “comment: false”',
      issueComment({ number: PULL, body: '/agent Go on.', author: AGENT }),
      switchedOff,
      { comment: false, command: '/agent', prompt: '' },
    ],
  ])('a bot sends nothing %s', async (_, event, reason, inputs) => {
    await using sim = await simulate({ with: { ...BOT, ...inputs }, step: { event } });
    const result = await sim.runHere();
    expect(result.conclusion).toBe('success');
    expect(result.outputs).toMatchObject({ ...SKIPPED, reason: expect.stringMatching(reason) });
    expect(sim.agent.journal).toEqual([]);
    expect(ownComments(sim.github)).toEqual([]);
    expect(sim.github.reactions.filter(({ content }) => content === 'rocket')).toEqual([]);
  });

  it('a bot that re-runs the event of a person sends nothing', async () => {
    const github = { run_attempt: '2', triggering_actor: AGENT.login };
    await using sim = await simulate({
      with: { ...BOT, comment: false },
      step: { event: BY_PERSON, github },
    });
    // Nothing shows that the person's attempt did not send it.
    expect((await sim.run()).outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
    expect(sim.agent.posts()).toEqual([]);
  });

  it.each<[string, WebhookEvent]>([
    ['a push to the default branch', push({ sender: AGENT, ref: 'refs/heads/master' })],
    ['a merge queue', mergeGroup({ sender: AGENT })],
    ['a dispatch', event('repository_dispatch', undefined, { sender: AGENT })],
    ['a run by hand', workflowDispatch({ sender: AGENT })],
    ['a release', event('release', 'published', { sender: AGENT })],
  ])('a bot sends a message on an event that is trusted: %s', async (_, event) => {
    await using sim = await simulate({ with: { 'pr-number': '' }, step: { event } });
    expect(resultsOf(await runs(sim, 4))).toEqual(sent(4));
  });

  it.each<[string, WebhookEvent, RegExp]>([
    ['a schedule', { name: 'schedule', payload: { schedule: '0 6 * * 1' } }, aboutJobs],
    ['a commit without a pull request', workflowRun(), nowhere],
  ])('a person with a limit sends nothing: %s', async (_, event, reason) => {
    await using sim = await simulate({ with: { 'max-messages': 3 }, step: { event } });
    const result = await sim.run();
    expect(result.conclusion).toBe('success');
    expect(result.outputs).toMatchObject({ ...SKIPPED, reason: expect.stringMatching(reason) });
    expect(sim.agent.journal).toEqual([]);
    const onPull = await sim.run({ with: { 'pr-number': PULL } });
    expect(onPull.outputs).toMatchObject(SENT);
  });
});

describe('each job has a count of its own', () => {
  const jobs = [{ id: JOB }, { id: 'job-2' }];

  it('in one step', async () => {
    const inputs = { 'max-messages': 1 };
    await using sim = await simulate({ with: inputs, agent: { jobs }, step: { event: BY_PERSON } });
    await runs(sim, 1);
    const both = { with: { 'job-id': `${JOB} job-2` } };
    const [second, third] = await runs(sim, 2, both);
    const results = [second, third].map((result) =>
      JSON.parse(result?.outputs.results ?? '').map(({ result }: { result: string }) => result),
    );
    expect(results).toEqual([
      ['skipped', 'sent'],
      ['skipped', 'skipped'],
    ]);
    expect(sim.agent.accepted().map(({ jobId }) => jobId)).toEqual([JOB, 'job-2']);
    // Of each job, it is told once.
    const limited = notes(sim.github).map(({ jobs }) => jobs.map((job) => job.limited === true));
    expect(limited).toEqual([[false], [true, false], [true]]);
  });

  it('as have each leg and each step', async () => {
    const inputs = { 'max-messages': 1 };
    await using sim = await simulate({ with: inputs, step: { event: BY_PERSON } });
    for (const more of [
      {},
      { with: { 'matrix-leg': '{"part":1}' } },
      { with: { 'matrix-leg': '{"part":2}' } },
      { step: { github: { job: 'other' } } },
    ]) {
      expect(resultsOf(await runs(sim, 2, more))).toEqual(['sent', 'skipped']);
    }
  });
});

describe('an input that is wrong is one error that names it', () => {
  it.each<[string, Scenario['with'], RegExp]>([
    ['max-messages', { 'max-messages': '0' }, /a whole number from 1 to 100; it is “0”/],
    ['max-messages', { 'max-messages': '101' }, /a whole number from 1 to 100; it is “101”/],
    ['max-messages', { 'max-messages': 'x' }, /a whole number from 1 to 100; it is “x”/],
    ['max-messages', { 'max-messages': '1.5' }, /a whole number from 1 to 100/],
    ['max-messages', { 'max-messages': 3, command: '/agent', prompt: '' }, /combined with command/],
    ['max-messages', { 'max-messages': 3, comment: false }, /combined with comment: false; remove/],
    [
      'max-messages',
      { 'max-messages': 3, send: false, prompt: '' },
      /combined with send: false; remove/,
    ],
    [
      'max-messages',
      { 'max-messages': 3, comment: false, command: '/agent', prompt: '' },
      /combined with command or comment: false; remove one of them/,
    ],
    ['footer', { footer: 'x'.repeat(501) }, /one line of at most 500 characters/],
    ['footer', { footer: 'One.\nTwo.' }, /one line of at most 500 characters/],
    [
      'footer',
      { footer: '/AGENT helps', command: '/agent', prompt: '' },
      /begins with the command/,
    ],
    ['footer', { footer: 'See <!-- agent-follow-up x -->.' }, /the hidden marker of this action/],
    ['footer', { footer: `Key: ${KEY}` }, /contains the api-key or github-token/],
    ['footer', { footer: `Token: ${TOKEN}` }, /contains the api-key or github-token/],
  ])('%s: %j', async (name, inputs, problem) => {
    const body = '/agent Go on.';
    await using sim = await simulate({ with: inputs ?? {} });
    const { id } = sim.github.addComment(PULL, 'alice', body);
    const result = await sim.runHere({ step: { event: issueComment({ number: PULL, body, id }) } });
    expect(result.conclusion).toBe('failure');
    expect(errors(result)).toEqual([expect.stringMatching(problem)]);
    expect(errors(result)[0]).toContain(name);
    expect(errors(result)[0]?.split('max-messages').length).toBeLessThanOrEqual(2);
    expect(sim.agent.journal).toEqual([]);
  });

  it('but not at its bounds', async () => {
    const footer = `${'x'.repeat(499)}.`;
    for (const most of ['1', '100']) {
      const inputs = { 'max-messages': most, footer };
      await using sim = await simulate({ with: inputs, step: { event: BY_PERSON } });
      expect((await sim.runHere()).outputs).toMatchObject(SENT);
      expect(ownComments(sim.github)[0]?.body).toContain(`\n\n${footer}\n\n`);
    }
  });
});
