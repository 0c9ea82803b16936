// `npm run demo`: the built action at work on a simulated service and a simulated GitHub, and
// everything that a user would see of it. `npm run demo -- comment` tells another story; several
// names tell several, in their order. `npm run demo -- gallery` shows every state of what people see.

import { pathToFileURL } from 'node:url';
import { writeGallery } from './gallery.ts';
import { writePage } from './page.ts';
import { stories } from './stories.ts';
import type { Story } from './story.ts';
import { isGood, type Told, tell } from './tell.ts';
import { conclude, terminal } from './terminal.ts';

const names = process.argv.slice(2);
const unknown = names.filter((name) => !stories.has(name));
const isGallery = names.length === 1 && names[0] === 'gallery';
process.exitCode = isGallery ? showGallery() : unknown.length === 0 ? await main() : refuse();

function showGallery(): number {
  console.log(`Every state, as GitHub renders it: ${pathToFileURL(writeGallery())}`);
  return 0;
}

function refuse(): number {
  console.error(
    `There is no story "${unknown.join('", "')}". There are: ${[...stories.keys()].join(', ')}, gallery.`,
  );
  return 2;
}

async function main(): Promise<number> {
  const told: Told[] = [];
  for (const name of names.length === 0 ? ['pull-request'] : names) {
    const story = stories.get(name) as Story;
    const one = await tell(story, terminal, story.pace);
    told.push(one);
    conclude(one);
  }
  const page = writePage(told);
  console.log(`\nThe comments and job summaries, as GitHub renders them: ${pathToFileURL(page)}`);
  const others = [...stories].flatMap(([name, story]) =>
    told.some((one) => one.story === story) ? [] : [name],
  );
  if (others.length > 0) console.log(`Other stories: npm run demo -- ${others.join(' ')}`);
  return told.every(isGood) ? 0 : 1;
}
