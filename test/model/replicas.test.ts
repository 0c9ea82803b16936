import { it } from 'vitest';
import { mergeGroup } from '../sim/events.ts';
import type { JobScript } from './service.ts';
import { playInWorlds, playRun } from './world.ts';

// How often an end is confirmed too early if each poll asks one of two replicas of the API at random, of which one is
// behind. No number of polls makes that impossible, so this only measures it: npm run test:long.

playInWorlds();

const RUNS = Math.min(2000, Number(process.env.MODEL_SEQUENCES));
/** What the agent does before the message, and how far one replica is behind. */
const CASES = ['done', 'at work'].flatMap((before) =>
  [5, 15, 30].map((lagS) => ({ before, lagS })),
);

it.each(CASES)(
  'how many ends are too early: $before, $lagS s behind',
  async ({ before, lagS }) => {
    let tooEarly = 0;
    for (let n = 0; n < RUNS; n += 1) {
      const endsAt = before === 'at work' ? 15_000 + Math.random() * 60_000 : -1e9;
      // Mostly 3 s, and now and then up to 45 s.
      const queueMs = -Math.log(1 - Math.random()) * (Math.random() < 0.1 ? 15_000 : 3000);
      const job: Partial<JobScript> = {
        ...{
          earlier: { endsAt, ends: 'completed', link: true },
          queueMs: Math.min(45_000, queueMs),
        },
        workMs: 5000 + Math.random() * 200_000,
      };
      const lagsMs = [0, lagS * 1000];
      const { facts, ...times } = await playRun(
        { event: mergeGroup(), with: { 'pr-number': '7' }, jobs: [job] },
        { takes: () => [100, 0], lagsMs, replica: () => Math.floor(Math.random() * 2) },
      );
      if (facts.confirmed === 'true' && times.knownAt < times.endsAt) tooEarly += 1;
    }
    const percent = ((100 * tooEarly) / RUNS).toFixed(1);
    console.info(`Too early: ${percent} % of ${RUNS} runs, ${before}, ${lagS} s behind.`);
  },
  60_000 + RUNS * 500,
);
