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
  it('is created once, and updated by later runs even after many other comments', async () => {
    await using sim = await simulate();
    const first = await sim.run();
    for (const { author, body } of others(250)) sim.github.addComment(PULL, author, body);
    const second = await sim.run();

    const own = sim.github.comments(PULL).filter(({ author }) => author === BOT);
    expect(own).toHaveLength(1);
    expect(first.outputs['comment-url']).toBe(own[0]?.html_url);
    expect(second.outputs['comment-url']).toBe(own[0]?.html_url);
  });

  it('is not written if the host has no GraphQL, with one warning', async () => {
    await using sim = await simulate({ github: { graphql: false, issues: [{ number: PULL }] } });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'sent', 'comment-url': '' });
    expect(warnings(result)).toEqual([expect.stringContaining('this host has no GraphQL')]);
    expect(sim.github.comments(PULL)).toEqual([]);
  });

  it('is not a copy that someone else wrote', async () => {
    await using sim = await simulate();
    await sim.runHere();
    const [own] = sim.github.comments(PULL);
    sim.github.deleteComment(own?.id ?? 0);
    const copy = sim.github.addComment(PULL, 'mallory', own?.body ?? '');
    await sim.runHere();
    const bodies = sim.github.comments(PULL).map(({ author, body }) => [author, body]);
    expect(bodies[0]).toEqual(['mallory', copy.body]);
    expect(bodies[1]?.[0]).toBe(BOT);
  });

  it('is created again if someone deletes it during the run', async () => {
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

  it('shows the result even if someone deletes it during an update', async () => {
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

  it('does not show a working agent after the job has created another pull request and completed', async () => {
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
    ['a push by a person', push(), 'asked by `alice`'],
    ['a schedule', schedule(), ''],
  ])('names the person who asked, if any: %s', async (_, event, who) => {
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

  it('is on the pull request of pr-number, even on a push', async () => {
    await using sim = await simulate({ with: { 'pr-number': '7' }, step: { event: push() } });
    await sim.runHere();
    expect(sim.github.comments(PULL)).toHaveLength(1);
  });

  it('can be on an issue', async () => {
    const event = issueComment({ number: PULL, body: 'hello', onPullRequest: false });
    await using sim = await simulate({ step: { event: { ...event, name: 'issues' } } });
    await sim.runHere();
    expect(sim.github.comments(PULL)).toHaveLength(1);
  });

  it('is left out with a notice if neither the event nor the job names a conversation', async () => {
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
    'with wait: %s, one notice says that no comment notes the message',
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
  ])('notes the message before it is sent, even on %s', async (_, event) => {
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
    // The job is polled for its pull request, even without wait.
    expect(sim.agent.journal.map(({ method }) => method)).toEqual(['GET', 'POST']);
    expect(result.annotations).toEqual([]);
    expect(remembered(sim.github).jobs[0]?.turns).toMatchObject([{ delivery: 'sent' }]);
  });

  it('is created as soon as the job has its first pull request', async () => {
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

  it('delays the comment if it is short', async () => {
    await using sim = await simulate(limited('2', 1));
    const result = await sim.runHere();
    expect(result.annotations).toEqual([]);
    expect(sim.github.comments(PULL)).toHaveLength(1);
  });

  it.each([
    ['is long', '60', 9],
    ['never ends', '1', 9],
  ])('causes a warning if it %s', async (_, seconds, times) => {
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

/** Checks that the only warning has this cause and this remedy. */
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

describe('a comment that cannot be written is one warning, and the summary has its text', () => {
  const forbidden = { status: 403, body: { message: 'You have exceeded a secondary rate limit.' } };
  const limit = { status: 403, headers: { 'x-ratelimit-remaining': '0' }, body: { message: 'no' } };
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
      'no response',
      { github: { on: () => ({ fault: 'hang' }) } },
      /GitHub did not answer in time|the run has at most 30 s for it/,
      '',
    ],
    [
      'a secondary limit without a time',
      { github: { on: () => forbidden } },
      'GitHub answered 403: "You have exceeded a secondary rate limit."',
      LIMIT,
    ],
    ['an exceeded limit', { github: { on: () => limit } }, 'GitHub answered 403: no.', LIMIT],
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

describe('a GraphQL response with status 200 and errors is reported with its cause', () => {
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
      'no permission to read',
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
      'an internal error',
      { data: null, errors: [{ message: 'Something went wrong while executing your query.' }] },
      'GitHub answered with an error: "Something went wrong while executing your query."',
      '',
    ],
    ['an error without a message', { errors: [{}] }, 'GitHub answered with an error.', ''],
    [
      'a part of the data, and an error',
      {
        data: { repository: { issueOrPullRequest: page } },
        errors: [{ type: 'FORBIDDEN', message: integration }],
      },
      `GitHub answered FORBIDDEN: "${integration}"`,
      PERMISSION,
    ],
    [
      'an unknown type',
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
    // REST cannot identify the comments of the token as reliably, so it is not tried.
    expect(sim.github.journal.map(({ method }) => method)).not.toContain('GET');
  });

  it('a secondary limit that is short only delays the comment', async () => {
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

  it('a reaction that GraphQL refuses is reported only in the debug log', async () => {
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

it('every call to GitHub has the header with the API version', async () => {
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

it('an event file that is not valid JSON does not prevent the comment', async () => {
  await using sim = await simulate({
    with: { 'pr-number': String(PULL) },
    step: { event: { name: 'push', payload: '{' } },
  });
  const result = await sim.runHere();
  expect(result.outputs.result).toBe('sent');
  expect(result.outputs['comment-url']).not.toBe('');
  expect(warnings(result)).toEqual([expect.stringContaining('the event file is not valid JSON')]);
});

it('a proxy variable that is not a URL prevents only the comment', async () => {
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

it('a pull request from a fork, with a read-only token, still has a result', async () => {
  await using sim = await simulate({
    github: { readOnly: true, issues: [{ number: PULL }] },
    step: { event: pullRequest({ number: PULL, fork: 'alice/agents' }) },
  });
  const result = await sim.runHere();
  expect(result.outputs.result).toBe('sent');
  expect(warnings(result)).toHaveLength(1);
});
