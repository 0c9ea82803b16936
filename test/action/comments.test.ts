import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../sim/agent.ts';
import {
  ALICE,
  issueComment,
  pullRequest,
  push,
  review,
  schedule,
  type WebhookEvent,
  event as webhook,
  workflowDispatch,
  workflowRun,
} from '../sim/events.ts';
import type { GitHub } from '../sim/github/server.ts';
import {
  commentTexts,
  errors,
  JOB,
  PULL,
  remembered,
  type Scenario,
  simulate,
  warnings,
} from './scenario.ts';

const others = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ author: 'alice', body: `Comment ${index}` }));
const BOT = 'github-actions[bot]';

describe('the comment', () => {
  it('is created once, and updated by later runs, however many comments are in between', async () => {
    await using sim = await simulate();
    const first = await sim.run();
    for (const { author, body } of others(250)) sim.github.addComment(PULL, author, body);
    const second = await sim.run();

    const own = sim.github.comments(PULL).filter(({ author }) => author === BOT);
    expect(own).toHaveLength(1);
    expect(first.outputs['comment-url']).toBe(own[0]?.html_url);
    expect(second.outputs['comment-url']).toBe(own[0]?.html_url);
  });

  it('is not written where the host has no GraphQL to find it by, with one warning', async () => {
    await using sim = await simulate({ github: { graphql: false, issues: [{ number: PULL }] } });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'sent', 'comment-url': '' });
    expect(warnings(result)).toEqual([expect.stringContaining('this host has no GraphQL')]);
    expect(sim.github.comments(PULL)).toEqual([]);
  });

  it('is not the one that somebody else planted', async () => {
    await using sim = await simulate();
    await sim.runHere();
    const [own] = sim.github.comments(PULL);
    sim.github.deleteComment(own?.id ?? 0);
    const planted = sim.github.addComment(PULL, 'mallory', own?.body ?? '');
    await sim.runHere();
    const bodies = sim.github.comments(PULL).map(({ author, body }) => [author, body]);
    expect(bodies[0]).toEqual(['mallory', planted.body]);
    expect(bodies[1]?.[0]).toBe(BOT);
  });

  it('is created anew when it was deleted during the run', async () => {
    let github: GitHub | undefined;
    let deleted = 0;
    await using sim = await simulate({
      with: { wait: true },
      github: {
        issues: [{ number: PULL }],
        on({ method }) {
          const [comment] = github?.comments(PULL) ?? [];
          if (method === 'PATCH' && comment !== undefined && deleted === 0) {
            deleted = comment.id;
            github?.deleteComment(deleted);
          }
          return undefined;
        },
      },
    });
    github = sim.github;
    const result = await sim.runHere();
    expect(result.conclusion).toBe('success');
    expect(deleted).toBeGreaterThan(0);
    expect(sim.github.comments(PULL)).toHaveLength(1);
    expect(result.outputs['comment-url']).toBe(sim.github.comments(PULL)[0]?.html_url);
  });

  it('shows the end also where it was deleted while it was written', async () => {
    let patches = 0;
    await using sim = await simulate({
      with: { wait: true },
      github: {
        issues: [{ number: PULL, pullRequest: true }],
        on({ method }) {
          if (method !== 'PATCH' || ++patches > 1) return undefined;
          for (const { id } of sim.github.comments(PULL)) sim.github.deleteComment(id);
          return undefined;
        },
      },
    });
    await sim.runHere();
    expect(sim.github.comments(PULL).at(-1)?.body).toContain('Agent completed');
  });

  it('leaves none behind that says the agent is working, where the job makes another pull request', async () => {
    const other = `https://github.com/octo/agents/pull/8`;
    await using sim = await simulate({
      with: { wait: true },
      step: { event: push() },
      github: { issues: [PULL, 8].map((number) => ({ number, pullRequest: true })) },
      agent: {
        jobs: [
          {
            id: JOB,
            base: { prLink: `https://github.com/octo/agents/pull/${PULL}` },
            turns: [
              {
                steps: [
                  { afterMs: 0, set: { status: 'active' } },
                  { afterMs: 60_000, set: { status: 'completed', prLink: other } },
                ],
              },
            ],
          },
        ],
      },
    });
    await sim.runHere();
    for (const { body } of sim.github.comments(PULL)) {
      expect(body).not.toContain('the agent is working');
    }
  });

  it.each([
    ['a push of somebody', push(), 'asked by `alice`'],
    ['a schedule', schedule(), ''],
  ])('names who asked: %s', async (_, event, who) => {
    const github = { triggering_actor: 'alice' };
    const step = { event, github };
    await using sim = await simulate({ with: { 'pr-number': String(PULL) }, step });
    await sim.runHere();
    const [text = ''] = commentTexts(sim.github).slice(-1);
    expect(text).toContain('Message sent to the agent');
    expect(/asked by `.*?`/.exec(text)?.[0] ?? '').toBe(who);
  });

  it('is not written with comment: false', async () => {
    await using sim = await simulate({ with: { comment: false } });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'sent', 'comment-url': '' });
    expect(sim.github.journal).toEqual([]);
  });

  it('goes where pr-number says, even from a push', async () => {
    await using sim = await simulate({ with: { 'pr-number': '7' }, step: { event: push() } });
    await sim.runHere();
    expect(sim.github.comments(PULL)).toHaveLength(1);
  });

  it('goes to an issue as well', async () => {
    const event = issueComment({ number: PULL, body: 'hello', onPullRequest: false });
    await using sim = await simulate({ step: { event: { ...event, name: 'issues' } } });
    await sim.runHere();
    expect(sim.github.comments(PULL)).toHaveLength(1);
  });

  it('is not missed where no event names a conversation', async () => {
    await using sim = await simulate({ step: { event: push() } });
    const result = await sim.runHere();
    expect(result.conclusion).toBe('success');
    expect(result.annotations).toEqual([
      {
        type: 'notice',
        message:
          'The job has no pull request in this repository yet, so no comment can note the message before it is sent; a re-run will not send it again.',
      },
    ]);
    expect(sim.github.journal).toEqual([]);
  });

  describe.each([false, true])(
    'with wait: %s, that no comment notes the message is said once',
    (wait) => {
      const noJobs =
        'The job has no pull request in this repository yet, so no comment can note the';
      const noEvents =
        'This event belongs to no pull request or issue, so no comment can note the message;';
      it.each<[string, WebhookEvent, string]>([
        ['schedule', schedule(), noJobs],
        ['workflow_dispatch', workflowDispatch(), noJobs],
        ['push', push(), noJobs],
        ['repository_dispatch', { ...push(), name: 'repository_dispatch' }, noJobs],
        ['release', webhook('release'), noEvents],
        ['create', webhook('create'), noEvents],
        ['milestone', webhook('milestone'), noEvents],
        ['workflow_run without a pull request', workflowRun({ startedBy: 'push' }), noEvents],
        ['merge_group of an unknown branch', { name: 'merge_group', payload: {} }, noEvents],
      ])('on %s', async (_, event, words) => {
        const names = ['job-1', 'job-2'];
        await using sim = await simulate({
          with: { 'job-id': names.join(' '), wait },
          step: { event },
          agent: { jobs: names.map((id) => ({ id })) },
        });
        const result = await sim.runHere();
        expect(result.outputs.delivery).toBe('sent');
        const notices = result.annotations.filter(({ type }) => type === 'notice');
        expect(notices.map(({ message }) => message)).toEqual([expect.stringContaining(words)]);
        expect(notices[0]?.message).toContain('a re-run will not send it again');
        const more = [{ comment: false }, { 'resend-on-rerun': true }];
        for (const inputs of more) {
          const { annotations } = await sim.runHere({ with: inputs });
          expect(annotations.filter(({ type }) => type === 'notice')).toEqual([]);
        }
      });
    },
  );

  it.each<[string, WebhookEvent]>([
    ['schedule', schedule()],
    ['workflow_dispatch', workflowDispatch()],
    ['push', push()],
    ['repository_dispatch', { ...push(), name: 'repository_dispatch' }],
  ])('tells of the message before it goes out, also on %s', async (_, event) => {
    let before: readonly string[] = [];
    await using sim = await simulate({
      step: { event },
      agent: {
        jobs: [{ id: JOB, base: { prLink: `https://github.com/octo/agents/pull/${PULL}` } }],
        onPost() {
          before = commentTexts(sim.github);
          return undefined;
        },
      },
    });
    const result = await sim.runHere();
    expect(before).toEqual([expect.stringContaining('⏳')]);
    // The job was polled for its pull request, although nobody waits for it.
    expect(sim.agent.journal.map(({ method }) => method)).toEqual(['GET', 'POST']);
    expect(result.annotations).toEqual([]);
    expect(remembered(sim.github).jobs[0]?.turns).toMatchObject([{ delivery: 'sent' }]);
  });

  it('comes as soon as the job shows its first pull request', async () => {
    const prLink = `https://github.com/octo/agents/pull/${PULL}`;
    await using sim = await simulate({
      with: { wait: true },
      step: { event: push() },
      agent: {
        jobs: [
          {
            id: JOB,
            turns: [
              {
                steps: [
                  { afterMs: 0, set: { status: 'active' } },
                  { afterMs: 60_000, set: { status: 'completed', prLink } },
                ],
              },
            ],
          },
        ],
      },
    });
    const result = await sim.runHere();
    expect(result.outputs.result).toBe('completed');
    expect(remembered(sim.github).jobs[0]?.turns).toMatchObject([{ result: 'completed' }]);
    const again = await sim.runHere({ step: { github: { run_attempt: '2' } } });
    expect(again.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(sim.agent.accepted()).toHaveLength(1);
  });
});

