import { describe, expect, it } from 'vitest';
import { titleOf } from '../../src/labels.ts';
import type { JournalEntry, Reply } from '../sim/agent.ts';
import {
  ALICE,
  event,
  issueComment,
  type Person,
  pullRequest,
  review,
  schedule,
  type WebhookEvent,
  workflowRun,
} from '../sim/events.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import type { StepResult, StepRun } from '../sim/runner/process.ts';
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

// A step sends at most so many messages in a row, with any number of runs at once, until a person writes a command. What
// counts is in unit/decide.test.ts, and runs at once with lists that are late are in note.test.ts.

const AGENT: Person = { login: 'mintlify[bot]', id: 3003, type: 'Bot' };
const BOT = { 'allowed-bots': AGENT.login };
const BY_BOT = event('issues', 'labeled', { issue: { number: PULL }, sender: AGENT });
const BY_PERSON = pullRequest({ number: PULL });
const SENT = { result: 'sent', delivery: 'sent' };
const SKIPPED = { result: 'skipped', delivery: 'not-sent' };
/** The title of a comment. */
const LIMIT = titleOf('limited');
const PULLS = { issues: [{ number: PULL, pullRequest: true }] };

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
async function command(sim: Simulation, more: More = {}) {
  const body = '/agent Go on.';
  const { id } = sim.github.addComment(PULL, ALICE.login, body);
  const github = { run_id: String(id), workflow: 'Commands', workflow_ref: 'o/a/commands.yml@x' };
  return sim.runHere({
    with: { 'max-messages': '', command: '/agent', prompt: '', ...more.with },
    step: { event: issueComment({ number: PULL, body, id }), github },
  });
}

/** What the small print of each comment says of the count. */
function counts(sim: Simulation): readonly (string | undefined)[] {
  return ownComments(sim.github).map(
    ({ body }) => /message \d+ of \d+(?=.*<\/sub>)/.exec(body)?.[0],
  );
}

/** The notes that tell a limit. */
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
    expect(title).toMatch(/^### .* Limit reached/);
    expect(links).toContain('[log](');
    expect(reason).toBe(
      'This message was not sent: since the last command or review by a person, the workflow has sent, or may have sent, ' +
        '3 messages. Look at what the agent did. To send this message, re-run the workflow.',
    );
    expect(prompt).toBe('> `Add error handling examples.`');
    for (const result of results.slice(3)) {
      expect(result.conclusion).toBe('success');
      expect(result.outputs).toMatchObject({
        ...SKIPPED,
        reason: expect.stringContaining('may have sent, 3 messages'),
      });
      expect(result.summary).toContain(LIMIT);
      expect(result.annotations).toMatchObject([{ type: 'notice' }]);
    }
    expect(results[3]?.outputs['comment-url']).toBe(ownComments(sim.github)[3]?.html_url);
    expect(results[4]?.outputs['comment-url']).toBe('');
    // It is told by its comment, and not by a second one.
    expect(sim.github.comments(PULL)).toHaveLength(4);
  });

  it.each<[string, Scenario['with'], WebhookEvent, number]>([
    ['of a bot, five with the input', { ...BOT, 'max-messages': 5 }, BY_BOT, 5],
    ['of people, all', {}, BY_PERSON, 6],
    [
      'of people, two with the input, beside a command',
      { command: '/a', 'max-messages': 2 },
      BY_PERSON,
      2,
    ],
    [
      'of people who comment, one with the input',
      { 'max-messages': 1 },
      issueComment({ number: PULL, body: 'Thanks.' }),
      1,
    ],
  ])('of six messages %s are sent', async (_, inputs, event, most) => {
    await using sim = await simulate({ with: inputs ?? {}, step: { event } });
    const results = resultsOf(await runs(sim, 6));
    expect(results).toEqual([...sent(most), ...Array(6 - most).fill('skipped')]);
    expect(sim.agent.posts()).toHaveLength(most);
    expect(told(sim)).toHaveLength(most < 6 ? 1 : 0);
  });
});

describe('a new count begins after', () => {
  const asked: More = { step: { event: review({ number: PULL, body: 'So.' }) } };
  const commented: More = { step: { event: issueComment({ number: PULL, body: 'Thanks.' }) } };

  it.each<[string, boolean, (sim: Simulation) => Promise<unknown>]>([
    ['a command', true, (sim) => command(sim)],
    ['a review without a command', true, (sim) => runs(sim, 1, asked)],
    ['a comment without a command', false, (sim) => runs(sim, 1, commented)],
  ])('%s: %s', async (_, isNew, play) => {
    await using sim = await simulate({
      with: { ...BOT, 'max-messages': 2 },
      step: { event: BY_PERSON },
    });
    await runs(sim, 2);
    await play(sim);
    const [next] = await runs(sim, 1);
    expect(next?.outputs).toMatchObject(isNew ? SENT : SKIPPED);
    if (isNew) expect(counts(sim).at(-1)).toBe('message 1 of 2');
  });

  it('a command, and its end is told again, once', async () => {
    await using sim = await simulate({ with: { 'max-messages': 2 }, step: { event: BY_PERSON } });
    for (const row of [1, 2, 3]) {
      expect(resultsOf(await runs(sim, 4))).toEqual([...sent(2), 'skipped', 'skipped']);
      expect(told(sim)).toHaveLength(row);
      expect((await command(sim)).outputs.result).toBe('sent');
    }
    expect(sim.agent.posts()).toHaveLength(9);
  });
});

