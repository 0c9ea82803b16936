import { describe, expect } from 'vitest';
import { HAS_LARGE_VARIABLES } from '../sim/platform.ts';
import { type Fault, SENT, testFaults } from './faults.ts';

// test/unit/inputs.test.ts has all texts of inputs, files.test.ts all paths, and secrets.test.ts a key with line breaks.

const received =
  (prompt: string): NonNullable<Fault['also']> =>
  (_, { agent }) => {
    expect(JSON.parse(agent.posts()[0]?.body ?? '')).toEqual({ prompt });
  };

describe('inputs:', () => {
  const special = '\r\n%0A "\'`$(x) 👩‍👩‍👧 \u202e ::error::no ##[add-mask]no\r';
  const long = 'ä🚀\r\n%0A"\\'.repeat(HAS_LARGE_VARIABLES ? 7800 : 2000);
  testFaults([
    [
      'a prompt with line breaks, escapes, quotes and emoji is sent unchanged',
      { with: { prompt: special }, also: received(special) },
      SENT,
    ],
    [
      'a prompt of 117 KiB, or of the limit of the system, is sent unchanged',
      { built: true, with: { prompt: long }, also: received(long) },
      SENT,
    ],
  ]);
});
