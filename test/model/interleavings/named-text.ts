import { EMPTY, type Ledger } from '../../../src/memory/ledger.ts';
import type { CommentText } from '../../../src/memory/text.ts';

/**
 * A fast replacement for the text of comments: it refers to a ledger instead of containing its data. Other
 * tests cover the data.
 */
export function namedText(): CommentText {
  const ledgers: Ledger[] = [];
  const names = new Map<string, string>();
  return {
    read: (body) => ({ kind: 'ledger', ledger: ledgers[Number(body)] ?? EMPTY }),
    compose(ledger) {
      const json = JSON.stringify(ledger);
      const known = names.get(json);
      if (known !== undefined) return known;
      const name = String(ledgers.push(ledger) - 1);
      names.set(json, name);
      return name;
    },
    fits: () => true,
    visible: () => '',
  };
}
