import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { run } from '../../src/run.ts';
import { readRunInfo } from '../../src/runner/environment.ts';
import type { Log } from '../../src/runner/log.ts';
import type { Runtime } from '../../src/runner/runtime.ts';
import { startAgent } from '../sim/agent.ts';
import { ALICE, issueComment } from '../sim/events.ts';
import { type GitHub, type GitHubOptions, startGitHub } from '../sim/github/server.ts';
// Nothing loads files of types, which coverage would take for lines that nobody reaches.
import '../../src/agent/context.ts';
import '../../src/context.ts';
import '../../src/runner/runtime.ts';

const NUMBER = 7;
const folder = mkdtempSync(join(tmpdir(), 'run-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A runtime that takes down what is said, and the outputs. */
function stand(env: Runtime['env'] = {}, more: Partial<Runtime> = {}) {
  const said: string[] = [];
  const written: Readonly<Record<string, string>>[] = [];
  const say = (text: string): void => {
    said.push(text);
  };
  const silent = (): void => {};
  const log: Log = {
    info: say,
    debug: silent,
    notice: say,
    warning: silent,
    error: say,
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
      // A port that nobody listens on, so that nothing is ever sent.
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
  return { runtime, said, written };
}

it('what is thrown outside of every call ends the run as an error, with all outputs', async () => {
  const crashed = Promise.reject(new TypeError('x is not a function'));
  const { runtime, said, written } = stand({}, { crashed });
  expect(await run(runtime)).toBe(1);
  expect(said).toEqual([
    'An unexpected error ended the run; please report it. The output delivery says whether the message was sent. TypeError: x is not a function',
  ]);
  expect(written.at(-1)).toMatchObject({ result: 'error', delivery: 'not-sent' });
});

it.each([
  ['a b a', '1 of the IDs in job-id is a repetition'],
  ['a b a b', '2 of the IDs in job-id are repetitions'],
])('of the ids %s it is said: %s', async (ids, words) => {
  const { runtime, said } = stand({ 'INPUT_JOB-ID': ids });
  await run(runtime);
  expect(said[0]).toBe(`${words}; each job gets one message.`);
});

it('a run of which nobody says what has started it sends nothing', async () => {
  const { runtime, said, written } = stand({ GITHUB_EVENT_NAME: undefined });
  expect(await run(runtime)).toBe(1);
  expect(said).toEqual([
    'Nothing was sent. The run does not know what started it: the event file cannot be read.',
  ]);
  expect(written).toMatchObject([{ result: 'error', delivery: 'not-sent' }]);
});

it.each([
  ['false', 'The run was cancelled before job j was polled.'],
  ['true', 'The run was cancelled: stopped waiting; the agent keeps working.'],
])('with send: false and wait: %s, a cancelled run speaks of no message', async (wait, words) => {
  const cancel = new AbortController();
  await using agent = await startAgent({
    ...{ project: 'p', apiKey: 'mint_12345678', jobs: [{ id: 'j' }], clock: Date },
    onGet() {
      cancel.abort();
      return { fault: 'hang' };
    },
  });
  const env = { INPUT_SEND: 'false', INPUT_WAIT: wait, 'INPUT_BASE-URL': agent.url };
  const { runtime, said, written } = stand(env, { signal: cancel.signal });
  expect(await run(runtime)).toBe(1);
  expect(said).toContain(words);
  expect(written.at(-1)).toMatchObject({ result: 'cancelled', delivery: 'not-sent' });
});

describe('on a command', () => {
  function startRepository(on: GitHubOptions['on']): Promise<GitHub> {
    const collaborators = { alice: { id: ALICE.id, permission: 'write' } } as const;
    return startGitHub({ issues: [{ number: NUMBER }], collaborators, ...(on && { on }) });
  }

  function commanded(body: string, github: GitHub): Runtime['env'] {
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

  it('a run that is cancelled while GitHub is asked for the permission sends nothing', async () => {
    const cancel = new AbortController();
    await using github = await startRepository(() => {
      cancel.abort();
      return { fault: 'hang' };
    });
    const env = commanded('/agent go', github);
    const { runtime, said, written } = stand(env, { signal: cancel.signal });
    expect(await run(runtime)).toBe(1);
    expect(said).toEqual(['The run was cancelled before anything was sent.']);
    expect(written).toMatchObject([{ result: 'cancelled', delivery: 'not-sent' }]);
  });

  it.each([
    ['1', 1],
    ['2', 0],
  ])('attempt %s of a run answers with the usage %i times', async (attempt, times) => {
    await using github = await startRepository(undefined);
    const env = { ...commanded('/agent', github), GITHUB_RUN_ATTEMPT: attempt };
    const { runtime, said } = stand(env);
    expect(await run(runtime)).toBe(0);
    expect(said).toEqual([expect.stringMatching(/^\/agent has no prompt;/)]);
    expect(github.comments(NUMBER)).toHaveLength(times);
  });
});

describe('readRunInfo', () => {
  it('stands in for what the runner does not say', () => {
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
  it('takes the variables of the runner', () => {
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
  it.each(['0', '-1', 'x', '1.5'])('an attempt %s is the first', (text) => {
    expect(readRunInfo({ GITHUB_RUN_ATTEMPT: text }).attempt).toBe(1);
  });
  it('who triggered an attempt is not who started the first', () => {
    const { actor, triggeringActor } = readRunInfo({ GITHUB_ACTOR: 'alice' });
    expect({ actor, triggeringActor }).toEqual({ actor: 'alice', triggeringActor: '' });
  });
  it('a server URL that is none is github.com', () => {
    expect(readRunInfo({ GITHUB_SERVER_URL: 'nope' }).serverUrl).toBe('https://github.com');
  });
});
