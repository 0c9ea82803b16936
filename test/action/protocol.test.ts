import { setTimeout as pass } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { copiesOf, toLedgerJob } from '../../src/memory/ledger.ts';
import { composeText } from '../../src/memory/text.ts';
import {
  ALICE,
  issueComment,
  pullRequest,
  RENOVATE,
  review,
  reviewComment,
  schedule,
  type WebhookEvent,
} from '../sim/events.ts';
import type { Call } from '../sim/github/call-log.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import type { StepResult, StepRun } from '../sim/runner/process.ts';
import {
  callNames,
  errors,
  JOB,
  ownComments,
  PROJECT,
  PULL,
  remembered,
  type Scenario,
  type Simulation,
  simulate,
  warnings,
} from './scenario.ts';

// What several runs and attempts remember together, however slow, late and lossy GitHub is: no message
// goes out twice, and no note of one is lost.

const OWN_LINK = `https://github.com/octo/agents/pull/${PULL}`;
const ATTEMPT_2: Scenario['step'] = { github: { run_attempt: '2', triggering_actor: 'alice' } };
const ATTEMPT_3: Scenario['step'] = { github: { run_attempt: '3', triggering_actor: 'alice' } };
const CREATE = 'POST issues/#/comments';
const UPDATE = 'PATCH issues/comments/#';
const REACT = 'POST issues/comments/#/reactions';

const GITHUB: GitHubOptions = {
  issues: [{ number: PULL, pullRequest: true }],
  collaborators: { alice: { id: ALICE.id, permission: 'write' } },
};
/** A bad day. */
const SLOW: Scenario = {
  github: { ...GITHUB, trouble: { latencyMs: [50, 400], listLagMs: 2500 } },
};
/** Several processes cannot share a time that jumps, so it passes. */
const REAL_TIME: Scenario = { time: { pace: 1 } };

/** A command, with the comment that it stands in. */
const COMMANDS: Readonly<Record<string, (github: Simulation['github']) => WebhookEvent>> = {
  comment(github) {
    const { id } = github.addComment(PULL, 'alice', '/agent go');
    return issueComment({ number: PULL, body: '/agent go', id });
  },
  'review comment'(github) {
    const { id } = github.addReviewComment(PULL, 'alice', '/agent go');
    return reviewComment({ number: PULL, body: '/agent go', id });
  },
  review: () => review({ number: PULL, body: '/agent go' }),
};

/** How often each prompt has arrived. */
function arrivals({ agent }: Simulation): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const { prompt } of agent.accepted()) counts.set(prompt, (counts.get(prompt) ?? 0) + 1);
  return Object.fromEntries([...counts].sort());
}

/** What the comment remembers of each prompt. */
function notes({ github }: Simulation): Readonly<Record<string, string>> {
  const turns = remembered(github).jobs.flatMap((job) => job.turns);
  return Object.fromEntries(turns.map(({ prompt, delivery }) => [prompt, delivery]).sort());
}

