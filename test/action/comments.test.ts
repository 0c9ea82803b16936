import { describe, expect, it } from 'vitest';
import { LABELS } from '../../src/job/labels.ts';
import { type JournalEntry, type TurnScript, turnTo } from '../sim/agent.ts';
import * as on from '../sim/events.ts';
import type { Call } from '../sim/github/call-log.ts';
import {
  AGAIN,
  COMMAND,
  JOB,
  LINK,
  ON_ITS_PULL,
  PULL,
  type Scenario,
  SENT,
  simulate,
  UNSENT,
  visibleIn,
  WRITER,
} from './scenario.ts';

const ELSEWHERE = LINK.replace('agents', 'docs');
const OTHER_PULL = LINK.replace(`${PULL}`, '8');
const BOTH = { issues: [PULL, 8].map((number) => ({ number, pullRequest: true })) };
const ON_SCHEDULE = { agent: ON_ITS_PULL, step: { event: on.schedule() } };
const BY_ALICE = on.pullRequest({ number: PULL, action: 'labeled' });
const BY_BOT = on.pullRequest({ number: PULL, sender: on.COPILOT });

/** A turn with this end. */
function endsAs(status: string, prLink: string | null = null): TurnScript {
  return turnTo(status, 60_000, { prLink });
}

const FAILING = { jobs: [{ id: JOB, turns: [endsAs('failed')] }] };
const BUSY = {
  with: { 'timeout-minutes': 2 },
  agent: { jobs: [{ id: JOB, base: { status: 'active' } }] },
};
const LOST: Scenario = { agent: { onPost: () => ({ fault: 'reset', accept: false }) } };

