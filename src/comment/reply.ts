import type { Start } from '../context.ts';
import type { ReactionContent } from '../github/client.ts';
import { describeError } from '../github/errors.ts';
import { composeReply, toReplyId } from '../ledger/marker.ts';
import { identifyMessage } from '../ledger/record.ts';
import { createComment } from './tracking-comment.ts';

/** Resolves to its URL, or to an empty text. */
export async function reply(
  start: Start,
  visible: string,
  level: 'warning' | 'info',
): Promise<string> {
  const { runtime, info, asked, github } = start;
  // An earlier attempt has answered already, or it may have sent the message, so "repeat it" would
  // be wrong.
  if (asked === null || info.attempt > 1) return '';
  const { conversation } = asked;
  const about = toReplyId(identifyMessage(start));
  const place = { ...runtime, github, conversation, until: Infinity };
  const created = await createComment(place, () => composeReply(about, visible));
  if (created.kind === 'ok') return created.value.url;
  runtime.log[level](created.problem);
  return '';
}

export async function react(
  { runtime, asked, github }: Start,
  content: ReactionContent,
): Promise<void> {
  if (asked === null) return;
  try {
    await github.react(asked, content);
  } catch (error) {
    runtime.log.debug(`The reaction ${content} was not added: ${describeError(error)}.`);
  }
}
