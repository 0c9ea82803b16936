import type { Inputs } from '../inputs.ts';
import { ok, problem, type Result } from '../result.ts';
import { hasVisibleText, oneLine, withoutInvisible } from '../sanitize.ts';
import { type CodeContext, type CommentTrigger, isAllowedBot, isPerson } from './event.ts';

/** GitHub's own limit for a comment, in characters. */
const LONGEST_COMMENT = 65_536;
/** Every comment of this action begins with it, and no comment that contains it is ever a command. */
export const OPENING = '<!-- agent-follow-up ';

/**
 * What the comment asks for: the text after the command, which is empty for the command alone and without
 * a command. The problem says why the run has nothing to do. No permission is checked here. `comment` is
 * null on events that are not about a comment.
 */
export function readRequest(
  comment: CommentTrigger | null,
  { command, allowedBots }: Pick<Inputs, 'command' | 'allowedBots'>,
): Result<string> {
  if (comment === null) {
    return command === null
      ? ok('')
      : problem(
          `This step acts only on comments on issues and pull requests that begin with ${command}.`,
        );
  }
  const refusal = whyNotAsked(comment, command, allowedBots);
  if (refusal !== undefined) return problem(refusal);
  const text = command === null ? '' : cleanText(comment.body.slice(command.length)).trim();
  return ok(hasVisibleText(text) ? text : '');
}

/**
 * All checks of a comment that need no API call. Without a command, the workflow decides what is
 * sent, but the same checks apply.
 */
function whyNotAsked(
  comment: CommentTrigger,
  command: string | null,
  allowedBots: ReadonlySet<string>,
): string | undefined {
  const { action, body, author, sender } = comment;
  const wanted = comment.kind === 'review' ? 'submitted' : 'created';
  if (action !== wanted) return `Only newly ${wanted} comments are acted on.`;
  if (body.length > LONGEST_COMMENT) {
    return `The comment has more than ${LONGEST_COMMENT} characters.`;
  }
  if (command !== null && !startsWithCommand(body, command)) {
    return `The comment does not begin with ${command}.`;
  }
  if (!isByPerson(comment) && !isByAllowedBot(comment, allowedBots)) {
    return 'The comment is by a bot or an app; only people and bots in allowed-bots may ask.';
  }
  if (body.includes(OPENING)) {
    return 'The comment contains the hidden marker of this action; write it without the marker.';
  }
  return sender.id === author.id
    ? undefined
    : 'The event was not sent by the author of the comment.';
}

function isByPerson({ author, sender, viaApp }: CommentTrigger): boolean {
  return isPerson(author) && isPerson(sender) && !viaApp;
}

/** Every comment of a bot is written by its app, so `viaApp` does not matter. */
function isByAllowedBot({ author, sender }: CommentTrigger, allowed: ReadonlySet<string>): boolean {
  return isAllowedBot(author, allowed) && isAllowedBot(sender, allowed);
}

/**
 * The comment must begin with the command, and white space must follow it. Case is ignored, because
 * phones capitalize the first letter, and because `startsWith()` in an `if:` ignores it, too.
 */
function startsWithCommand(body: string, command: string): boolean {
  const start = body.slice(0, command.length);
  return (
    start.toLowerCase() === command.toLowerCase() && /^(\s|$)/.test(body.slice(command.length))
  );
}

/** Removes hidden text: the agent gets what readers of the comment see. */
export function cleanText(text: string): string {
  return withoutInvisible(withoutHtmlComments(text.replace(/\r\n?/g, '\n')));
}

/**
 * Removes HTML comments, including those that only exist once others are removed. A comment that is
 * not closed hides the rest of the text. This takes one pass, so the time is linear.
 */
function withoutHtmlComments(text: string): string {
  const kept: string[] = [];
  for (let at = 0; at < text.length; at++) {
    kept.push(text.charAt(at));
    if (text.charAt(at) !== '-' || kept.slice(-4).join('') !== '<!--') continue;
    kept.length -= 4;
    // `<!-->` and `<!--->` are complete comments (HTML, 13.2.5.43).
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

/** The prompt of the workflow, the text of the comment, and the code that it refers to. */
export function composePrompt(prompt: string, text: string, context: CodeContext | null): string {
  return [prompt, text, context === null ? '' : quoteContext(context)]
    .filter((part) => part !== '')
    .join('\n\n');
}

function quoteContext({ path, line, diffHunk }: CodeContext): string {
  const inLine = line === null ? '' : `, line ${line}`;
  // A file name may contain line breaks, after which it would look like text of the author.
  const where = `Context: this was written on the file "${oneLine(path, 1000)}"${inLine}.`;
  const hunk = withoutInvisible(diffHunk.replace(/\r\n?/g, '\n'));
  if (hunk === '') return where;
  const runs = Array.from(hunk.matchAll(/`+/g), ([run]) => run.length);
  const ticks = '`'.repeat(Math.max(2, ...runs) + 1);
  return `${where} The part of the diff around it:\n\n${ticks}diff\n${hunk}\n${ticks}`;
}
