import type { Log } from '../runner/log.ts';
import type { GitHub, Reactable, Reaction, ReactionContent } from './api.ts';
import { whyOf } from './errors.ts';

/**
 * Whether this run may act on a command. GitHub responds with 201 to the first reaction of a kind by one
 * identity and with 200 to later ones, so of several runs only one gets `ours`. `none`: the response
 * does not say it, as on a review.
 */
export type Claim = 'ours' | 'taken' | 'failed' | 'none';

/** Shows the progress of a command to its author. No call rejects or changes the result. */
export interface Reactions {
  show(content: Exclude<ReactionContent, 'rocket'>): Promise<Claim>;
  /** Adds the rocket, once: the message is about to be sent. */
  claim(): Promise<Claim>;
  /** Removes the rocket if this run added it: the message was certainly not sent. */
  release(): void;
  /** Resolves when all reactions have been tried. */
  settled(): Promise<void>;
}

function claimBy(added: Reaction | null, { kind }: Reactable): Claim {
  if (added === null) return kind === 'review' ? 'none' : 'failed';
  return added.isNew ? 'ours' : 'taken';
}

/** Reactions to a command; without one, nothing is done. */
export function reactTo(
  comment: Reactable | null,
  connect: () => Promise<GitHub>,
  log: Log,
): Reactions {
  let tried: Promise<unknown> = Promise.resolve();
  let rocket: Promise<Reaction | null> | undefined;

  function enqueue<T>(what: string, act: (github: GitHub) => Promise<T>): Promise<T | null> {
    const acted = connect()
      .then(act)
      .catch((error) => {
        log.debug(`The reaction ${what}: ${whyOf(error)}.`);
        return null;
      });
    tried = Promise.all([tried, acted]);
    return acted;
  }

  /** Tries twice: otherwise another run could claim a command that this one failed to claim. */
  async function addRocket(to: Reactable): Promise<Reaction | null> {
    const add = (): Promise<Reaction | null> =>
      enqueue('rocket was not added', (github) => github.react(to, 'rocket'));
    const added = await add();
    return added === null && to.kind !== 'review' ? add() : added;
  }

  return {
    async show(content) {
      if (comment === null) return 'ours';
      const what = `${content} was not added`;
      return claimBy(await enqueue(what, (github) => github.react(comment, content)), comment);
    },
    async claim() {
      if (comment === null) return 'ours';
      rocket ??= addRocket(comment);
      return claimBy(await rocket, comment);
    },
    release() {
      if (comment === null || rocket === undefined) return;
      const added = rocket;
      void enqueue('rocket was not removed', async (github) => {
        const reaction = await added;
        if (reaction?.isNew) await github.removeReaction(comment, reaction.id);
      });
    },
    async settled() {
      await tried;
    },
  };
}
