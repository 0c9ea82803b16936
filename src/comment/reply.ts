import type { Start } from '../context.ts';
import { whichMessage } from '../delivery/run-state.ts';
import type { ReactionContent } from '../github/client.ts';
import { whyOf } from '../github/errors.ts';
import { askAgain } from '../job/explain.ts';
import { type Ended, worstFirst } from '../job/overall.ts';
import { composeReply, toReplyId } from '../ledger/marker.ts';
import { startAgain } from '../plan/plan.ts';
import { fail, skipAttempt } from '../report/finish.ts';
import { sentences } from '../text.ts';
import { renderProblem, renderUsage } from './render.ts';
import { createComment } from './tracking-comment.ts';

// The replies to a command: reactions, and a comment if the command cannot be carried out.

/**
 * Ends a run that cannot begin. It is called after the authorization, so that strangers do not get an answer. `mayPass`: whether
 * the cause may pass by itself.
 */
export async function complain(start: Start, problem: string, mayPass = false): Promise<1> {
  const said = start.runtime.redact(problem);
  const again = askAgain(startAgain(start.asked !== null, start.info.attempt), mayPass);
  await react(start, 'confused');
  const url = await replyProblem(start, sentences(said, again));
  return fail(start.runtime, mayPass ? sentences(said, again) : said, url);
}

export async function replyWithUsage(start: Start, command: string): Promise<0 | 1> {
  return skipAttempt(
    start.runtime,
    whyNoWords(command),
    await reply(start, renderUsage(command), 'warning'),
  );
}

/** Replies to a command that an error has ended for all jobs: without a note, nothing else tells it. Resolves to the URL. */
export async function replyError(start: Start, ended: readonly Ended[]): Promise<string> {
  const [worst] = worstFirst(ended);
  return worst?.end.result === 'error' ? replyProblem(start, worst.end.explanation) : '';
}

/** Why a command without words sends nothing. */
export function whyNoWords(command: string): string {
  return `${command} has no prompt; write a new comment with the prompt after it.`;
}

function replyProblem(start: Start, problem: string): Promise<string> {
  // The error of the run is an annotation already.
  return reply(start, renderProblem(problem, start.info), 'info');
}

/** Posts a reply to a command, if there is one. Resolves to its URL, or to an empty text. */
async function reply(start: Start, visible: string, level: 'warning' | 'info'): Promise<string> {
  const { runtime, info, asked, github } = start;
  // An earlier attempt has answered already, or it may have sent the message, so "repeat it" would be wrong.
  if (asked === null || info.attempt > 1) return '';
  const { conversation } = asked;
  const about = toReplyId(whichMessage(start));
  const place = { ...runtime, github, conversation, until: Infinity };
  const created = await createComment(place, () => composeReply(about, visible));
  if (created.kind === 'ok') return created.value.url;
  runtime.log[level](created.problem);
  return '';
}

/** Shows the progress of a command to its author. Without one, nothing is shown. */
export async function react(
  { runtime, asked, github }: Start,
  content: ReactionContent,
): Promise<void> {
  if (asked === null) return;
  try {
    await github.react(asked, content);
  } catch (error) {
    runtime.log.debug(`The reaction ${content} was not added: ${whyOf(error)}.`);
  }
}