it.each<[string, Scenario, keyof typeof LABELS, RegExp]>([
  ['a failed agent', { agent: FAILING }, 'failed', /not say why .* Open the job in the \[dash/],
  ['an agent at work', BUSY, 'not-sent', /not sent within 2 min, because .* not seen to be done/],
  [
    'a lost answer',
    LOST,
    'delivery unknown',
    /it was not sent again\. Check the job in the \[dash/,
  ],
])(
  'a comment says what happened and what to do, and a new one, which mails it, replaces it: %s',
  async (name, scenario, label, words) => {
    const inputs = { wait: true, ...scenario.with };
    await using sim = await simulate({ ...scenario, with: inputs, step: { event: BY_ALICE } });
    const result = await (name === 'a failed agent' ? sim.run() : sim.runHere());
    const text = visibleIn(sim.ownComments()[0]?.body ?? '');
    for (const shown of [text, result.summary]) {
      expect(shown.split('\n')[0]).toMatch(RegExp(`^##+ <span .*</span> ${LABELS[label].title}$`));
      expect(shown).toMatch(words);
      expect(shown).not.toMatch(/✅|Agent completed|without a pull request/);
    }
    // Who reads a comment did not write the workflow.
    expect(text).not.toMatch(/timeout-minutes/);

    const [note, mail, ...others] = sim.github.comments(PULL);
    expect(others).toEqual([]);
    expect(mail?.body).toMatch(/^<!-- agent-follow-up -->\n<!-- .* person -->\n### .*\n\n@alice\n/);
    expect(visibleIn(mail?.body ?? '').replace('@alice\n\n', '')).toBe(text);
    expect([note, mail].map((one) => one?.minimizedReason)).toEqual(['duplicate', undefined]);
    expect(result.outputs['comment-url']).toBe(mail?.html_url);
    expect(result.summary).toContain(`Comment on [#${PULL}](${mail?.html_url})`);
  },
);

it('a comment hides the older ones of the step, and no others', async () => {
  await using sim = await simulate();
  sim.github.addComment(PULL, 'alice', 'Nice!');
  await sim.runHere();
  // A copy by someone else is no comment of the action.
  sim.github.addComment(PULL, 'mallory', sim.ownComments()[0]?.body ?? '');
  await sim.runHere({ step: { github: { run_id: '2', job: 'other' } } });
  await sim.runHere({ step: { github: { run_id: '3' } } });
  await sim.run({ step: { github: { run_id: '4' } } });
  const hidden = sim.github.comments(PULL).map(({ isMinimized }) => isMinimized);
  expect(hidden).toEqual([false, true, false, false, true, false]);
});

const RIGHTS = '“permissions:” with “pull-requests: write” (on an issue “issues: write”)';
const CREATES = { 'create-job': true, 'job-id': '' };
const LOCKED = 'The conversation is locked';
const BROKEN_PROXY = { github: { api_url: 'https://github.invalid' }, env: { HTTPS_PROXY: '[' } };
const issue = (locked: boolean, readOnly = false): Scenario => ({
  github: { issues: [{ number: PULL, locked }], readOnly },
});
const refusing = (reply: object): Scenario => ({
  github: { on: ({ path }) => (path.endsWith('/comments') ? reply : undefined) },
});
const FIXED = 'Once this is fixed, start a new run: a re-run has the old workflow.';
const WITHOUT = `${FIXED} To send without a comment, set “comment: false”.`;
const LATER = 'Re-run the workflow later.';

it.each<[string, Scenario, string, string, string]>([
  ['a read-only token', issue(false, true), '403: “Resource not', RIGHTS, WITHOUT],
  ['a locked conversation', issue(true), '403: “Unable to create comment', LOCKED, WITHOUT],
  ['a lock before a job is created', { ...issue(true), with: CREATES }, '403: “U', LOCKED, FIXED],
  ['a broken proxy variable', { step: BROKEN_PROXY }, 'HTTPS_PROXY must be', '', WITHOUT],
  ['a redirect', refusing({ status: 307, body: {} }), 'answered 307, a redirect', '', ''],
  ['451', refusing({ status: 451, body: { message: 'No.' } }), 'answered 451: “No.”', '', ''],
  ['a rate limit', refusing({ status: 429, body: {} }), 'answered 429', '', LATER],
])(
  'a comment that cannot be created is one error with its remedy and a way out, and nothing is sent: %s',
  async (...row) => {
    const [name, scenario, cause, remedy, again] = row;
    await using sim = await simulate({
      ...scenario,
      with: { 'timeout-minutes': '3', 'minimum-permission': 'none', ...scenario.with },
      step: { event: BY_ALICE, ...scenario.step },
    });
    const result = await (name === 'a read-only token' ? sim.run() : sim.runHere());
    const [error = ''] = result.errors;
    const end = `without its comment. ${again}`.trim();
    const parts = ['The comment could not be created: ', cause, end];
    expect(error).toMatch(RegExp(`${parts.map((part) => RegExp.escape(part)).join('.*')}$`));
    expect([RIGHTS, LOCKED].filter((text) => error.includes(text)).join()).toBe(remedy);
    expect(result.outputs).toMatchObject({ ...UNSENT, 'comment-url': '' });
    expect(sim.agent.posts()).toEqual([]);
  },
);

describe('on an event without a pull request or issue', () => {
  it('each pull request of the jobs gets one comment, which names all its jobs', async () => {
    const jobs = [LINK, OTHER_PULL, LINK, ELSEWHERE, null].map((prLink, n) => ({
      ...{ id: `job-${n + 1}`, base: { prLink } },
    }));
    const callsBefore: number[] = [];
    await using sim = await simulate({
      with: { 'job-id': jobs.map(({ id }) => id).join(' '), wait: true },
      step: { event: on.schedule() },
      agent: { jobs, onPost: () => void callsBefore.push(sim.callNames().length) },
      github: BOTH,
    });
    const result = await sim.runHere();
    expect(callsBefore).toEqual(jobs.map(() => 0));
    expect(result.log.match(/Job job-\d: The message is delivered\./g)).toHaveLength(5);
    expect(sim.notes(PULL)).toMatchObject([{ jobs: [{ id: 'job-1' }, { id: 'job-3' }] }]);
    expect(sim.notes(8)).toMatchObject([{ jobs: [{ id: 'job-2' }] }]);
    expect(result.annotations).toEqual([]);
    const urls = [7, 8].flatMap((number) => sim.ownComments(number)).map((one) => one.html_url);
    expect(result.outputs['comment-url']).toBe(urls.join('\n'));
  });

  it.each([
    ['repository_dispatch', 1],
    ['status', 0],
  ] as const)(
    'after an event that a person starts, not after one of programs: %s',
    async (name, count) => {
      const given = on.event(name, undefined, { sender: on.ALICE });
      await using sim = await simulate({ agent: ON_ITS_PULL, step: { event: given } });
      expect((await sim.runHere({ with: { wait: true } })).outputs.delivery).toBe('sent');
      expect(sim.ownComments()).toHaveLength(count);
    },
  );

  it.each<[string, Scenario]>([
    ['the job has no pull request', { agent: { jobs: [{ id: JOB }] } }],
    ['it is elsewhere', { agent: { jobs: [{ id: JOB, base: { prLink: ELSEWHERE } }] } }],
    ['comment is false', { with: { comment: false } }],
  ])('no comment and no call to GitHub if %s', async (name, scenario) => {
    await using sim = await simulate({ ...ON_SCHEDULE, ...scenario });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ ...SENT, 'comment-url': '' });
    expect(result.annotations.filter(({ type }) => type !== 'notice')).toEqual([]);
    const isSaid = result.log.includes(`No comment about ${JOB}: `);
    expect(isSaid).toBe(/pull request|elsewhere/.test(name));
    expect(sim.github.journal).toEqual([]);
  });

  it('a comment that cannot be created is one warning', async () => {
    await using sim = await simulate({ ...ON_SCHEDULE, github: { readOnly: true } });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ ...SENT, 'comment-url': '' });
    expect(result.warnings).toEqual([
      expect.stringMatching(/^The comment could not be created: .*pull-requests: write/),
    ]);
  });
});

