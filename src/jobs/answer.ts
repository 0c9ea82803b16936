import type { GitHub, ReactionContent } from '../github/api.ts';
import { hintFor, whyOf } from '../github/errors.ts';
import type { CommentTrigger } from '../github/event.ts';
import type { Job } from '../job.ts';
import { composeAnswer } from '../note/data.ts';
import { fail, skip } from '../report/finish.ts';
import { renderProblem, renderUsage } from '../report/render.ts';
import type { Log } from '../runner/log.ts';
import { sentences } from '../text.ts';
import type { Start } from './context.ts';

// The answers to a command: reactions, of which the 🚀 claims it (only the process that added it sends the message),
// and a comment if the command cannot be carried out.

/**
 * Ends a run that the settings of the workflow stop. It is called after the authorization, so that
 * strangers do not get an answer. A command is answered once: GitHub says whether the reaction is new. `shown` is for
 * readers of the comment, who did not write the workflow.
 */
export async function complain(start: Start, said: string, shown = said): Promise<1> {
  const { info, asked, runtime } = start;
  const confused = await show(start, 'confused');
  // Of a review, GitHub does not tell.
  const isAnswered = confused === 'there' && asked?.kind !== 'review';
  // An earlier attempt may have sent the message, so “repeat the command” would be wrong.
  const isFirst = info.attempt === 1 && !isAnswered;
  const url = isFirst ? await answer(start, renderProblem(runtime.redact(shown), info)) : '';
  return fail(runtime, runtime.redact(said), url);
}

export async function answerWithUsage(start: Start, command: string): Promise<0 | 1> {
  const reason = `${command} has no prompt; write the prompt after it, in the same comment.`;
  // An earlier attempt of this run has already answered.
  if (start.info.attempt > 1) return skip(start.runtime, reason);
  return skip(start.runtime, reason, await answer(start, renderUsage(command)));
}

/** Answers a command that an error has ended for all jobs: without a note, nothing else tells it. */
export async function answerError(start: Start, jobs: readonly Job[]): Promise<void> {
  const [end] = jobs.flatMap((job) => (job.end?.result === 'error' ? job.end : []));
  if (end === undefined || jobs.some((job) => job.end === null)) return;
  await answer(start, renderProblem(end.reason, start.info));
}

/** Posts an answer to a command, if there is one. Resolves to its URL, or to an empty text. */
async function answer({ runtime, asked, github }: Start, visible: string): Promise<string> {
  if (asked === null) return '';
  try {
    const { url } = await github.createComment(asked.conversation, composeAnswer(visible));
    return url;
  } catch (error) {
    runtime.log.warning(
      sentences(`The answer could not be posted: ${whyOf(error)}.`, hintFor(error)),
    );
    return '';
  }
}

/** Shows the progress of a command to its author. Without one, nothing is shown. */
export async function show(
  { runtime, asked, github }: Start,
  content: 'eyes' | 'hooray' | 'confused',
): Promise<ReactionAnswer['kind'] | 'none'> {
  return asked === null ? 'none' : (await react(asked, content, github, runtime.log)).kind;
}

export type ReactionAnswer =
  /** Of several processes, only one gets this answer. */
  | { readonly kind: 'added'; readonly takeBack: () => Promise<unknown> }
  /** It was there before, or GitHub does not tell, as on a review. */
  | { readonly kind: 'there' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Not repeated: the second request would find the reaction of the first. It never rejects. */
export async function react(
  comment: CommentTrigger,
  content: ReactionContent,
  github: GitHub,
  log: Log,
): Promise<ReactionAnswer> {
  try {
    const takeBack = await github.react(comment, content);
    return takeBack === null ? { kind: 'there' } : { kind: 'added', takeBack };
  } catch (error) {
    log.debug(`The reaction ${content} was not added: ${whyOf(error)}.`);
    return { kind: 'failed', error };
  }
}