describe('a secondary rate limit of GitHub', () => {
  function limited(seconds: string, times: number): Scenario {
    let left = times;
    return {
      github: {
        issues: [{ number: PULL }],
        on({ method, path }) {
          if (method === 'GET' || path === '/graphql' || left === 0) return undefined;
          left -= 1;
          return {
            status: 403,
            headers: { 'retry-after': seconds },
            body: { message: 'secondary' },
          };
        },
      },
    };
  }

  it('is waited out where it is short', async () => {
    await using sim = await simulate(limited('2', 1));
    const result = await sim.runHere();
    expect(result.annotations).toEqual([]);
    expect(sim.github.comments(PULL)).toHaveLength(1);
  });

  it.each([
    ['long', '60', 9],
    ['always there', '1', 9],
  ])('is given up on, with a warning, where it is %s', async (_, seconds, times) => {
    await using sim = await simulate(limited(seconds, times));
    const result = await sim.runHere();
    expect(result.outputs.result).toBe('sent');
    expect(warnings(result)).toEqual([expect.stringContaining('403: secondary.')]);
  });
});

const PERMISSION = 'The job needs `permissions:` with `pull-requests: write`';
const TOKEN_IS_BAD = 'Check github-token, or remove it to use the token of the job.';
const LIMIT = 'This is a rate limit of GitHub for the token; try again later.';
const REMEDIES = [PERMISSION, TOKEN_IS_BAD, LIMIT];

