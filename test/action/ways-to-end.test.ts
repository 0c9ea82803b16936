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
  readonly isListed?: boolean;
  /** Why it ends, where nothing is known; otherwise, what it says after each first attempt. */
  readonly ends: StopCode | readonly string[];
}

/** The first attempt sent the message, may have sent it, was refused, or never got that far. */
const FIRST = [{}, { status: 503 }, { status: 400 }, null] as const;
const NAMES = ['sent', 'unknown', 'not-sent', 'nothing'];
const [SENT, DOUBT] = ['sent, sent', 'error, unknown'];
const BARE = { event: review({ number: PULL, body: '/agent' }) };
const BY_DEPENDABOT = { event: pullRequest({ number: PULL, sender: DEPENDABOT }) };
const by = (triggering_actor: string) => ({ step: { github: { triggering_actor } } });
const BOTS = { 'allowed-bots': DEPENDABOT.login };
const WITHHELD = { with: { ...BOTS, 'api-key': '' }, step: BY_DEPENDABOT };

const WAYS: Readonly<Record<string, Way>> = {
  'the prompt is empty': { second: { with: { prompt: '' } }, ends: 'inputs' },
  'a file to attach is missing': { second: { with: { attach: 'gone.txt' } }, ends: 'no-content' },
  'its words are gone': { origin: 'a review', second: { step: BARE }, ends: 'no-words' },
  'the key is lost': { second: { with: { 'api-key': '' } }, ends: 'api-key' },
  // Without a comment of the first attempt, it may be that it is not listed yet.
  'the job is empty': { second: { with: { 'job-id': '' } }, ends: [SENT, DOUBT, SENT, DOUBT] },
  'no list': { second: {}, isListed: false, ends: [DOUBT, DOUBT, DOUBT, DOUBT] },
  'an input is wrong': { second: { with: { wait: 'perhaps' } }, ends: 'inputs' },
  'a stranger re-runs it': { second: by('mallory'), ends: 'not-allowed' },
  'nobody re-runs it': { second: by(''), ends: 'unchecked' },
  'secrets are withheld': {
    ...{ first: { with: BOTS, step: BY_DEPENDABOT }, second: WITHHELD, ends: 'no-secrets' },
  },
};

it.each(
  Object.entries(WAYS).flatMap(([name, way]) =>
    NAMES.map((first, index) => [name, first, index, way] as const),
  ),
)('%s in the second attempt, after %s', async (_, __, index, way) => {
  const { origin = 'a step', first, second, isListed = true, ends } = way;
  let isFirst = true;
  const isUnlisted = (body: string) => !isFirst && !isListed && body.includes('viewerDidAuthor');
  await using attempts = await openAttempts(origin, {
    agent: { jobs: [{ id: JOB }], onPost: () => (isFirst ? (FIRST[index] ?? {}) : {}) },
    github: { on: ({ body }) => (isUnlisted(body) ? { status: 502 } : undefined) },
  });
  const { run, sim } = attempts;
  if (FIRST[index] !== null) await run(1, first);
  isFirst = false;
  const before = sim.agent.accepted().length;
  const { result, delivery, code } = (await run(2, second)).outputs;
  const isCode = typeof ends === 'string';
  if (isCode) expect(code).toBe(ends);
  const expected = isCode ? `${STOP_REASONS[ends].result}, unknown` : ends[index];
  expect(`${result}, ${delivery}`).toBe(expected);
  const isSentNow = delivery === 'sent' && index > 0;
  expect(sim.agent.accepted()).toHaveLength(before + Number(isSentNow));
});
