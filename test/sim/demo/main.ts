// `npm run demo` plays a story with the built action, a simulated API and a simulated GitHub, and makes a page of what people
// would see. `npm run demo -- gallery` makes one of every state of the comment and the summary.

import { pathToFileURL } from 'node:url';
import { comments, type Exhibit, summaries } from './exhibits.ts';
import { renderBeside, toHtml, writeDocument, writePage } from './page.ts';
import { type PlayedRun, play } from './play.ts';
import { story } from './story.ts';

const HOW =
  'The action is the built one; the API and GitHub are simulated. It takes half a minute.';

if (process.argv[2] === 'gallery') {
  const all = { Comment: comments(), Summary: summaries() };
  const parts = Object.entries(all).flatMap(([what, some]) => some.map((one) => show(what, one)));
  const page = writeDocument('gallery.html', renderBeside('Every state', parts));
  console.log(`Every state, as GitHub renders it: ${pathToFileURL(page)}`);
} else {
  console.log(`${story.title}\n\n${story.setup}\n${HOW}\n`);
  const page = writePage(await play({ ended: (played) => console.log(describe(played)) }));
  console.log('\nEvery state of the comment and the job summary: npm run demo -- gallery');
  console.log(`All of this story, as GitHub renders it: ${pathToFileURL(page)}`);
}

function show(what: string, { name, markdown }: Exhibit) {
  const kind = what === 'Summary' ? 'summary' : 'comment';
  const html = `<div class="markdown-body">${toHtml(markdown)}</div>`;
  return { title: `${what}, ${name}`, body: `<section class="box ${kind}">${html}</section>` };
}

/** How a run ends: what stands first in its comment, or why there is none. */
function describe({ run, result, entries }: PlayedRun): string {
  const [url] = result?.outputs['comment-url']?.split('\n') ?? [];
  const answer = entries.find(({ html_url }) => html_url === url);
  const text = answer?.body.replace(/^<!--.*-->\n|<[^>]+>|^#+ |`/gm, '');
  const [title] = text?.replaceAll(/\[(.+?)\]\(\S+\)/g, '$1').split('\n') ?? [];
  return `  ${run.title}: ${title ?? result?.outputs.reason ?? 'No runner starts.'}`;
}
