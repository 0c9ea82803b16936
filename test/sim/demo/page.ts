import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import type { Entry, Played, PlayedRun } from './play.ts';
import { PULL, REPOSITORY, story } from './story.ts';

// A page that shows the comments and summaries of the story in the style of GitHub.

/** In .gitignore. */
export const FOLDER = join(import.meta.dirname, '../../../demo');
/** The page of the story. */
export const PAGE = join(FOLDER, 'index.html');
const STYLE = readFileSync(join(import.meta.dirname, 'page.css'), 'utf8');
/** The theme of the reader comes first, because the others are more specific. */
const THEMES: Readonly<Record<string, string>> = {
  auto: 'github-markdown.css',
  light: 'github-markdown-light.css',
  dark: 'github-markdown-dark.css',
};
export const GALLERY = 'npm run demo -- gallery';
/** In the order in which they come. */
const EMOJI: Readonly<Record<string, string>> = {
  eyes: '👀',
  '+1': '👍',
  hooray: '🎉',
  confused: '😕',
};

/** The emoji of these reactions. Some are added at the same time. */
export function toEmoji(reactions: readonly { readonly content: string }[]): readonly string[] {
  const contents = new Set(reactions.map(({ content }) => content));
  return Object.entries(EMOJI).flatMap(([name, emoji]) => (contents.has(name) ? [emoji] : []));
}

/** Writes the page of the story, and returns its path. Its theme is that of the reader. */
export function writePage({ runs, entries }: Played): string {
  const conversation = `What people see on the pull request ${REPOSITORY}#${PULL}`;
  const titles = [conversation, ...runs.map(({ run }) => run.title)];
  const index = titles.map((title, n) => `<li><a href="#part-${n}">${plain(title)}</a></li>`);
  return writeDocument(
    basename(PAGE),
    `<div class="auto"><main>
<h1>${plain(story.title)}</h1>
<p>First the conversation, then the runs of the workflows, each with its job summary.</p>
<ol>${index.join('\n')}</ol>
<p>For all states of the comment and of the job summary: <code>${GALLERY}</code></p>
${headingOf(0, conversation)}
${renderEntries(entries)}
${runs.map((run, index) => renderRun(run, index + 1)).join('\n')}
</main></div>`,
  );
}

function headingOf(part: number, title: string): string {
  return `<h2 id="part-${part}">${plain(title)}</h2>`;
}

/** Writes a document next to the style sheet that it needs. */
export function writeDocument(name: string, body: string): string {
  const file = join(FOLDER, name);
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, 'github.css'), Object.entries(THEMES).map(readTheme).join('\n'));
  writeFileSync(
    file,
    `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Agent Follow-up: the demo</title>
<link rel="stylesheet" href="github.css">
<style>
${STYLE}</style>
<body>
${body}
<script>
// pictures.ts reads the height.
document.body.dataset.height = Math.ceil(document.body.getBoundingClientRect().height);
</script>
</body>
</html>
`,
  );
  return file;
}

/** The rules of a theme, limited to elements in an element of that class. */
function readTheme([theme, file]: readonly [string, string]): string {
  const { resolve } = createRequire(import.meta.url);
  const css = readFileSync(resolve(`github-markdown-css/${file}`), 'utf8');
  return css.replaceAll('.markdown-body', `.${theme} .markdown-body`);
}

function renderRun({ run, result }: PlayedRun, part: number): string {
  const head = `${headingOf(part, run.title)}\n<p>${plain(run.about)}</p>`;
  if (result === undefined) return `${head}\n<p>No runner starts.</p>`;
  const colour = result.conclusion === 'success' ? 'green' : 'red';
  return `${head}\n<p>The step is ${colour}.</p>\n${renderSummary(result.summary)}`;
}

/** The box in which GitHub shows a job summary. */
function renderSummary(summary: string): string {
  if (summary === '') return '';
  return `<section class="box"><header><b>Job summary</b></header>
<div class="markdown-body">${toHtml(summary)}</div></section>`;
}

export function renderEntries(entries: readonly Entry[]): string {
  const boxes = entries.map(({ author, body, created_at: at, reactions, isMinimized }) => {
    const name = author.replace(/\[bot\]$/, '');
    const badge = name === author ? '' : ' <span class="badge">bot</span>';
    const shown = toEmoji(reactions).map((emoji) => `<span>${emoji} 1</span>`);
    const article = `<article class="comment">
<span class="avatar ${badge === '' ? 'person' : ''}">${plain(name.charAt(0).toUpperCase())}</span>
<section class="box"><header><b>${plain(name)}</b>${badge} commented at ${at.slice(11, 16)} UTC</header>
<div class="markdown-body">${toHtml(body)}</div>
${shown.length === 0 ? '' : `<div class="reactions">${shown.join(' ')}</div>`}</section>
</article>`;
    if (!isMinimized) return article;
    return `<details><summary>${plain(name)} commented. This comment was marked as outdated.</summary>
${article}</details>`;
  });
  return boxes.join('\n');
}

/** Only for text of the action: this lets every tag through. */
export function toHtml(markdown: string): string {
  return micromark(markdown, {
    extensions: [gfm()],
    htmlExtensions: [gfmHtml()],
    allowDangerousHtml: true,
  });
}

export function plain(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
