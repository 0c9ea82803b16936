import { hasVisibleText, withoutInvisible } from '../../text.ts';
import { endOfCommand } from '../../trigger/command.ts';
import type { CommentTrigger } from '../../trigger/trigger.ts';

/** What follows the command; without one, the whole text of a review. */
export function readWords({ kind, body }: CommentTrigger, command: string | null): string {
  if (command === null && kind !== 'review') return '';
  const words = sanitize(command === null ? body : body.slice(endOfCommand(body, command)));
  return hasVisibleText(words) ? words : '';
}

/**
 * Escaped characters, blocks and spans of code, in which `<!--` is text; and comments of HTML, or
 * all that follows an open one: to look for its end again and again would take too long.
 */
const CODE_OR_COMMENT =
  /\\[\s\S]|^[ \t>*+-]*(`{3,}(?!`|[^\n]*`)|~{3,})(?:(?!\n[ \t>]*\1)[\s\S])*(?:\n[ \t>]*\1)?|(?<!`)(`+)(?!`)(?:(?!\n\s*\n)[\s\S])*?[^`]\2(?!`)|<!--[\s\S]*?(?:-->|(?![\s\S]))/gm;

export function sanitize(text: string): string {
  const shown = withLineFeeds(text).replace(CODE_OR_COMMENT, (part) =>
    part.startsWith('<!--') && part.endsWith('-->') ? '' : part,
  );
  return withoutMail(withoutInvisible(shown)).trim();
}

// GitHub stores the address in the head of an answered mail as `***@***.***`.
const ADDRESS = /\*{3}@\*{3}\.\*{3}|\bnotifications@github\.com\b/;
const DATE = /\b20\d\d\b|\b\d\d?[/.]\d\d?[/.]\d\d\b/;
const BLANK = /^[\s>]*$/;
/** Programs break a head around the address; Outlook has the date in a line below. */
const LINES_AROUND = [0, -1, -2, 1, 2, 3];

/** Without the mail that is answered. */
function withoutMail(text: string): string {
  const lines = text.split('\n');
  const lastOwn = lines.findLastIndex((line) => !/^\s*>/.test(line) && !BLANK.test(line));
  for (const [at, line] of lines.entries()) {
    // Apple Mail quotes the head, too. With words below it, somebody quotes a reply.
    if (!ADDRESS.test(line) || (/^\s*>/.test(line) && lastOwn > at)) continue;
    const dated = LINES_AROUND.find((by) => {
      const between = lines.slice(Math.min(at, at + by), Math.max(at, at + by));
      return DATE.test(lines[at + by] ?? '') && !between.some((one) => BLANK.test(one));
    });
    if (dated === undefined) continue;
    const above = lines.slice(0, Math.min(at, at + dated));
    return above.join('\n').trimEnd();
  }
  return text;
}

/** HTML, links, code with words after a language, and tables with surplus cells. */
const MAY_HIDE = /[<[`~|]/;

/** For a text by somebody who may not ask. */
export async function sanitizeStrict(source: string) {
  const markdown = withLineFeeds(source);
  if (!MAY_HIDE.test(markdown)) return { text: withoutInvisible(markdown).trim(), isWhole: true };
  const { readVisibleText } = await import(/* webpackChunkName: "hidden" */ './visible-text.ts');
  const { text, isWhole } = readVisibleText(markdown);
  return { text: withoutInvisible(text).trim(), isWhole };
}

function withLineFeeds(text: string): string {
  return text.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n');
}
