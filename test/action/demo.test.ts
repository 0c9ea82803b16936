import { expect, it } from 'vitest';
import { play } from '../sim/demo/play.ts';
import { API_KEY } from '../sim/demo/scenario.ts';
import { scenarios } from '../sim/demo/scenarios.ts';

it.each([...scenarios.keys()])('the demo %s passes the checks of its scenario', async (name) => {
  const scenario = scenarios.get(name);
  if (scenario === undefined) throw new Error(`There is no scenario ${name}.`);
  const lines: string[] = [];
  const { checks, runs, conversations } = await play(scenario, {
    line: ({ text }) => lines.push(text),
  });
  expect(Object.entries(checks).filter(([, isTrue]) => !isTrue)).toEqual([]);
  expect(Object.keys(checks).length).toBeGreaterThan(2);
  expect(runs).toHaveLength(scenario.runs.length);
  expect(JSON.stringify([lines, conversations])).not.toContain(API_KEY);
});
