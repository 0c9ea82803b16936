import type { Log } from '../runner/log.ts';
import type { GitHub, Reactable, Reaction, ReactionContent } from './api.ts';
import { whyOf } from './errors.ts';

/**
 * Whether this run may act on a command. GitHub answers 201 to the first reaction of a kind by one
 * identity and 200 to every later one, so of several runs only one gets `ours`. `none`: no reaction
 * tells, as on a review.
 */
export type Claim = 'ours' | 'taken' | 'failed' | 'none';

/** Shows whoever wrote a command what became of it. No call rejects or changes the result. */
export interface Reactions {
  show(content: Exclude<ReactionContent, 'rocket'>): Promise<Claim>;
  /** Adds the rocket, once: the message is about to go out. */
  claim(): Promise<Claim>;
  /** Takes the rocket back if this run added it: the message surely did not go out. */
  release(): void;
  /** Resolves when all that were shown have been tried. */
  settled(): Promise<void>;
}

function claimBy(added: Reaction | null, { kind }: Reactable): Claim {
  if (added === null) return kind === 'review' ? 'none' : 'failed';
  return added.isNew ? 'ours' : 'taken';
}

/** Reactions to a command, or none at all. */
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

  /** Once more if it failed: another run may be able to add it where this one was not. */
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
