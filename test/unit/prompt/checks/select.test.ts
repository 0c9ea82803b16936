import { expect, it } from 'vitest';
import type { WorkflowRun } from '../../../../src/github/checks.ts';
import { ownNow } from '../../../../src/prompt/checks/select.ts';
import { ok, problem } from '../../../../src/text.ts';
import { checkOf, workflowRun } from '../../../sim/events.ts';

// How the run of an event stands, by the list of the runs of its commit, which may tell an older attempt.

const own = checkOf(workflowRun({ fields: { id: 41, run_attempt: 2, conclusion: 'failure' } }));

const LISTED: WorkflowRun = {
  ...{ id: 41, path: '.github/workflows/ci.yml', event: 'push', status: 'completed' },
  ...{ html_url: 'https://github.com', head_sha: 'a'.repeat(40), conclusion: 'failure' },
};

it.each([
  ['an older attempt', 1, 2],
  ['the attempt of the event', 2, 2],
  ['a later one', 3, 3],
])('a list with %s leads to the newest one that is known', (_, run_attempt, attempt) => {
  const runs = ok({ all: [{ ...LISTED, run_attempt }], total: 1 });
  const now = ownNow(own, { runs, checks: problem('not read') });
  expect(now).toMatchObject({ kind: 'failed', run: { id: 41, attempt } });
});
