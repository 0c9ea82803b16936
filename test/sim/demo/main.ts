// `npm run demo` runs the built action against a simulated API and a simulated GitHub, and shows
// everything that a user would see. `npm run demo -- every-night` plays another scenario; several names play
// several scenarios in order. `npm run demo -- gallery` shows every state of the comment and the summary.

import { pathToFileURL } from 'node:url';
import { writeGallery } from './gallery.ts';
import { GALLERY, writePage } from './page.ts';
import { allChecksPass, type PlayedScenario, play } from './play.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';
import { printChecks, terminal } from './terminal.ts';

const names = process.argv.slice(2);
const unknown = names.filter((name) => !scenarios.has(name));
process.exitCode = await show();

async function show(): Promise<number> {
  if (names.length === 1 && names[0] === 'gallery') return showGallery();
  return unknown.length === 0 ? playAll() : rejectNames();
}

function showGallery(): number {
  console.log(`Every state, as GitHub renders it: ${pathToFileURL(writeGallery())}`);
  return 0;
}

function rejectNames(): number {
  console.error(
    `Unknown scenario: ${unknown.join(', ')}. Use one of ${[...scenarios.keys()].join(', ')}, gallery.`,
  );
  return 2;
}

async function playAll(): Promise<number> {
  const played: PlayedScenario[] = [];
  const [first = ''] = scenarios.keys();
  for (const name of names.length === 0 ? [first] : names) {
    const scenario = scenarios.get(name) as Scenario;
    const one = await play(scenario, terminal, scenario.pace);
    played.push(one);
    printChecks(one);
  }
  const page = writePage(played);
  console.log(`\nThe comments and job summaries, as GitHub renders them: ${pathToFileURL(page)}`);
  const others = [...scenarios].flatMap(([name, scenario]) =>
    played.some((one) => one.scenario === scenario) ? [] : [name],
  );
  if (others.length > 0) console.log(`Other scenarios: npm run demo -- ${others.join(' ')}`);
  console.log(`Every state of the comment and the summary: ${GALLERY}`);
  return played.every(allChecksPass) ? 0 : 1;
}
