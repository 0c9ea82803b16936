import { describe, expect, it } from 'vitest';
import type { Answer } from '../sim/agent.ts';
import { issueComment } from '../sim/events.ts';
import {
  errors,
  findTraces,
  JOB,
  notes,
  ownComments,
  PULL,
  type Scenario,
  simulate,
  TOKEN,
} from './scenario.ts';

/** Makes this the API key. */
function withKey(apiKey: string, { with: inputs, agent, ...others }: Scenario): Scenario {
  return { ...others, with: { 'api-key': apiKey, ...inputs }, agent: { ...agent, apiKey } };
}

/** Words that occur in outputs, in JSON, in links or in the first line of a comment. */
const WORDS = [
  ...['sent', 'agent', 'completed', 'confirmed', 'isOurs', 'not-sent'],
  ...['agent-follow-up', 'delivery', 'deadline'],
];
const AT = '2026-01-05T12:00:00.000Z';
const LINK = 'https://github.com/octo/agents/pull/2026';

describe.concurrent('keeps outputs and data valid if a secret is an ordinary word', () => {
  const steps = [
    { afterMs: 0, set: { status: 'active' } },
    { afterMs: 60_000, set: { status: 'completed', prLink: LINK } },
  ];
  const jobs = [{ id: JOB, base: { createdAt: AT }, turns: [{ steps }] }];

  it.each(WORDS)('such as %s', async (word) => {
    await using sim = await simulate(
      withKey(word, {
        with: { wait: true, command: '/agent', prompt: '' },
        agent: { jobs },
        step: { event: issueComment({ number: PULL, body: '/agent Add examples.' }) },
      }),
    );
    sim.github.addComment(PULL, 'alice', '/agent Add examples.');
    const run = word === WORDS[0] ? sim.run : sim.runHere;
    const result = await run();

    const [comment] = ownComments(sim.github);
    expect(result.annotations).toEqual([]);
    expect(result.outputs).toMatchObject({
      ...{ status: 'completed', 'pr-link': LINK, prLink: LINK, result: 'completed' },
      ...{ delivery: 'sent', confirmed: 'true', reason: '', 'job-id': JOB },
      results: expect.any(String),
      'comment-url': comment?.html_url,
    });
    expect(JSON.parse(result.outputs.results ?? '')).toEqual([
      {
        ...{ jobId: JOB, delivery: 'sent', result: 'completed', confirmed: true },
        ...{ status: 'completed', prLink: LINK, model: 'sonnet' },
        source: { repository: 'https://github.com/octo/agents', ref: 'main' },
        ...{ createdAt: AT, archivedAt: null, reason: '' },
        ...{ elapsedSeconds: expect.any(Number), polls: expect.any(Number) },
      },
    ]);
    const jobNote = { id: JOB, delivery: 'sent', isOurs: true, ended: { result: 'completed' } };
    expect(notes(sim.github)).toMatchObject([{ jobs: [jobNote] }]);

    // The re-run reads the job from the comment, and sends nothing.
    const again = await run({
      with: { 'job-id': '' },
      step: { github: { run_attempt: '2', triggering_actor: 'alice' } },
    });
    expect(again.annotations).toEqual([]);
    expect(again.outputs).toMatchObject({ result: 'completed', delivery: 'sent', 'job-id': JOB });
    expect(sim.agent.posts()).toHaveLength(1);
  });

  it.each(['not-sent', 'answered'])('such as %s, and the message is refused', async (word) => {
    await using sim = await simulate(
      withKey(word, {
        agent: { jobs, onPost: () => ({ status: 400, body: { error: 'It was null.' } }) },
      }),
    );
    const { outputs } = await sim.runHere();
    expect(outputs).toMatchObject({ result: 'error', delivery: 'not-sent', 'job-id': JOB });
    expect(JSON.parse(outputs.results ?? '')).toMatchObject([
      { jobId: JOB, delivery: 'not-sent', result: 'error', confirmed: null, status: null },
    ]);
    expect(notes(sim.github)).toMatchObject([{ jobs: [{ delivery: 'not-sent' }] }]);
  });
});

/** How a secret may be written in a text by others. */
const ENCODINGS: readonly (readonly [string, (secret: string) => string])[] = [
  ['as it is', (secret) => `It is ${secret}.`],
  ['in JSON', (secret) => JSON.stringify({ secret })],
  ['in a URL', (secret) => `https://evil.example/?key=${encodeURIComponent(secret)}`],
  ...[0, 1, 2].map((offset): readonly [string, (secret: string) => string] => [
    `in base64 after ${offset} bytes`,
    (secret) => Buffer.from('x'.repeat(offset) + secret).toString('base64'),
  ]),
  // Texts are cut at these limits, here within the secret.
  ...[60, 120, 200, 1000].map((limit): readonly [string, (secret: string) => string] => [
    `cut at ${limit}`,
    (secret) => 'x'.repeat(limit - 26) + secret,
  ]),
];

