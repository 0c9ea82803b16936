// Makes text by others safe to show in our own sentences.

/** Control, format and bidirectional characters, tags, variation selectors and blank letters. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** Invisible, but some scripts and emoji look wrong without them. */
const JOINERS: ReadonlySet<string> = new Set(['\u200c', '\u200d', '\ufe0f']);
const NOT_VISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]/u;

/** Whether at least one character is visible. */
export function hasVisibleText(text: string): boolean {
  for (const character of text) if (!NOT_VISIBLE.test(character)) return true;
  return false;
}

/** Removes invisible characters except line breaks, tabs and joiners. */
export function withoutInvisible(text: string): string {
  return text
    .toWellFormed()
    .replace(INVISIBLE, (character) =>
      JOINERS.has(character) || character === '\n' || character === '\t' ? character : '',
    );
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
