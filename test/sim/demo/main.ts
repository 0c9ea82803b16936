// `npm run demo` runs the built action against a simulated API and a simulated GitHub, and shows
// everything that a user would see. `npm run demo -- every-night` plays another scenario, and
// `npm run demo -- gallery` shows every state of the comment and the summary.

import { pathToFileURL } from 'node:url';
import { writeGallery } from './gallery.ts';
import { GALLERY, writePage } from './page.ts';
import { allChecksPass, play } from './play.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';
import { printChecks, terminal } from './terminal.ts';

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
  const played = await play(scenario, terminal, scenario.pace);
  printChecks(played);
  const page = pathToFileURL(writePage(played));
  console.log(`\nThe comments and job summaries, as GitHub renders them: ${page}`);
  const others = names.filter((one) => ![name, 'gallery'].includes(one));
  for (const other of others) console.log(`Another scenario: npm run demo -- ${other}`);
  console.log(`Every state of the comment and the summary: ${GALLERY}`);
  process.exitCode = allChecksPass(played) ? 0 : 1;
}
