import { badEnds, comments, type Exhibit, replies, summaries } from './exhibits.ts';
import { renderBeside, toHtml, writeDocument } from './page.ts';

// `npm run demo -- gallery`: every state of the comment and of the job summary on one page, in the theme of the reader.

export function writeGallery(): string {
  const parts = [
    ...comments().map((exhibit) => partOf('Comment', exhibit)),
    ...replies().map((exhibit) => partOf('Reply', exhibit)),
    ...badEnds().map((exhibit) => partOf('Bad end', exhibit)),
    ...summaries().map((exhibit) => partOf('Summary', exhibit)),
  ];
  return writeDocument('gallery.html', renderBeside('Every state', parts));
}

function partOf(what: string, { name, markdown }: Exhibit) {
  const kind = what === 'Summary' ? 'summary' : 'comment';
  const box = `<section class="box ${kind}"><div class="markdown-body">${toHtml(markdown)}</div></section>`;
  return { title: `${what}, ${name}`, body: box };
}
