// `npm run demo` runs the built action against a simulated API and a simulated GitHub, and shows
// everything that a user would see. `npm run demo -- gallery` shows every state of the comment and the summary.

import { pathToFileURL } from 'node:url';
import { writeGallery } from './gallery.ts';
import { GALLERY, writePage } from './page.ts';
import { play } from './play.ts';
import { story } from './story.ts';
import { terminal } from './terminal.ts';

const [name = ''] = process.argv.slice(2);

if (name === 'gallery') {
  console.log(`Every state, as GitHub renders it: ${pathToFileURL(writeGallery())}`);
} else {
  const page = pathToFileURL(writePage(await play(terminal, story.pace)));
  console.log(`\nThe comments and job summaries, as GitHub renders them: ${page}`);
  console.log(`Every state of the comment and the summary: ${GALLERY}`);
}
