import { badEnds, comments, type Exhibit, replies, summaries } from './exhibits.ts';
import { plain, toHtml, writeDocument } from './page.ts';

// `npm run demo -- gallery`: every state of the comment and of the job summary on one page, light and
// dark, as wide as on a screen and as on a phone.

export function writeGallery(): string {
  const parts = [
    ...comments().map((exhibit) => ({ ...exhibit, what: 'Comment' })),
    ...replies().map((exhibit) => ({ ...exhibit, what: 'Reply' })),
    ...badEnds().map((exhibit) => ({ ...exhibit, what: 'Bad end' })),
    ...summaries().map((exhibit) => ({ ...exhibit, what: 'Summary' })),
  ];
  const body = ['light', 'dark'].map(
    (theme) => `<main class="gallery ${theme}">${parts.map(renderExhibit).join('\n')}</main>`,
  );
  return writeDocument('gallery.html', body.join('\n'));
}

function renderExhibit({ what, name, markdown }: Exhibit & { readonly what: string }): string {
  const kind = what === 'Summary' ? 'summary' : 'comment';
  const box = `<section class="box ${kind}"><div class="markdown-body">${toHtml(markdown)}</div></section>`;
  return `<h2>${what}, ${plain(name)}</h2>
<div class="wide">${box}</div>
<div class="phone">${box}</div>`;
}
