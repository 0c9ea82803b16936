import { expect, it } from 'vitest';
import { endEarly } from '../../../src/context.ts';
import { stop } from '../../../src/job/stop-reasons.ts';
import { reportEarlyEnd } from '../../../src/report/early-end.ts';
import { recordingRuntime } from '../recording-runtime.ts';

it('an error is in the annotation, the outputs and the summary, without secrets', async () => {
  const redact = (text: string): string => text.replaceAll('s3cret', '***');
  const { runtime, logged, outputs, summaries } = recordingRuntime({ redact });
  expect(
    await reportEarlyEnd(runtime, endEarly(stop('inputs', { why: 'wait is “s3cret”.' }))),
  ).toBe(1);
  expect(logged).toEqual(['error: Nothing was sent. wait is “***”.']);
  expect(outputs).toMatchObject([
    { result: 'error', code: 'inputs', reason: 'Nothing was sent. wait is “***”.' },
  ]);
  expect(summaries).toEqual([
    expect.stringMatching(/^## .* Nothing was sent\n\nwait is `\*{3}`\.\n$/),
  ]);
});
