import type { RunInfo } from '../runner/environment.ts';
import type { Inputs } from '../runner/inputs.ts';
import { OPENING, quote } from '../text.ts';
import { type CommentTrigger, type CommitTrigger, isPerson, type Trigger } from './trigger.ts';

/** The comment or review whose words are sent: without a command, each review. */
export function findSource(
  trigger: Trigger,
  { command }: Pick<Inputs, 'command'>,
): CommentTrigger | null {
  if (trigger.kind !== 'comment') return null;
  const { comment } = trigger;
  return command !== null || comment.kind === 'review' ? comment : null;
}

export function whyNothing(
  trigger: Trigger,
  command: string | null,
  { repository, workflow }: Pick<RunInfo, 'repository' | 'workflow'>,
): string | null {
  if (trigger.kind === 'comment') return whyIgnored(trigger.action, trigger.comment, command);
  if (trigger.kind === 'workflow') {
    const [, on] = /^(discussion|commit)_comment$/.exec(trigger.event) ?? [];
    return command === null || on === undefined
      ? null
      : `Comments on ${on}s are not supported; comment on an issue or a pull request.`;
  }
  const { check } = trigger;
  if (check.isElsewhere) return 'The commit is in another repository, such as a fork.';
  // If its own failures came back, each could make the next one.
  if (check.failure !== null && workflow === `${repository}/${check.workflow}`) {
    return 'What failed is a run of this workflow itself, which is not for the agent to fix.';
  }
  return command !== null && check.failure === null ? `${whyNoFailure(check)}.` : null;
}

export function whyNoFailure({ kind, conclusion }: CommitTrigger): string {
  const what = kind === 'workflow_run' ? 'run' : 'check';
  if (conclusion === '') return `Only the type “completed” says how the ${what} ended`;
  return conclusion === 'cancelled' ? `The ${what} was cancelled` : 'Nothing has failed';
}

/** Not in a quotation, as in an answer by mail. */
const MARKED = new RegExp(`^(?![ \\t]*>).*${OPENING}`, 'm');

function whyIgnored(
  action: string,
  { kind, body, authorId, sender, viaApp }: CommentTrigger,
  command: string | null,
): string | null {
  if (action !== (kind === 'review' ? 'submitted' : 'created')) {
    return 'Only new comments and reviews are acted on; write a new one.';
  }
  if (command !== null && endOfCommand(body, command) === undefined) {
    return `The comment does not begin with ${quote(command)}, the word in “command”.`;
  }
  if (sender.id !== authorId) return 'The event was not sent by the author of the comment.';
  // Also of “allowed-bots”: whoever gets a bot to write something would borrow its right.
  if (viaApp || !isPerson(sender)) {
    const name = quote(sender.login);
    return `The comment of ${name} is by a bot or an app; only people may ask by comments.`;
  }
  return MARKED.test(body)
    ? 'The comment contains the hidden marker of this action; write it without the marker.'
    : null;
}

/** Phones capitalize the first letter, and `startsWith()` in an `if:` ignores case, too. */
export function endOfCommand(body: string, command: string): number | undefined {
  const start = new RegExp(`^${RegExp.escape(command)}(?:[\\s:,：，、،]|$)`, 'iu');
  return start.exec(body)?.[0].length;
}