describe.concurrent('the legs of a matrix that run at once', () => {
  it.each<[number, string, (leg: number) => string]>([
    [2, 'each on its own job', (leg) => `job-${leg}`],
    [8, 'each on its own job', (leg) => `job-${leg}`],
    [4, 'all on one job', () => JOB],
  ])(
    'send one message each, and note all of them in one comment: %i, %s',
    async (count, _, jobOf) => {
      const legs = Array.from({ length: count }, (_, index) => index + 1);
      const prompts = legs.map((leg) => `Message ${leg}.`);
      const each = <T>(value: T) => Object.fromEntries(prompts.map((prompt) => [prompt, value]));
      const isBuilt = count === 2;
      await using sim = await simulate({
        ...SLOW,
        ...(isBuilt ? REAL_TIME : {}),
        agent: { jobs: legs.map((leg) => ({ id: `job-${leg}` })) },
      });
      const { run, pause } = isBuilt
        ? { run: sim.run, pause: pass }
        : { run: sim.runHere, pause: sim.pass };
      const runAll = (step: Scenario['step'] = {}): Promise<readonly StepResult[]> =>
        Promise.all(
          legs.map(async (leg, index) => {
            await pause(Math.random() * 500);
            const inputs = { 'job-id': jobOf(leg), prompt: prompts[index] ?? '' };
            return run({ with: inputs, step: { ...step, matrix: { leg } } });
          }),
        );

      for (const step of [{}, ATTEMPT_2]) {
        const results = await runAll(step);
        for (const { outputs, annotations } of results) {
          expect(outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
          expect(annotations).toEqual([]);
        }
        expect(arrivals(sim)).toEqual(each(1));
        expect(notes(sim)).toEqual(each('sent'));
        expect(ownComments(sim.github)).toHaveLength(1);
      }
    },
  );
});

describe.concurrent('of two workflows on one command', () => {
  it.each<[string, number]>([
    ['comment', 0],
    ['comment', 1000],
    ['comment', 5000],
    ['review comment', 0],
    ['review', 0],
    ['review', 700],
  ])('one sends the message, the other is skipped: on a %s, %i ms apart', async (kind, apartMs) => {
    const isBuilt = apartMs === 1000;
    await using sim = await simulate({
      ...SLOW,
      ...(isBuilt ? REAL_TIME : {}),
      with: { command: '/agent', prompt: '' },
    });
    const event = COMMANDS[kind]?.(sim.github);
    const run = async (index: number): Promise<StepResult> => {
      await (isBuilt ? pass : sim.pass)(index * apartMs);
      const step = {
        ...(event === undefined ? {} : { event }),
        github: { run_id: `${index + 1}` },
      };
      return (isBuilt ? sim.run : sim.runHere)({ step });
    };
    const results = await Promise.all([run(0), run(1)]);

    const [sent, skipped] = results.toSorted(({ outputs }) => (outputs.result === 'sent' ? -1 : 1));
    expect(sent?.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(skipped?.conclusion).toBe('success');
    expect(skipped?.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
    expect(skipped?.outputs.reason).toMatch(/: run [12] handles the same comment\.$/);
    expect(sim.agent.accepted()).toHaveLength(1);
    expect(ownComments(sim.github)).toHaveLength(1);
    const turns = remembered(sim.github).jobs.flatMap((job) => job.turns);
    expect(turns.filter(({ delivery }) => delivery !== 'not-sent')).toMatchObject([
      { delivery: 'sent' },
    ]);
    expect(sim.github.reactions.map(({ content }) => content).sort()).toEqual(['eyes', 'rocket']);
  });

  const COMMAND: Scenario = { with: { command: '/agent', prompt: '' }, github: GITHUB };
  const otherRun = { github: { run_id: '2' } };

  it('the second writes nothing where it finds the first in the comment', async () => {
    await using sim = await simulate(COMMAND);
    const event = issueComment({ number: PULL, body: '/agent go' });
    await sim.runHere({ step: { event } });
    const before = sim.github.calls().length;
    const second = await sim.runHere({ step: { ...otherRun, event } });
    expect(second.outputs).toMatchObject({ result: 'skipped', 'comment-url': '' });
    expect(callNames(sim.github, before).toSorted()).toEqual([
      'GET collaborators/*/permission',
      'POST issues/comments/#/reactions',
      'read',
    ]);
    expect(arrivals(sim)).toEqual({ go: 1 });
  });

  it('the second sends it where the first surely did not', async () => {
    await using sim = await simulate({
      ...COMMAND,
      agent: { jobs: [{ id: JOB }], onPost: (n) => (n === 1 ? { status: 401 } : undefined) },
    });
    const event = COMMANDS.comment?.(sim.github) as WebhookEvent;
    const first = await sim.runHere({ step: { event } });
    expect(first.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    const second = await sim.runHere({ step: { ...otherRun, event } });
    expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(arrivals(sim)).toEqual({ go: 1 });
  });

  it.each<[string, string, boolean]>([
    ['where the first has comment: false, and the second does not', 'comment', true],
    ['on a review, where both have comment: false', 'review', false],
  ])('both send it %s', async (_, kind, comment) => {
    await using sim = await simulate(COMMAND);
    const event = COMMANDS[kind]?.(sim.github) as WebhookEvent;
    await sim.runHere({ with: { comment: false }, step: { event } });
    await sim.runHere({ with: { comment }, step: { ...otherRun, event } });
    expect(arrivals(sim)).toEqual({ go: 2 });
  });

  it('the second sends it where a rate limit kept the first from noting it', async () => {
    let isLimited = true;
    const refusal = {
      status: 403,
      headers: { 'retry-after': '60' },
      body: { message: 'You have exceeded a secondary rate limit.' },
    };
    await using sim = await simulate({
      ...COMMAND,
      github: {
        ...GITHUB,
        on: ({ method, path }) =>
          isLimited && method === 'POST' && path.endsWith(`/issues/${PULL}/comments`)
            ? refusal
            : undefined,
      },
    });
    const event = COMMANDS.comment?.(sim.github) as WebhookEvent;
    const first = await sim.runHere({ step: { event } });
    expect(first.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(first.outputs.reason).toMatch(/rate limit.*so another workflow may be sending it/);
    isLimited = false;
    const second = await sim.runHere({ step: { ...otherRun, event } });
    expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    const again = await sim.runHere({ step: { ...ATTEMPT_2, event } });
    expect(again.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(arrivals(sim)).toEqual({ go: 1 });
  });

  it('a re-run leaves it to the re-run of the other one, and changes nothing of its turn', async () => {
    let isAgain = false;
    await using sim = await simulate({
      ...COMMAND,
      agent: { jobs: [{ id: JOB }], onPost: () => ({ status: 401 }) },
      github: {
        ...GITHUB,
        trouble: {
          // Just before the note of the one, the other has noted and claimed it.
          meanwhile({ name }, others) {
            if (!isAgain || name !== UPDATE) return;
            isAgain = false;
            const [own] = ownComments(sim.github);
            const [job] = remembered(sim.github).jobs;
            const theirs = job?.turns.find(({ runId }) => runId === '1');
            if (own === undefined || job === undefined || theirs === undefined) return;
            const sending = { owner: 'theirs', attempt: 2, delivery: 'sending' as const };
            const turns = [...copiesOf(job), { ...theirs, ...sending, endedAt: null }];
            const ledger = { jobs: [toLedgerJob(JOB, null, turns)], trimmed: null };
            others.editComment(
              own.id,
              composeText(PROJECT, ledger, () => 'Text.'),
            );
            const user = 'github-actions[bot]';
            const rocket = { subject: 'issue_comment', id, content: 'rocket', user } as const;
            sim.github.addReaction(rocket);
          },
        },
      },
    });
    const { id } = sim.github.addComment(PULL, 'alice', '/agent go');
    const event = issueComment({ number: PULL, body: '/agent go', id });
    await sim.runHere({ step: { event, github: { run_id: '1' } } });
    await sim.runHere({ step: { event, ...otherRun } });
    isAgain = true;
    const github = { ...otherRun.github, ...ATTEMPT_2.github };
    const again = await sim.runHere({ with: { wait: true }, step: { event, github } });
    expect(isAgain).toBe(false);
    expect(again.outputs).toMatchObject({
      result: 'skipped',
      delivery: 'not-sent',
      reason: 'Nothing was sent to job job-1: run 1 handles the same comment.',
    });
    const copies = remembered(sim.github).jobs.flatMap(copiesOf);
    expect(copies.filter(({ runId }) => runId === '1')).toMatchObject([{ attempt: 1 }]);
    expect(sim.agent.posts()).toHaveLength(2);
  });

  it('none is held up by the rocket of another tool', async () => {
    await using sim = await simulate(COMMAND);
    const event = COMMANDS.comment?.(sim.github) as WebhookEvent;
    const id = sim.github.comments(PULL)[0]?.id ?? 0;
    const user = 'github-actions[bot]';
    sim.github.addReaction({ subject: 'issue_comment', id, content: 'rocket', user });
    const result = await sim.runHere({ step: { event } });
    expect(result.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    // It looks once more before it believes that nobody else is at work.
    expect(sim.github.calls('read+history')).toHaveLength(1);
    expect(result.virtualMs).toBeGreaterThan(3000);
  });

  it('the second is skipped also with comment: false, by the rocket alone', async () => {
    await using sim = await simulate({ ...COMMAND, with: { ...COMMAND.with, comment: false } });
    const event = COMMANDS.comment?.(sim.github) as WebhookEvent;
    await sim.runHere({ step: { event } });
    const second = await sim.runHere({ step: { ...otherRun, event } });
    expect(second.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
    expect(arrivals(sim)).toEqual({ go: 1 });
  });
});

/** What GitHub allows a token an hour is little: each call counts. */
describe.concurrent('in the usual case a run makes', () => {
  /** What is older than a second is read again before it is written to. */
  const SEND = /^read CREATE read read UPDATE read$/;
  const WAIT = /^read CREATE read( read)? UPDATE read UPDATE read$/;
  const ask = { command: '/agent', prompt: '' };
  it.each<[string, Scenario['with'], RegExp, readonly string[]]>([
    ['six calls to send', {}, SEND, []],
    ['eight calls at most to wait', { wait: true }, WAIT, []],
    ['three more for a command', ask, SEND, ['ask', 'REACT', 'REACT']],
    ['four more where it waits', { ...ask, wait: true }, WAIT, ['ask', 'REACT', 'REACT', 'REACT']],
    // Where the machine stalls for half a second, a read is too old to write on, and is made again.
  ])('%s', { retry: 2 }, async (_, inputs = {}, expected, others) => {
    await using sim = await simulate({ github: GITHUB, with: inputs });
    const event = COMMANDS.comment?.(sim.github) as WebhookEvent;
    const step = 'command' in inputs ? { event } : {};
    const result = await sim.runHere({ step });
    expect(result.outputs.delivery).toBe('sent');
    const shorter: Readonly<Record<string, string>> = {
      ...{ [CREATE]: 'CREATE', [UPDATE]: 'UPDATE', [REACT]: 'REACT' },
      'GET collaborators/*/permission': 'ask',
    };
    const names = callNames(sim.github).map((name) => shorter[name] ?? name);
    const isOther = (name: string): boolean => name === 'ask' || name === 'REACT';
    expect(names.filter((name) => !isOther(name)).join(' ')).toMatch(expected);
    expect(names.filter(isOther)).toEqual(others);
  });
});

describe.concurrent('a note is written again', () => {
  it('where another run overwrites it with what it has read before', async () => {
    let old = '';
    let overwrites = 0;
    await using sim = await simulate({
      with: { wait: true },
      github: {
        ...GITHUB,
        trouble: {
          meanwhile({ name }, others) {
            const [own] = ownComments(sim.github);
            if (own === undefined) return;
            if (old === '') old = own.body;
            // Just after the note of the second run, and just after its last write.
            if (name !== 'read' || own.body === old || overwrites >= 2 || !isSecond) return;
            overwrites += 1;
            others.editComment(own.id, old);
          },
        },
      },
    });
    let isSecond = false;
    await sim.runHere({ with: { wait: false, prompt: 'First.' } });
    old = ownComments(sim.github)[0]?.body ?? '';
    isSecond = true;
    const second = await sim.runHere({
      with: { prompt: 'Second.' },
      step: { github: { run_id: '2' } },
    });
    expect(overwrites).toBe(2);
    expect(second.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(second.annotations).toEqual([]);
    expect(notes(sim)).toEqual({ 'First.': 'sent', 'Second.': 'sent' });
  });

  it.each<[string, (call: Call) => boolean]>([
    ['the creation', ({ name, nth }) => name === CREATE && nth === 1],
    ['each creation', ({ name }) => name === CREATE],
    ['every second change', ({ name, nth }) => name === UPDATE && nth % 2 === 1],
    ['the claim', ({ name, nth }) => name === REACT && nth === 2],
  ])('where the answer to %s gets lost, and one comment is left', async (_, loses) => {
    await using sim = await simulate({
      with: { command: '/agent', prompt: '' },
      github: { ...GITHUB, trouble: { listLagMs: 2500, loses } },
    });
    const event = COMMANDS.comment?.(sim.github) as WebhookEvent;
    const first = await sim.runHere({ step: { event } });
    expect(first.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(first.annotations).toEqual([]);
    expect(notes(sim)).toEqual({ go: 'sent' });
    const second = await sim.runHere({ step: { ...ATTEMPT_2, event } });
    expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(arrivals(sim)).toEqual({ go: 1 });
    expect(ownComments(sim.github)).toHaveLength(1);
  });
});

describe.runIf(HAS_SIGNALS)(
  'after a kill, a re-run sends no second message',
  { concurrent: true },
  () => {
    const turns = [
      {
        steps: [
          { afterMs: 2000, set: { status: 'active' } },
          { afterMs: 60_000, set: { status: 'completed' } },
        ],
      },
    ];
    /** At which call, and whether that still takes effect. */
    type Phase = readonly [when: 'before' | 'after', call: string];
    const PHASES: readonly (readonly [title: string, phase: Phase])[] = [
      ['before its note', ['before', CREATE]],
      ['after its note', ['after', CREATE]],
      ['while it sends, and nothing arrives', ['before', 'message']],
      ['while it sends, and the message arrives', ['after', 'message']],
      ['before it tells that the message is out', ['before', UPDATE]],
      ['after it has told that the message is out', ['after', UPDATE]],
    ];
    const EVENTS: readonly (readonly [
      name: string,
      event: WebhookEvent,
      inputs: Scenario['with'],
    ])[] = [
      ['pull_request', pullRequest({ number: PULL, sender: RENOVATE }), {}],
      ['pull_request by a person', pullRequest({ number: PULL, sender: ALICE }), {}],
      ['schedule', schedule(), {}],
      [
        'issue_comment',
        issueComment({ number: PULL, body: '/agent go' }),
        { command: '/agent', prompt: '' },
      ],
    ];
    const ROWS = EVENTS.flatMap(([name, event, inputs]) =>
      PHASES.map(([title, phase]) => ({ name, event, inputs, title, phase })),
    );

    it.each(ROWS)('$name, killed $title', async ({ name, event, inputs, phase: [when, at] }) => {
      let run: StepRun | undefined;
      const strikes = (call: string): boolean => {
        const isHit = run !== undefined && call === at;
        if (isHit) run?.kill('SIGKILL');
        return isHit;
      };
      await using sim = await simulate({
        with: { wait: true, ...inputs },
        step: { event },
        agent: {
          jobs: [{ id: JOB, base: { prLink: OWN_LINK }, turns }],
          onPost: () =>
            strikes('message') ? { fault: 'hang', accept: when === 'after' } : undefined,
        },
        github: {
          ...GITHUB,
          on(request) {
            const { name = '' } = sim.github.calls().at(-1) ?? {};
            const isHit = when === 'before' && request.status === null && strikes(name);
            return isHit ? { fault: 'hang' } : undefined;
          },
          trouble: { meanwhile: ({ name }) => void (when === 'after' && strikes(name)) },
        },
      });
      if (name === 'issue_comment') sim.github.addComment(PULL, 'alice', '/agent go');
      run = sim.start();
      const first = await run.result;
      run = undefined;
      expect(first.signal).toBe('SIGKILL');
      const arrived = sim.agent.accepted().length;

      const second = await sim.runHere({ step: ATTEMPT_2 });
      const third = await sim.runHere({ step: ATTEMPT_3 });

      const isBegun = ownComments(sim.github).length > 0;
      // Without a note, and where only the job names the place, nobody can tell.
      const isSent = arrived === 1 || (at === CREATE && when === 'before' && isBegun);
      expect(sim.agent.accepted()).toHaveLength(isSent ? 1 : 0);
      // A note that follows a permission has no baseline to compare the job with; what is written later has.
      const isChecked = name === 'issue_comment' || name === 'pull_request by a person';
      const isNoted = at === CREATE || (at === UPDATE && when === 'after');
      const expected =
        isSent && (isNoted || !isChecked)
          ? { result: 'completed', delivery: 'sent' }
          : { result: 'error', delivery: isBegun ? 'unknown' : 'not-sent' };
      expect(second.outputs).toMatchObject(expected);
      expect(third.outputs).toMatchObject(expected);
      if (at === CREATE && when === 'before') {
        expect(isSent).toBe(isChecked || name === 'pull_request');
      }
    });
  },
);

describe.concurrent('where only the job names its pull request, and names another one in the re-run', () => {
  it.each<[string, string | null]>([
    ['a later one', 'https://github.com/octo/agents/pull/8'],
    ['none', null],
    ['one of another repository', `https://github.com/octo/other/pull/${PULL}`],
    ['one elsewhere', 'https://gitlab.com/octo/agents/-/merge_requests/7'],
  ])('nothing is sent again: %s', async (_, prLink) => {
    let isAgain = false;
    await using sim = await simulate({
      step: { event: schedule() },
      agent: {
        jobs: [{ id: JOB, base: { prLink: OWN_LINK } }],
        onGet: () => (isAgain ? { body: { id: JOB, status: 'completed', prLink } } : undefined),
      },
      github: { issues: [PULL, 8].map((number) => ({ number, pullRequest: true })) },
    });
    const first = await sim.runHere();
    expect(first.outputs.delivery).toBe('sent');
    isAgain = true;
    const second = await sim.runHere({ step: ATTEMPT_2 });
    expect(second.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(errors(second)).toEqual([
      expect.stringContaining('this re-run cannot tell whether an earlier attempt sent it'),
    ]);
    expect(sim.agent.accepted()).toHaveLength(1);
    expect(ownComments(sim.github, 8)).toEqual([]);
  });

  it('the wait goes on where the earlier attempt saw it', async () => {
    const turns = [
      {
        steps: [
          { afterMs: 0, set: { status: 'active' } },
          { afterMs: 30_000, set: { prLink: 'https://github.com/octo/agents/pull/8' } },
          { afterMs: 200_000, set: { status: 'completed' } },
        ],
      },
    ];
    await using sim = await simulate({
      with: { wait: true },
      step: { event: schedule() },
      agent: { jobs: [{ id: JOB, base: { prLink: OWN_LINK }, turns }] },
      github: { issues: [PULL, 8].map((number) => ({ number, pullRequest: true })) },
    });
    const first = await sim.runHere({ with: { 'timeout-minutes': '1' } });
    expect(first.outputs).toMatchObject({ result: 'timed-out', delivery: 'sent' });
    const second = await sim.runHere({ step: ATTEMPT_2 });
    expect(second.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(sim.agent.accepted()).toHaveLength(1);
  });

  it('while the message is refused, one re-run sends it, whichever it names then', async () => {
    const links = [OWN_LINK, 'https://github.com/octo/agents/pull/8'];
    let link = '';
    await using sim = await simulate({
      with: { wait: true, 'settle-seconds': '0' },
      step: { event: schedule() },
      agent: {
        jobs: [{ id: JOB }],
        // The second poll of the first attempt, just before the message, shows the other one.
        onGet: (n) => ({ body: { id: JOB, status: 'completed', prLink: link || links[n - 1] } }),
        onPost: (n) => (n === 1 ? { status: 429, headers: { 'retry-after': '9999' } } : undefined),
      },
      github: {
        issues: [PULL, 8].map((number) => ({ number, pullRequest: true })),
        // So the note takes more than a second.
        trouble: { limits: ({ name, nth }) => (name === CREATE && nth === 1 ? 2 : undefined) },
      },
    });
    const first = await sim.runHere();
    expect(first.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    for (const [index, named] of [links[1], links[0], links[1], links[0]].entries()) {
      link = named ?? '';
      await sim.runHere({ step: { github: { run_attempt: String(index + 2) } } });
    }
    expect(sim.agent.accepted()).toHaveLength(1);
  });
});

describe.concurrent('what changes between two attempts makes no other message of it', () => {
  it.each<[string, Scenario, Scenario]>([
    ['a prompt that holds the time', {}, { with: { prompt: 'It is noon.' } }],
    [
      'a matrix that is made anew',
      { step: { matrix: { version: '1.0.1' } } },
      { step: { matrix: { version: '1.0.2' } } },
    ],
    [
      'a matrix that is gone',
      { step: { matrix: { version: '1.0.1' } } },
      { step: { matrix: null } },
    ],
  ])('%s', async (_, before, after) => {
    await using sim = await simulate();
    await sim.runHere(before);
    const step = { ...after.step, ...ATTEMPT_2 };
    const second = await sim.runHere({ ...after, step });
    expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(second.annotations).toEqual([]);
    expect(sim.agent.accepted()).toHaveLength(1);
    expect(second.log.includes('was another one in the earlier attempt')).toBe(
      after.with !== undefined,
    );
  });

  it('where a smaller matrix has other legs, none of them is sent again', async () => {
    await using sim = await simulate();
    const run = (leg: string, step: Scenario['step'] = {}) =>
      sim.runHere({ with: { prompt: `To ${leg}.` }, step: { ...step, matrix: { leg } } });
    for (const leg of ['a', 'b', 'c']) await run(leg);
    for (const leg of ['b', 'd']) {
      const { outputs } = await run(leg, ATTEMPT_2);
      expect(outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    }
    expect(sim.agent.accepted()).toHaveLength(3);
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ['one that was not sent', ['x'], ['y', 'z']],
    ['two that were not sent', ['w', 'x'], ['v', 'y', 'z']],
  ])(
    'where all legs are new, %s is taken over once, and each is sent',
    async (_, before, after) => {
      let isRefused = true;
      await using sim = await simulate({
        agent: { jobs: [{ id: JOB }], onPost: () => (isRefused ? { status: 401 } : undefined) },
        github: { ...GITHUB, trouble: { latencyMs: [5, 40] } },
      });
      const run = (leg: string, step: Scenario['step'] = {}) =>
        sim.runHere({ with: { prompt: `To ${leg}.` }, step: { ...step, matrix: { leg } } });
      for (const leg of before) await run(leg);
      isRefused = false;
      const results = await Promise.all(after.map((leg) => run(leg, ATTEMPT_2)));
      for (const { outputs } of results) {
        expect(outputs).toMatchObject({ result: 'sent', delivery: 'sent', reason: '' });
      }
      expect(arrivals(sim)).toEqual(Object.fromEntries(after.map((leg) => [`To ${leg}.`, 1])));
      for (const leg of after) {
        expect((await run(leg, ATTEMPT_3)).outputs).toMatchObject({ result: 'sent' });
      }
      expect(sim.agent.accepted()).toHaveLength(after.length);
    },
  );

  it('each use of a step goes on with its own message, and the one that was refused is sent', async () => {
    await using sim = await simulate({
      agent: { jobs: [{ id: JOB }], onPost: (n) => (n === 2 ? { status: 401 } : undefined) },
    });
    const uses = ['One.', 'Two.', 'Three.'];
    for (const prompt of uses) await sim.runHere({ with: { prompt } });
    expect(arrivals(sim)).toEqual({ 'One.': 1, 'Three.': 1 });
    for (const prompt of uses) {
      const { outputs } = await sim.runHere({ with: { prompt }, step: ATTEMPT_2 });
      expect(outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    }
    for (const prompt of uses) await sim.runHere({ with: { prompt }, step: ATTEMPT_3 });
    expect(arrivals(sim)).toEqual({ 'One.': 1, 'Three.': 1, 'Two.': 1 });
  });

  it('a use that sent nothing cannot make another use send its message again', async () => {
    await using sim = await simulate({
      agent: { jobs: [{ id: JOB, base: { status: 'active' } }] },
    });
    const run = (prompt: string, more: Scenario = {}) =>
      sim.runHere({ ...more, with: { prompt, ...more.with } });
    await run('One.', { with: { 'only-when': 'completed' } });
    await run('Two.');
    for (const step of [ATTEMPT_2, ATTEMPT_3]) {
      for (const prompt of ['One.', 'Two.']) {
        const { outputs } = await run(prompt, { step });
        expect(outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
      }
    }
    expect(arrivals(sim)).toEqual({ 'Two.': 1 });
  });
});

describe.concurrent('a re-run', () => {
  it('sends once what a wrong key kept back', async () => {
    await using sim = await simulate({
      agent: { jobs: [{ id: JOB }], onPost: (n) => (n === 1 ? { status: 401 } : undefined) },
    });
    await sim.runHere();
    const second = await sim.runHere({ step: ATTEMPT_2 });
    const third = await sim.runHere({ step: ATTEMPT_3 });
    for (const { outputs } of [second, third]) {
      expect(outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    }
    expect(sim.agent.accepted()).toHaveLength(1);
  });

  it('sends once what did not get out in time', async () => {
    await using sim = await simulate({
      with: { 'timeout-minutes': '1' },
      agent: {
        jobs: [{ id: JOB }],
        onPost: (n) => (n === 1 ? { status: 429, headers: { 'retry-after': '90' } } : undefined),
      },
    });
    const first = await sim.runHere();
    expect(first.outputs.delivery).toBe('not-sent');
    for (const step of [ATTEMPT_2, ATTEMPT_3]) {
      const { outputs } = await sim.runHere({ step });
      expect(outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    }
    expect(sim.agent.accepted()).toHaveLength(1);
  });

  it('sends nothing where the token may not write and a later step has failed', async () => {
    await using sim = await simulate({ github: { ...GITHUB, readOnly: true } });
    const first = await sim.runHere();
    expect(first.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(warnings(first)).toEqual([expect.stringContaining('pull-requests: write')]);
    const second = await sim.runHere({ step: ATTEMPT_2 });
    expect(second.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(errors(second)).toEqual([expect.stringContaining('pull-requests: write')]);
    expect(sim.agent.accepted()).toHaveLength(1);
  });

  it('finds a message that was overwritten, by the history of the comment', async () => {
    await using sim = await simulate();
    await sim.runHere();
    const [comment] = ownComments(sim.github);
    const empty = await otherComment(sim);
    sim.github.editComment(comment?.id ?? 0, empty);
    const second = await sim.runHere({ step: ATTEMPT_2 });
    expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(sim.agent.accepted()).toHaveLength(1);
  });
});

/** A comment of ours that knows nothing of the run. */
async function otherComment({ agent }: Simulation): Promise<string> {
  await using sim = await simulate({ with: { 'base-url': agent.url } });
  await sim.runHere({
    with: { send: 'false', prompt: '' },
  });
  return ownComments(sim.github)[0]?.body ?? '';
}