it('five runs at once, in processes of their own, never send more than three, which is told', async () => {
  await using sim = await simulate({
    with: { ...BOT, 'max-messages': 3 },
    // None of them sees the comment of another one before its own.
    github: { ...PULLS, on: meetAt(5, 'POST issues/#/comments', () => sim) },
    time: { graceMs: 60_000 },
    step: { event: BY_BOT },
  });
  const ids = ['1', '2', '3', '4', '5'];
  const results = await Promise.all(
    ids.map((run_id) => sim.start({ step: { github: { run_id } } }).result),
  );
  expect(resultsOf(results).toSorted()).toEqual([...sent(3), 'skipped', 'skipped']);
  expect(sim.agent.posts()).toHaveLength(3);
  // Those that came first, each with its own number.
  const created = notes(sim.github).map(({ jobs }) => jobs[0]?.delivery);
  expect(created).toEqual([...sent(3), 'not-sent', 'not-sent']);
  const numbers = [1, 2, 3].map((n) => `message ${n} of 3`);
  expect(counts(sim).filter((count) => count !== undefined)).toEqual(numbers);
  // People get a mail only of a new comment.
  const noted = new Set(ownComments(sim.github).map(({ id }) => id));
  const answers = sim.github.comments(PULL).filter(({ id }) => !noted.has(id));
  expect(answers.map(({ body }) => body)).toEqual(
    Array(2).fill(expect.stringContaining(`${LIMIT}.`)),
  );
  expect(resultsOf(await runs(sim, 1))).toEqual(['skipped']);
});

it.runIf(HAS_SIGNALS).each([2, 3, 4])(
  'a run that is killed after its call %i to GitHub lets no second one send',
  async (n) => {
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
    expect(sim.agent.posts()).toHaveLength(n === 4 ? 1 : 0);
  },
);

describe('if the comments cannot be counted,', () => {
  /** Fails each list of comments from this one on. */
  const failing = (sim: () => Simulation, nth: number, reply: Reply) => (request: JournalEntry) => {
    const call = sim()
      .github.calls()
      .find((one) => one.request === request);
    return call?.name === 'list' && call.nth >= nth ? reply : undefined;
  };
  const LISTS: readonly (readonly [string, Reply])[] = [
    ['with 403', { status: 403 }],
    ['with nonsense', { body: { data: {} } }],
  ];
  const EVENTS: readonly (readonly [string, Scenario['with'], WebhookEvent])[] = [
    ['a limit', { 'max-messages': 5 }, BY_PERSON],
    ['a commit', {}, workflowRun({ pullRequests: [PULL] })],
  ];

  it.each(LISTS)('nothing is sent: the list fails %s', async (_, reply) => {
    for (const [, inputs, event] of EVENTS) {
      for (const nth of [1, 2]) {
        await using sim = await simulate({
          with: inputs ?? {},
          github: { ...PULLS, on: failing(() => sim, nth, reply) },
          step: { event },
        });
        const result = await sim.runHere();
        const reason = expect.stringContaining('it is not known what was sent before');
        expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent', reason });
        expect(errors(result)).toHaveLength(1);
        expect(sim.agent.posts()).toEqual([]);
        // The second list comes after the comment.
        const left = nth === 1 ? [] : [{ jobs: [{ delivery: 'not-sent' }] }];
        expect(notes(sim.github)).toMatchObject(left);
        expect(notes(sim.github)).toHaveLength(left.length);
      }
    }
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
    expect(notes(sim.github)).toMatchObject([{ jobs: [{ delivery: 'not-sent' }] }]);
  });
});

it('without a pull request or issue, “max-messages” is an error that says what to set', async () => {
  await using sim = await simulate({ with: { 'max-messages': 3 }, step: { event: schedule() } });
  const result = await sim.run();
  expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
  expect(errors(result)).toEqual([expect.stringContaining('set “pr-number”')]);
  expect(sim.agent.posts()).toEqual([]);
  const onPull = await sim.run({ with: { 'pr-number': PULL } });
  expect(onPull.outputs).toMatchObject(SENT);
});

it('each job and each step has a count of its own', async () => {
  await using sim = await simulate({
    with: { 'max-messages': 1 },
    agent: { jobs: [{ id: JOB }, { id: 'job-2' }] },
    step: { event: BY_PERSON },
  });
  await runs(sim, 1);
  const both = { with: { 'job-id': `${JOB} job-2` } };
  const results = (await runs(sim, 2, both)).map(({ outputs }) =>
    JSON.parse(outputs.results ?? '').map(({ result }: { result: string }) => result),
  );
  expect(results).toEqual([
    ['skipped', 'sent'],
    ['skipped', 'skipped'],
  ]);
  expect(sim.agent.accepted().map(({ jobId }) => jobId)).toEqual([JOB, 'job-2']);
  // Of each job, it is told once.
  const limited = notes(sim.github).map(({ jobs }) => jobs.map((job) => job.limited === true));
  expect(limited).toEqual([[false], [true, false], [true]]);
  const other = { step: { github: { job: 'other' } } };
  expect(resultsOf(await runs(sim, 2, other))).toEqual(['sent', 'skipped']);
});
