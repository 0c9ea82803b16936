// What a program for mail adds to a reply: the text that it answers, below a head. GitHub stores the address in that head
// as `***@***.***`, and did not hide it earlier. Only that tells it from the words of a person, in any language.

const ADDRESS = /\*{3}@\*{3}\.\*{3}|\bnotifications@github\.com\b/;
/** Programs break a head into at most three lines. */
const MOST_BREAKS = 2;

/** The last character of a head, such as `On 1 May 2026 at 10:00, Anna ***@***.***> wrote:`. */
const END_OF_HEAD = /[:：][\s*_]*$/;
/** A year and another number, or three numbers. */
const DATE =
  /\p{Nd}\P{Nd}+\p{Nd}{4}(?!\p{Nd})|(?<!\p{Nd})\p{Nd}{4}\P{Nd}+\p{Nd}|\p{Nd}[/-]\p{Nd}+[/-]\p{Nd}/u;
const CLOCK_TIME = /\p{Nd}[:.]\p{Nd}{2}/u;
/** A line of Outlook's block: `From: Anna ***@***.***>`. */
const FIELD = /^[\s>*_]*\p{L}[\p{L}\p{M} .'-]{0,30}[*_]*\s*[:：]/u;
/** It may stand above that block. */
const RULE = /^[\s>]*[-_]{5,}/;
const IN_QUOTATION = /^\s*>/;
const BLANK = /^[\s>]*$/;

/** The text above the first head with the address of GitHub. */
export function withoutMail(text: string): string {
  if (!ADDRESS.test(text)) return text;
  const lines = text.split('\n');
  const lastOwn = lines.findLastIndex((line) => !IN_QUOTATION.test(line) && !BLANK.test(line));
  for (const [at, line] of lines.entries()) {
    if (!ADDRESS.test(line)) continue;
    const start = startOfBlock(lines, at) ?? startOfHead(lines, at, lastOwn);
    if (start !== undefined) return lines.slice(0, start).join('\n').trimEnd();
  }
  return text;
}

/** `From:`, `Sent:` with a time, and so on, of which one has the address. */
function startOfBlock(lines: readonly string[], at: number): number | undefined {
  const isField = (line: number): boolean => FIELD.test(lines[line] ?? '');
  const isSent = (line: number): boolean =>
    isField(line) && DATE.test(lines[line] ?? '') && CLOCK_TIME.test(lines[line] ?? '');
  if (!isField(at)) return undefined;
  let start = at;
  if (isSent(at - 1)) start = isField(at - 2) ? at - 2 : at - 1;
  else if (![1, 2, 3, 4].some((below) => isSent(at + below))) return undefined;
  const above = lines.slice(0, start).findLastIndex((line) => !BLANK.test(line));
  return RULE.test(lines[above] ?? '') ? above : start;
}

/** `lastOwn`: the last line that is no quotation. */
function startOfHead(lines: readonly string[], at: number, lastOwn: number): number | undefined {
  const isQuoted = IN_QUOTATION.test(lines[at] ?? '');
  const goesOn = (line = ''): boolean => !BLANK.test(line) && IN_QUOTATION.test(line) === isQuoted;
  const below = lines.slice(at, at + 1 + MOST_BREAKS);
  const breaks = below.findIndex((line) => END_OF_HEAD.test(line));
  const head = below.slice(0, breaks + 1);
  if (breaks === -1 || !head.every(goesOn)) return undefined;
  // Apple Mail quotes the head, too. With words below it, somebody quotes a reply.
  if (isQuoted && lastOwn > at) return undefined;
  if (head.some((line) => DATE.test(line))) return at;
  for (let start = at - 1; start >= at - MOST_BREAKS + breaks && goesOn(lines[start]); start -= 1) {
    if (DATE.test(lines[start] ?? '')) return start;
  }
  const [next = '', afterNext = ''] = lines.slice(at + breaks + 1, at + breaks + 3);
  return IN_QUOTATION.test(BLANK.test(next) ? afterNext : next) ? at : undefined;
}
