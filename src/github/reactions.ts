import type { Log } from '../runner/log.ts';
import type { GitHub, ReactionContent } from './api.ts';
import { GitHubError, whyOf } from './errors.ts';
import type { Reactable } from './event.ts';

/**
 * Whether this run may act on a command. GitHub responds with 201 to the first reaction of a kind by one
 * identity and with 200 to later ones, so of several runs only one gets `ours`. `failed`: it is not known
 * whose it is, or another run may add it. `refused`: the token may not add it, which says nothing about other
 * runs. `none`: the response does not say whether it is new, as on a review.
 */
export type Claim = 'ours' | 'taken' | 'failed' | 'refused' | 'none';

/** Shows the progress of a command to its author, and claims it. No call rejects. */
export class Reactions {
  /** Null without a command; then nothing is done. */
  readonly #comment: Reactable | null;
  readonly #connect: () => Promise<GitHub>;
  readonly #log: Log;
  #tried: Promise<unknown> = Promise.resolve();
  #rocket: Promise<Claim> | undefined;
  /** Null unless this run certainly added the rocket. */
  #rocketId: number | null = null;

  constructor(comment: Reactable | null, connect: () => Promise<GitHub>, log: Log) {
    this.#comment = comment;
    this.#connect = connect;
    this.#log = log;
  }

  async show(content: Exclude<ReactionContent, 'rocket'>): Promise<Claim> {
    return this.#comment === null ? 'ours' : this.#add(this.#comment, content);
  }

  /** Adds the rocket, once: the message is about to be sent. */
  async claim(): Promise<Claim> {
    if (this.#comment === null) return 'ours';
    this.#rocket ??= this.#addRocket(this.#comment);
    return this.#rocket;
  }

  /** Removes the rocket if this run added it: the message was certainly not sent. */
  release(): void {
    const [comment, rocket] = [this.#comment, this.#rocket];
    if (comment === null || rocket === undefined) return;
    const remove = async (github: GitHub): Promise<void> => {
      await rocket;
      if (this.#rocketId !== null) await github.removeReaction(comment, this.#rocketId);
    };
    void this.#try('rocket was not removed', remove, () => {});
  }

  /** Resolves when all reactions have been tried. */
  async settled(): Promise<void> {
    await this.#tried;
  }

  /** Tries twice: otherwise another run could claim a command that this one failed to claim. */
  async #addRocket(comment: Reactable): Promise<Claim> {
    const claim = await this.#add(comment, 'rocket');
    if (claim !== 'failed') return claim;
    const again = await this.#add(comment, 'rocket');
    // It may be the one that was just added without a response.
    return again === 'taken' ? claim : again;
  }

  #add(comment: Reactable, content: ReactionContent): Promise<Claim> {
    const add = async (github: GitHub): Promise<Claim> => {
      const reaction = await github.react(comment, content);
      if (reaction === null) return 'none';
      if (!reaction.isNew) return 'taken';
      if (content === 'rocket') this.#rocketId = reaction.id;
      return 'ours';
    };
    const otherwise = (error: unknown): Claim => {
      if (comment.kind === 'review') return 'none';
      return isRefusal(error) ? 'refused' : 'failed';
    };
    return this.#try(`${content} was not added`, add, otherwise);
  }

  #try<T>(
    what: string,
    act: (github: GitHub) => Promise<T>,
    otherwise: (error: unknown) => T,
  ): Promise<T> {
    const acted = this.#connect()
      .then(act)
      .catch((error) => {
        this.#log.debug(`The reaction ${what}: ${whyOf(error)}.`);
        return otherwise(error);
      });
    this.#tried = Promise.all([this.#tried, acted]);
    return acted;
  }
}

/** Of the token. A comment that is gone may have been claimed before. */
function isRefusal(error: unknown): boolean {
  return error instanceof GitHubError && (error.status === 401 || error.status === 403);
}
