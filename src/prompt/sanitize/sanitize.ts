import { withoutInvisible } from '../../text.ts';
import { endOfCommand } from '../../trigger/command.ts';
import type { CommentTrigger } from '../../trigger/trigger.ts';
import { withoutMail } from './email-reply.ts';

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
  const whole = withLineFeeds(text);
  const shown = MAY_HIDE.test(whole)
    ? (await loadHidden()).withoutHidden(whole, { kept: from })
    : whole;
  return withoutMail(withoutInvisible(shown.slice(from)));
}

interface Quotation {
  readonly words: string;
  readonly isWhole: boolean;
}

/**
 * The same of a text by somebody who may not ask: without HTML, images and titles, in which words can hide. Of a text that is too
 * long to parse, only the beginning: what is in doubt goes.
 */
export async function cleanQuotation(text: string): Promise<Quotation> {
  const whole = withLineFeeds(text);
  if (!MAY_HIDE_MORE.test(whole)) return { words: withoutInvisible(whole), isWhole: true };
  const { withoutHidden, readableBeginning } = await loadHidden();
  const read = readableBeginning(whole);
  const words = withoutInvisible(withoutHidden(read, { isStrict: true }));
  return { words, isWhole: read === whole };
}

/** GitHub skips a byte order mark. */
function withLineFeeds(text: string): string {
  return text.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n');
}

/** HTML and definitions begin with these, and code with words after a language. */
const MAY_HIDE = /[<[]/;
const MAY_HIDE_MORE = /[<[]|```|~~~/;

function loadHidden() {
  return import(/* webpackChunkName: "hidden" */ './hidden-content.ts');
}
