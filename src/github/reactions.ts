import type { Log } from '../runner/log.ts';
import type { GitHub, Reaction, ReactionContent } from './api.ts';
import { whyOf } from './errors.ts';
import type { Reactable } from './event.ts';

/**
 * Whether this run may act on a command. GitHub responds with 201 to the first reaction of a kind by one
 * identity and with 200 to later ones, so of several runs only one gets `ours`. `none`: the response
 * does not say it, as on a review.
 */
export type Claim = 'ours' | 'taken' | 'failed' | 'none';

/** Shows the progress of a command to its author. No call rejects or changes the result. */
export class Reactions {
  /** Null without a command; then nothing is done. */
  readonly #comment: Reactable | null;
  readonly #connect: () => Promise<GitHub>;
  readonly #log: Log;
  #tried: Promise<unknown> = Promise.resolve();
  #rocket: Promise<Reaction | null> | undefined;

  constructor(comment: Reactable | null, connect: () => Promise<GitHub>, log: Log) {
    this.#comment = comment;
    this.#connect = connect;
    this.#log = log;
  }

  async show(content: Exclude<ReactionContent, 'rocket'>): Promise<Claim> {
    const comment = this.#comment;
    return comment === null ? 'ours' : claimBy(await this.#add(comment, content), comment);
  }

  /** Adds the rocket, once: the message is about to be sent. */
  async claim(): Promise<Claim> {
    const comment = this.#comment;
    if (comment === null) return 'ours';
    this.#rocket ??= this.#addRocket(comment);
    return claimBy(await this.#rocket, comment);
  }

  /** Removes the rocket if this run added it: the message was certainly not sent. */
  release(): void {
    const [comment, rocket] = [this.#comment, this.#rocket];
    if (comment === null || rocket === undefined) return;
    void this.#try('rocket was not removed', async (github) => {
      const reaction = await rocket;
      if (reaction?.isNew) await github.removeReaction(comment, reaction.id);
    });
  }

  /** Resolves when all reactions have been tried. */
  async settled(): Promise<void> {
    await this.#tried;
  }

  /** Tries twice: otherwise another run could claim a command that this one failed to claim. */
  async #addRocket(comment: Reactable): Promise<Reaction | null> {
    const added = await this.#add(comment, 'rocket');
    return added === null && comment.kind !== 'review' ? this.#add(comment, 'rocket') : added;
  }

  #add(comment: Reactable, content: ReactionContent): Promise<Reaction | null> {
    return this.#try(`${content} was not added`, (github) => github.react(comment, content));
  }

  #try<T>(what: string, act: (github: GitHub) => Promise<T>): Promise<T | null> {
    const acted = this.#connect()
      .then(act)
      .catch((error) => {
        this.#log.debug(`The reaction ${what}: ${whyOf(error)}.`);
        return null;
      });
    this.#tried = Promise.all([this.#tried, acted]);
    return acted;
  }
}

function claimBy(added: Reaction | null, { kind }: Reactable): Claim {
  if (added === null) return kind === 'review' ? 'none' : 'failed';
  return added.isNew ? 'ours' : 'taken';
}