/** What a warning says of the cause, and which remedy it names. */
async function expectOneWarning(
  scenario: Scenario,
  cause: string | RegExp,
  remedy: string,
  isBuilt: boolean,
): Promise<void> {
  await using sim = await simulate(scenario);
  const result = await (isBuilt ? sim.run() : sim.runHere());
  expect(errors(result)).toEqual([]);
  expect(result.conclusion).toBe('success');
  const [warning = '', ...more] = warnings(result);
  expect(more).toEqual([]);
  expect(warning).toMatch(typeof cause === 'string' ? new RegExp(RegExp.escape(cause)) : cause);
  expect(REMEDIES.filter((text) => warning.includes(text))).toEqual(remedy === '' ? [] : [remedy]);
  if (remedy !== PERMISSION) expect(warning).not.toContain('permissions');
  expect(result.outputs).toMatchObject({ delivery: 'sent', 'comment-url': '' });
  expect(result.summary).toContain('The comment could not be written.');
}

describe('a comment that cannot be written is one warning, and the summary holds its text', () => {
  const forbidden = { status: 403, body: { message: 'You have exceeded a secondary rate limit.' } };
  const used = { status: 403, headers: { 'x-ratelimit-remaining': '0' }, body: { message: 'no' } };
  it.each<[string, Scenario, string | RegExp, string]>([
    [
      'a read-only token',
      { github: { readOnly: true, issues: [{ number: PULL }] } },
      'GitHub answered 403: "Resource not accessible by integration"',
      PERMISSION,
    ],
    [
      'a locked conversation',
      { github: { issues: [{ number: PULL, locked: true }] } },
      'issue is locked',
      PERMISSION,
    ],
    ['no token', { with: { 'github-token': '' } }, 'github-token is empty', TOKEN_IS_BAD],
    [
      'a bad token',
      { with: { 'github-token': 'ghs_wrong_token' } },
      'GitHub answered 401: "Bad credentials"',
      TOKEN_IS_BAD,
    ],
    [
      'HTML',
      { github: { on: () => ({ status: 200, body: '<html>' }) } },
      'it may be from a proxy or captive portal',
      '',
    ],
    [
      'a server error',
      { github: { on: () => ({ status: 502, body: 'Bad gateway' }) } },
      'GitHub answered 502',
      '',
    ],
    [
      'a lost connection',
      { github: { on: () => ({ fault: 'reset' }) } },
      'GitHub could not be reached',
      '',
    ],
    [
      'no answer',
      { github: { on: () => ({ fault: 'hang' }) } },
      /GitHub did not answer in time|the run has at most 30 s for it/,
      '',
    ],
    [
      'a secondary limit that names no time',
      { github: { on: () => forbidden } },
      'GitHub answered 403: "You have exceeded a secondary rate limit."',
      LIMIT,
    ],
    ['a used up limit', { github: { on: () => used } }, 'GitHub answered 403: no.', LIMIT],
    [
      'too many requests',
      { github: { on: () => ({ status: 429 }) } },
      'GitHub answered 429.',
      LIMIT,
    ],
  ])('%s', async (name, scenario, cause, remedy) => {
    await expectOneWarning(scenario, cause, remedy, name === 'a read-only token');
  });
});

