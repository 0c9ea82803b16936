// `npm run memory -- comment.md` prints the data of a comment of the action as JSON. Without a file, it
// reads the standard input. docs/memory.md describes the data.

import { readFileSync } from 'node:fs';
import { copiesOf, type Ledger } from '../../src/memory/ledger.ts';
import { readText } from '../../src/memory/text.ts';
import { reasonToText } from '../../src/reason.ts';
import type { Turn } from '../../src/turn.ts';

/** Throws if the text contains no data. */
export function describeMemory(body: string): string {
  const text = readText(body, null);
  switch (text) {
    case 'unreadable':
      throw new Error('Someone edited the comment, or another version of the action wrote it.');
    case 'none':
      throw new Error('This is not a comment of the action, or it has no data.');
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

/** Only the stored fields of a turn. */
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
