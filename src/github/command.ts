import type { Inputs } from '../inputs.ts';
import {
  backticksAround,
  hasVisibleText,
  OPENING,
  ok,
  problem,
  quote,
  type Result,
  withoutInvisible,
} from '../text.ts';
import { type CodeContext, type CommentTrigger, isAllowedBot, isPerson } from './event.ts';

/**
 * What the comment asks for: the text after the command; empty for the command alone and without a command.
 * The problem says why the run has nothing to do. No permission is checked here.
 */
export function readRequest(
  comment: CommentTrigger | null,
  { command, allowedBots }: Pick<Inputs, 'command' | 'allowedBots'>,
): Result<string> {
  if (comment === null) {
    if (command === null) return ok('');
    return problem(
      `This step acts only on comments and reviews that begin with the word ${quote(command)}. ` +
        'To act on other events, remove “command”.',
    );
  }
  const refusal = whyNotAsked(comment, command, allowedBots);
  if (refusal !== undefined) return problem(refusal);
  const text = command === null ? '' : cleanText(comment.body.slice(command.length)).trim();
  return ok(hasVisibleText(text) ? text : '');
}

/** All checks of a comment that need no API call. They also apply without a command. */
function whyNotAsked(
  comment: CommentTrigger,
  command: string | null,
  allowedBots: ReadonlySet<string>,
): string | undefined {
  const { action, body, authorId, sender, viaApp } = comment;
  if (action !== (comment.kind === 'review' ? 'submitted' : 'created')) {
    return 'Only new comments and reviews are acted on; write a new one.';
  }
  if (command !== null && !startsWithCommand(body, command)) {
    return `The comment does not begin with the word ${quote(command)}.`;
  }
  if (sender.id !== authorId) return 'The event was not sent by the author of the comment.';
  // Every comment of a bot is written by its app, so `viaApp` does not matter.
  if (!isAllowedBot(sender, allowedBots) && (viaApp || !isPerson(sender))) {
    return (
      `The comment of ${quote(sender.login)} is by a bot or an app; only people and bots in ` +
      '“allowed-bots” may ask.'
    );
  }
  return body.includes(OPENING)
    ? 'The comment contains the hidden marker of this action; write it without the marker.'
    : undefined;
}

/**
 * The comment must begin with the command, and white space must follow it. Case is ignored, because
 * phones capitalize the first letter, and because `startsWith()` in an `if:` ignores it, too.
 */
function startsWithCommand(body: string, command: string): boolean {
  return new RegExp(`^${RegExp.escape(command)}(\\s|$)`, 'i').test(body);
}

/** Removes hidden text: the agent gets what readers of the comment see. */
export function cleanText(text: string): string {
  return withoutInvisible(withoutHtmlComments(text.replace(/\r\n?/g, '\n')));
}

/**
 * Removes HTML comments. What begins with one that is not closed is hidden as well, and so is one that only
 * appears once others are removed.
 */
function withoutHtmlComments(text: string): string {
  // Up to here each comment is closed, so the search takes linear time.
  const closed = Math.max(text.lastIndexOf('-->'), text.lastIndexOf('--!>')) + 4;
  // `<!-->` and `<!--->` are complete comments (HTML, 13.2.5.43).
  const comments = /<!--(?:-?>|[\s\S]*?--!?>)/g;
  const rest = text.slice(0, closed).replace(comments, '') + text.slice(closed);
  const opening = rest.indexOf('<!--');
  return opening === -1 ? rest : rest.slice(0, opening);
}

/** What belongs to a command besides its text. */
export interface Attachment {
  /** They follow the text. */
  readonly parts: readonly string[];
  /** What people see instead; empty if they see the parts. */
  readonly summary: string;
}
export const NOTHING_MORE: Attachment = { parts: [], summary: '' };

/** What a run is asked for; empty without a command. */
export interface Request extends Attachment {
  readonly text: string;
}

/** The standing prompt, then the text of the comment, then what belongs to it. */
export function composePrompt(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}

/** An inline comment of a review. */
export interface InlineComment extends CodeContext {
  /** Whether the lines are those of an older commit. */
  readonly isOutdated: boolean;
  readonly text: string;
}

/** The inline comments of a review, in the order of the files and lines. */
export function quoteInline(comments: readonly InlineComment[]): readonly string[] {
  const sorted = comments.toSorted(
    (one, other) =>
      Number(one.path > other.path) - Number(one.path < other.path) ||
      (one.line ?? 0) - (other.line ?? 0),
  );
  return sorted.map((comment, index) => {
    const { diffHunk, isOutdated, text } = comment;
    const age = isOutdated ? ' of an older commit' : '';
    const where = `Comment ${index + 1} of ${comments.length}, on ${placeOf(comment)}${age}:`;
    const hunk = quoteDiff(diffHunk);
    return [where, hunk, cleanText(text).trim()].filter((part) => part !== '').join('\n\n');
  });
}

/** The code that a review comment is about. */
export function quoteContext(context: CodeContext): string {
  const where = `Context: this was written on ${placeOf(context)}.`;
  const hunk = quoteDiff(context.diffHunk);
  return hunk === '' ? where : `${where} The part of the diff around it:\n\n${hunk}`;
}

function placeOf({ path, line, startLine }: CodeContext): string {
  // After a line break or a quotation mark, a file name would look like text of the author.
  const file = `the file ${quote(path, 1000)}`;
  if (line === null) return file;
  return startLine === null || startLine === line
    ? `${file}, line ${line}`
    : `${file}, lines ${startLine} to ${line}`;
}

/** GitHub's part of the diff ends with the line of the comment; of a new file it begins with the first line. */
const MOST_DIFF_LINES = 50;

function quoteDiff(diffHunk: string): string {
  // With a line break for a lone \r, a line would not begin with the sign of the diff.
  const [head = '', ...lines] = withoutInvisible(diffHunk)
    .replace(/[\u2028\u2029]/g, '')
    .split('\n');
  const end = lines.length > MOST_DIFF_LINES ? ['…', ...lines.slice(-MOST_DIFF_LINES)] : lines;
  const hunk = [head, ...end].join('\n');
  if (hunk === '') return '';
  const ticks = backticksAround(hunk, 3);
  // As a quotation: no line of it can end a block that the text before it has left open.
  return `${ticks}diff\n${hunk}\n${ticks}`.replace(/^/gm, '> ');
}
