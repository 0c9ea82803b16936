import { describe, expect, it } from 'vitest';
import { iconOf, titleOf } from '../../src/labels.ts';
import type { Reply, TurnScript } from '../sim/agent.ts';
import {
  ALICE,
  issueComment,
  pullRequest,
  push,
  RENOVATE,
  schedule,
  type WebhookEvent,
  event as webhook,
  workflowDispatch,
} from '../sim/events.ts';
import type { GitHub } from '../sim/github/server.ts';
import {
  callNames,
  commentTexts,
  errors,
  JOB,
  LONG_TURN,
  notes,
  ownComments,
  PULL,
  type Scenario,
  simulate,
  visibleIn,
  warnings,
} from './scenario.ts';

const LINK = `https://github.com/octo/agents/pull/${PULL}`;
const ELSEWHERE = LINK.replace('agents', 'docs');
const BY_ALICE = pullRequest({ number: PULL });
const BY_BOT = pullRequest({ number: PULL, sender: RENOVATE });
/** A job with a pull request in the repository, on which the agent then works for a minute. */
const LINKED = { id: JOB, base: { prLink: LINK } };
const LATER = { github: { run_id: '900' } };

function textsOn(github: GitHub, number = PULL): readonly string[] {
  return ownComments(github, number).map(({ body }) => visibleIn(body));
}

/** A turn with this end. */
function turnTo(status: string, prLink: string | null = null): TurnScript {
  return {
    steps: [
      { afterMs: 0, set: { status: 'active' } },
      { afterMs: 60_000, set: { status, prLink } },
    ],
  };
}

