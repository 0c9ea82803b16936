import { expect, it } from 'vitest';
import { play } from '../sim/demo/play.ts';
import { API_KEY } from '../sim/demo/scenario.ts';
import { scenarios } from '../sim/demo/scenarios.ts';

// story.test.ts plays the story.
const others = [...scenarios].filter(([name]) => name !== 'story');

it.each(others)('the demo %s passes the checks of its scenario', async (_, scenario) => {
  const { checks, runs, conversations } = await play(scenario);
  expect(Object.entries(checks).filter(([, isTrue]) => !isTrue)).toEqual([]);
  expect(Object.keys(checks).length).toBeGreaterThan(2);
  expect(runs).toHaveLength(scenario.runs.length);
  expect(JSON.stringify([runs.map(({ result }) => result?.log), conversations])).not.toContain(
    API_KEY,
  );
});
