import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { issueComment } from '../sim/events.ts';
import { startProxy } from '../sim/proxy.ts';
import { callNames, errors, JOB, KEY, PULL, simulate, warnings } from './scenario.ts';

it.each<[number, RegExp, string]>([
  [400, /answered 400 to the message: "no such thing"/, 'not-sent'],
  [401, /401.*expired \(keys live 90 days by default\) or wrong/, 'not-sent'],
  [403, /403.*write scope.*IP allow list/, 'not-sent'],
  [404, /404.*check job-id and project-id/, 'not-sent'],
  [500, /500.*may or may not have been delivered; it was not sent again/, 'unknown'],
])(
  'fails with one error, and does not send the message again, if the API answers %i',
  async (status, message, delivery) => {
    await using sim = await simulate({
      agent: { onPost: () => ({ status, body: { error: 'no such thing' } }) },
    });
    const result = await (status === 400 ? sim.run() : sim.runHere());
    expect(result.conclusion).toBe('failure');
    expect(errors(result)).toEqual([expect.stringMatching(message)]);
    expect(result.outputs).toMatchObject({ result: 'error', delivery, 'job-id': JOB });
    expect(sim.agent.posts()).toHaveLength(1);
  },
);

it('reports all invalid inputs in one error, without any requests', async () => {
  await using sim = await simulate({ with: { 'api-key': '', 'job-id': '..', wait: 'yes' } });
  const result = await sim.run();
  expect(result.conclusion).toBe('failure');
  expect(errors(result)).toEqual([
    expect.stringMatching(
      /^Nothing was sent\. job-id contains "\.\.", which is not an ID.*wait must be.*api-key is empty/,
    ),
  ]);
  expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent', results: '[]' });
  expect([...sim.agent.journal, ...sim.github.journal]).toEqual([]);
});

it('warns of an api-key that does not begin with mint_, at the default base URL', async () => {
  // The proxy refuses all connections.
  await using proxy = await startProxy({ onConnect: () => ({ kind: 'answer', status: 403 }) });
  await using sim = await simulate({
    with: { 'base-url': '', 'api-key': 'another_kind_of_key', comment: false },
    step: { env: { HTTPS_PROXY: `http://${proxy.host}` } },
    secrets: ['another_kind_of_key'],
  });
  const result = await sim.runHere();
  expect(warnings(result)).toEqual([
    'api-key does not begin with "mint_"; the API may not accept it.',
  ]);
  expect(new Set(proxy.journal.map(({ target }) => target))).toEqual(
    new Set(['api.mintlify.com:443']),
  );
  expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });

  const known = await sim.runHere({ with: { 'api-key': KEY } });
  expect(warnings(known)).toEqual([]);
});

it('skips a command by a stranger, after at most one read, even if the comment cannot be read', async () => {
  const author = { login: 'mallory', id: 2002, type: 'User' } as const;
  await using sim = await simulate({
    with: { command: '/agent', prompt: '' },
    step: { event: issueComment({ number: PULL, body: '/agent go', author }) },
    github: {
      issues: [{ number: PULL, pullRequest: true }],
      // GitHub refuses the read at once, and answers the permission check later.
      on: async ({ path }) => {
        if (path === '/graphql') return { status: 403, body: { message: 'no' } };
        await wait(300);
        return undefined;
      },
    },
  });
  const result = await sim.run();
  expect(result.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
  expect(result.annotations).toEqual([
    { type: 'notice', title: 'Message skipped', message: result.outputs.reason },
  ]);
  expect(callNames(sim.github).toSorted()).toEqual(['GET collaborators/*/permission', 'read']);
});

it('sends nothing if the API refuses the baseline poll', async () => {
  await using sim = await simulate({ with: { wait: true, 'job-id': 'another' } });
  const result = await sim.runHere();
  expect(errors(result)).toEqual([
    expect.stringMatching(/^Nothing was sent to job another\..*404/),
  ]);
  expect(sim.agent.posts()).toEqual([]);
});
