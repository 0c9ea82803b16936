import type { Context } from '../context.ts';
import type { GitHub } from '../github/client.ts';
import { describeError } from '../github/errors.ts';
import type { Stop, StopCode } from '../job/stop-reasons.ts';
import { composeReply, type ReplyId, toReplyId } from '../ledger/marker.ts';
import { identifyMessage } from '../ledger/record.ts';
import { renderProblem, renderUsage } from './render.ts';
import { findStarter } from './starter.ts';
import { createComment } from './tracking-comment.ts';

export function createReply(
  { runtime, github }: Context,
  conversation: number,
  about: ReplyId,
  visible: string,
): ReturnType<typeof createComment> {
  const compose = (): string => composeReply(about, visible);
  return createComment({ ...runtime, github, conversation, compose, until: Infinity });
}

/** Replies to a command. Resolves to the URL, or to an empty text. */
export async function reply(context: Context, visible: string, level: 'warning' | 'info') {
  const { runtime, source, isRerun } = context;
  // An earlier attempt has answered, or may have sent the message: "repeat it" would be wrong.
  if (source === null || isRerun) return '';
  const about = toReplyId(identifyMessage(context));
  const created = await createReply(context, source.conversation, about, visible);
  if (created.kind === 'ok') return created.value.url;
  runtime.log[level](created.problem);
  return '';
}

export async function react(
  { runtime, source, github }: Context,
  content: Parameters<GitHub['react']>[1],
): Promise<void> {
  if (source === null) return;
  try {
    await github.react(source.nodeId, content);
  } catch (error) {
    runtime.log.debug(`The reaction ${content} was not added: ${describeError(error)}.`);
  }
}

/** Mistakes that whoever has asked is told: only those who may send get that far. */
const ANSWERED: ReadonlySet<StopCode> = new Set([
  ...(['api-key', 'inputs', 'no-content'] as const),
  ...(['no-job', 'job-unknown', 'several-jobs', 'other-creation'] as const),
]);

/** Answers a command that acts on no job; strangers get no answer. Resolves as `reply`. */
export async function answer(context: Context, { code, details }: Stop, said: string) {
  const { info, inputs, trigger } = context;
  if (code === 'no-words') return reply(context, renderUsage(String(details.command)), 'warning');
  if (details.isColleague && inputs.command !== null) await react(context, 'THUMBS_DOWN');
  if (!ANSWERED.has(code)) return '';
  await react(context, 'CONFUSED');
  // The error of the run is an annotation already.
  return reply(context, renderProblem(said, info, findStarter(trigger)), 'info');
}