describe('what the agent has changed', () => {
  const OLD = '0'.repeat(40);
  const NEW = ['1', '2', '3'].map((digit) => digit.repeat(40));
  const range = `[Review changes](${LINK}/files/${OLD}..${NEW[2]})`;
  const HANGS: Scenario['github'] = {
    on: ({ path }) => (/\/pulls\/\d+$/.test(path) ? { fault: 'hang' } : undefined),
  };

  /** The job has this link before the work. While the message arrives, commits are pushed. */
  function working(turn: TurnScript, pushed: readonly string[], more: Case = {}) {
    const { before = LINK, isLimited = false, github } = more;
    const sim = simulate({
      with: { wait: true },
      agent: {
        jobs: [{ id: JOB, base: { prLink: before }, turns: [turn] }],
        async onPost(n) {
          if (n === 1) (await sim).github.push(PULL, ...pushed);
          return isLimited && n === 1 ? { status: 429 } : undefined;
        },
      },
      github: { issues: [{ number: PULL, pullRequest: true, commits: [OLD] }], ...github },
    });
    return sim;
  }

  interface Case {
    readonly before?: null;
    /** Whether the API takes the message only after a pause. */
    readonly isLimited?: boolean;
    readonly github?: Scenario['github'];
  }
  const UNCOMPARED: Case = { github: { forbids: ({ name }) => name === 'GET compare/*' } };

  it.each<[string, readonly string[], Case, string, string, string?]>([
    ['3 commits', NEW, {}, '3', 'Agent pushed 3 commits', range],
    ['commits that cannot be compared', NEW, UNCOMPARED, '', 'Agent pushed\n', range],
    ['a new pull request', [], { before: null }, '1', 'Agent opened '],
    ['a GitHub that never answers', [], { github: HANGS }, '', LABELS.completed.title],
    ['a message sent again', NEW, { isLimited: true }, '0', 'no new commit'],
  ])('is the title if it is known: %s', async (name, pushed, given, commits, title, more = '') => {
    await using sim = await working(endsAs('completed', LINK), pushed, given);
    const result = await (name === '3 commits' ? sim.run() : sim.runHere());
    expect(result.outputs).toMatchObject({ delivery: 'sent', commits });
    const hidden =
      'not name the new commits and files: the workflow job, or the App of its token, lacks';
    expect(result.log.includes(hidden)).toBe(name === 'commits that cannot be compared');
    const text = visibleIn(sim.ownComments()[0]?.body ?? '');
    for (const shown of [text, result.summary]) {
      expect(`${shown.split('\n')[0]}\n`).toContain(title);
      if (more === '') expect(shown).not.toMatch(/\.\.[0-9a-f]/);
      else expect(shown).toContain(more);
    }
  });

  it.each([
    [[], 'Agent finished: no new commit seen', '0'],
    [NEW, 'Agent pushed\n', ''],
  ])('is told by a re-run that goes on to wait, after %j', async (pushed, title, commits) => {
    const turn = turnTo('completed', 300_000, { prLink: LINK });
    await using sim = await working(turn, pushed);
    expect((await sim.runHere({ with: { 'timeout-minutes': 2 } })).outputs.commits).toBe('');
    const { outputs, summary } = await sim.runHere({ step: { github: AGAIN } });
    expect(outputs.commits).toBe(commits);
    expect(`${summary.split('\n')[0]}\n`).toContain(title);
  });

  it('is not told if the pull request is another one then', async () => {
    await using sim = await working(endsAs('completed', OTHER_PULL), [], { github: BOTH });
    const { summary } = await sim.runHere();
    expect(summary).toContain(`[#8](${OTHER_PULL})`);
    expect(summary).not.toMatch(/commits|opened|finished/i);
  });
});

