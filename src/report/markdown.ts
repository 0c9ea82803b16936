import { isOurs, QUOTE_LIMIT, type Reason } from '../reason.ts';
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

const MOST_LINES = 12;

/** A text of several lines in a fence, one of a single line in a code span, which wraps. */
export function quotation(text: string, limit = 1000): string {
  const lines = text.trim().split(/\r\n|[\n\r]/);
  if (lines.length === 1) return code(text, limit);
  const block = fence(lines.slice(0, MOST_LINES).join('\n'), limit);
  if (lines.length <= MOST_LINES) return block;
  return `${block}\n\n${small(`Only the first ${MOST_LINES} lines are shown.`)}`;
}

/**
 * What in words of ours would be more than words. They come out of comments as well, and who may edit
 * comments may have edited those.
 */
const MARKUP = /[<>[\]@#*~|\\&`]|(?<!\w)_|_(?!\w)|:\/\/|www\.|\bgh-\d|\b[\da-f]{7,40}\b|\p{C}/iu;

/** Sentences in normal type, in which only what others wrote is code. */
export function reasonToMarkdown(reason: Reason): string {
  return reason
    .map((part, index) => (isOurs(index) && !MARKUP.test(part) ? part : code(part, QUOTE_LIMIT)))
    .reduce(
      (text, part) => `${text}${text.endsWith('`') && part.startsWith('`') ? ' ' : ''}${part}`,
      '',
    );
}

/** A link of our own wording to an address that was checked before. */
export function link(label: string, url: string): string {
  return `[${label}](${new URL(url).href.replace(/[()]/g, percentEncode)})`;
}

/** The links of a comment were checked, but who may edit comments may have edited this one. */
export function isLink(url: string | null): url is string {
  return url !== null && /^https:\/\/[\w.:-]+\/[\w./%-]+$/.test(url);
}

/** The last parts of the links that pass the check of `agent/job-record.ts`. */
const PULL_REQUEST = /^\/(.+?)(?:\/-)?\/(pull|pull-requests|merge_requests)\/(\d+)$/;

/** The repository of a pull request, and its number with the sign of its code host. */
export function readPullRequest(url: string): { repository: string; number: string } | null {
  const [, repository, kind, digits] = PULL_REQUEST.exec(new URL(url).pathname) ?? [];
  if (repository === undefined) return null;
  return { repository, number: `${kind === 'merge_requests' ? '!' : '#'}${digits}` };
}

/** A link with a pull request's number, and its repository unless that is clear. */
export function pullRequestLink(url: string, isRepositoryClear = false): string {
  const found = readPullRequest(url);
  if (found === null) return link('pull request', url);
  const { repository, number } = found;
  // Within a word it means nothing, but a name may begin with it.
  return link(isRepositoryClear ? number : `${repository.replaceAll('_', '\\_')}${number}`, url);
}

/** A picture for those who see it: the words beside it say the same. */
export function icon(character: string): string {
  return `<span aria-hidden="true">${character}</span>`;
}

export function small(text: string): string {
  return `<sub>${text}</sub>`;
}

export function folded(title: string, body: string): string {
  return `<details>\n<summary>${title}</summary>\n\n${body}\n\n</details>`;
}

/** What is not empty, with a dot in between. */
export function dotted(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join(' · ');
}

/** What is not empty, with an empty line in between. */
export function blocks(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}

/** Of the lines the first for which there is room. */
export function fitting(lines: readonly string[], room: number): readonly string[] {
  return firstThatFit(lines, '\n', room);
}

/** Those of the blocks, from the first on, for which there is room. */
export function fittingBlocks(texts: readonly string[], room: number): string {
  const separator = '\n\n';
  const shown = firstThatFit(
    texts.filter((text) => text !== ''),
    separator,
    room,
  );
  return shown.join(separator);
}

function firstThatFit(
  texts: readonly string[],
  separator: string,
  room: number,
): readonly string[] {
  let length = 0;
  const end = texts.findIndex((text) => {
    length += text.length + separator.length;
    return length > room;
  });
  return end === -1 ? texts : texts.slice(0, end);
}

/** For what `encodeURIComponent` lets pass, but Markdown does not. */
function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
}
