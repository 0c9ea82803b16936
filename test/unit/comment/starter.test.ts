import { expect, it } from 'vitest';
import { describeStart } from '../../../src/comment/starter.ts';
import type { WebhookEvent } from '../../sim/events.ts';
import * as on from '../../sim/events.ts';

const BOT = { login: 'github-actions[bot]', id: 9, type: 'Bot' } as const;
const WORKFLOW = 'By the workflow `Every *** night`';
const acted = (action: string): WebhookEvent => on.pullRequest({ number: 7, action });
const run = (fields: object) => on.workflowRun({ fields: { name: 'CI s3cret', ...fields } });

const RUNTIME = {
  redact: (text: string): string => text.replaceAll('s3cret', '***'),
  env: { GITHUB_WORKFLOW: 'Every s3cret night' },
};

it.each<[string, WebhookEvent, string]>([
  ['a command', on.issueComment({ number: 7, body: '/agent go' }), 'Asked by `alice`'],
  ['a run by hand', on.workflowDispatch(), 'Asked by `alice`'],
  ['a run by a program', on.workflowDispatch({ sender: BOT }), WORKFLOW],
  ['a label', acted('labeled'), 'Asked by `alice`'],
  ['a new pull request', acted('opened'), WORKFLOW],
  ['a push', on.push(), WORKFLOW],
  ['a clock', on.schedule(), WORKFLOW],
  ['a program with a token of a person', on.repositoryDispatch({}), WORKFLOW],
  ['a run that passed', run({ conclusion: 'success' }), 'After `CI ***` on 0123456'],
  ['a run that failed', run({ conclusion: 'timed_out' }), 'After `CI ***` timed out on 0123456'],
])('says who asked, or what else started it: %s', (_, event, said) => {
  const { cause, failure } = describeStart(on.triggerOf(event), RUNTIME);
  expect(cause.replace(/\b[0-9a-f]{7}$/, '0123456')).toBe(said);
  expect(failure).toBe(said.endsWith('out on 0123456') ? cause.replace('After ', '') : '');
});