describe('what GraphQL answers with 200 and errors is reported for what it is', () => {
  const integration = 'Resource not accessible by integration';
  const page = {
    comments: { nodes: [], pageInfo: { hasPreviousPage: false, startCursor: null } },
  };
  it.each<[string, object, string, string]>([
    [
      'no such number',
      {
        data: { repository: { issueOrPullRequest: null } },
        errors: [{ type: 'NOT_FOUND', message: 'Could not resolve to an issue.' }],
      },
      'GitHub answered NOT_FOUND: "Could not resolve to an issue."',
      PERMISSION,
    ],
    [
      'no right to read',
      { data: null, errors: [{ type: 'FORBIDDEN', message: integration }] },
      `GitHub answered FORBIDDEN: "${integration}"`,
      PERMISSION,
    ],
    [
      'a token without the scope',
      { errors: [{ type: 'INSUFFICIENT_SCOPES', message: 'Not granted.' }] },
      'GitHub answered INSUFFICIENT_SCOPES: "Not granted."',
      PERMISSION,
    ],
    [
      'the rate limit',
      { errors: [{ type: 'RATE_LIMITED', message: 'API rate limit exceeded.' }] },
      'GitHub answered RATE_LIMITED: "API rate limit exceeded."',
      LIMIT,
    ],
    [
      'the rate limit under its newer name',
      { errors: [{ type: 'RATE_LIMIT', message: 'API rate limit already exceeded.' }] },
      'GitHub answered RATE_LIMIT: "API rate limit already exceeded."',
      LIMIT,
    ],
    [
      'a secondary limit',
      { errors: [{ message: 'You have exceeded a secondary rate limit. Wait.' }] },
      'GitHub answered with an error: "You have exceeded a secondary rate limit. Wait."',
      LIMIT,
    ],
    [
      'trouble of its own',
      { data: null, errors: [{ message: 'Something went wrong while executing your query.' }] },
      'GitHub answered with an error: "Something went wrong while executing your query."',
      '',
    ],
    ['an error without words', { errors: [{}] }, 'GitHub answered with an error.', ''],
    [
      'a part of what was asked for, and an error',
      {
        data: { repository: { issueOrPullRequest: page } },
        errors: [{ type: 'FORBIDDEN', message: integration }],
      },
      `GitHub answered FORBIDDEN: "${integration}"`,
      PERMISSION,
    ],
    [
      'a type that nobody knows',
      { errors: [{ type: 'X\n::error::x', message: 'a\n::error::b ##[error]c' }] },
      'GitHub answered with an error: "a ::error::b ##\\[error]c"',
      '',
    ],
  ])('%s', async (name, body, cause, remedy) => {
    const on = ({ path }: JournalEntry) => (path === '/graphql' ? { body } : undefined);
    const github = { on, issues: [{ number: PULL }] };
    await expectOneWarning({ github }, cause, remedy, name === 'no such number');
  });

  it('an unknown number', async () => {
    await using sim = await simulate({ with: { 'pr-number': '99' } });
    const result = await sim.runHere();
    expect(warnings(result)).toEqual([expect.stringContaining('GitHub answered NOT_FOUND: "')]);
    // By REST, the comments of a token's own are not told apart as surely.
    expect(sim.github.journal.map(({ method }) => method)).not.toContain('GET');
  });

  it('a secondary limit is waited out where it is short', async () => {
    let left = 1;
    await using sim = await simulate({
      github: {
        issues: [{ number: PULL }],
        on({ path }) {
          if (path !== '/graphql' || left === 0) return undefined;
          left -= 1;
          const errors = [{ message: 'You have exceeded a secondary rate limit.' }];
          return { headers: { 'retry-after': '2' }, body: { errors } };
        },
      },
    });
    const result = await sim.runHere();
    expect(result.annotations).toEqual([]);
    expect(sim.github.comments(PULL)).toHaveLength(1);
  });

  it('a reaction that GraphQL refuses is none', async () => {
    const refusal = { errors: [{ type: 'FORBIDDEN', message: integration }] };
    await using sim = await simulate({
      with: { command: '/agent', prompt: '', comment: false },
      step: { event: review({ number: PULL, body: '/agent go' }), debug: true },
      github: {
        collaborators: { alice: { id: ALICE.id, permission: 'write' } },
        on: ({ path }) => (path === '/graphql' ? { body: refusal } : undefined),
      },
    });
    const { log, outputs } = await sim.runHere();
    expect(outputs.result).toBe('sent');
    expect(log).toContain(
      `##[debug]The reaction eyes was not added: GitHub answered FORBIDDEN: "${integration}".`,
    );
  });
});

