import { endOfCommand } from '../github/asked.ts';
import type { CommentTrigger } from '../github/event.ts';
import { withoutInvisible } from '../text.ts';

// What people write for the agent: what readers of it see.

/** A letter, a digit or an emoji. */
const WORD = /[\p{L}\p{N}\p{Extended_Pictographic}\p{Regional_Indicator}]|\u20e3/u;

/**
 * The words of a comment or review: after the command or, of a review without one, the whole text. Empty if there are none,
 * or only signs.
 */
export async function readWords(
  { kind, body }: CommentTrigger,
  command: string | null,
): Promise<string> {
  if (command === null && kind !== 'review') return '';
  const words = await cleanText(body, command === null ? 0 : endOfCommand(body, command));
  return WORD.test(words) ? words.trim() : '';
}

/**
 * What readers see of a text, from a position on. The whole text is read: without its first line, a paragraph can become
 * code.
 */
export async function cleanText(text: string, from = 0): Promise<string> {
  // GitHub skips a byte order mark.
  const whole = text.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n');
  const shown = MAY_HIDE.test(whole) ? (await loadHidden()).withoutHidden(whole, from) : whole;
  return withoutMail(withoutInvisible(shown.slice(from)));
}

/** HTML, definitions, words after the language of a block of code, and tables. */
const MAY_HIDE = /[<[]|^[^`~\n]*(?:```|~~~).*[ \t\v\f]\S|^[> \t]*[-:|][-:| \t]*$/m;

function loadHidden() {
  return import(/* webpackChunkName: "hidden" */ './hidden.ts');
}

/** An answer by mail ends with the text that it answers: `On 27 November 2026, alice wrote:` and only quoted lines. */
function withoutMail(text: string): string {
  const lines = text.split('\n');
  const end = lines.findLastIndex((line) => !/^(>|\s*$)/.test(line));
  if (!/\bwrote:\s*$/.test(lines[end] ?? '') || !lines.slice(end).some((l) => l.startsWith('>'))) {
    return text;
  }
  // Programs for mail break that line.
  const start = lines.slice(0, end + 1).findLastIndex((line) => /^On\s/.test(line));
  return start < end - MOST_BREAKS || start === -1 ? text : lines.slice(0, start).join('\n');
}

const MOST_BREAKS = 2;
