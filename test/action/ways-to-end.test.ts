import { expect, it } from 'vitest';
import { STOP_REASONS, type StopCode } from '../../src/job/stop-reasons.ts';
import { DEPENDABOT, pullRequest, review } from '../sim/events.ts';
import { openAttempts } from './attempts.ts';
import { JOB, PULL, type Scenario } from './scenario.ts';

// Each way in which a second attempt can end early, by what the first one did. It never says `not-sent` of a message that was
// sent, or may have been.

type Attempt = Pick<Scenario, 'with' | 'step'>;
interface Way {
  readonly origin?: 'a review';
  readonly first?: Attempt;
  readonly second: Attempt;
  /** What it says after each first attempt: the result and the delivery. Default: nothing is known. */
  readonly says?: readonly [sent: string, unknown: string, notSent: string, nothing: string];
  readonly isListed?: boolean;
  /** Why it ends, if nothing is known. */
  readonly code?: StopCode;
}

/** The first attempt sent the message, may have sent it, was refused, or never got that far. */
const FIRST = [{}, { status: 503 }, { status: 400 }, null] as const;
const NAMES = ['sent', 'unknown', 'not-sent', 'nothing'];
/** Without a comment of the first attempt, it may be that it is not listed yet. */
const BARE = { event: review({ number: PULL, body: '/agent' }) };
const BY_DEPENDABOT = { event: pullRequest({ number: PULL, sender: DEPENDABOT }) };
const by = (triggering_actor: string) => ({ step: { github: { triggering_actor } } });
const BOTS = { 'allowed-bots': DEPENDABOT.login };

const WAYS: Readonly<Record<string, Way>> = {
  'the prompt is empty': { second: { with: { prompt: '' } }, code: 'inputs' },
  'a file to attach is missing': { second: { with: { attach: 'gone.txt' } }, code: 'no-content' },
  'the words of a review are gone': {
    ...{ origin: 'a review', second: { step: BARE }, code: 'no-words' },
  },
  'the key is lost': { second: { with: { 'api-key': '' } }, code: 'api-key' },
  'the job is empty': {
    second: { with: { 'job-id': '' } },
    says: ['sent, sent', 'error, unknown', 'sent, sent', 'error, unknown'],
  },
  'the list of comments fails': {
    second: {},
    isListed: false,
    says: ['error, unknown', 'error, unknown', 'error, unknown', 'error, unknown'],
  },
  'an input is wrong': { second: { with: { wait: 'perhaps' } }, code: 'inputs' },
  'a stranger re-runs it': { second: by('mallory'), code: 'not-allowed' },
  'nobody re-runs it': { second: by(''), code: 'unchecked' },
  'secrets are withheld': {
    first: { with: BOTS, step: BY_DEPENDABOT },
    second: { with: { ...BOTS, 'api-key': '' }, step: BY_DEPENDABOT },
    code: 'no-secrets',
  },
};

it.each(
  Object.entries(WAYS).flatMap(([name, way]) =>
    NAMES.map((first, index) => [name, first, index, way] as const),
  ),
)('%s in the second attempt, after %s', async (_, __, index, way) => {
  let isFirst = true;
  await using attempts = await openAttempts(way.origin ?? 'a step', {
    agent: { jobs: [{ id: JOB }], onPost: () => (isFirst ? (FIRST[index] ?? {}) : {}) },
    github: {
      on: ({ body }) =>
        !isFirst && way.isListed === false && body.includes('viewerDidAuthor')
          ? { status: 502 }
          : undefined,
    },
  });
  if (FIRST[index] !== null) await attempts.run(1, way.first);
  isFirst = false;
  const before = attempts.sim.agent.accepted().length;
  const { outputs } = await attempts.run(2, way.second);
  const { code } = way;
  const expected = code === undefined ? way.says?.[index] : `${STOP_REASONS[code].result}, unknown`;
  expect(`${outputs.result}, ${outputs.delivery}`).toBe(expected);
  if (code !== undefined) expect(outputs.code).toBe(code);
  const isSentNow = outputs.delivery === 'sent' && index > 0;
  expect(attempts.sim.agent.accepted()).toHaveLength(before + Number(isSentNow));
});
