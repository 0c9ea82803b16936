import { expect, it } from 'vitest';
import { PULL, simulate } from '../action/scenario.ts';
import { issueComment } from '../sim/events.ts';

// Whatever the environment contains, a run ends with its outputs and at most one error.

const ODD =
  '|0|-1|1e9|NaN|null|a b|a\nb|/|//|..|:|%|%00|@|::error::x|##[error]x|http://|https://[|https://x y|ftp://x|C:\\x\\y|-->' +
  '|javascript:alert(1)|\u200b|é🚀|“”|<b>|${{ x }}|"x"|https://u:p@h/x?y#z|x@|http://p:3128/proxy.pac|http://C\\bob:pw@p|/etc';
/** What src/ and the packages read, except for the files that a run writes. */
const NAMES = (
  'GITHUB_ACTION GITHUB_ACTOR GITHUB_API_URL GITHUB_EVENT_NAME GITHUB_EVENT_PATH GITHUB_JOB GITHUB_REPOSITORY GITHUB_RUN_ID ' +
  'GITHUB_RUN_ATTEMPT GITHUB_SERVER_URL GITHUB_TRIGGERING_ACTOR GITHUB_WORKFLOW GITHUB_WORKFLOW_REF GITHUB_WORKSPACE ' +
  'HTTP_PROXY http_proxy HTTPS_PROXY NO_PROXY NODE_TLS_REJECT_UNAUTHORIZED RUNNER_ENVIRONMENT ACTIONS_ORCHESTRATION_ID'
).split(' ');
/** Of the built action with all values, or of src/ with some at random. */
const IS_LONG = process.env.MODEL_RUNS !== undefined;
const VALUES = ODD.split('|').toSorted(() => Math.random() - 0.5);
const event = issueComment({ number: PULL, body: '/agent Go.' });

/** Without GITHUB_API_URL, the run would call GitHub itself. */
const rows = NAMES.flatMap((name) =>
  VALUES.slice(0, IS_LONG ? VALUES.length : 2)
    .filter((value) => name !== 'GITHUB_API_URL' || value !== '')
    .map((value) => [name, value] as const),
);

it.each(rows)('a run ends with a sentence, whatever %s is: %j', async (name, value) => {
  await using sim = await simulate({ with: { command: '/agent', prompt: '' } });
  const ofRunner = name.replace(/^GITHUB_/, '');
  const isEnv = ofRunner === name;
  const given = isEnv
    ? { env: { [name]: value } }
    : { github: { [ofRunner.toLowerCase()]: value } };
  const more = { step: { event, ...given } };
  const { errors } = await (IS_LONG ? sim.run(more) : sim.runHere(more));
  expect(errors.join()).not.toContain('unexpected error');
});
