import fc from 'fast-check';
import { it } from 'vitest';
import { type Output, quoteOutputs, toOutput } from '../../src/prompt/logs/clean.ts';
import { readLog } from '../../src/prompt/logs/failed-steps.ts';
import { withoutRepetition } from '../../src/prompt/logs/repeated-lines.ts';

const { MODEL_RUNS } = process.env;
const RUNS = MODEL_RUNS === undefined ? { numRuns: 100, seed: 1 } : { numRuns: Number(MODEL_RUNS) };
/** Characters of all that programs say, without what stands around it for each of them. */
const ROOM = 20_000;
const AROUND = 400;

const second = fc.integer({ min: 0, max: 9 });
const kind = fc.constantFrom(
  '##[error]',
  '##[error]',
  '',
  '',
  '',
  '##[group]Run ',
  'env:',
  '  ',
  '##[endgroup]',
);
/** Words, so that no two lines differ only in numbers. */
const word = fc.stringMatching(/^[g-z]{6}$/);
const entry = fc.record({
  second,
  kind,
  word,
  width: fc.oneof(fc.nat(80), fc.nat(1500)),
  times: fc.constantFrom(1, 1, 1, 200),
});
const job = fc.record({ lines: fc.array(entry, { maxLength: 12 }), first: second, last: second });

type Job = typeof job extends fc.Arbitrary<infer T> ? T : never;

async function logOf({ lines, first, last }: Job): Promise<readonly Output[]> {
  const at = (one: number): string => `2026-11-21T19:32:0${one}`;
  const bytes = [...lines]
    .sort((one, other) => one.second - other.second)
    .map((one) =>
      `${at(one.second)}.1234567Z ${one.kind}${one.word} ${'x'.repeat(one.width)}\n`.repeat(
        one.times,
      ),
    );
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const part of bytes) yield Buffer.from(part);
  }
  const times = { started_at: `${at(first)}Z`, completed_at: `${at(last)}Z` };
  const { parts } = await readLog(chunks(), [
    { name: 'all', conclusion: 'success', started_at: `${at(0)}Z`, completed_at: `${at(9)}Z` },
    { name: 's', conclusion: 'failure', ...times },
  ]);
  return parts.map(({ tail, isOptional }) => toOutput('A', tail, (text) => text, isOptional));
}

it('each error of a failed step is in the message, unless the room is full of others', async () => {
  const property = fc.asyncProperty(fc.array(job, { minLength: 1, maxLength: 5 }), async (jobs) => {
    const outputs = await Promise.all(jobs.map(logOf));
    const message = quoteOutputs(withoutRepetition(outputs));
    if (message.length > ROOM + jobs.length * AROUND) throw new Error('The message is too long.');
    const said = outputs.flat().flatMap(({ text }) => text.split('\n'));
    const lost = [...new Set(said)].filter(
      (line) => /^error: \w/.test(line) && !message.includes(line),
    );
    // Of a long line, nothing is shown if it does not fit as a whole.
    if (lost.length > 0 && message.length < ROOM - 1100) throw new Error(`${lost[0]} is lost.`);
  });
  await fc.assert(property, RUNS);
});
