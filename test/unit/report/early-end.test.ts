import { expect, it } from 'vitest';
import { failed } from '../../../src/context.ts';
import { endEarly } from '../../../src/report/early-end.ts';
import { recordingRuntime } from '../recording-runtime.ts';

it('an error is in the annotation, the outputs and the summary, without secrets', async () => {
  const redact = (text: string): string => text.replaceAll('s3cret', '***');
  const { runtime, logged, outputs, summaries } = recordingRuntime({ redact });
  expect(await endEarly(runtime, failed('wait is “s3cret”.'))).toBe(1);
  expect(logged).toEqual(['error: Nothing was sent. wait is “***”.']);
  expect(outputs).toMatchObject([{ result: 'error', reason: 'Nothing was sent. wait is “***”.' }]);
  expect(summaries).toEqual([
    expect.stringMatching(/^## .* Nothing was sent\n\nwait is `\*{3}`\.\n$/),
  ]);
});