describe('the comment of a step', () => {
  it('says before the message who asks what, in text that reads well in an e-mail', async () => {
    let first: readonly string[] = [];
    await using sim = await simulate({
      with: { wait: true },
      step: { event: BY_ALICE, github: { actor: 'alice', run_id: '4711' } },
      agent: {
        jobs: [{ id: JOB, turns: [turnTo('completed')] }],
        onPost() {
          first = commentTexts(sim.github);
          return undefined;
        },
      },
    });
    const result = await sim.run();

    expect(first).toHaveLength(1);
    const lines = first[0]?.split('\n').filter((line) => line !== '') ?? [];
    expect(lines).toEqual([
      `### <span aria-hidden="true">⏳</span> ${titleOf('sending')}`,
      'Asked by `alice` · [log](https://github.com/octo/agents/actions/runs/4711)',
      '> `Add error handling examples.`',
      expect.stringMatching(/^This run waits until .* UTC\.$/),
      expect.stringMatching(/^<sub>job `job-1` · .* · \[Agent Follow-up\]\(.*\)<\/sub>$/),
    ]);
    const [last = '', ...others] = textsOn(sim.github);
    expect(others).toEqual([]);
    expect(last).toMatch(
      /^### <span aria-hidden="true">✅<\/span> Agent finished without a pull request\n\n/,
    );
    expect(last.match(/Add error handling examples/g)).toHaveLength(1);
    expect(result.outputs['comment-url']).toBe(ownComments(sim.github)[0]?.html_url);
    expect(result.log).toContain(`The comment is ${result.outputs['comment-url']}.`);
  });

  it.each<[string, Scenario, string, RegExp]>([
    [
      'a failed agent',
      { agent: { jobs: [{ id: JOB, turns: [turnTo('failed')] }] } },
      titleOf('failed'),
      /The agent gave no reason\. Open the job in the \[dashboard\]/,
    ],
    [
      'an agent that was not seen at work',
      { agent: { jobs: [{ id: JOB, turns: [{ steps: [] }] }] } },
      titleOf('unconfirmed'),
      /1 min after it, .*Check the job/,
    ],
    [
      'an agent that was at work already',
      {
        with: { 'when-active': 'send' },
        agent: { jobs: [{ id: JOB, base: { status: 'active' } }] },
      },
      titleOf('unconfirmed'),
      /already at work when the message was sent/,
    ],
    [
      'an agent that takes too long',
      { with: { 'timeout-minutes': '2' }, agent: { jobs: [{ id: JOB, turns: [LONG_TURN] }] } },
      titleOf('timed-out'),
      /not seen to be done within 2 min\./,
    ],
    [
      'an agent at work on something else until the end',
      {
        with: { 'timeout-minutes': '2', 'when-active': 'wait' },
        agent: { jobs: [{ id: JOB, base: { status: 'active' } }] },
      },
      titleOf('not-sent'),
      /not sent within 2 min, because the agent was not seen to be done with something else/,
    ],
    [
      'a message that was refused',
      { agent: { onPost: () => ({ status: 400, body: { error: '*Too* long @alice' } }) } },
      titleOf('not-sent'),
      /The API answered 400 to the message: `\*Too\* long @alice`/,
    ],
    [
      'a lost answer',
      { agent: { onPost: () => ({ fault: 'reset', accept: false }) } },
      titleOf('delivery unknown'),
      /it was not sent again\. Check the job in the \[dashboard\]\(https:\/\/app\.mintlify\.com\)/,
    ],
  ])('and the summary say what happened and what to do: %s', async (_, scenario, title, words) => {
    const inputs = { wait: true, ...scenario.with };
    await using sim = await simulate({ ...scenario, with: inputs });
    const result = await sim.runHere();
    const [text = ''] = textsOn(sim.github);
    for (const shown of [text, result.summary]) {
      expect(shown.split('\n')[0]).toMatch(new RegExp(`^##+ <span .*</span> ${title}$`));
      expect(shown).toMatch(words);
      expect(shown).not.toMatch(/✅|Agent completed|without a pull request/);
    }
    // Who reads a comment did not write the workflow.
    expect(text).not.toMatch(/timeout-minutes|settle-seconds|when-active/);
  });

  it('says from the first that the message waits for earlier work', async () => {
    await using sim = await simulate({
      with: { wait: true, 'when-active': 'wait' },
      agent: {
        jobs: [{ id: JOB, turns: [turnTo('completed')] }],
        // Someone else's message is being worked on for three minutes.
        onGet: () =>
          sim.time.elapsed() < 180_000 ? { body: { id: JOB, status: 'active' } } : undefined,
      },
    });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
    const titles = commentTexts(sim.github).map((text) => text.split('\n')[0]);
    expect(titles[0]).toBe(
      '### <span aria-hidden="true">⏳</span> Waiting for earlier work: message not sent yet',
    );
    expect(titles).toContainEqual(expect.stringContaining(titleOf('working')));
    expect(titles.at(-1)).toContain(iconOf('completed'));
    expect(result.log).toContain('Waiting for earlier work: the agent is at work');
  });

  it('of several jobs counts those that need attention, and lists them first', async () => {
    const ids = Array.from({ length: 24 }, (_, index) => `job-${index}`);
    const bad = ids.filter((_, index) => index % 9 === 4);
    const jobs = ids.map((id) => ({
      id,
      turns: [turnTo(bad.includes(id) ? 'failed' : 'completed')],
    }));
    await using sim = await simulate({
      with: { 'job-id': ids.join(' '), wait: true },
      agent: { jobs },
    });
    const result = await sim.runHere();
    const [text = ''] = textsOn(sim.github);
    for (const shown of [text, result.summary]) {
      expect(shown).toMatch(/^##+ <span .*❌<\/span> 3 of 24 agent jobs need attention\n/);
      expect(shown).toMatch(/\n3 failed · 21 completed · \[log\]/);
      const [open = '', folded = ''] = shown.split('<summary>21 completed</summary>');
      expect(open.match(/^\| `job-\d+` \|/gm)).toHaveLength(3);
      expect(folded.match(/^\| `job-\d+` \|/gm)).toHaveLength(21);
      // The same reason stands there once.
      expect(open).toContain('`job-4` and 2 more: The agent gave no reason');
    }
    expect(ownComments(sim.github)).toHaveLength(1);
  });

  it('hides the older ones of the step, and no others', async () => {
    await using sim = await simulate();
    const other = sim.github.addComment(PULL, 'alice', 'Nice!');
    await sim.runHere();
    // A copy by someone else is no comment of the action.
    const copy = sim.github.addComment(PULL, 'mallory', ownComments(sim.github)[0]?.body ?? '');
    await sim.runHere({ step: { github: { run_id: '2', job: 'other' } } });
    await sim.runHere({ step: { github: { run_id: '3' } } });
    await sim.run({ step: { github: { run_id: '4' } } });
    const own = ownComments(sim.github).filter(({ id }) => id !== copy.id);
    expect(own.map(({ isMinimized }) => isMinimized)).toEqual([true, false, true, false]);
    for (const { id } of [other, copy]) {
      const found = sim.github.comments(PULL).find((one) => one.id === id);
      expect(found?.isMinimized).toBe(false);
    }
  });

  it('does not hide the one of a run that is still waiting', async () => {
    await using sim = await simulate({ agent: { jobs: [{ id: JOB, turns: [LONG_TURN] }] } });
    const long = sim.runHere({ with: { wait: true }, step: { github: { run_id: '1' } } });
    await sim.pass(20_000);
    await sim.runHere({ step: { github: { run_id: '2' } } });
    expect(ownComments(sim.github).map(({ isMinimized }) => isMinimized)).toEqual([false, false]);
    await long;
  });

  it('stays if it cannot be hidden, which only the debug log says', async () => {
    await using sim = await simulate({
      github: {
        issues: [{ number: PULL, pullRequest: true }],
        forbids: ({ name }) => name === 'minimize',
      },
    });
    await sim.runHere();
    const result = await sim.runHere({ step: { ...LATER, debug: true } });
    expect(result.annotations).toEqual([]);
    expect(result.log).toContain('##[debug]Older comments were not hidden: GitHub answered');
    expect(ownComments(sim.github).map(({ isMinimized }) => isMinimized)).toEqual([false, false]);
  });

  it('is not written with comment: false, or if nothing is to be sent', async () => {
    await using sim = await simulate();
    const silent = await sim.runHere({ with: { comment: false } });
    expect(silent.outputs).toMatchObject({ result: 'sent', 'comment-url': '' });
    const skipped = await sim.runHere({ with: { 'only-when': 'failed' } });
    expect(skipped.outputs).toMatchObject({ result: 'skipped', 'comment-url': '' });
    expect(sim.github.journal).toEqual([]);
  });
});

describe('a comment that cannot be created', () => {
  const RIGHTS = '“permissions:” with “pull-requests: write” (on an issue “issues: write”)';
  const TOKEN = 'Check “github-token”';
  const NUMBER = 'Check “pr-number”';
  const LOCKED = 'The conversation is locked';
  const LIMIT = 'This is a rate limit of GitHub for the token';
  const LATER_ON = { status: 429, headers: { 'retry-after': '60' } };
  const HOSTILE = { status: 404, body: { message: 'a\n::error::b ##[error]c' } };
  const BROKEN_PROXY = {
    github: { api_url: 'https://github.invalid/api/v3' },
    env: { HTTPS_PROXY: '[' },
  };
  const issue = (locked: boolean, readOnly = false): Scenario => {
    return { github: { issues: [{ number: PULL, locked }], readOnly } };
  };
  const answers = (reply: Reply): Scenario => ({ github: { on: () => reply } });

  it.each<[string, Scenario, string, string]>([
    ['a read-only token', issue(false, true), '403: “Resource not accessible by integrat', RIGHTS],
    ['a locked conversation', issue(true), '403: “Unable to create comment because issue', LOCKED],
    ['an unknown number', { with: { 'pr-number': '99' } }, 'GitHub answered 404', NUMBER],
    ['no token', { with: { 'github-token': '' } }, '“github-token” is empty', TOKEN],
    ['a bad token', { with: { 'github-token': 'wrong_token' } }, '401: “Bad credentials”', TOKEN],
    ['HTML', answers({ body: '<html>' }), 'it may be from a proxy or captive portal', ''],
    ['a server error', answers({ status: 502, body: 'Bad' }), 'GitHub answered 502', ''],
    ['a lost connection', answers({ fault: 'reset' }), 'GitHub could not be reached', ''],
    ['no response', answers({ fault: 'hang' }), 'GitHub did not answer in time', ''],
    ['a rate limit that lasts', answers(LATER_ON), 'GitHub answered 429.', LIMIT],
    ['a broken proxy variable', { step: BROKEN_PROXY }, 'check HTTPS_PROXY', ''],
    ['hostile words', answers(HOSTILE), '404: “a ::error::b ##', NUMBER],
  ])('is one error with its remedy and a way out, and nothing is sent: %s', async (...row) => {
    const [name, scenario, cause, remedy] = row;
    await using sim = await simulate({
      ...scenario,
      with: { 'timeout-minutes': '3', 'minimum-permission': 'none', ...scenario.with },
      step: { event: BY_ALICE, ...scenario.step },
    });
    const result = await (name === 'a read-only token' ? sim.run() : sim.runHere());
    const [error = ''] = errors(result);
    expect(error).toContain('The comment could not be created: ');
    expect(error).toContain(cause);
    expect(error).toContain('set “comment: false”');
    const remedies = [RIGHTS, TOKEN, NUMBER, LOCKED, LIMIT].filter((text) => error.includes(text));
    expect(remedies).toEqual(remedy === '' ? [] : [remedy]);
    expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(result.outputs['comment-url']).toBe('');
    expect(sim.agent.posts()).toEqual([]);
  });
});

describe('on an event without a pull request or issue', () => {
  it('each pull request of the jobs gets one comment, which names all its jobs', async () => {
    const links = { 'job-1': 7, 'job-2': 8, 'job-3': 7 };
    const jobs = [
      ...Object.entries(links).map(([id, number]) => ({
        id,
        base: { prLink: `https://github.com/octo/agents/pull/${number}` },
      })),
      { id: 'job-4', base: { prLink: 'https://github.com/octo/docs/pull/7' } },
      { id: 'job-5' },
    ];
    let before: readonly string[] = ['none yet'];
    await using sim = await simulate({
      with: { 'job-id': jobs.map(({ id }) => id).join(' '), wait: true },
      step: { event: schedule() },
      agent: {
        jobs,
        onPost() {
          before = callNames(sim.github);
          return undefined;
        },
      },
      github: {
        issues: [7, 8].map((number) => ({ number, pullRequest: true })),
        collaborators: { alice: { id: ALICE.id, permission: 'write' } },
      },
    });
    const result = await sim.runHere();
    expect(before).toEqual([]);
    const names = [7, 8].map((number) =>
      notes(sim.github, number).map((note) => note.jobs.map(({ id }) => id)),
    );
    expect(names).toEqual([[['job-1', 'job-3']], [['job-2']]]);
    expect(result.annotations).toEqual([]);
    const urls = [7, 8]
      .flatMap((number) => ownComments(sim.github, number))
      .map((one) => one.html_url);
    expect(result.outputs['comment-url']).toBe(urls.join('\n'));

    // On a pull request of one job, a command needs no job-id.
    const { id } = sim.github.addComment(8, 'alice', '/agent go on');
    const command = await sim.runHere({
      with: { command: '/agent', prompt: '', 'job-id': '', wait: false },
      step: { event: issueComment({ number: 8, body: '/agent go on', id }) },
    });
    expect(command.outputs).toMatchObject({ result: 'sent', 'job-id': 'job-2' });

    // The next run hides the comment of this one, but not that of the command.
    await sim.runHere({ step: LATER });
    expect(ownComments(sim.github, 8).map(({ isMinimized }) => isMinimized)).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('a pull request that the agent has just created gets the comment', async () => {
    await using sim = await simulate({
      with: { wait: true },
      step: { event: schedule() },
      agent: { jobs: [{ id: JOB, turns: [turnTo('completed', LINK)] }] },
    });
    const result = await sim.run();
    const [text] = textsOn(sim.github);
    expect(text).toContain('Agent opened');
    expect(text).not.toContain('Asked by');
    expect(result.outputs['comment-url']).toBe(ownComments(sim.github)[0]?.html_url);
  });

  it.each<[string, WebhookEvent]>([
    ['workflow_dispatch', workflowDispatch()],
    ['push', push()],
    ['repository_dispatch', { ...push(), name: 'repository_dispatch' }],
  ])('without wait, one poll finds the pull request: %s', async (_, event) => {
    await using sim = await simulate({ step: { event }, agent: { jobs: [LINKED] } });
    await sim.runHere();
    expect(sim.agent.journal.map(({ method }) => method)).toEqual(['GET', 'POST']);
    expect(textsOn(sim.github)).toEqual([expect.stringContaining(titleOf('sent'))]);
  });

  it.each<[string, Scenario]>([
    ['the job has no pull request', {}],
    [
      'it is in another repository',
      { agent: { jobs: [{ id: JOB, base: { prLink: ELSEWHERE } }] } },
    ],
    ['comment is false', { with: { comment: false }, agent: { jobs: [LINKED] } }],
    ['there is no token', { with: { 'github-token': '' }, agent: { jobs: [LINKED] } }],
    ['nothing was sent', { with: { 'only-when': 'failed' }, agent: { jobs: [LINKED] } }],
    ['the event is a release', { step: { event: webhook('release') }, agent: { jobs: [LINKED] } }],
  ])('no comment and no call to GitHub if %s', async (name, scenario) => {
    await using sim = await simulate({ step: { event: schedule() }, ...scenario });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({
      delivery: expect.stringMatching(/sent/),
      'comment-url': '',
    });
    expect(result.annotations.filter(({ type }) => type !== 'notice')).toEqual([]);
    const isSaid = result.log.includes(
      `No comment about ${JOB}: no pull request in this repository`,
    );
    expect(isSaid).toBe(/pull request|another repository/.test(name));
    expect(sim.github.journal).toEqual([]);
  });

  it('a comment that cannot be created is one warning', async () => {
    await using sim = await simulate({
      step: { event: schedule() },
      agent: { jobs: [LINKED] },
      github: { readOnly: true, issues: [{ number: PULL, pullRequest: true }] },
    });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'sent', 'comment-url': '' });
    expect(warnings(result)).toEqual([
      expect.stringMatching(/^The comment could not be created: .*pull-requests: write/),
    ]);
    expect(result.log).toContain('Pull requests of jobs without a comment: 1.');
  });
});

describe('what the agent has changed', () => {
  const OLD = '0'.repeat(40);
  const NEW = ['1', '2', '3'].map((digit) => digit.repeat(40));
  const READ = 'GET pulls/#';
  const range = `[Review changes](${LINK}/files/${OLD}..`;
  const NO_TITLE = titleOf('completed');

  interface Case {
    /** The link before the work, and after it. */
    readonly links?: readonly [string | null, string | null];
    readonly status?: string;
    readonly pushed?: readonly string[];
    readonly isForced?: boolean;
    /** Whether the API takes the message only after a pause. */
    readonly isLimited?: boolean;
    readonly github?: Scenario['github'];
    readonly with?: Scenario['with'];
  }

  it.each<[string, Case, string, string?]>([
    ['3 commits', { pushed: NEW }, 'Agent pushed 3 commits', `${range}${'3'.repeat(40)})`],
    [
      '1 commit',
      { pushed: NEW.slice(0, 1) },
      'Agent pushed 1 commit\n',
      `${range}${'1'.repeat(40)})`,
    ],
    ['after a failure', { status: 'failed', pushed: NEW }, titleOf('failed'), '**3 new commits**'],
    ['no new commit', {}, 'Agent finished: no new commit seen'],
    ['a rewritten branch', { pushed: NEW.slice(0, 1), isForced: true }, NO_TITLE],
    ['a new pull request', { links: [null, LINK] }, 'Agent opened [#7]('],
    ['no files', { links: [null, null] }, 'Agent finished without a pull request'],
    ['no files, but a failure', { links: [null, null], status: 'failed' }, titleOf('failed')],
    ['a pull request elsewhere', { links: [ELSEWHERE, ELSEWHERE] }, NO_TITLE],
    ['a pull request that is not found', { links: [`${LINK}9`, `${LINK}9`] }, NO_TITLE],
    [
      'no permission at the end',
      { pushed: NEW, github: { forbids: ({ name, nth }) => name === READ && nth > 1 } },
      NO_TITLE,
    ],
    [
      'a GitHub that never answers',
      {
        github: { on: ({ path }) => (/\/pulls\/\d+$/.test(path) ? { fault: 'hang' } : undefined) },
      },
      NO_TITLE,
    ],
    [
      'commits before a message that was sent again',
      { pushed: NEW, isLimited: true },
      'no new commit seen',
    ],
    ['a run without wait', { pushed: NEW, with: { wait: false } }, titleOf('sent')],
  ])('is the title if it is known: %s', async (name, row, title, more = '') => {
    const { links: [before, after] = [LINK, LINK], status = 'completed' } = row;
    await using sim = await simulate({
      with: { wait: true, ...row.with },
      agent: {
        jobs: [{ id: JOB, base: { prLink: before }, turns: [turnTo(status, after)] }],
        onPost(n) {
          const { pushed = [], isForced = false, isLimited = false } = row;
          if (n > 1) return undefined;
          if (isForced) sim.github.forcePush(PULL, ...pushed);
          else sim.github.push(PULL, ...pushed);
          return isLimited ? { status: 429 } : undefined;
        },
      },
      github: { issues: [{ number: PULL, pullRequest: true, commits: [OLD] }], ...row.github },
    });
    const result = await (name === '3 commits' ? sim.run() : sim.runHere());
    expect(result.outputs.delivery).toBe('sent');
    const [text = ''] = textsOn(sim.github);
    for (const shown of [text, result.summary]) {
      expect(`${shown.split('\n')[0]}\n`).toContain(title);
      if (more === '') expect(shown).not.toMatch(/new commits|\.\.[0-9a-f]/);
      else expect(shown).toContain(more);
    }
  });
});

describe('a bad end reaches its person by one short comment at the end', () => {
  const FAILS = { agent: { jobs: [{ id: JOB, turns: [turnTo('failed')] }] } };
  /** The comments that are no notes. */
  function told(github: GitHub): readonly string[] {
    const ids = new Set(ownComments(github).map(({ id }) => id));
    return github.comments(PULL).flatMap(({ id, body }) => (ids.has(id) ? [] : body));
  }

  it.each<[string, Scenario, string]>([
    ['failed', FAILS, `${titleOf('failed')}. The agent gave no reason.`],
    [
      'timed-out',
      { with: { 'timeout-minutes': '1' }, agent: { jobs: [{ id: JOB, turns: [LONG_TURN] }] } },
      titleOf('timed-out'),
    ],
    ['error', { agent: { onPost: () => ({ status: 400 }) } }, titleOf('not-sent')],
    ['error', { agent: { onPost: () => ({ status: 500 }) } }, titleOf('delivery unknown')],
  ])('%s: %j', async (result, scenario, words) => {
    const inputs = { wait: true, ...scenario.with };
    await using sim = await simulate({ ...scenario, with: inputs, step: { event: BY_ALICE } });
    const { outputs } = await (scenario === FAILS ? sim.run() : sim.runHere());
    expect(outputs.result).toBe(result);
    const [note] = ownComments(sim.github);
    expect(told(sim.github)).toEqual([expect.stringContaining(words)]);
    const [text = ''] = told(sim.github);
    expect(text).toMatch(/^<!-- agent-follow-up -->\n@alice .*$/);
    expect(text).toContain(`[Details](${note?.html_url})`);
    expect(outputs['comment-url']).toBe(note?.html_url);
  });

  it('which mentions no bot, and nobody if nobody asked', async () => {
    for (const event of [BY_BOT, schedule()]) {
      const inputs = { 'allowed-bots': RENOVATE.login, 'pr-number': PULL };
      await using sim = await simulate({ ...FAILS, with: { wait: true, ...inputs } });
      await sim.runHere({ step: { event } });
      expect(told(sim.github)).toEqual([expect.not.stringContaining('@')]);
    }
  });

  it('which is neither hidden nor counted, and never again about the same end', async () => {
    const inputs = { wait: true, 'max-messages': 2 };
    await using sim = await simulate({ ...FAILS, with: inputs, step: { event: BY_ALICE } });
    const again = { run_attempt: '2', triggering_actor: 'alice' };
    for (const github of [{ run_id: '1' }, { run_id: '1', ...again }, { run_id: '2' }]) {
      expect((await sim.runHere({ step: { github } })).outputs.result).toBe('failed');
    }
    expect(told(sim.github)).toHaveLength(2);
    const hidden = sim.github.comments(PULL).map(({ isMinimized }) => isMinimized);
    expect(hidden).toEqual([true, false, false, false]);
  });

  it.each<[string, Scenario]>([
    ['a success', { with: { wait: true } }],
    ['a message that is sent', {}],
    ['a job that is left out', { with: { 'only-when': 'failed' } }],
    ['comment: false', { ...FAILS, with: { wait: true, comment: false } }],
    ['a run that got no comment before', { agent: { onGet: () => ({ status: 401 }) } }],
  ])('but not for %s', async (_, scenario) => {
    await using sim = await simulate({ step: { event: BY_ALICE }, ...scenario });
    await sim.runHere();
    expect(told(sim.github)).toEqual([]);
  });

  it('without which the result stays', async () => {
    let isOver = false;
    await using sim = await simulate({
      ...FAILS,
      with: { wait: true },
      github: {
        issues: [{ number: PULL, pullRequest: true }],
        on: ({ method, path }) => {
          const isCreation = method === 'POST' && path.endsWith('/comments');
          if (isOver && isCreation) return { status: 502 };
          isOver ||= isCreation;
          return undefined;
        },
      },
    });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'failed', confirmed: 'true' });
    expect(warnings(result)).toEqual([
      expect.stringContaining('The comment about the end could not be created'),
    ]);
  });
});
