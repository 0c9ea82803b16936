import { endOfCommand } from '../github/asked.ts';
import type { CommentTrigger } from '../github/event.ts';
import { withoutInvisible } from '../text.ts';
import type { Cleaning } from './hidden.ts';
import { withoutMail } from './mail.ts';

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
  return withoutMail(await shownOf(text, { kept: from }));
}

/** The same of a text by somebody who may not ask: without HTML, images and titles, in which words can hide. */
export function cleanQuotation(text: string): Promise<string> {
  return shownOf(text, { isStrict: true });
}

async function shownOf(text: string, how: Cleaning): Promise<string> {
  // GitHub skips a byte order mark.
  const whole = text.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n');
  const shown = MAY_HIDE.test(whole) ? (await loadHidden()).withoutHidden(whole, how) : whole;
  return withoutInvisible(shown.slice(how.kept ?? 0));
}

/** HTML and definitions begin with these. */
const MAY_HIDE = /[<[]/;

function loadHidden() {
  return import(/* webpackChunkName: "hidden" */ './hidden.ts');
}
