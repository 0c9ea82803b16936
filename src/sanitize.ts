// Makes text by others safe to show in our own sentences.

/**
 * Control, format and bidirectional characters, tags, variation selectors and blank letters; but not line
 * breaks, tabs and joiners, without which some scripts and emoji look wrong.
 */
const INVISIBLE =
  /(?!\n|\t|\u200c|\u200d|\ufe0f)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]/u;

export function hasVisibleText(text: string): boolean {
  return VISIBLE.test(text);
}

/** Removes invisible characters except line breaks, tabs and joiners. */
export function withoutInvisible(text: string): string {
  return text.toWellFormed().replace(INVISIBLE, '');
}

const HIDDEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Shows the codes of invisible characters, such as `\u{200b}`, where they are what is wrong. */
export function withVisibleCodes(text: string): string {
  return text.replace(HIDDEN, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`);
}

/** Makes one line of at most `limit` characters, without invisible characters. */
export function oneLine(text: string, limit = 200): string {
  // Cut first, so that a text of many megabytes takes no longer than a short one.
  const candidate = text.slice(0, limit * 4);
  const line = withoutInvisible(candidate.replace(/[\p{White_Space}\p{Cc}]+/gu, ' ')).trim();
  const isCut = line.length > limit || candidate.length < text.length;
  return isCut ? withEllipsis(line, limit) : line;
}

/** At most `limit` characters. */
export function cut(text: string, limit: number): string {
  return text.length > limit ? withEllipsis(text, limit) : text;
}

function withEllipsis(text: string, limit: number): string {
  return `${text.slice(0, Math.max(0, limit - 1)).toWellFormed()}…`;
}
