// `npm run memory -- comment.md`: what a comment of the action remembers, as JSON. Without a file it
// reads the standard input. docs/memory.md describes the form of the comment.

import { readFileSync } from 'node:fs';
import { copiesOf, type Ledger } from '../../src/memory/ledger.ts';
import { readText } from '../../src/memory/text.ts';
import { reasonToText } from '../../src/reason.ts';
import type { Turn } from '../../src/turn.ts';

/** Throws on a text that remembers nothing. */
export function describeMemory(body: string): string {
  const text = readText(body, null);
  switch (text) {
    case 'unreadable':
      throw new Error('The comment was edited by hand, or written by another version.');
    case 'none':
      throw new Error('This is not a comment of the action, or it remembers nothing.');
    default:
      return JSON.stringify(toReadable(text), null, 2);
  }
}

function toReadable({ jobs, trimmed }: Ledger): object {
  return {
    jobs: jobs.map((job) => ({
      ...{ id: job.id, record: job.record },
      turns: copiesOf(job).map(readable),
    })),
    newestDroppedRun: trimmed,
  };
}

/** What is stored of a turn; the rest has its values from the start. */
function readable(turn: Turn): object {
  const { wasFinal: _, finalSince: __, seenAt: ___, ...stored } = turn;
  return {
    ...stored,
    ...(turn.endedAt === null
      ? { result: null, reason: null }
      : { reason: reasonToText(turn.reason) }),
    ...{ startedAt: toIso(turn.startedAt), sentAt: toIso(turn.sentAt) },
    endedAt: toIso(turn.endedAt),
  };
}

function toIso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

if (process.argv[1] === import.meta.filename) {
  console.log(describeMemory(readFileSync(process.argv[2] ?? 0, 'utf8')));
}
