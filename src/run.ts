import { react } from './comment/reply.ts';
import { authorizeRun, type Context, parseContext } from './context.ts';
import { deliver } from './delivery/deliver.ts';
import { openRun } from './delivery/run-state.ts';
import { isStop, stop } from './job/stop-reasons.ts';
import { makePlan } from './plan/plan.ts';
import { readRequest } from './prompt/request.ts';
import { report, reportEarlyEnd } from './report/finish.ts';
import type { Runtime } from './runner/environment.ts';
import { saveUnfinished } from './runner/outputs.ts';

export async function run(runtime: Runtime): Promise<0 | 1> {
  saveUnfinished(runtime);
  const context = parseContext(runtime);
  if (isStop(context)) return reportEarlyEnd(runtime, context);
  const ready = await prepare(context);
  const cancelled = stop('cancelled', { phase: 'early' });
  if (runtime.signal.aborted) return reportEarlyEnd(runtime, cancelled, context);
  if (isStop(ready)) return reportEarlyEnd(runtime, ready, context);
  // Nothing waits for the reaction but the end of the process.
  const reacting = react(context, 'EYES');
  const delivered = await deliver(openRun(ready));
  const code = await report(delivered);
  await reacting;
  return code;
}

async function prepare(context: Context) {
  const unauthorized = await authorizeRun(context);
  if (unauthorized !== undefined) return unauthorized;
  const request = await readRequest(context);
  if (isStop(request)) return request;
  const planned = await makePlan(context);
  return isStop(planned) ? planned : { ...planned, request };
}
