import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { run } from '../../src/run.ts';
import { readRunInfo } from '../../src/runner/environment.ts';
import type { Log } from '../../src/runner/log.ts';
import type { Runtime } from '../../src/runner/environment.ts';
import { startAgent } from '../sim/agent.ts';
import { ALICE, issueComment } from '../sim/events.ts';
import { type GitHub, type GitHubOptions, startGitHub } from '../sim/github/server.ts';
// These files contain only types. Unless a test loads them, coverage counts their lines as not run.
import '../../src/agent/context.ts';
import '../../src/context.ts';
import '../../src/memory/context.ts';
import '../../src/runner/environment.ts';

const NUMBER = 7;
const folder = mkdtempSync(join(tmpdir(), 'run-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A runtime that records the log and the outputs. */
function recordingRuntime(env: Runtime['env'] = {}, more: Partial<Runtime> = {}) {
  const logged: string[] = [];
  const written: Readonly<Record<string, string>>[] = [];
  const record = (text: string): void => {
    logged.push(text);
  };
  const silent = (): void => {};
  const log: Log = {
    info: record,
    debug: silent,
    notice: record,
    warning: silent,
    error: record,
    group: silent,
    endGroup: silent,
  };
  const runtime: Runtime = {
    env: {
      'INPUT_PROJECT-ID': 'p',
      'INPUT_JOB-ID': 'j',
      'INPUT_API-KEY': 'mint_12345678',
      INPUT_PROMPT: 'Go.',
      INPUT_COMMENT: 'false',
      GITHUB_EVENT_NAME: 'push',
      // Nothing listens on this port, so no message can be sent.
      'INPUT_BASE-URL': 'http://127.0.0.1:9',
      ...env,
    },
    log,
    redact: (text) => text,
    clock: systemClock,
    signal: new AbortController().signal,
    crashed: new Promise(() => {}),
    random: () => 0,
    saveMemory: silent,
    deferTierUp: silent,
    writeOutputs: (outputs) => written.push(outputs),
    writeSummary: silent,
    ...more,
  };
  return { runtime, logged, written };
}

it('an error outside of all calls ends the run with the result error and all outputs', async () => {
  const crashed = Promise.reject(new TypeError('x is not a function'));
  const { runtime, logged, written } = recordingRuntime({}, { crashed });
  expect(await run(runtime)).toBe(1);
  expect(logged).toEqual([
    'An unexpected error ended the run; please report it. The output delivery says whether the message was sent. TypeError: x is not a function',
  ]);
  expect(written.at(-1)).toMatchObject({ result: 'error', delivery: 'not-sent' });
});

it.each([
  ['a b a', '1 of the IDs in job-id is a repetition'],
  ['a b a b', '2 of the IDs in job-id are repetitions'],
])('the log counts repeated IDs, in %s: %s', async (ids, words) => {
  const { runtime, logged } = recordingRuntime({ 'INPUT_JOB-ID': ids });
  await run(runtime);
  expect(logged[0]).toBe(`${words}; each job gets one message.`);
});

it('a run without an event sends nothing', async () => {
  const { runtime, logged, written } = recordingRuntime({ GITHUB_EVENT_NAME: undefined });
  expect(await run(runtime)).toBe(1);
  expect(logged).toEqual([
    'Nothing was sent. The run does not know what started it: the event file cannot be read.',
  ]);
  expect(written).toMatchObject([{ result: 'error', delivery: 'not-sent' }]);
});

it.each([
  ['false', 'The run was cancelled before job j was polled.'],
  ['true', 'The run was cancelled: stopped waiting; the agent keeps working.'],
])('with send: false and wait: %s, a cancelled run mentions no message', async (wait, words) => {
  const cancel = new AbortController();
  await using agent = await startAgent({
    ...{ project: 'p', apiKey: 'mint_12345678', jobs: [{ id: 'j' }], clock: Date },
    onGet() {
      cancel.abort();
      return { fault: 'hang' };
    },
  });
  const env = { INPUT_SEND: 'false', INPUT_WAIT: wait, 'INPUT_BASE-URL': agent.url };
  const { runtime, logged, written } = recordingRuntime(env, { signal: cancel.signal });
  expect(await run(runtime)).toBe(1);
  expect(logged).toContain(words);
  expect(written.at(-1)).toMatchObject({ result: 'cancelled', delivery: 'not-sent' });
});

describe('for a command', () => {
  function startRepository(on: GitHubOptions['on']): Promise<GitHub> {
    const collaborators = { alice: { id: ALICE.id, permission: 'write' } } as const;
    return startGitHub({ issues: [{ number: NUMBER }], collaborators, ...(on && { on }) });
  }

  function envFor(body: string, github: GitHub): Runtime['env'] {
    const { name, payload } = issueComment({ number: NUMBER, body });
    const path = join(folder, 'event.json');
    writeFileSync(path, JSON.stringify(payload));
    return {
      INPUT_COMMAND: '/agent',
      'INPUT_GITHUB-TOKEN': github.token,
      GITHUB_EVENT_NAME: name,
      GITHUB_EVENT_PATH: path,
      GITHUB_REPOSITORY: github.repository,
      GITHUB_API_URL: github.apiUrl,
      GITHUB_TRIGGERING_ACTOR: ALICE.login,
    };
  }

  it('a run that is cancelled during the permission check sends nothing', async () => {
    const cancel = new AbortController();
    await using github = await startRepository(() => {
      cancel.abort();
      return { fault: 'hang' };
    });
    const env = envFor('/agent go', github);
    const { runtime, logged, written } = recordingRuntime(env, { signal: cancel.signal });
    expect(await run(runtime)).toBe(1);
    expect(logged).toEqual(['The run was cancelled before anything was sent.']);
    expect(written).toMatchObject([{ result: 'cancelled', delivery: 'not-sent' }]);
  });

  it.each([
    ['1', 1],
    ['2', 0],
  ])('attempt %s of a run comments with the usage %i times', async (attempt, times) => {
    await using github = await startRepository(undefined);
    const env = { ...envFor('/agent', github), GITHUB_RUN_ATTEMPT: attempt };
    const { runtime, logged } = recordingRuntime(env);
    expect(await run(runtime)).toBe(0);
    expect(logged).toEqual([expect.stringMatching(/^\/agent has no prompt;/)]);
    expect(github.comments(NUMBER)).toHaveLength(times);
  });
});

describe('readRunInfo', () => {
  it('has defaults if variables are not set', () => {
    expect(readRunInfo({})).toEqual({
      serverUrl: 'https://github.com',
      apiUrl: 'https://api.github.com',
      graphqlUrl: 'https://api.github.com/graphql',
      repository: '',
      repositoryUrl: 'https://github.com/',
      runId: '',
      attempt: 1,
      origin: 'run:::',
      actor: '',
      triggeringActor: '',
    });
  });
  it('reads the variables of the runner', () => {
    expect(
      readRunInfo({
        GITHUB_SERVER_URL: 'https://ghe.example',
        GITHUB_API_URL: 'https://ghe.example/api/v3',
        GITHUB_GRAPHQL_URL: 'https://ghe.example/api/graphql',
        GITHUB_REPOSITORY: 'octo/agents',
        GITHUB_RUN_ID: '7',
        GITHUB_RUN_ATTEMPT: '2',
        GITHUB_JOB: 'build',
        GITHUB_ACTION: 'step',
        GITHUB_ACTOR: 'alice',
        GITHUB_TRIGGERING_ACTOR: 'bob',
      }),
    ).toEqual({
      serverUrl: 'https://ghe.example',
      apiUrl: 'https://ghe.example/api/v3',
      graphqlUrl: 'https://ghe.example/api/graphql',
      repository: 'octo/agents',
      repositoryUrl: 'https://ghe.example/octo/agents',
      runId: '7',
      attempt: 2,
      origin: 'run:7:build:step',
      actor: 'bob',
      triggeringActor: 'bob',
    });
  });
  it.each(['0', '-1', 'x', '1.5'])('takes an attempt %s for the first', (text) => {
    expect(readRunInfo({ GITHUB_RUN_ATTEMPT: text }).attempt).toBe(1);
  });
  it('does not use the actor of the first attempt as the triggering actor', () => {
    const { actor, triggeringActor } = readRunInfo({ GITHUB_ACTOR: 'alice' });
    expect({ actor, triggeringActor }).toEqual({ actor: 'alice', triggeringActor: '' });
  });
  it('replaces an invalid server URL by github.com', () => {
    expect(readRunInfo({ GITHUB_SERVER_URL: 'nope' }).serverUrl).toBe('https://github.com');
  });
});
