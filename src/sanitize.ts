// Text that somebody else wrote, made fit to stand in a sentence of ours.

/** Controls, format and bidirectional characters, tags, variation selectors, blank letters. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** Invisible themselves, but scripts and emoji are wrong without them. */
const JOINERS: ReadonlySet<string> = new Set(['\u200c', '\u200d', '\ufe0f']);
const NOT_VISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]/u;

/** Whether at least one character can be seen. */
export function hasVisibleText(text: string): boolean {
  for (const character of text) if (!NOT_VISIBLE.test(character)) return true;
  return false;
}

/** The text without what no reader sees. Line breaks, tabs and joiners stay. */
export function withoutInvisible(text: string): string {
  return text
    .toWellFormed()
    .replace(INVISIBLE, (character) =>
      JOINERS.has(character) || character === '\n' || character === '\t' ? character : '',
    );
}

/** One line of at most `limit` characters without anything invisible. */
export function oneLine(text: string, limit = 200): string {
  // Cut before the clean-up, so that a text of many megabytes costs no more than a short one.
  const candidate = text.slice(0, limit * 4);
  const line = withoutInvisible(candidate.replace(/[\p{White_Space}\p{Cc}]+/gu, ' ')).trim();
  const cut = line.length > limit || candidate.length < text.length;
  return cut ? `${line.slice(0, limit - 1).toWellFormed()}…` : line;
}
