import type { Connect, ReactionContent } from '../github/api.ts';
import { GitHubError, whyOf } from '../github/errors.ts';
import type { CommentTrigger } from '../github/event.ts';
import type { Log } from '../runner/log.ts';

// The reactions on the comment of a command. They show its progress, and the 🚀 claims it: only the process that
// added it sends the message.

export type ReactionAnswer =
  /** Of several processes, only one gets this answer. */
  | { readonly kind: 'added'; readonly remove: () => Promise<void> }
  /** It was there before, or GitHub does not tell, as on a review. */
  | { readonly kind: 'there' }
  /** `isUnclear`: it may have been added all the same. */
  | { readonly kind: 'failed'; readonly why: string; readonly isUnclear: boolean };

/** Not repeated: the second request would find the reaction of the first. It never rejects. */
export async function react(
  comment: CommentTrigger,
  content: ReactionContent,
  connect: Connect,
  log: Log,
): Promise<ReactionAnswer> {
  try {
    const github = await connect();
    const reaction = await github.react(comment, content);
    if (reaction === null || !reaction.isNew) return { kind: 'there' };
    const remove = async (): Promise<void> => {
      try {
        await github.removeReaction(comment, reaction.id);
      } catch (error) {
        log.debug(`The reaction ${content} was not removed: ${whyOf(error)}.`);
      }
    };
    return { kind: 'added', remove };
  } catch (error) {
    log.debug(`The reaction ${content} was not added: ${whyOf(error)}.`);
    const isRefused = error instanceof GitHubError && error.status >= 400 && error.status < 500;
    return { kind: 'failed', why: whyOf(error), isUnclear: !isRefused };
  }
}
