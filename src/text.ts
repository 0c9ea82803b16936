// In our sentences, text by others stands between “ and ”, so that Markdown can show it as code.

/** No comment that contains it is ever a command. */
export const OPENING = '<!-- agent-follow-up';
export const MARKER = `${OPENING} -->`;

/** Not line breaks, tabs and joiners, without which some scripts and emoji look wrong. */
const INVISIBLE =
  /(?!\n|\t|\u200c|\u200d|\ufe0f)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]/u;

export function hasVisibleText(text: string): boolean {
  return VISIBLE.test(text);
}

export function withoutInvisible(text: string): string {
  return text.toWellFormed().replace(INVISIBLE, '');
}

/** Shows that there are characters that are invisible. */
export function withVisible(text: string): string {
  return text.replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu, '\ufffd');
}

export function oneLine(text: string, limit = 200): string {
  // Cut first, so that a text of many megabytes takes no longer than a short one.
  const candidate = text.slice(0, limit * 4);
  const line = withoutInvisible(candidate.replace(/[\p{White_Space}\p{Cc}]+/gu, ' ')).trim();
  return cut(candidate.length < text.length ? `${line}…` : line, limit);
}

export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, Math.max(0, limit - 1)).toWellFormed()}…`;
}

/** Text by others for a sentence of ours. Remove secrets first: a part of one is not recognized. */
export function quote(text: string, limit = 200): string {
  return `“${oneLine(text, limit).replace(/[“”]/g, '"')}”`;
}

/** At least `least`, and more than any run of them in the text. */
export function backticksAround(text: string, least: number): string {
  let most = least;
  // A text may have more runs than a call takes arguments.
  for (const [run] of text.matchAll(/`+/g)) most = Math.max(most, run.length + 1);
  return '`'.repeat(most);
}

/** The parts of a sentence: with an odd index, they are text by others. */
export function splitQuotes(sentence: string): readonly string[] {
  return sentence.split(/“([^“”]*)”/);
}

export function sentences(...texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join(' ');
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

export function listing(words: readonly string[], last = 'and'): string {
  const end = words.slice(-2).join(` ${last} `);
  return [...words.slice(0, -2), end].join(', ');
}

/** `a, b and 7 more` */
export function listSome(words: readonly string[], most: number): string {
  const more = words.length - most;
  return listing(more > 0 ? [...words.slice(0, most), `${more} more`] : words);
}

/** Undefined if the text is not JSON. The error of JSON.parse would quote it. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
