import { hasVisibleText, oneLine, withoutInvisible } from '../sanitize.ts';
import type { CodeContext, CommentTrigger } from './event.ts';
import { isAllowedBot, isPerson } from './permission.ts';

/** GitHub's own limit for a comment, in characters. */
const LONGEST_COMMENT = 65_536;
/** Every comment of this action begins with it, and no comment that holds it is ever a command. */
export const OPENING = '<!-- agent-follow-up ';
const NO_BOTS: ReadonlySet<string> = new Set();

/** What a comment asks for, as far as its own text and sender tell. Every refusal says why. */
export type Request =
  | { readonly kind: 'none'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: string }
  /** The command stands alone. */
  | { readonly kind: 'usage'; readonly command: string; readonly conversation: number }
  /** `text` is what stands after the command; without a command, empty. */
  | { readonly kind: 'asked'; readonly text: string };

/**
 * The checks of a comment that need nobody's answer, in their order; each can only refuse.
 * `none` is a comment that does not speak to the action. Without a command the workflow itself
 * decides what is sent, but whoever commented must pass the same checks.
 */
export function readRequest(
  comment: CommentTrigger,
  command: string | null,
  allowedBots = NO_BOTS,
): Request {
  const wanted = comment.kind === 'review' ? 'submitted' : 'created';
  if (comment.action !== wanted) {
    return { kind: 'none', reason: `Only a comment that is newly ${wanted} is acted on.` };
  }
  if (comment.body.length > LONGEST_COMMENT) {
    return { kind: 'none', reason: `The comment has over ${LONGEST_COMMENT} characters.` };
  }
  if (command !== null && !startsWithCommand(comment.body, command)) {
    return { kind: 'none', reason: `The comment does not begin with ${command}.` };
  }
  if (!isByPerson(comment) && !isByAllowedBot(comment, allowedBots)) {
    return {
      kind: 'refused',
      reason: 'The comment is by a bot or an app; only people and bots in allowed-bots may ask.',
    };
  }
  if (comment.body.includes(OPENING)) {
    return {
      kind: 'refused',
      reason: 'The comment holds the hidden marker of this action; write it without.',
    };
  }
  if (comment.sender.id !== comment.author.id) {
    return { kind: 'refused', reason: 'The event was not sent by the author of the comment.' };
  }
  if (command === null) return { kind: 'asked', text: '' };
  const text = cleanText(comment.body.slice(command.length)).trim();
  if (hasVisibleText(text)) return { kind: 'asked', text };
  return { kind: 'usage', command, conversation: comment.conversation };
}

function isByPerson({ author, sender, viaApp }: CommentTrigger): boolean {
  return isPerson(author) && isPerson(sender) && !viaApp;
}

/** Whatever a bot writes comes through its app. */
function isByAllowedBot({ author, sender }: CommentTrigger, allowed: ReadonlySet<string>): boolean {
  return isAllowedBot(author, allowed) && isAllowedBot(sender, allowed);
}

/**
 * The command is the very first thing, followed by white space or the end. Case does not count: phones
 * write the first letter large, and `startsWith()` in an `if:` ignores it as well.
 */
function startsWithCommand(body: string, command: string): boolean {
  const start = body.slice(0, command.length);
  return (
    start.toLowerCase() === command.toLowerCase() && /^(\s|$)/.test(body.slice(command.length))
  );
}

/** What readers of the comment see is what the agent gets: hidden text goes. */
export function cleanText(text: string): string {
  return withoutInvisible(withoutHtmlComments(text.replace(/\r\n?/g, '\n')));
}

/**
 * Drops HTML comments, also those that come about by dropping others; one that is not closed
 * hides all the rest. One pass, so that no text takes more than linear time.
 */
function withoutHtmlComments(text: string): string {
  const kept: string[] = [];
  for (let at = 0; at < text.length; at++) {
    kept.push(text.charAt(at));
    if (text.charAt(at) !== '-' || kept.slice(-4).join('') !== '<!--') continue;
    kept.length -= 4;
    // `<!-->` and `<!--->` are whole comments as well (HTML, 13.2.5.43).
    const rest = /^-?>/.exec(text.slice(at + 1, at + 3));
    if (rest !== null) {
      at += rest[0].length;
      continue;
    }
    const end = /--!?>/g;
    end.lastIndex = at + 1;
    const close = end.exec(text);
    if (close === null) break;
    at = end.lastIndex - 1;
  }
  return kept.join('');
}

/** The prompt of a command: standing instructions, the comment, and the code it hangs on. */
export function composePrompt(standing: string, text: string, context: CodeContext | null): string {
  return [standing, text, context === null ? '' : quoteContext(context)]
    .filter((part) => part !== '')
    .join('\n\n');
}

function quoteContext({ path, line, diffHunk }: CodeContext): string {
  const place = line === null ? '' : `, line ${line}`;
  // A name of a file may hold line breaks, which would make it look like a text of the author.
  const where = `Context: this was written on the file "${oneLine(path, 1000)}"${place}.`;
  const hunk = withoutInvisible(diffHunk.replace(/\r\n?/g, '\n'));
  if (hunk === '') return where;
  const runs = Array.from(hunk.matchAll(/`+/g), ([run]) => run.length);
  const ticks = '`'.repeat(Math.max(2, ...runs) + 1);
  return `${where} The part of the diff around it:\n\n${ticks}diff\n${hunk}\n${ticks}`;
}
