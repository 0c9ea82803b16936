import { oneLine, withoutInvisible } from '../sanitize.ts';

// Building blocks for Markdown. Text of others stands only in code spans and fences, where
// GitHub neither renders links, images and HTML nor notifies whom a mention names.

/** A code span of at most `limit` characters; safe in a table cell as well. */
export function code(text: string, limit = 200): string {
  const line = oneLine(text, limit).replaceAll('|', '¦');
  if (line === '') return '';
  const ticks = '`'.repeat(longestRun(line) + 1);
  // A space at both ends is taken away again by the renderer (CommonMark, 6.1).
  const pad = /^[` ]|[` ]$/.test(line) ? ' ' : '';
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

/** A fenced block with a fence longer than any run of backticks inside. */
export function fence(text: string, limit = 1000): string {
  const shown = withoutInvisible(text.replace(/\r\n?/g, '\n'));
  const cut = shown.length > limit ? `${shown.slice(0, limit - 1).toWellFormed()}…` : shown;
  const ticks = '`'.repeat(Math.max(3, longestRun(cut) + 1));
  return `${ticks}text\n${cut}\n${ticks}`;
}

/** A link of our own wording to an address that was checked before. */
export function link(label: string, url: string): string {
  return `[${label}](${new URL(url).href.replace(/[()]/g, percentEncode)})`;
}

/** For what `encodeURIComponent` lets pass, but Markdown does not. */
function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
}
