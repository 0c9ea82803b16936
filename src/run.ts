import { react } from './comment/reply.ts';
import { authorizeRun, type EarlyEnd, endEarly, isEarlyEnd, parseContext } from './context.ts';
import { deliver } from './delivery/deliver.ts';
import { openRun } from './delivery/run-state.ts';
import { stop } from './job/stop-reasons.ts';
import { makePlan } from './plan/plan.ts';
import { readRequest } from './prompt/request.ts';
import { report, reportEarlyEnd, saveUnfinished } from './report/finish.ts';
import { saveOutputs } from './report/outputs.ts';
import type { Runtime } from './runner/environment.ts';
import { adviseOnSettings } from './runner/inputs.ts';

/** One run of the action, from the inputs to the exit code. */
export async function run(runtime: Runtime): Promise<0 | 1> {
  saveUnfinished(runtime);
  const start = parseContext(runtime);
  if (isEarlyEnd(start)) return reportEarlyEnd(runtime, start);
  const code = await carryOut(start);
  return typeof code === 'number' ? code : reportEarlyEnd(runtime, code, start);
}

/** Each stage takes what the ones before have found out, or ends the run. */
async function carryOut(start: Exclude<ReturnType<typeof parseContext>, EarlyEnd>) {
  const context = await unlessCancelled(start.runtime, authorizeRun(start));
  if (isEarlyEnd(context)) return context;
  const request = await unlessCancelled(start.runtime, readRequest(context));
  if (isEarlyEnd(request)) return request;
  adviseOnSettings(context.inputs, context.runtime);
  const planned = await unlessCancelled(start.runtime, makePlan(context));
  if (isEarlyEnd(planned)) return planned;
  // The report does not wait for the reaction.
  const reaction = react(context, 'eyes');
  const opened = openRun(planned, request, (outputs) => saveOutputs(start.runtime, outputs));
  const code = await report(await deliver(opened));
  await reaction;
  return code;
}

async function unlessCancelled<T>(
  runtime: Runtime,
  stage: Promise<T | EarlyEnd>,
): Promise<T | EarlyEnd> {
  const result = await stage;
  return runtime.signal.aborted ? endEarly(stop('cancelled', { phase: 'early' })) : result;
}
