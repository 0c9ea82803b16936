import { DASHBOARD_URL } from './mintlify-api.ts';
import { backticksAround, cut, oneLine, splitQuotes, withoutInvisible } from './text.ts';

// Text by others is only in code spans and fences, where GitHub neither renders links, images and
// HTML nor notifies people who are mentioned.

/** A code span of at most `limit` characters; safe in a table cell as well. */
export function code(text: string, limit = 200): string {
  const line = oneLine(text, limit).replaceAll('|', '¦');
  if (line === '') return '';
  const ticks = backticksAround(line, 1);
  // Renderers remove one space at both ends (CommonMark, 6.1).
  const pad = /^[` ]|[` ]$/.test(line) ? ' ' : '';
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

/** The text, which is clean, cannot close the block. */
export function fence(text: string, language = 'text'): string {
  const ticks = backticksAround(text, 3);
  return `${ticks}${language}\n${text}\n${ticks}`;
}

/** No line of it can be taken for one of ours, or end a block that is open. */
export function quoteLines(text: string): string {
  return text.replace(/\r\n?|[\v\f\x85\u2028\u2029]/g, '\n').replace(/^/gm, '> ');
}

const MOST_QUOTED_LINES = 12;
const MOST_CHARACTERS = 1000;

/**
 * The beginning of a text without secrets: a part of one is not recognized. One line is a code
 * span, which wraps. `attached` says in our words what belongs to the text.
 */
export function quotation(text: string, attached = ''): string {
  const whole = withoutInvisible(text.replace(/\r\n?/g, '\n')).trim();
  if (whole === '') return attached === '' ? '' : `> ${small(attached)}`;
  const lines = whole.split('\n');
  const beginning = lines.slice(0, MOST_QUOTED_LINES).join('\n').trimEnd();
  const shown = cut(beginning, MOST_CHARACTERS);
  const quoted = lines.length === 1 ? code(shown, MOST_CHARACTERS) : fence(shown);
  const cutOff = shown === whole ? '' : 'Only the beginning is shown.';
  const more = dotted([cutOff, attached]);
  return `${quoted}${more === '' ? '' : `\n${small(more)}`}`.replace(/^/gm, '> ');
}

/** `the dashboard (URL)` */
const NAMED_LINK = RegExp(`\\b(\\w+) \\((${DASHBOARD_URL}[\\w/-]*)\\)`, 'g');

export function sentenceToMarkdown(sentence: string): string {
  return splitQuotes(sentence)
    .map((part, index) =>
      index % 2 === 0 ? part.replace(NAMED_LINK, '[$1]($2)') : code(part, 300),
    )
    .join('');
}

export function link(label: string, url: string): string {
  // Parentheses would end the link in Markdown.
  const href = new URL(url).href.replaceAll('(', '%28').replaceAll(')', '%29');
  return `[${label}](${href})`;
}

/** An icon, hidden from screen readers: the words next to it say the same. */
export function icon(characters: string): string {
  return `<span aria-hidden="true">${characters}</span>`;
}

export function small(text: string): string {
  return `<sub>${text}</sub>`;
}

export function dotted(texts: readonly string[], dot = ' · '): string {
  return texts.filter((text) => text !== '').join(dot);
}

export function blocks(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}

export function fitting(texts: readonly string[], room: number): readonly string[] {
  let length = 0;
  const end = texts.findIndex((text) => {
    length += text.length + 2;
    return length > room;
  });
  return end === -1 ? texts : texts.slice(0, end);
}
