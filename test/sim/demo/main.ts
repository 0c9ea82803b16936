// `npm run demo` runs the built action against a simulated API and a simulated GitHub, and shows
// the logs, and writes a page with all that people see. `npm run demo -- every-night` plays another scenario, and
// `npm run demo -- gallery` shows every state of the comment and the summary.

import { pathToFileURL } from 'node:url';
import { scenario as everyNight } from './every-night.ts';
import { writeGallery } from './gallery.ts';
import { GALLERY, writePage } from './page.ts';
import { play } from './play.ts';
import type { Run, Scenario } from './scenario.ts';
import { scenario as story } from './story.ts';

const scenarios = new Map([
  ['story', story],
  ['every-night', everyNight],
]);
const [name = 'story'] = process.argv.slice(2);
const scenario = scenarios.get(name);
const names = [...scenarios.keys(), 'gallery'];

if (name === 'gallery') {
  console.log(`Every state, as GitHub renders it: ${pathToFileURL(writeGallery())}`);
} else if (scenario !== undefined) {
  await show(scenario);
} else {
  console.error(`Unknown scenario: ${name}. Use one of ${names.join(', ')}.`);
  process.exitCode = 2;
}

async function show(scenario: Scenario): Promise<void> {
  const viewer = {
    runStarts: ({ title, about }: Run) => console.log(`\n=== ${title} ===\n${about}\n`),
    line: (text: string) => console.log(`  ${text}`),
  };
  const page = pathToFileURL(writePage(await play(scenario, viewer, scenario.pace)));
  console.log(`\nThe comments and job summaries, as GitHub renders them: ${page}`);
  const others = names.filter((one) => ![name, 'gallery'].includes(one));
  for (const other of others) console.log(`Another scenario: npm run demo -- ${other}`);
  console.log(`Every state of the comment and the summary: ${GALLERY}`);
}
