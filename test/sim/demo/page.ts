import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import type { Mail, Played, PlayedRun } from './play.ts';
import type { Entry } from './stage.ts';
import { ISSUE, PULL, REPOSITORY, story } from './story.ts';

// A page that shows the comments and summaries of the story in the style of GitHub.

/** In .gitignore. */
const FOLDER = join(import.meta.dirname, '../../../demo');
const STYLE = readFileSync(join(import.meta.dirname, 'page.css'), 'utf8');
/** The theme of the reader comes first, because the others are more specific. */
const THEMES: Readonly<Record<string, string>> = {
  auto: 'github-markdown.css',
  light: 'github-markdown-light.css',
  dark: 'github-markdown-dark.css',
};
/** In the order in which they come. */
const EMOJI: Record<string, string> = { eyes: '👀', '+1': '👍', hooray: '🎉', confused: '😕' };

/** The emoji of these reactions. Some are added at the same time. */
function toEmoji(reactions: readonly { readonly content: string }[]): readonly string[] {
  const contents = new Set(reactions.map(({ content }) => content));
  return Object.entries(EMOJI).flatMap(([name, emoji]) => (contents.has(name) ? [emoji] : []));
}

/** Writes the page of the story, which begins with the conversation, and returns its path. */
export function writePage({ runs, entries }: Played): string {
  const ofIssue = runs.find(({ run }) => 'on' in run.trigger && run.trigger.on === ISSUE);
  const parts = [
    { title: `${REPOSITORY}#${PULL}`, body: renderEntries(entries) },
    { title: `${REPOSITORY}#${ISSUE}`, body: renderEntries(ofIssue?.entries ?? []) },
    ...runs.map((played) => ({ title: played.run.title, body: renderRun(played) })),
  ];
  return writeDocument('index.html', renderBeside(story.title, parts));
}

type Part = { readonly title: string; readonly body: string };

/** The parts, with their index beside them. The theme is that of the reader. */
export function renderBeside(title: string, parts: readonly Part[]): string {
  const links = parts.map((part, n) => `<li><a href="#part-${n}">${plain(part.title)}</a></li>`);
  const shown = parts.map(
    ({ title, body }, n) => `<h2 id="part-${n}">${plain(title)}</h2>\n${body}`,
  );
  return `<div class="auto beside">
<nav><b>${plain(title)}</b><ol>${links.join('\n')}</ol></nav>
<main>${shown.join('\n')}</main>
</div>`;
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

function renderRun({ run: { about = '' }, result, mails }: PlayedRun): string {
  const conclusion = result?.conclusion === 'success' ? 'The step is green.' : 'The step is red.';
  const end = result === undefined ? 'No runner starts.' : conclusion;
  const mailed = mails.map((mail) => `<li>${renderMail(mail)}</li>`).join('');
  const list =
    mailed === ''
      ? 'The action and the agent write nothing that GitHub mails.'
      : `GitHub mails what the action and the agent write:<ul>${mailed}</ul>`;
  return `<p>${plain(about)} ${end}</p>\n<div>${list}</div>\n${renderSummary(result?.summary ?? '')}`;
}

/** What stands first in it. */
function renderMail(mail: Mail): string {
  if (mail.kind === 'push') return plain(`new commits: ${mail.headlines.join(' · ')}`);
  const lines = mail.body.replace(/^<!--.*-->\n/gm, '').split('\n\n');
  return `a new comment on #${mail.number}: ${lines.slice(0, 2).map(toHtml).join('')}`;
}

/** The box in which GitHub shows a job summary. */
function renderSummary(summary: string): string {
  if (summary === '') return '';
  return `<section class="box"><header><b>Job summary</b></header>
<div class="markdown-body">${toHtml(summary)}</div></section>`;
}

export function renderEntries(entries: readonly Entry[]): string {
  const boxes = entries.map(({ author, body, created_at: at, reactions, ...entry }) => {
    const name = author.replace(/\[bot\]$/, '');
    const badge = name === author ? '' : ' <span class="badge">bot</span>';
    const shown = toEmoji(reactions).map((emoji) => `<span>${emoji} 1</span>`);
    const article = `<article class="comment">
<span class="avatar ${badge === '' ? 'person' : ''}">${plain(name.charAt(0).toUpperCase())}</span>
<section class="box"><header><b>${plain(name)}</b>${badge} commented on ${at.slice(0, 10)} at ${at.slice(11, 16)} UTC</header>
<div class="markdown-body">${toHtml(body)}</div>
${shown.length === 0 ? '' : `<div class="reactions">${shown.join(' ')}</div>`}</section>
</article>`;
    if (!entry.isMinimized) return article;
    return `<details><summary>${plain(name)} commented. This comment was marked as ${entry.minimizedReason}.</summary>
${article}</details>`;
  });
  return boxes.join('\n');
}

/** Only for text of the action: this lets every tag through. */
export function toHtml(markdown: string): string {
  const extensions = { extensions: [gfm()], htmlExtensions: [gfmHtml()] };
  return micromark(markdown, { ...extensions, allowDangerousHtml: true });
}

function plain(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
