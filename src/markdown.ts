import { pullRequestName } from './pull-request.ts';
import { DASHBOARD_URL } from './service.ts';
import { backticksAround, cut, oneLine, partsOf, withoutInvisible } from './text.ts';

// Building blocks for Markdown. Text by others is only in code spans and fences, where
// GitHub neither renders links, images and HTML nor notifies people who are mentioned.

/** The most characters that are shown of a part of a sentence. */
const PART_LIMIT = 300;

/** A code span of at most `limit` characters; safe in a table cell as well. */
export function code(text: string, limit = 200): string {
  const line = oneLine(text, limit).replaceAll('|', '¦');
  if (line === '') return '';
  const ticks = backticksAround(line, 1);
  // Renderers remove one space at both ends (CommonMark, 6.1).
  const pad = /^[` ]|[` ]$/.test(line) ? ' ' : '';
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

/** A fenced block that the text, which is clean, cannot close. */
export function fence(text: string, language = 'text'): string {
  const ticks = backticksAround(text, 3);
  return `${ticks}${language}\n${text}\n${ticks}`;
}

const MOST_QUOTED_LINES = 12;
const MOST_CHARACTERS = 1000;

/**
 * The beginning of a text as a quotation: a fence for several lines, and for one line a code span, which wraps. Empty
 * if nothing would be visible. Remove secrets first: a part of one is not recognized. `attached` says in our words what
 * belongs to the text.
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

/** A sentence in normal type, in which only text by others is code. */
export function sentenceToMarkdown(sentence: string): string {
  return partsOf(sentence)
    .map((part, index) =>
      index % 2 === 0 ? part.replace(NAMED_LINK, '[$1]($2)') : code(part, PART_LIMIT),
    )
    .join('');
}

/** A link with our own label to a URL that was checked before. */
export function link(label: string, url: string): string {
  // Parentheses would end the link in Markdown.
  const href = new URL(url).href.replaceAll('(', '%28').replaceAll(')', '%29');
  return `[${label}](${href})`;
}

/**
 * A link with the number of the pull request of a job; with its repository and host if it is not in this repository. The link
 * was checked before, and there is a number only in this repository.
 */
export function pullRequestLink({
  prLink,
  prNumber,
}: {
  readonly prLink?: string | null | undefined;
  readonly prNumber?: number | null | undefined;
}): string {
  if (!prLink) return '';
  // A name may begin with `_`, which is Markdown there.
  return link(pullRequestName(prLink, Boolean(prNumber)).replaceAll('_', '\\_'), prLink);
}

/** An icon, hidden from screen readers: the words next to it say the same. */
export function icon(characters: string): string {
  return `<span aria-hidden="true">${characters}</span>`;
}

export function small(text: string): string {
  return `<sub>${text}</sub>`;
}

export function folded(title: string, body: string): string {
  return `<details>\n<summary>${title}</summary>\n\n${body}\n\n</details>`;
}

/** Joins the texts that are not empty, with dots between them. */
export function dotted(texts: readonly string[], dot = ' · '): string {
  return texts.filter((text) => text !== '').join(dot);
}

/** Joins the texts that are not empty with blank lines. */
export function blocks(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}

/** The first texts, as many as there is room for. */
export function fitting(texts: readonly string[], room: number): readonly string[] {
  let length = 0;
  const end = texts.findIndex((text) => {
    length += text.length + 2;
    return length > room;
  });
  return end === -1 ? texts : texts.slice(0, end);
}
