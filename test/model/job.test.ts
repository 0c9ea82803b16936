import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { brokenPromises, findsTheEnd, makeCompleteOutputs } from './promises.ts';
import { play, type Run } from './run.ts';
import {
  ALL_WELL,
  after,
  anyPart,
  earlier,
  order,
  type Scenario,
  seconds,
  slowStep,
  surroundings,
} from './scenario.ts';

const SEQUENCES = Number(process.env.MODEL_SEQUENCES ?? 3000);

const anyScenario: fc.Arbitrary<Scenario> = fc
  .record({ order, surroundings, part: anyPart })
  .map(({ order, surroundings, part }) => ({ order, onlyWhen: null, ...surroundings, ...part }));

const secondAttempt: fc.Arbitrary<Scenario> = fc
  .record({ scenario: anyScenario, earlier, isLongOver: fc.boolean() })
  .map(({ scenario, earlier, isLongOver }) => ({
    ...scenario,
    ...after(scenario, earlier, isLongOver),
  }));

/** Nothing fails, but all is slow: the end of the earlier turn, the start of ours, and the responses. */
const slowScenario: fc.Arbitrary<Scenario> = fc
  .record({
    scenario: anyScenario,
    endsAt: seconds(0, 60),
    queueMs: seconds(20, 45),
    slow: fc.array(slowStep, { minLength: 1, maxLength: 20 }),
  })
  .map(({ scenario, endsAt, queueMs, slow }) => ({
    ...scenario,
    order: { wait: true, timeoutMs: 7_200_000, settleMs: 60_000, pollIntervalMs: null },
    job: { ...scenario.job, earlier: { ...scenario.job.earlier, endsAt }, queueMs },
    posts: ALL_WELL,
    polls: { steps: slow, forEver: false },
    cancel: { kind: 'never' },
    veto: false,
    isKnown: false,
    note: 'noted',
  }));

const scenarios = fc.oneof(
  { weight: 16, arbitrary: anyScenario },
  { weight: 2, arbitrary: slowScenario },
  { weight: 3, arbitrary: secondAttempt },
);

const endings = new Map<string, number>();
let sequences = 0;

it(
  `keeps every promise in ${SEQUENCES} random sequences of faults`,
  async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        const { runs, ...left } = await play({ ...scenario, parts: [scenario] });
        const run = runs[0] as Run;
        sequences += 1;
        const ending = `${run.result.result}/${run.result.delivery}`;
        endings.set(ending, (endings.get(ending) ?? 0) + 1);
        expect(brokenPromises(run)).toEqual([]);
        expect(findsTheEnd(run, 0)).toBe(true);
        expect(makeCompleteOutputs([run.state])).toBe(true);
        expect(left).toEqual({ timersLeft: 0, listenersLeft: 0 });
      }),
      { numRuns: SEQUENCES },
    );
  },
  60_000 + SEQUENCES * 20,
);

afterAll(() => {
  const spread = [...endings]
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`);
  console.info(`The model simulated ${sequences} sequences: ${spread.join(', ')}.`);
});
