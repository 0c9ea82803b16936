import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { endedNow } from '../../src/job/outcome.ts';
import { FAIL_ON, RESULT_NAMES } from '../../src/job/stop-reasons.ts';
import { isFinal, STATUS_NAMES } from '../../src/mintlify-api.ts';
import { USER_AGENT } from '../../src/runner/http.ts';
import { readInputs } from '../../src/runner/inputs.ts';
import { toOutputs } from '../../src/runner/outputs.ts';
import { ended, INPUTS, PULL, record, START } from '../unit/record.ts';
import { action, GENERATED, renderDocument } from './readme.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

describe('action.yml', () => {
  it('declares exactly the inputs that the code reads', () => {
    const names = new Set<string>();
    const env = new Proxy(Object.create(null), {
      get: (_, name) => void names.add(/^INPUT_(.*)$/.exec(String(name))?.[1]?.toLowerCase() ?? ''),
    });
    readInputs(env, (text) => text);
    names.delete('');
    const where = 'change readSettings in src/runner/inputs.ts, or action.yml';
    expect([...names].sort(), where).toEqual(Object.keys(action.inputs).sort());
  });

  it('has no input that is read and used nowhere', () => {
    const { inputs } = readInputs({}, (text) => text);
    const used = globSync('src/**/*.ts', { cwd: ROOT })
      .filter((file) => !file.endsWith('inputs.ts'))
      .map((file) => read(file))
      .join();
    const unused = Object.keys(inputs).filter((name) => !RegExp(`\\b${name}\\b`).test(used));
    expect(unused, 'use it where it counts').toEqual([]);
  });

  it('declares exactly the outputs that the code writes, in the same order', () => {
    const written = Object.keys(toOutputs({ ended: [], commentUrls: [] }));
    const where = 'change toOutputs in src/runner/outputs.ts, or action.yml';
    expect(Object.keys(action.outputs), where).toEqual(written);
  });

  // Complete, so that a new output cannot come without a value that somebody has thought of.
  it('declares outputs with these values', () => {
    const state = { record: record({ prLink: PULL }), endedAt: START + 5e3 };
    const change = { kind: 'created', count: 2 } as const;
    const job = ended({ confirmed: true, explanation: 'So.' }, { ...state, change });
    const { results, ...outputs } = toOutputs({ ended: endedNow([job], true), commentUrls: ['u'] });
    const what = 'add what the new output is for this job';
    expect(outputs, what).toEqual({
      ...{ result: 'completed', code: 'completed', status: 'completed', prLink: PULL },
      ...{ commits: '2', delivery: 'sent', confirmed: 'true', reason: 'So.', 'job-id': 'job-1' },
      'comment-url': 'u',
    });
    const completed = { result: 'completed', code: 'completed', status: 'completed' };
    const facts = { jobId: 'job-1', delivery: 'sent', prLink: PULL, elapsedSeconds: 5 };
    const all = [{ ...completed, ...facts, confirmed: true, reason: 'So.' }];
    expect(JSON.parse(results), what).toEqual(all);
  });

  it.each([
    ['only-when', action.inputs, STATUS_NAMES],
    ['fail-on', action.inputs, FAIL_ON],
    ['result', action.outputs, RESULT_NAMES],
  ] as const)('names every status or result in the description of %s', (name, all, words) => {
    const description = all[name]?.description ?? '';
    const missing = words.filter((word) => !description.includes(`\`${word}\``));
    expect(missing, 'change its description in action.yml').toEqual([]);
  });

  it('has a result for each final status, which fails the step unless it is completed', () => {
    const final = STATUS_NAMES.filter(isFinal);
    expect(final.filter((status) => !(FAIL_ON as readonly string[]).includes(status))).toEqual([]);
    const green = final.filter((status) => !INPUTS.failOn.has(status));
    expect(green, 'add it to the default of fail-on in action.yml').toEqual(['completed']);
  });

  it('has defaults that mean the same as an empty string', () => {
    const of = { 'INPUT_PROJECT-ID': 'p', 'INPUT_JOB-ID': 'j', 'INPUT_API-KEY': 'mint_12345678' };
    const required = { ...of, INPUT_PROMPT: 'x' };
    const defaults = Object.entries(action.inputs)
      // The runner evaluates expressions.
      .filter(([, input]) => input.default !== undefined && !input.default.startsWith('${{'))
      .map(([name, input]) => [`INPUT_${name.toUpperCase()}`, input.default]);
    const unchanged = (text: string): string => text;
    const withDefaults = readInputs({ ...Object.fromEntries(defaults), ...required }, unchanged);
    const what = 'give it the same default in action.yml and readSettings';
    expect(withDefaults, what).toEqual(readInputs(required, unchanged));
  });

  it('runs a file that exists, on Node 24', () => {
    expect(action.runs.using).toBe('node24');
    expect(existsSync(join(ROOT, action.runs.main))).toBe(true);
  });
});

it.each(GENERATED)('the generated parts of %s are up to date (npm run docs)', (document) => {
  expect(read(document), 'run npm run docs').toBe(renderDocument(document, read(document)));
});

it('the user agent has the version of package.json', () => {
  expect(USER_AGENT).toBe(`agent-follow-up/${JSON.parse(read('package.json')).version}`);
});
