import { readPullRequest } from '../pull-request-link.ts';
import { isOurs, QUOTE_LIMIT, type Reason } from '../reason.ts';
import { cut, oneLine, withoutInvisible } from '../sanitize.ts';

// Building blocks for Markdown. Text by others is only in code spans and fences, where
// GitHub neither renders links, images and HTML nor notifies people who are mentioned.

/** A code span of at most `limit` characters; safe in a table cell as well. */
export function code(text: string, limit = 200): string {
  const line = oneLine(text, limit).replaceAll('|', '¦');
  if (line === '') return '';
  const ticks = '`'.repeat(longestRun(line) + 1);
  // Renderers remove one space at both ends (CommonMark, 6.1).
  const pad = /^[` ]|[` ]$/.test(line) ? ' ' : '';
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

/** A fenced block with a fence longer than any run of backticks inside. */
export function fence(text: string, limit = 1000): string {
  const body = cut(withoutInvisible(text.replace(/\r\n?/g, '\n')), limit);
  const ticks = '`'.repeat(Math.max(3, longestRun(body) + 1));
  return `${ticks}text\n${body}\n${ticks}`;
}

const MOST_LINES = 12;

/** A fence for several lines, and for one line a code span, which wraps. */
export function quotation(text: string, limit = 1000): string {
  const lines = text.trim().split(/\r\n|[\n\r]/);
  if (lines.length === 1) return code(text, limit);
  const block = fence(lines.slice(0, MOST_LINES).join('\n'), limit);
  if (lines.length <= MOST_LINES) return block;
  return `${block}\n\n${small(`Only the first ${MOST_LINES} lines are shown.`)}`;
}

/** All that GitHub would not show as plain text. Our words may come from a comment that people have edited. */
const MARKUP = /[<>[\]@#*~|\\&`]|(?<!\w)_|_(?!\w)|:\/\/|www\.|\bgh-\d|\b[\da-f]{7,40}\b|\p{C}/iu;

/** A sentence in normal type, in which only text by others is code. */
export function reasonToMarkdown(reason: Reason): string {
  return reason
    .map((part, index) => (isOurs(index) && !MARKUP.test(part) ? part : code(part, QUOTE_LIMIT)))
    .reduce(
      (text, part) => `${text}${text.endsWith('`') && part.startsWith('`') ? ' ' : ''}${part}`,
      '',
    );
}

/** A link with our own label to a URL that was checked before. */
export function link(label: string, url: string): string {
  // Parentheses would end the link in Markdown.
  const href = new URL(url).href.replaceAll('(', '%28').replaceAll(')', '%29');
  return `[${label}](${href})`;
}

/** A link with the number of a pull request, and its repository unless that is clear. */
export function pullRequestLink(url: string, isRepositoryClear = false): string {
  const found = readPullRequest(url);
  if (found === null) return link('pull request', url);
  const { repository, number } = found;
  // A name may begin with `_`, which is Markdown there.
  return link(isRepositoryClear ? number : `${repository.replaceAll('_', '\\_')}${number}`, url);
}

/** An icon, hidden from screen readers: the words next to it say the same. */
export function icon(character: string): string {
  return `<span aria-hidden="true">${character}</span>`;
}

export function small(text: string): string {
  return `<sub>${text}</sub>`;
}

export function folded(title: string, body: string): string {
  return `<details>\n<summary>${title}</summary>\n\n${body}\n\n</details>`;
}

/** Joins the texts that are not empty with dots. */
export function dotted(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join(' · ');
}

/** Joins the texts that are not empty with blank lines. */
export function blocks(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}

/** The first texts, as many as there is room for. */
export function fitting(
  texts: readonly string[],
  room: number,
  separator = '\n',
): readonly string[] {
  let length = 0;
  const end = texts.findIndex((text) => {
    length += text.length + separator.length;
    return length > room;
  });
  return end === -1 ? texts : texts.slice(0, end);
}

/** Joins the first texts that are not empty with blank lines, as many as there is room for. */
export function fittingBlocks(texts: readonly string[], room: number): string {
  const filled = texts.filter((text) => text !== '');
  return blocks(fitting(filled, room, '\n\n'));
}

function longestRun(text: string): number {
  return Math.max(0, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
}
