import { EMPTY, type Ledger } from '../../../src/memory/ledger.ts';
import type { CommentText } from '../../../src/memory/text.ts';
import type { Turn } from '../../../src/turn.ts';

/**
 * A fast replacement for the text of comments: it refers to a ledger instead of containing its data. Other
 * tests cover the data.
 */
export function namedText(): CommentText {
  const ledgers: Ledger[] = [];
  const names = new Map<string, string>();
  /** A cache by turn: most turns are in many ledgers. */
  const texts = new WeakMap<Turn, string>();

  function textOf(turn: Turn): string {
    const text = texts.get(turn) ?? JSON.stringify(turn);
    texts.set(turn, text);
    return text;
  }

  /** Different for different ledgers. */
  function keyOf({ jobs, trimmed }: Ledger): string {
    const lines = jobs.flatMap(({ id, record, turns, others = [] }) => [
      JSON.stringify([id, record, turns.length, others.length]),
      ...turns.map(textOf),
      ...others.map(textOf),
    ]);
    return [trimmed, ...lines].join('\n');
  }

  return {
    read: (body) => ledgers[Number(body)] ?? EMPTY,
    compose(ledger) {
      const key = keyOf(ledger);
      const known = names.get(key);
      if (known !== undefined) return known;
      const name = String(ledgers.push(ledger) - 1);
      names.set(key, name);
      return name;
    },
    fits: () => true,
    visible: () => '',
  };
}
