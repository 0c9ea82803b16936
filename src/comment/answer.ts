import type { Context } from '../context.ts';
import type { GitHub } from '../github/client.ts';
import { describeError } from '../github/errors.ts';
import { composeReply, type ReplyId, toReplyId } from '../ledger/marker.ts';
import { identifyMessage } from '../ledger/record.ts';
import { createComment } from './tracking-comment.ts';

/** A comment without a record. */
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
export async function reply(
  start: Context,
  visible: string,
  level: 'warning' | 'info',
): Promise<string> {
  const { runtime, info, asked } = start;
  // An earlier attempt has answered, or may have sent the message: "repeat it" would be wrong.
  if (asked === null || info.attempt > 1) return '';
  const about = toReplyId(identifyMessage(start));
  const created = await createReply(start, asked.conversation, about, visible);
  if (created.kind === 'ok') return created.value.url;
  runtime.log[level](created.problem);
  return '';
}

export async function react(
  { runtime, asked, github }: Context,
  content: Parameters<GitHub['react']>[1],
): Promise<void> {
  if (asked === null) return;
  try {
    await github.react(asked.nodeId, content);
  } catch (error) {
    runtime.log.debug(`The reaction ${content} was not added: ${describeError(error)}.`);
  }
}
