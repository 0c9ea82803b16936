import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { deliveryOf } from '../../src/job.ts';
import { brokenPromises } from './promises.ts';
import { play } from './run.ts';
import { scenarios } from './scenario.ts';

const { MODEL_SEQUENCES } = process.env;
const SEQUENCES = Number(MODEL_SEQUENCES ?? 3000);
/** The same sequences each time, so that only the change under test can make them fail. */
const SEED = MODEL_SEQUENCES === undefined ? { seed: 1 } : {};

const endings = new Map<string, number>();

it(
  `keeps every promise in ${SEQUENCES} random sequences of statuses, faults and outages`,
  async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        const all = await play(scenario);
        for (const { job } of all) {
          const confirmed = job.end?.confirmed === true ? ', confirmed' : '';
          const ending = `${job.end?.result}, ${deliveryOf(job)}${confirmed}`;
          endings.set(ending, (endings.get(ending) ?? 0) + 1);
        }
        expect(brokenPromises(all)).toEqual([]);
      }),
      { numRuns: SEQUENCES, ...SEED },
    );
  },
  60_000 + SEQUENCES * 20,
);

afterAll(() => {
  const spread = [...endings].sort(([, one], [, other]) => other - one);
  console.info(`How the jobs ended: ${spread.map((one) => one.join(': ')).join('; ')}.`);
});