describe.concurrent.each(ENCODINGS)('removes the API key, %s,', (_, encode) => {
  const key = 'canary-0f8e2d5b7a-"of\\the+api"';
  const secrets = { key, token: TOKEN, more: [key.slice(0, 20)] };
  const text = encode(key);
  const command = { command: '/agent', prompt: '' };
  const respond = (reply: Answer): Scenario => ({ github: { on: () => reply } });

  it.each<[string, Scenario]>([
    [
      'each field of a job record',
      {
        with: { wait: true },
        agent: {
          jobs: [
            {
              id: JOB,
              base: {
                ...{ model: text, source: { repository: text, ref: text }, createdAt: text },
                ...{ prLink: `https://github.com/octo/${key}/pull/1`, archivedAt: text },
              },
            },
          ],
        },
      },
    ],
    [
      'the error of a refused message',
      {
        agent: {
          onPost: () => ({
            status: 400,
            body: { error: text, details: [text, { message: text }] },
          }),
        },
      },
    ],
    [
      'the headers of an answer that is not from the API',
      {
        agent: {
          onPost: () => ({
            headers: { 'content-type': text, 'cf-ray': text, location: text },
            body: '<html>',
          }),
        },
      },
    ],
    ['a prompt', { with: { prompt: text } }],
    ['the login of who triggered the run', { step: { github: { triggering_actor: text } } }],
    ['an invalid input', { with: { wait: text, 'job-id': text, 'prompt-file': text } }],
    ['an error of GitHub', respond({ status: 403, body: { message: text } })],
    [
      'an error of GitHub about the permission',
      {
        with: command,
        step: { event: issueComment({ number: PULL, body: '/agent go' }) },
        ...respond({ status: 403, body: { message: text } }),
      },
    ],
  ])('from %s', async (_, scenario) => {
    await using sim = await simulate(withKey(key, scenario));
    const result = await sim.runHere();
    // The action sends the prompt of the workflow unchanged.
    const agent = { journal: sim.agent.journal.map((request) => ({ ...request, body: '' })) };
    // The path of a permission check contains a login, which is from GitHub.
    const github = { journal: sim.github.journal.map((request) => ({ ...request, path: '' })) };
    expect(findTraces(secrets, result, agent, github)).toEqual([]);
  });
});

describe.concurrent('refuses an input that is shown unchanged if it contains a secret', () => {
  const key = 'mint_canary3a5b8d2e';

  it.each<[string, NonNullable<Scenario['step']>, string, string]>([
    [
      'a comment',
      { event: issueComment({ number: PULL, body: `/${key} go` }) },
      'error',
      'Nothing was sent. command contains the api-key or github-token;',
    ],
    ['another event', {}, 'skipped', 'This step acts only on comments and reviews'],
  ])('command, on %s', async (_, step, expected, words) => {
    await using sim = await simulate({ with: { 'api-key': key, command: `/${key}` }, step });
    const result = await sim.run();
    expect(result.outputs.result).toBe(expected);
    expect(result.outputs.reason).toContain(words);
    expect(sim.agent.journal).toEqual([]);
    expect(findTraces({ key, token: TOKEN, more: [] }, result, sim.agent, sim.github)).toEqual([]);
  });

  it('except if the secret is very short', async () => {
    await using sim = await simulate({
      with: { 'api-key': 'job' },
      agent: { jobs: [{ id: JOB }], apiKey: 'job' },
    });
    const { outputs } = await sim.runHere();
    expect(outputs).toMatchObject({ result: 'sent', 'job-id': JOB });
  });
});

it('refuses an api-key of 20 KB in many lines, without showing any part of it', async () => {
  const lines = Array.from({ length: 500 }, (_, index) => `line ${index} of a canary credential`);
  const key = lines.join('\n');
  await using sim = await simulate({ with: { 'api-key': key } });
  const result = await sim.run();
  expect(errors(result)).toEqual([
    'Nothing was sent. api-key contains quotation marks, a space, a line break or a special character; store only the key in the secret.',
  ]);
  // Neither unchanged, nor with something between its characters.
  const shown =
    result.outputText + result.summary + result.stdout.replace(/^::add-mask::.*$/gm, '');
  expect(shown).not.toMatch(/canary|x69.*x6e.*x65/);
});
