import fc from 'fast-check';
import { it } from 'vitest';
import { type Log, withoutRepetition } from '../../src/carried/alike.ts';
import { readLog } from '../../src/carried/log.ts';
import { quoteOutputs, toOutput } from '../../src/carried/output.ts';

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

async function logOf({ lines, first, last }: Job, index: number): Promise<Log> {
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
  const step = { name: 's', started_at: `${at(first)}Z`, completed_at: `${at(last)}Z` };
  const { parts, errors } = await readLog(chunks(), [step]);
  const outputs = parts.map(({ tail }, part) =>
    toOutput('A', tail, (text) => text, part === 0 ? errors : ''),
  );
  return { name: `“${index}”`, outputs };
}

it('each error of a failed job is in the message, unless the room is full of others', async () => {
  const property = fc.asyncProperty(fc.array(job, { minLength: 1, maxLength: 5 }), async (jobs) => {
    const message = quoteOutputs(withoutRepetition(await Promise.all(jobs.map(logOf))));
    if (message.length > ROOM + jobs.length * AROUND) throw new Error('The message is too long.');
    const errors = jobs.flatMap(({ lines }) => lines.filter((line) => line.kind === '##[error]'));
    const lost = errors.filter((line) => !message.includes(`error: ${line.word}`));
    // Of a long line, nothing is shown if it does not fit as a whole.
    if (lost.length > 0 && message.length < ROOM - 1100)
      throw new Error(`${lost[0]?.word} is lost.`);
  });
  await fc.assert(property, RUNS);
});
