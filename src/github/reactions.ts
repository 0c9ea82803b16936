import type { Log } from '../runner/log.ts';
import { type GitHub, type Reactable, whyOf } from './api.ts';

/** Shows whoever wrote a command how far it has come. It never changes the result. */
export interface Reactions {
  show(content: 'eyes' | 'rocket' | 'confused'): void;
  /** Resolves when all that were shown have been tried. */
  settled(): Promise<void>;
}

/** Reactions to a command, or none at all. */
export function reactTo(
  comment: Reactable | null,
  connect: () => Promise<GitHub>,
  log: Log,
): Reactions {
  let tried: Promise<void> = Promise.resolve();
  return {
    show(content) {
      if (comment === null) return;
      tried = tried
        .then(connect)
        .then((github) => github.react(comment, content))
        .catch((error) => log.debug(`The reaction ${content} was not added: ${whyOf(error)}.`));
    },
    settled: () => tried,
  };
}
