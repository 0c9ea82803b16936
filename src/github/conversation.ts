import type { GitHub, OwnComment } from './api.ts';
import { GitHubError } from './api.ts';

/** The place on GitHub where a run reports: one pull request or issue. */
export interface Conversation {
  /** Puts the text into the comment. Resolves to its URL. */
  write(body: string): Promise<string>;
}

interface Options {
  readonly number: number;
  /** Whether a body is that of the comment to update; null posts a new comment per run. */
  readonly isOurs: ((body: string) => boolean) | null;
}

/** Writes create the comment where there is none yet, and update it from then on. */
export function openConversation(github: GitHub, { number, isOurs }: Options): Conversation {
  let known: OwnComment | null = null;

  async function update(comment: OwnComment, body: string): Promise<OwnComment | null> {
    try {
      return await github.updateComment(comment.id, body);
    } catch (error) {
      // Somebody deleted the comment in the meantime.
      if (error instanceof GitHubError && error.status === 404) return null;
      throw error;
    }
  }

  return {
    async write(body) {
      known ??= isOurs === null ? null : await github.findOwnComment(number, isOurs);
      const updated = known === null ? null : await update(known, body);
      known = updated ?? (await github.createComment(number, body));
      return known.url;
    },
  };
}
