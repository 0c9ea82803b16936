import { expect, it } from 'vitest';
import { selectFailedSteps } from '../../../../src/prompt/logs/failed-steps.ts';

/** A line of a log. */
function line(text: string): string {
  return `2026-11-21T19:32:01.1234567Z ${text}\n`;
}

/** A step that runs a script of one line. */
function step(script: string, ...lines: readonly string[]): string {
  const head = [`##[group]Run ${script}`, `\x1b[36;1m${script}\x1b[0m`, 'shell: bash -e {0}'];
  return [...head, '##[endgroup]', ...lines].map(line).join('');
}

const EXIT = '##[error]Process completed with exit code 1.';
const SET_UP = line('Prepare all required actions');
const CLEAN = line('Post job cleanup.') + line('a cache is saved') + line('Cleaning up orphans');

/** The titles of the steps that are selected, without times; and the lines of the first one. */
function select(log: string): string {
  return selectFailedSteps(log).replace(/^.{27}Z /gm, '');
}

it.each<[string, string, RegExp]>([
  ['one step', SET_UP + step('a', 'A') + step('b', 'B', EXIT) + CLEAN, /^.*Run b\n.*\nB\n##.*1\.$/],
  [
    'the groups of a program with it',
    step('all', '##[group]Run vale', 'a.md: typo', '##[endgroup]', '##[group]Run links', EXIT),
    /Run all\n.*\n##\[group\]Run vale\na\.md: typo\n/,
  ],
  [
    'what fails before the first step',
    `${SET_UP}${line('##[error]No such action')}${step('a')}`,
    /^Prepare.*\n##\[error\]No such action$/,
  ],
  [
    'what fails while it is cleaned up',
    step('a', 'A') + CLEAN + line('##[error]No space'),
    /^Post job cleanup\.\n.*\n.*\n##\[error\]No space\n$/,
  ],
  [
    'an action that crashes, beside a step that may fail',
    step('lint', EXIT) + step('node', 'TypeError: x', 'Node.js v24.1.0') + step('ok') + CLEAN,
    /Run lint\n.*Run node\n.*TypeError: x\nNode\.js v24/s,
  ],
  ['all without errors', SET_UP + step('a', '.##[error]') + CLEAN, /^Prep.*Run a\n.*orphans\n$/s],
  [
    'after one that may fail, and before what always runs, in one second',
    step('a', 'A', EXIT) + step('ok') + step('b', 'B', EXIT) + step('always', 'fine') + CLEAN,
    /^##\[group\]Run a\n.*\nA\n.*\n##\[group\]Run b\n.*\nB\n##\[error\].*$/,
  ],
  [
    'of a composite action, the step that failed',
    line('##[group]Run ./check') +
      line('##[endgroup]') +
      line('##[start-action display=Run a;id=__self.a]') +
      step('a', 'A') +
      line('##[end-action id=__self.a;outcome=success;conclusion=success;duration_ms=100]') +
      line('##[start-action display=Run b;id=__self.b]') +
      step('b', 'B', EXIT) +
      line('##[end-action id=__self.b;outcome=failure;conclusion=failure;duration_ms=100]') +
      CLEAN,
    /^##\[group\]Run b\n##\[endgroup\]\nB\n##\[error\]Process .*1\.$/,
  ],
  ['of no log, nothing', '', /^$/],
])('%s', (_, log, expected) => {
  expect(select(log)).toMatch(expected);
  expect(select(log.replaceAll('\n', '\r\n'))).toMatch(expected);
});

it('the settings of a step are left out, but for empty ones, and no lines of scripts but their titles', () => {
  const log = [
    line('##[group]Run cat <<EOF'),
    ...['cat <<EOF', 'cat <<EOF', 'env:'].map((text) => line(`\x1b[36;1m${text}\x1b[0m`)),
    ...['shell: /usr/bin/bash -e {0}', 'env:', '  KEY: a'].map(line),
    'env:\n',
    ...['  SEARCH_KEY: ', '  LAST: a', '##[endgroup]', 'env:', EXIT].map(line),
    ...['##[group]Run actions/cache@v5', 'with:', '  path: a', 'env:', '  KEY: a'].map(line),
    ...['##[endgroup]', '  shell: indented', EXIT].map(line),
  ].join('');
  expect(select(log).trimEnd().split('\n')).toEqual([
    ...['##[group]Run cat <<EOF', '\x1b[36;1mcat <<EOF\x1b[0m', '\x1b[36;1menv:\x1b[0m'],
    ...['env:', '  SEARCH_KEY: ', '##[endgroup]', 'env:', EXIT],
    ...['##[group]Run actions/cache@v5', 'with:', '  path: a', '##[endgroup]'],
    ...['  shell: indented', EXIT],
  ]);
});

// With quadratic time, this test would take minutes.
it.each([
  ['one line', 'x'],
  ['lines', line('x'.repeat(70))],
  ['errors', line('##[error]')],
  ['steps', step('a', EXIT)],
  ['settings', line('##[group]Run a') + line('env:') + line('  a:')],
])('4 MB of %s are read', (_, unit) => {
  const log = unit.repeat(Math.floor(4_000_000 / unit.length));
  expect(selectFailedSteps(log).length).toBeLessThanOrEqual(log.length);
});
