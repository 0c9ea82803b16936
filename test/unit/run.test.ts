import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { run } from '../../src/run.ts';
import type { Runtime } from '../../src/runner/environment.ts';
import { startAgent } from '../sim/agent.ts';
import { ALICE, issueComment } from '../sim/events.ts';
import { startGitHub } from '../sim/github/server.ts';
import { recordingRuntime } from './recording-runtime.ts';

const NUMBER = 7;
const API = { project: 'p', apiKey: 'mint_12345678', jobs: [{ id: 'j' }] };
const folder = mkdtempSync(join(tmpdir(), 'run-'));
const SCHEDULE = join(folder, 'schedule.json');
writeFileSync(SCHEDULE, '{}');
afterAll(() => rmSync(folder, { recursive: true }));

/** Without a comment and a person who must be checked. */
function prepare(env: Runtime['env'] = {}, parts: Partial<Runtime> = {}) {
  const inputs = {
    ...{ 'INPUT_PROJECT-ID': 'p', 'INPUT_JOB-ID': 'j', 'INPUT_API-KEY': 'mint_12345678' },
    ...{ INPUT_PROMPT: 'Go.', INPUT_COMMENT: 'false' },
    ...{ GITHUB_EVENT_NAME: 'schedule', GITHUB_EVENT_PATH: SCHEDULE },
    // Nothing listens on this port, so no message can be sent.
    'INPUT_BASE-URL': 'http://127.0.0.1:9',
  };
  return recordingRuntime({ env: { ...inputs, ...env }, ...parts });
}

it('without outputs nothing is sent, and that is the only error', async () => {
  const { writeOutputs } = recordingRuntime({}, false).runtime;
  await using agent = await startAgent({ ...API, clock: Date });
  const { runtime, logged } = prepare({ 'INPUT_BASE-URL': agent.url }, { writeOutputs });
  expect(await run(runtime)).toBe(1);
  expect(agent.posts()).toEqual([]);
  const errors = logged.filter((line) => line.startsWith('error'));
  expect(errors).toEqual([
    expect.stringContaining('The outputs cannot be written (ENOSPC), so no message was sent.'),
  ]);
  expect(logged).toContainEqual(expect.stringMatching(/^info: The outputs cannot be written/));
});

it('a run without an event sends nothing', async () => {
  const env = { GITHUB_EVENT_NAME: undefined, GITHUB_EVENT_PATH: undefined };
  const { runtime, logged, outputs } = prepare(env);
  expect(await run(runtime)).toBe(1);
  expect(logged).toEqual([
    expect.stringContaining(
      'The run does not know what started it: the event file cannot be read.',
    ),
  ]);
  expect(outputs.at(-1)).toMatchObject({ result: 'error', delivery: 'not-sent' });
});

it.each([
  ['false', 'The run was cancelled before the job was polled.'],
  ['true', 'The run was cancelled'],
])('with send: false and wait: %s, a cancelled run mentions no message', async (wait, words) => {
  const cancel = new AbortController();
  await using agent = await startAgent({
    ...{ ...API, clock: Date },
    onGet() {
      cancel.abort();
      return { fault: 'hang' };
    },
  });
  const env = { INPUT_SEND: 'false', INPUT_WAIT: wait, 'INPUT_BASE-URL': agent.url };
  const { runtime, logged, outputs } = prepare(env, { signal: cancel.signal });
  expect(await run(runtime)).toBe(1);
  const errors = logged.filter((line) => line.startsWith('error'));
  expect(errors).toEqual([expect.stringContaining(words)]);
  expect(errors[0]).not.toContain('message');
  expect(outputs.at(-1)).toMatchObject({ result: 'cancelled', delivery: 'not-sent' });
});

it.each([
  ['1', 1],
  ['2', 0],
])('attempt %s of a run answers a command with the usage %i times', async (attempt, times) => {
  const collaborators = { alice: { id: ALICE.id, permission: 'write' } } as const;
  await using github = await startGitHub({ issues: [{ number: NUMBER }], collaborators });
  const { name, payload } = issueComment({ number: NUMBER, body: '/agent' });
  const path = join(folder, 'event.json');
  writeFileSync(path, JSON.stringify(payload));
  const { runtime, logged } = prepare({
    ...{ INPUT_COMMAND: '/agent', INPUT_PROMPT: '', 'INPUT_GITHUB-TOKEN': github.token },
    ...{ GITHUB_EVENT_NAME: name, GITHUB_EVENT_PATH: path, GITHUB_RUN_ATTEMPT: attempt },
    ...{ GITHUB_REPOSITORY: github.repository, GITHUB_API_URL: github.apiUrl },
    GITHUB_TRIGGERING_ACTOR: ALICE.login,
  });
  expect(await run(runtime)).toBe(0);
  expect(logged.at(-1)).toContain('/agent has no prompt; write the prompt after it');
  expect(github.comments(NUMBER)).toHaveLength(times);
});
