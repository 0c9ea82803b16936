import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { action } from './readme.ts';

const ROOT = join(import.meta.dirname, '../..');
const scenarios = globSync('test/action/*.ts', { cwd: ROOT })
  .map((file) => readFileSync(join(ROOT, file), 'utf8'))
  .join('\n');
const guides = globSync('{README.md,docs/*.md}', { cwd: ROOT })
  .map((file) => readFileSync(join(ROOT, file), 'utf8'))
  .join('\n');

/** Events in the documents, and how a scenario creates them. */
const EVENTS: Readonly<Record<string, string>> = {
  issue_comment: 'issueComment(',
  issues: "'issues'",
  pull_request: 'pullRequest(',
  pull_request_review: 'review(',
  pull_request_review_comment: 'reviewComment(',
  pull_request_target: 'target: true',
  push: 'push(',
  repository_dispatch: "'repository_dispatch'",
  schedule: 'schedule(',
  workflow_dispatch: 'workflowDispatch(',
  workflow_run: 'workflowRun(',
};

// A failed test names what is missing, and does not print all scenarios.
describe('a scenario covers', () => {
  const ADD = 'add a scenario to test/action/';
  const inputs = Object.keys(action.inputs);
  it.each(inputs)('the input %s', (name) => {
    const pattern = new RegExp(`'${name}'|\\b${name}: |\\bwith: \\{ ${name}\\b`);
    expect(pattern.test(scenarios), ADD).toBe(true);
  });

  const outputs = Object.keys(action.outputs);
  it.each(outputs)('the output %s', (name) => {
    const field = name.includes('-')
      ? `\\['${name}'\\]|'${name}': `
      : `\\.${name}\\b|\\b${name}[:,]`;
    expect(new RegExp(field).test(scenarios), ADD).toBe(true);
  });

  const events = Object.keys(EVENTS).filter((name) => guides.includes(`\`${name}\``));
  it.each([...events, 'pull_request'])('the event %s', (name) => {
    expect(scenarios.includes(EVENTS[name] ?? 'no scenario'), ADD).toBe(true);
  });
});
