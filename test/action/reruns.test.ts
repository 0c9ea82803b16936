import { describe, expect, it } from 'vitest';
import { hashOf, type NoteJob } from '../../src/note/data.ts';
import type { Answer } from '../sim/agent.ts';
import { schedule } from '../sim/events.ts';
import type { Call } from '../sim/github/call-log.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import type { StepResult } from '../sim/runner/process.ts';
import {
  type Blow,
  isClaimed,
  ORIGINS,
  type Origin,
  openAttempts,
  purposeOf,
  purposes,
} from './attempts.ts';
import {
  errors,
  JOB,
  LONG_TURN,
  notes,
  ownComments,
  PROJECT,
  PULL,
  type Scenario,
  simulate,
} from './scenario.ts';

/** What a re-run does, after all. */
type Ending = 'sends' | 'continues' | 'is refused';

interface Row {
  readonly title: string;
  /** How the first attempt ends. */
  readonly blow?: Blow;
  readonly posts?: Answer;
  /** Whether the agent is at work on something else in the first attempt, which waits for that. */
  readonly isBusy?: boolean;
  /** The calls to GitHub that fail in the first attempt, and those whose answers are lost. */
  readonly fails?: readonly string[];
  readonly loses?: string;
  readonly ending: Ending;
  /** If a command has another ending, because of its claim. */
  readonly claimed?: Ending;
}

function killed(at: string | RegExp, isApplied = false): Blow {
  return { at, isApplied, by: 'SIGKILL' };
}

function cancelled(at: string | RegExp, isApplied = false): Blow {
  return { at, isApplied, by: 'SIGINT' };
}

const PAUSE = { status: 429, headers: { 'retry-after': '60' } };
const LONG_PAUSE = { status: 429, headers: { 'retry-after': '9999' } };
const EARLIER_WORK = /Waiting for earlier work/;
const ROWS: readonly Row[] = [
  { title: 'was killed before its claim', blow: killed('claim'), ending: 'sends' },
  {
    title: 'was killed before its note',
    blow: killed('note'),
    ending: 'sends',
    claimed: 'is refused',
  },
  { title: 'was killed after its note', blow: killed('note', true), ending: 'is refused' },
  { title: 'was killed before the POST arrived', blow: killed('message'), ending: 'is refused' },
  { title: 'was killed during the POST', blow: killed('message', true), ending: 'is refused' },
  { title: 'was killed before it noted the POST', blow: killed('edit'), ending: 'is refused' },
  { title: 'was killed while it waited', blow: killed('edit', true), ending: 'continues' },
  {
    title: 'was killed behind earlier work',
    blow: killed(EARLIER_WORK),
    isBusy: true,
    ending: 'is refused',
  },
  { title: 'was cancelled during the POST', blow: cancelled('message'), ending: 'is refused' },
  {
    title: 'was cancelled in a pause',
    blow: cancelled(/Trying again/),
    posts: PAUSE,
    ending: 'sends',
  },
  { title: 'was cancelled while it waited', blow: cancelled('poll', true), ending: 'continues' },
  {
    title: 'was cancelled behind earlier work',
    blow: cancelled(EARLIER_WORK),
    isBusy: true,
    ending: 'sends',
  },
  { title: 'timed out behind earlier work', isBusy: true, ending: 'sends' },
  { title: 'got 401 for its key', posts: { status: 401 }, ending: 'sends' },
  { title: 'got 429', posts: LONG_PAUSE, ending: 'sends' },
  { title: 'got 503', posts: { status: 503 }, ending: 'is refused' },
  { title: 'could not create its note', fails: ['note'], ending: 'sends' },
  {
    title: 'found GitHub down after its claim',
    fails: ['note', 'newest', 'release'],
    ending: 'sends',
    claimed: 'is refused',
  },
  {
    title: 'gave up a note that was created all the same',
    fails: ['newest'],
    loses: 'note',
    ending: 'is refused',
    // Its claim was taken back, so that of the re-run is new.
    claimed: 'sends',
  },
  { title: 'could not note the POST', fails: ['edit'], ending: 'is refused' },
  { title: 'saw the end', ending: 'continues' },
];

