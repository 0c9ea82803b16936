import { type CommentTrigger, isPerson, type Trigger } from '../github/event.ts';
import type { Inputs } from '../inputs.ts';
import {
  hasVisibleText,
  IGNORABLE,
  OPENING,
  ok,
  problem,
  quote,
  type Result,
  withoutInvisible,
} from '../text.ts';

// What a person writes in a comment or review for the agent.

/** The comment or review whose words are sent: one with the command or, without one, each review. */
export function askedBy(
  { comment }: Trigger,
  { command, send }: Pick<Inputs, 'command' | 'send'>,
): CommentTrigger | null {
  return send && (command !== null || comment?.kind === 'review') ? comment : null;
}

/** Events of comments that are not on an issue or a pull request. */
const UNSUPPORTED: ReadonlyMap<string, string> = new Map([
  ['discussion_comment', 'Comments on discussions'],
  ['commit_comment', 'Comments on commits'],
]);

/**
 * The words for the agent: after the command or, of a review without one, the whole text. Empty if there are none. The problem
 * says why the run has nothing to do. No permission is checked here.
 */
export function readWords(
  { event, comment, commit }: Trigger,
  command: string | null,
): Result<string> {
  const unsupported = UNSUPPORTED.get(event);
  if (command !== null && unsupported !== undefined) {
    return problem(`${unsupported} are not supported; comment on an issue or a pull request.`);
  }
  if (commit?.isElsewhere) {
    return problem(
      'The commit is in another repository, such as a fork. There is nothing to send.',
    );
  }
  if (comment !== null) return readComment(comment, command);
  if (command !== null && commit !== null && commit.failure === null) {
    return problem('Nothing has failed. There is nothing to send.');
  }
  return ok('');
}

function readComment(comment: CommentTrigger, command: string | null): Result<string> {
  const refusal = whyIgnored(comment, command);
  if (refusal !== undefined) return problem(refusal);
  const { kind, body } = comment;
  if (command === null && kind !== 'review') return ok('');
  const words = command === null ? body : (afterCommand(body, command) ?? '');
  const text = cleanText(words).trim();
  return ok(hasVisibleText(text) ? text : '');
}

/** All checks of a comment that need no API call. They also apply without a command. */
function whyIgnored(
  { action, kind, body, authorId, sender, viaApp }: CommentTrigger,
  command: string | null,
): string | undefined {
  if (action !== (kind === 'review' ? 'submitted' : 'created')) {
    return 'Only new comments and reviews are acted on; write a new one.';
  }
  if (command !== null && afterCommand(body, command) === undefined) {
    return `The comment does not begin with the word ${quote(command)}.`;
  }
  if (sender.id !== authorId) return 'The event was not sent by the author of the comment.';
  // Whoever gets a bot to write something would borrow its right, so “allowed-bots” does not matter.
  if (viaApp || !isPerson(sender)) {
    return `The comment of ${quote(sender.login)} is by a bot or an app; only people may ask by comments.`;
  }
  return body.includes(OPENING)
    ? 'The comment contains the hidden marker of this action; write it without the marker.'
    : undefined;
}

/**
 * What follows the command and the white space, colon or comma after it; undefined if the comment does not begin with them.
 * Case is ignored, because phones capitalize the first letter, and because `startsWith()` in an `if:` ignores it, too.
 */
function afterCommand(body: string, command: string): string | undefined {
  const start = new RegExp(`^${RegExp.escape(command)}${IGNORABLE}*(?:[\\s:,：，]|$)`, 'iu');
  const [found] = start.exec(body) ?? [];
  return found === undefined ? undefined : body.slice(found.length);
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
