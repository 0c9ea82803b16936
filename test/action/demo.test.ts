import { expect, it } from 'vitest';
import { stories } from '../sim/demo/stories.ts';
import { API_KEY } from '../sim/demo/story.ts';
import { tell } from '../sim/demo/tell.ts';

it.each([...stories.keys()])('the demo %s passes the checks of its story', async (name) => {
  const story = stories.get(name);
  if (story === undefined) throw new Error(`There is no story ${name}.`);
  const lines: string[] = [];
  const { checks, runs, conversations } = await tell(story, {
    line: ({ text }) => lines.push(text),
  });
  expect(Object.entries(checks).filter(([, passes]) => !passes)).toEqual([]);
  expect(Object.keys(checks).length).toBeGreaterThan(2);
  expect(runs).toHaveLength(story.runs.length);
  expect(JSON.stringify([lines, conversations])).not.toContain(API_KEY);
});