describe('the end as a comment of its own', () => {
  interface Case {
    /** Default: nothing is changed. */
    readonly turn?: TurnScript;
    /** Default: a command. */
    readonly event?: on.WebhookEvent;
    readonly with?: Scenario['with'];
    readonly pushes?: boolean;
    readonly github?: Scenario['github'];
  }
  const UNREAD: Case['github'] = { forbids: ({ name, nth }) => name === 'GET pulls/#' && nth > 1 };

  it.each<[string, Case, string | null, string?]>([
    ['no pull request', { turn: endsAs('completed') }, 'without a pull request'],
    ['a change elsewhere', { turn: endsAs('completed', OTHER_PULL) }, 'Agent opened [#8]'],
    ['a change here', { pushes: true }, null],
    ['no wait', { with: { wait: false } }, null],
    ['a change that could not be read', { pushes: true, github: UNREAD }, null],
    ['no new commit after an event that nobody waits for', { event: BY_ALICE }, null],
    ['a bot', { turn: endsAs('failed', LINK), event: BY_BOT }, 'Agent failed', 'bob'],
  ])(
    'is there for what GitHub does not mail, and mentions whom it concerns: %s',
    async (name, given, title, mention) => {
      const prLink = /elsewhere|no pull request/.test(name) ? null : LINK;
      const { turn = endsAs('completed', LINK), event } = given;
      await using sim = await simulate({
        with: { wait: true, ...COMMAND, 'allowed-bots': on.COPILOT.login },
        agent: {
          jobs: [{ id: JOB, base: { prLink }, turns: [endsAs('completed', prLink), turn] }],
          onPost: (n) => void (n === 2 && given.pushes && sim.github.push(PULL, 'b'.repeat(40))),
        },
        github: {
          ...BOTH,
          ...given.github,
          collaborators: { alice: WRITER, bob: { ...WRITER, id: 1002 } },
        },
      });
      // Bob has asked last, and got his answer.
      const author: on.Person = { login: 'bob', id: 1002, type: 'User' };
      const asked = { event: sim.ask('/agent Go.', { author }), github: { run_id: '1' } };
      await sim.runHere({ step: asked, with: { wait: false } });
      await sim.pass(600_000);
      const before = sim.github.comments(PULL).length;
      const step = { event: event ?? sim.ask('/agent Go.'), github: { run_id: '2' } };
      const prompt = event === undefined ? '' : 'Go.';
      const result = await sim.runHere({ step, with: { prompt, ...given.with } });
      const written = sim.github.comments(PULL).slice(before);
      const [note, end, ...others] = written.filter(({ author }) => author !== 'alice');
      expect(others).toEqual([]);
      if (title === null) {
        expect([end, note?.isMinimized]).toEqual([undefined, false]);
        expect(result.outputs['comment-url']).toContain(note?.html_url);
        return;
      }
      expect(visibleIn(end?.body ?? '').split('\n')[0]).toContain(title);
      expect(end?.body.match(/@\w+/)?.[0]).toBe(mention && `@${mention}`);
      expect(note?.minimizedReason).toBe('duplicate');
      expect(result.outputs['comment-url']).toContain(end?.html_url);
    },
  );

  const FAILS = { with: { wait: true }, agent: FAILING, step: { event: BY_ALICE } };

  it('is not told again by a re-run, and is collapsed when the next message has its own', async () => {
    await using sim = await simulate(FAILS);
    for (const github of [{ run_id: '1' }, { run_id: '1', ...AGAIN }, { run_id: '2' }]) {
      expect((await sim.runHere({ step: { github } })).outputs.result).toBe('failed');
    }
    const reasons = sim.github.comments(PULL).map(({ minimizedReason }) => minimizedReason);
    expect(reasons).toEqual(['duplicate', 'outdated', 'duplicate', undefined]);
  });

  it('stays in the note if the answer of GitHub is lost, and changes no result', async () => {
    const loses = ({ request }: Call) => request.body.includes(' reply ');
    await using sim = await simulate({ ...FAILS, github: { trouble: { loses } } });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'failed', confirmed: 'true' });
    const warning = 'It is not known whether the comment was created';
    expect(result.warnings).toEqual([expect.stringContaining(warning)]);
    const [note] = sim.ownComments();
    expect([note?.isMinimized, result.outputs['comment-url']]).toEqual([false, note?.html_url]);
    expect(note?.body).toContain(LABELS.failed.title);
  });

  it('that a dead token does not let through is one warning, about the note', async () => {
    const dead = { status: 401, body: { message: 'Bad credentials' } };
    const isDead = () => sim.github.calls('PATCH issues/comments/#').length > 0;
    const github = { on: () => (isDead() ? dead : undefined) };
    await using sim = await simulate({ ...FAILS, github });
    const said = expect.stringMatching(/^The comment is not up to date: .* Apps live an hour\.$/);
    expect((await sim.runHere()).warnings).toEqual([said]);
  });
});

it('a run that is at its deadline edits its comment once more if that failed', async () => {
  let edits = 0;
  const failsOnce = ({ method }: JournalEntry) =>
    method === 'PATCH' && ++edits === 1 ? { status: 500 } : undefined;
  await using sim = await simulate({
    with: { wait: true, 'timeout-minutes': 0.5 },
    agent: { jobs: [{ id: JOB, base: { status: 'active' } }] },
    github: { on: failsOnce },
  });
  expect((await sim.runHere()).annotations).toHaveLength(1);
  expect(sim.notes()[0]?.jobs).toMatchObject([{ delivery: 'not-sent' }]);
});
