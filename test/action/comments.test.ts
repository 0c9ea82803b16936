import { describe, expect, it } from 'vitest';
import { issueComment, pullRequest, push, schedule } from '../sim/events.ts';
import type { GitHub } from '../sim/github.ts';
import { commentTexts, errors, JOB, PULL, type Scenario, stage, warnings } from './scenario.ts';

const others = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ author: 'alice', body: `Comment ${index}` }));
const BOT = 'github-actions[bot]';

describe('the comment', () => {
  it('is created once, and updated by later runs, however many comments are in between', async () => {
    await using scene = await stage();
    const first = await scene.run();
    for (const { author, body } of others(250)) scene.github.addComment(PULL, author, body);
    const second = await scene.run();

    const own = scene.github.comments(PULL).filter(({ author }) => author === BOT);
    expect(own).toHaveLength(1);
    expect(first.outputs['comment-url']).toBe(own[0]?.html_url);
    expect(second.outputs['comment-url']).toBe(own[0]?.html_url);
  });

  it('is found by REST where the host has no GraphQL', async () => {
    await using scene = await stage({
      github: { graphql: false, issues: [{ number: PULL, comments: others(120) }] },
    });
    await scene.run();
    await scene.run();
    expect(scene.github.comments(PULL)).toHaveLength(121);
  });

  it('is not the one that somebody else planted', async () => {
    await using scene = await stage();
    await scene.run();
    const [own] = scene.github.comments(PULL);
    scene.github.deleteComment(own?.id ?? 0);
    const planted = scene.github.addComment(PULL, 'mallory', own?.body ?? '');
    await scene.run();
    const bodies = scene.github.comments(PULL).map(({ author, body }) => [author, body]);
    expect(bodies[0]).toEqual(['mallory', planted.body]);
    expect(bodies[1]?.[0]).toBe(BOT);
  });

  it('is created anew when it was deleted during the run', async () => {
    let github: GitHub | undefined;
    let deleted = 0;
    await using scene = await stage({
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
    github = scene.github;
    const result = await scene.run();
    expect(result.conclusion).toBe('success');
    expect(deleted).toBeGreaterThan(0);
    expect(scene.github.comments(PULL)).toHaveLength(1);
    expect(result.outputs['comment-url']).toBe(scene.github.comments(PULL)[0]?.html_url);
  });

  it('tells the end also where it was deleted while it was written', async () => {
    let patches = 0;
    await using scene = await stage({
      with: { wait: true },
      github: {
        issues: [{ number: PULL, pullRequest: true }],
        on({ method }) {
          if (method !== 'PATCH' || ++patches > 1) return undefined;
          for (const { id } of scene.github.comments(PULL)) scene.github.deleteComment(id);
          return undefined;
        },
      },
    });
    await scene.run();
    expect(scene.github.comments(PULL).at(-1)?.body).toContain('Completed');
  });

  it('leaves none behind that says the agent is working, where the job makes another pull request', async () => {
    const other = `https://github.com/octo/agents/pull/8`;
    await using scene = await stage({
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
    await scene.run();
    for (const { body } of scene.github.comments(PULL)) {
      expect(body).not.toContain('the agent is working');
    }
  });

  it.each([
    ['a push of somebody', push(), 'asked by `alice`'],
    ['a schedule', schedule(), ''],
  ])('names who asked: %s', async (_, event, who) => {
    const github = { triggering_actor: 'alice' };
    const step = { event, github };
    await using scene = await stage({ with: { 'pr-number': String(PULL) }, step });
    await scene.run();
    const [text = ''] = commentTexts(scene.github).slice(-1);
    expect(text).toContain('**Sent**');
    expect(/asked by `.*?`/.exec(text)?.[0] ?? '').toBe(who);
  });

  it('is not written with comment: false', async () => {
    await using scene = await stage({ with: { comment: false } });
    const result = await scene.run();
    expect(result.outputs).toMatchObject({ result: 'sent', 'comment-url': '' });
    expect(scene.github.journal).toEqual([]);
  });

  it('goes where pr-number says, even from a push', async () => {
    await using scene = await stage({ with: { 'pr-number': '7' }, step: { event: push() } });
    await scene.run();
    expect(scene.github.comments(PULL)).toHaveLength(1);
  });

  it('goes to an issue as well', async () => {
    const event = issueComment({ number: PULL, body: 'hello', onPullRequest: false });
    await using scene = await stage({ step: { event: { ...event, name: 'issues' } } });
    await scene.run();
    expect(scene.github.comments(PULL)).toHaveLength(1);
  });

  it('is not missed where no event names a conversation', async () => {
    await using scene = await stage({ step: { event: push() } });
    const result = await scene.run();
    expect(result.conclusion).toBe('success');
    expect(result.annotations).toEqual([]);
    expect(scene.github.journal).toEqual([]);
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
    await using scene = await stage(limited('2', 1));
    const result = await scene.run();
    expect(result.annotations).toEqual([]);
    expect(scene.github.comments(PULL)).toHaveLength(1);
  });

  it.each([
    ['long', '60', 9],
    ['always there', '1', 9],
  ])('is given up on, with a warning, where it is %s', async (_, seconds, times) => {
    await using scene = await stage(limited(seconds, times));
    const result = await scene.run();
    expect(result.outputs.result).toBe('sent');
    expect(warnings(result)).toEqual([expect.stringContaining('403: "secondary"')]);
  });
});

describe('a comment that cannot be written is one warning, and the summary holds its text', () => {
  it.each<[string, Parameters<typeof stage>[0]]>([
    ['a read-only token', { github: { readOnly: true, issues: [{ number: PULL }] } }],
    ['a locked conversation', { github: { issues: [{ number: PULL, locked: true }] } }],
    ['an unknown number', { with: { 'pr-number': '99' } }],
    ['no token', { with: { 'github-token': '' } }],
    ['a bad token', { with: { 'github-token': 'ghs_wrong_token' } }],
    ['HTML', { github: { on: () => ({ status: 200, body: '<html>' }) } }],
    ['a server error', { github: { on: () => ({ status: 502, body: 'Bad gateway' }) } }],
    ['a lost connection', { github: { on: () => ({ fault: 'reset' }) } }],
    ['no answer', { github: { on: () => ({ fault: 'hang' }) } }],
  ])('%s', async (_, scenario) => {
    await using scene = await stage(scenario);
    const result = await scene.run();
    expect(errors(result)).toEqual([]);
    expect(result.conclusion).toBe('success');
    expect(warnings(result)).toEqual([expect.stringMatching(/pull-requests: write/)]);
    expect(result.outputs).toMatchObject({ delivery: 'sent', 'comment-url': '' });
    expect(result.summary).toContain('The comment could not be written.');
  });
});

it('an event file that cannot be read keeps no comment from being written', async () => {
  await using scene = await stage({
    with: { 'pr-number': String(PULL) },
    step: { event: { name: 'push', payload: '{' } },
  });
  const result = await scene.run();
  expect(result.outputs.result).toBe('sent');
  expect(result.outputs['comment-url']).not.toBe('');
  expect(warnings(result)).toEqual([expect.stringContaining('the event file is not valid JSON')]);
});

it('a proxy variable that is no URL keeps the comment from being written, and no more', async () => {
  await using scene = await stage({
    step: {
      github: { api_url: 'https://github.invalid/api/v3' },
      env: { HTTPS_PROXY: '[' },
    },
  });
  const result = await scene.run();
  expect(result.outputs).toMatchObject({ result: 'sent', 'comment-url': '' });
  expect(warnings(result)).toEqual([
    expect.stringContaining('its client could not be set up; check HTTPS_PROXY'),
  ]);
  expect(result.summary).toContain('The comment could not be written.');
});

it('a pull request from a fork, whose token may write nothing, still has its result', async () => {
  await using scene = await stage({
    github: { readOnly: true, issues: [{ number: PULL }] },
    step: { event: pullRequest({ number: PULL, fork: 'mallory/agents' }) },
  });
  const result = await scene.run();
  expect(result.outputs.result).toBe('sent');
  expect(warnings(result)).toHaveLength(1);
});
