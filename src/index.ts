import { randomUUID } from 'node:crypto';
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { EOL } from 'node:os';
import { systemClock } from './clock.ts';
import { stop } from './job/stop-reasons.ts';
import { crash, reportEarlyEnd } from './report/finish.ts';
import { run } from './run.ts';
import { type Runtime, readSecrets } from './runner/environment.ts';
import { appendFileSync } from './runner/files.ts';
import { createLog, maskInLog, redactor } from './runner/logger.ts';
import { serialise } from './runner/outputs.ts';

const LEAST_NODE = 24;

// Milliseconds for each address of a host. By default, Node gives up an address after 250, and so a
// slow host for good if the next one is of IPv6, which GitHub-hosted runners cannot reach.
setDefaultAutoSelectFamilyAttemptTimeout(3000);

const { env } = process;
const secrets = readSecrets(env);
maskInLog(secrets);
const redact = redactor(secrets);

/** What ends a group of processes may send several signals at once. */
const SAME_CANCELLATION_MS = 500;
const cancel = new AbortController();
let cancelledAt = Infinity;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGBREAK'] as const) {
  process.on(signal, () => {
    if (systemClock.now() - cancelledAt > SAME_CANCELLATION_MS) exit(1);
    if (cancel.signal.aborted) return;
    cancelledAt = systemClock.now();
    cancel.abort(new Error('the run was cancelled'));
  });
}

const runtime: Runtime = {
  env,
  log: createLog(redact, (line) => process.stdout.write(line + EOL)),
  redact,
  clock: systemClock,
  signal: cancel.signal,
  random: Math.random,
  writeOutputs: (outputs) =>
    appendFileSync(env.GITHUB_OUTPUT ?? '', serialise(outputs, `end_${randomUUID()}`)),
  writeSummary: (markdown) => appendFileSync(env.GITHUB_STEP_SUMMARY ?? '', markdown),
};

// Holds if a bug ends the process in any other way than by `exit`.
process.exitCode = 1;
const crashed = new Promise<never>((_, reject) => {
  process.on('uncaughtException', reject);
  process.on('unhandledRejection', reject);
});
exit(await Promise.race([start(), crashed]).catch((error) => crash(runtime, error)));

/** Old runners, and images of act, start actions on the Node that they have, such as Node 20. */
async function start(): Promise<0 | 1> {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) >= LEAST_NODE) return run(runtime);
  const remedy = 'Update the runner or, with act, its image.';
  const why = `The action needs Node ${LEAST_NODE}, but it runs on Node ${node}. ${remedy}`;
  return reportEarlyEnd(runtime, stop('runner', { why }));
}

/** Once the log is written: `process.exit()` alone loses what is still in a pipe. */
function exit(code: number): void {
  process.exitCode = code;
  process.stdout.write('', () => process.exit());
}
