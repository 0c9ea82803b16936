import { hasVisibleText, withoutInvisible } from '../../text.ts';
import { endOfCommand } from '../../trigger/command.ts';
import type { CommentTrigger } from '../../trigger/trigger.ts';
import { withoutMail } from './email-reply.ts';

/** What follows the command; without one, the whole text of a review. */
export function readWords({ kind, body }: CommentTrigger, command: string | null): string {
  if (command === null && kind !== 'review') return '';
  const words = sanitize(command === null ? body : body.slice(endOfCommand(body, command)));
  return hasVisibleText(words) ? words : '';
}

/** Escaped characters, blocks and spans of code, in which `<!--` is text; and comments of HTML. */
const CODE_OR_COMMENT =
  /\\[\s\S]|^[ \t>*+-]*(`{3,}(?!`|[^\n]*`)|~{3,})(?:(?!\n[ \t>]*\1)[\s\S])*(?:\n[ \t>]*\1)?|(?<!`)(`+)(?!`)(?:(?!\n\s*\n)[\s\S])*?[^`]\2(?!`)|<!--[\s\S]*?-->/gm;

export function sanitize(text: string): string {
  const shown = withLineFeeds(text).replace(CODE_OR_COMMENT, (part) =>
    part.startsWith('<!--') ? '' : part,
  );
  return withoutMail(withoutInvisible(shown)).trim();
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
