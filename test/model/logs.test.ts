import fc from 'fast-check';
import { it } from 'vitest';
import { selectFailedSteps } from '../../src/prompt/logs/failed-steps.ts';
import * as outputs from '../../src/prompt/logs/quote-outputs.ts';

const { MODEL_RUNS } = process.env;
const RUNS = MODEL_RUNS === undefined ? { numRuns: 100, seed: 1 } : { numRuns: Number(MODEL_RUNS) };
/** Characters of all that programs say, without what stands around it for each of them. */
const ROOM = 20_000;
const AROUND = 400;

const KINDS = ['##[error]', '##[error]', '', '', '', '##[group]Run ', 'env:', '  ', '##[endgroup]'];
/** Words, so that no two lines differ only in numbers. */
const word = fc.stringMatching(/^[g-z]{6}$/);
const width = fc.oneof(fc.nat(80), fc.nat(1500));
const line = fc
  .tuple(fc.constantFrom(...KINDS), word, width, fc.constantFrom(1, 1, 1, 200))
  .map(([kind, said, most, times]) =>
    `2026-11-21T19:32:00.1234567Z ${kind}${said} ${'x'.repeat(most)}\n`.repeat(times),
  );
const job = fc.array(line, { maxLength: 12 });

it('each error of a failed step is in the message, unless the room is full of others', () => {
  const property = fc.property(fc.array(job, { minLength: 1, maxLength: 5 }), (jobs) => {
    const found = jobs.map((lines) =>
      outputs.toOutput('A', selectFailedSteps(lines.join('')), (text) => text),
    );
    const message = outputs.quoteOutputs(outputs.withoutRepeatedLines(found));
    if (message.length > ROOM + jobs.length * AROUND) throw new Error('The message is too long.');
    const said = found.flatMap(({ text }) => text.split('\n'));
    const lost = said.filter((line) => /^error: \w/.test(line) && !message.includes(line));
    // Of a long line, nothing is shown if it does not fit as a whole.
    if (lost.length > 0 && message.length < ROOM - 1100) throw new Error(`${lost[0]} is lost.`);
  });
  fc.assert(property, RUNS);
});