it('every call to GitHub names the version of its API', async () => {
  await using sim = await simulate({
    with: { command: '/agent', prompt: '', wait: true },
    step: { event: issueComment({ number: PULL, body: '/agent go' }) },
    github: {
      issues: [{ number: PULL, pullRequest: true }],
      collaborators: { alice: { id: ALICE.id, permission: 'write' } },
    },
  });
  await sim.runHere();
  const routes = sim.github.journal.map(({ method, path }) => `${method} ${path}`);
  expect(new Set(routes).size).toBeGreaterThanOrEqual(5);
  for (const { headers } of sim.github.journal) {
    expect(headers['x-github-api-version']).toBe('2022-11-28');
  }
});

it('an event file that cannot be read keeps no comment from being written', async () => {
  await using sim = await simulate({
    with: { 'pr-number': String(PULL) },
    step: { event: { name: 'push', payload: '{' } },
  });
  const result = await sim.runHere();
  expect(result.outputs.result).toBe('sent');
  expect(result.outputs['comment-url']).not.toBe('');
  expect(warnings(result)).toEqual([expect.stringContaining('the event file is not valid JSON')]);
});

it('a proxy variable that is no URL keeps the comment from being written, and no more', async () => {
  await using sim = await simulate({
    step: {
      github: { api_url: 'https://github.invalid/api/v3' },
      env: { HTTPS_PROXY: '[' },
    },
  });
  const result = await sim.runHere();
  expect(result.outputs).toMatchObject({ result: 'sent', 'comment-url': '' });
  expect(warnings(result)).toEqual([
    expect.stringContaining('its client could not be set up; check HTTPS_PROXY'),
  ]);
  expect(result.summary).toContain('The comment could not be written.');
});

it('a pull request from a fork, whose token may write nothing, still has its result', async () => {
  await using sim = await simulate({
    github: { readOnly: true, issues: [{ number: PULL }] },
    step: { event: pullRequest({ number: PULL, fork: 'alice/agents' }) },
  });
  const result = await sim.runHere();
  expect(result.outputs.result).toBe('sent');
  expect(warnings(result)).toHaveLength(1);
});
