// `npm run demo` plays a story with the built action, a simulated API and a simulated GitHub, and shows what people would
// see. `npm run demo -- gallery` shows every state of the comment and the summary.

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
  const page = pathToFileURL(writePage(await play({ viewer: terminal, pace: story.pace })));
  console.log(`\nEvery state of the comment and the job summary: ${GALLERY}`);
  console.log(`All of this story, as GitHub renders it: ${page}`);
}