/** How each kind of message meets each row. */
const CASES = ORIGINS.flatMap((origin) =>
  ROWS.filter(({ blow }) => {
    return blow === undefined || (HAS_SIGNALS && (blow.at !== 'claim' || isClaimed(origin)));
  }).map((row) => {
    const ending = isClaimed(origin) ? (row.claimed ?? row.ending) : row.ending;
    return { ...row, origin, ending };
  }),
);

describe.concurrent('a re-run', () => {
  it.each(CASES)('of $origin $ending if the attempt before $title', async (one) => {
    const { title, origin, ending, blow, posts, isBusy = false, fails = [], loses = '' } = one;
    let attempt = 1;
    const atFirst = <T>(value: T): T | undefined => (attempt === 1 ? value : undefined);
    const isNow = (call: Call, wanted: readonly string[]): boolean | undefined =>
      atFirst(wanted.includes(purposeOf(call)));
    await using attempts = await openAttempts(origin, {
      with: { wait: true, ...(isBusy && { 'when-active': 'wait' }) },
      agent: {
        onPost: () => atFirst(posts),
        onGet: () => (isBusy ? atFirst({ body: { id: JOB, status: 'active' } }) : undefined),
      },
      github: {
        on: () => {
          const call = attempts.sim.github.calls().at(-1);
          return call !== undefined && isNow(call, fails) ? { status: 503 } : undefined;
        },
        trouble: { loses: (call) => isNow(call, [loses]) === true },
      },
    });
    const { sim, run } = attempts;

    await run(1, { blow });
    const before = sim.agent.accepted().length;
    const comments = ownComments(sim.github).length;

    let last: StepResult | undefined;
    for (attempt = 2; attempt <= 3; attempt++) {
      const result = await run(attempt);
      last = result;
      if (ending === 'is refused') {
        expect(result.outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
        expect(errors(result)).toEqual([
          expect.stringContaining('It cannot tell whether an earlier attempt sent the message'),
        ]);
        expect(ownComments(sim.github)).toHaveLength(comments);
        const reactions = sim.github.reactions.map(({ content }) => content);
        expect(reactions.includes('confused')).toBe(origin !== 'a step');
      } else {
        expect(result.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
        expect(result.annotations).toEqual([]);
        // What has ended has its comment already.
        const newest = ending === 'continues' && title === 'saw the end' ? 1 : Math.min(attempt, 2);
        const note = { attempt: newest, jobs: [{ delivery: 'sent' }] };
        expect(notes(sim.github).at(-1)).toMatchObject(note);
      }
      const sent = ending === 'is refused' ? before : 1;
      expect(sim.agent.accepted()).toHaveLength(sent);
    }
    if (ending === 'continues' && title !== 'saw the end') {
      const hidden = ownComments(sim.github).map(({ isMinimized }) => isMinimized);
      expect(hidden).toEqual(origin === 'a step' ? [true, false] : [false, false]);
    }
    if (ending !== 'is refused' || isClaimed(origin)) return;

    // The error links to what must be deleted if the message is to be sent all the same.
    for (const { id } of ownComments(sim.github)) {
      expect(last?.outputs.reason).toContain(`#issuecomment-${id}`);
      sim.github.deleteComment(id);
    }
    const again = await run(attempt);
    expect(again.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(again.annotations).toEqual([]);
    expect(sim.agent.accepted()).toHaveLength(before + 1);
  });
});

const REFUSED = { result: 'error', delivery: 'unknown' };
const SENT = { result: 'sent', delivery: 'sent' };

describe.concurrent('a re-run is refused if', () => {
  const LIST_FAILS: GitHubOptions = {
    forbids: ({ name }) => name === 'list',
  };
  const NO_TEXT = { body: { data: { nodes: [null] } } };
  const DAMAGED = `<!-- agent-follow-up {"version":2,"project":"${hashOf(PROJECT)}"} -->\nWhat people see.`;
  it.each<[string, readonly Origin[], string, Scenario, string?]>([
    [
      'the list of comments fails',
      ORIGINS,
      'the comments of the conversation cannot be read: GitHub answered',
      { github: LIST_FAILS },
    ],
    [
      'GitHub lists a comment and does not return its text',
      ORIGINS,
      'the comments of the conversation cannot be read: GitHub returned an unexpected response',
      { github: { on: ({ body }) => (body.includes('nodes(ids') ? NO_TEXT : undefined) } },
    ],
    [
      'a comment of the action cannot be read',
      ['a step', 'a comment'],
      `a comment of this action cannot be read, https://github.com/octo/agents/pull/${PULL}#issuecomment-`,
      {},
      DAMAGED,
    ],
    [
      'there is no conversation',
      ['a step'],
      'the event has no pull request or issue',
      { step: { event: schedule() } },
    ],
    ['comment is false', ORIGINS, '“comment: false” is set', { with: { comment: false } }],
  ])('%s', async (_, origins, why, more, body) => {
    for (const origin of origins) {
      await using attempts = await openAttempts(origin, more);
      const { sim, run } = attempts;
      if (body !== undefined) sim.github.addComment(PULL, 'github-actions[bot]', body);
      const first = await run(1, more);
      expect(first.outputs).toMatchObject(SENT);

      const second = await run(2, more);
      expect(second.outputs).toMatchObject(REFUSED);
      expect(errors(second)).toEqual([expect.stringContaining(`, because ${why}`)]);
      expect(sim.agent.accepted()).toHaveLength(1);

      // A new 🚀 decides alone.
      if (!isClaimed(origin)) continue;
      await using others = await openAttempts(origin, more);
      const late = await others.run(2, more);
      expect(late.outputs).toMatchObject(SENT);
      expect(late.annotations).toEqual([]);
    }
  });

  it.each<[string, Scenario['with'], string?]>([
    ['the 🚀 cannot be added', {}, 'claim'],
    ['the API is down', { 'when-active': 'wait' }, 'API'],
    ['only-when now leaves the job out', { 'only-when': 'completed' }],
  ])('a command may have been sent, also if %s', async (_, inputs, down = '') => {
    let isRerun = false;
    await using attempts = await openAttempts('a comment', {
      agent: {
        onPost: () => ({ status: 503, accept: true }),
        onGet: () => (isRerun && down === 'API' ? { status: 503 } : undefined),
      },
      github: {
        on: () => {
          const isDown = isRerun && purposes(attempts.sim).at(-1) === down;
          return isDown ? { status: 429 } : undefined;
        },
      },
    });
    await attempts.run(1);
    isRerun = true;
    const { outputs } = await attempts.run(2, { with: inputs });
    expect(outputs).toMatchObject(REFUSED);
    expect(outputs.reason).toContain('because attempt 1 does not know whether it was delivered');
  });
});

describe.concurrent('a re-run sends, because', () => {
  it.each<[string, string, (body: string) => string]>([
    [
      'a note of another project',
      'github-actions[bot]',
      (body) => body.replace(hashOf(PROJECT), hashOf('another')),
    ],
    ['a copy of the note by someone else', 'mallory', (body) => body],
  ])('%s does not count', async (_, author, change) => {
    await using attempts = await openAttempts('a step');
    const { sim, run } = attempts;
    await run(1);
    const [own] = ownComments(sim.github);
    if (own === undefined) throw new Error('There is no comment.');
    sim.github.deleteComment(own.id);
    sim.github.addComment(PULL, author, change(own.body));
    const second = await run(2);
    expect(second.outputs).toMatchObject(SENT);
    expect(second.annotations).toEqual([]);
    expect(sim.agent.accepted()).toHaveLength(2);
  });

  it('its job of the matrix had not run before, whatever other legs did', async () => {
    await using attempts = await openAttempts('a step');
    const { sim, run } = attempts;
    const leg = (name: string) => ({ with: { prompt: `To ${name}.` }, step: { matrix: { name } } });
    await run(1, leg('a'));
    for (const attempt of [2, 3]) {
      for (const name of ['a', 'b']) {
        const { outputs, annotations } = await run(attempt, leg(name));
        expect(outputs).toMatchObject(SENT);
        expect(annotations).toEqual([]);
      }
    }
    expect(sim.agent.accepted().map(({ prompt }) => prompt)).toEqual(['To a.', 'To b.']);
  });

  it.each<[string, Scenario, number]>([
    ['another step of the run', { step: { github: { action: 'follow-up-2' } } }, 1],
    ['another use of the step in the same attempt', { with: { prompt: 'Again.' } }, 2],
  ])('only %s has sent its message', async (_, other, attempt) => {
    await using attempts = await openAttempts('a step');
    await attempts.run(attempt);
    expect((await attempts.run(2, other)).outputs).toMatchObject(SENT);
    expect(attempts.sim.agent.accepted()).toHaveLength(2);
  });
});

it.each<[Origin, readonly string[]]>([
  ['a step', [JOB, 'job-2']],
  ['a comment', [JOB]],
])('of two jobs, a re-run of %s continues the first; sent in the end: %j', async (origin, sent) => {
  await using attempts = await openAttempts(origin, {
    with: { 'job-id': `${JOB} job-2` },
    agent: {
      jobs: [{ id: JOB }, { id: 'job-2' }],
      onPost: (_, { path }) => (path.includes('job-2') && isFirst ? { status: 404 } : undefined),
    },
  });
  let isFirst = true;
  await attempts.run(1);
  isFirst = false;
  for (const attempt of [2, 3]) {
    const { outputs } = await attempts.run(attempt);
    const deliveries = JSON.parse(outputs.results ?? '').map(({ delivery }: NoteJob) => delivery);
    expect(deliveries).toEqual(['sent', sent.length === 2 ? 'sent' : 'unknown']);
  }
  expect(attempts.sim.agent.accepted().map(({ jobId }) => jobId)).toEqual(sent);
});

it('a re-run with another prompt goes on, and its comment quotes no prompt that was not sent', async () => {
  await using attempts = await openAttempts('a step');
  await attempts.run(1);
  for (const attempt of [2, 3]) {
    const { outputs, annotations } = await attempts.run(attempt, {
      with: { prompt: 'Something else.' },
    });
    expect(outputs).toMatchObject(SENT);
    expect(annotations).toEqual([]);
  }
  expect(attempts.sim.agent.accepted()).toHaveLength(1);
  const [first, ...later] = ownComments(attempts.sim.github).map(({ body }) => body);
  expect(first).toContain('Add error handling examples.');
  expect(later.join()).not.toContain('Something else.');
  const prompts = notes(attempts.sim.github).map(({ prompt }) => prompt);
  expect(new Set(prompts).size).toBe(1);
});

it('a re-run with ten jobs of which nine are sent does not ask to delete their comment', async () => {
  const ids = Array.from({ length: 10 }, (_, index) => `job-${index + 1}`);
  await using attempts = await openAttempts('a step', {
    with: { 'job-id': ids.join() },
    agent: {
      jobs: ids.map((id) => ({ id })),
      onPost: (_, { path }) => (path.includes('job-7/') ? { status: 503 } : undefined),
    },
  });
  await attempts.run(1);
  const { outputs } = await attempts.run(2);
  expect(outputs).toMatchObject(REFUSED);
  expect(outputs.reason).toMatch(/1 of 10 jobs.*start a new run with this job alone\.$/);
  expect(outputs.reason).not.toContain('delete');
  expect(attempts.sim.agent.accepted()).toHaveLength(9);
});

it('a re-run reports the end of its own message, not that of a later one', async () => {
  const outcomes = ['failed', 'completed'];
  await using attempts = await openAttempts('a step', {
    with: { wait: true },
    agent: {
      jobs: [
        {
          id: JOB,
          turns: outcomes.map((status) => ({
            steps: [
              { afterMs: 0, set: { status: 'active' } },
              { afterMs: 60_000, set: { status } },
            ],
          })),
        },
      ],
    },
  });
  const { run, sim } = attempts;
  const first = await run(1);
  expect(first.outputs).toMatchObject({ result: 'failed', confirmed: 'true' });
  const other = await run(1, { step: { github: { run_id: '2' } } });
  expect(other.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
  const polls = sim.agent.gets().length;
  const again = await run(2);
  expect(again.outputs).toMatchObject({ result: 'failed', confirmed: 'true', status: 'failed' });
  expect(again.outputs['pr-link']).toBe(first.outputs['pr-link']);
  expect(sim.agent.gets()).toHaveLength(polls);
  expect(sim.agent.accepted()).toHaveLength(2);
});

it('a re-run that did not see its end does not confirm that of a later message', async () => {
  await using attempts = await openAttempts('a step', {
    with: { wait: true },
    agent: { jobs: [{ id: JOB, turns: [LONG_TURN, LONG_TURN] }] },
  });
  const { run } = attempts;
  const late = { with: { 'timeout-minutes': '1' } };
  expect((await run(1, late)).outputs).toMatchObject({ result: 'timed-out', delivery: 'sent' });
  const other = await run(1, { step: { github: { run_id: '2' } } });
  expect(other.outputs).toMatchObject({ result: 'completed' });
  expect((await run(2)).outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
});

it('a re-run goes on from what the note knows, on a runner whose clock is an hour behind', async () => {
  const behind = `Object.defineProperty(performance, 'timeOrigin', {
    value: performance.timeOrigin - 3_600_000,
  });`;
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(behind)}`];
  await using sim = await simulate({
    with: { wait: true },
    agent: { jobs: [{ id: JOB, turns: [LONG_TURN] }] },
  });
  const first = await sim.runHere({ with: { 'timeout-minutes': '1' } });
  expect(first.outputs).toMatchObject({ result: 'timed-out', delivery: 'sent' });
  const second = await sim.run({ step: { nodeArgs, github: { run_attempt: '2' } } });
  expect(second.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
  expect(sim.agent.accepted()).toHaveLength(1);
});

describe.concurrent('if two workflows react to', () => {
  const other = { github: { run_id: '2' } };

  it.each(['a comment', 'a review comment'] as const)(
    '%s, the second one is skipped, also when it is run again',
    async (origin) => {
      await using attempts = await openAttempts(origin);
      const { sim, run } = attempts;
      expect((await run(1)).outputs).toMatchObject(SENT);
      for (const attempt of [1, 2, 3]) {
        const result = await run(attempt, { step: other });
        expect(result.conclusion).toBe('success');
        expect(result.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
        expect(result.annotations).toMatchObject([{ type: 'notice' }]);
      }
      expect(sim.agent.accepted()).toHaveLength(1);
      expect(ownComments(sim.github)).toHaveLength(1);
    },
  );

  it('a comment, the second one sends if the first one certainly did not', async () => {
    await using attempts = await openAttempts('a comment', {
      agent: { onPost: (n) => (n === 1 ? { status: 401 } : undefined) },
    });
    expect((await attempts.run(1)).outputs.delivery).toBe('not-sent');
    expect((await attempts.run(1, { step: other })).outputs).toMatchObject(SENT);
    expect((await attempts.run(2)).outputs).toMatchObject({ result: 'skipped' });
    expect(attempts.sim.agent.accepted()).toHaveLength(1);
  });

  it('a review, each one sends', async () => {
    await using attempts = await openAttempts('a review');
    for (const step of [{}, other]) {
      expect((await attempts.run(1, { step })).outputs).toMatchObject(SENT);
    }
    expect(attempts.sim.agent.accepted()).toHaveLength(2);
  });
});
