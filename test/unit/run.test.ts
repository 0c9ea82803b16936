import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Console } from '../../src/console.ts';
import { readRunFacts } from '../../src/host.ts';
import type { Outputs } from '../../src/outputs.ts';
import { run } from '../../src/run.ts';

const silent = (): void => {};

it('what is thrown outside of every call ends the run as an error, with all outputs', async () => {
  const said: string[] = [];
  const written: Outputs[] = [];
  const console: Console = {
    info: silent,
    debug: silent,
    notice: silent,
    warning: silent,
    error: (text) => said.push(text),
    group: silent,
    endGroup: silent,
  };
  const code = await run({
    env: {
      'INPUT_PROJECT-ID': 'p',
      'INPUT_JOB-ID': 'j',
      'INPUT_API-KEY': 'mint_12345678',
      INPUT_PROMPT: 'Go.',
      INPUT_COMMENT: 'off',
      // A port that nobody listens on, so that nothing is ever sent.
      'INPUT_BASE-URL': 'http://127.0.0.1:9',
    },
    console,
    redact: (text) => text,
    clock: systemClock,
    signal: new AbortController().signal,
    crashed: Promise.reject(new TypeError('x is not a function')),
    random: () => 0,
    saveMemory: silent,
    compileOnce: silent,
    writeOutputs: (outputs) => written.push(outputs),
    writeSummary: silent,
  });
  expect(code).toBe(1);
  expect(said).toEqual([
    'An unexpected error ended the run; please report it. TypeError: x is not a function',
  ]);
  expect(written.at(-1)).toMatchObject({ outcome: 'error', delivery: 'not-sent' });
});

describe('readRunFacts', () => {
  it('stands in for what the runner does not say', () => {
    expect(readRunFacts({})).toEqual({
      serverUrl: 'https://github.com',
      apiUrl: 'https://api.github.com',
      graphqlUrl: 'https://api.github.com/graphql',
      repository: '',
      runId: '',
      attempt: 1,
      origin: 'run:::',
      actor: '',
    });
  });
  it('takes the variables of the runner', () => {
    expect(
      readRunFacts({
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
      runId: '7',
      attempt: 2,
      origin: 'run:7:build:step',
      actor: 'bob',
    });
  });
  it.each(['0', '-1', 'x', '1.5'])('an attempt %s is the first', (text) => {
    expect(readRunFacts({ GITHUB_RUN_ATTEMPT: text }).attempt).toBe(1);
  });
  it('a server URL that is none is github.com', () => {
    expect(readRunFacts({ GITHUB_SERVER_URL: 'nope' }).serverUrl).toBe('https://github.com');
  });
});
