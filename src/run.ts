import type { ServiceContext } from './agent/client.ts';
import { followJob, type Progress } from './agent/follow.ts';
import { createTransport } from './agent/http.ts';
import type { Clock } from './clock.ts';
import type { Console } from './console.ts';
import { readWhole } from './files.ts';
import { oneLine } from './foreign-text.ts';
import { readTrigger, type Trigger } from './github/event.ts';
import { DEFAULT_BASE_URL, type Inputs, readInputs } from './inputs.ts';
import { failsStep, type JobResult, unknownJob, worst } from './outcome.ts';
import { type Outputs, type Report, reasonOf, toOutputs } from './outputs.ts';
import { headline } from './report/comment.ts';
import { createNarrator } from './report/narrator.ts';
import { renderSummary } from './report/summary.ts';
import { openReporter, type Reporter, type RunFacts } from './reporter.ts';
import type { Redact } from './secrets.ts';
import { VERSION } from './version.ts';

/** What a run takes from the process. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly console: Console;
  readonly redact: Redact;
  readonly clock: Clock;
  /** Aborted when the run is cancelled. */
  readonly signal: AbortSignal;
  /** Rejects with what was thrown outside of every call. */
  readonly crashed: Promise<never>;
  readonly random: () => number;
  /** Both write synchronously, and throw where the file cannot be written. */
  readonly writeOutputs: (outputs: Outputs) => void;
  readonly writeSummary: (markdown: string) => void;
}

/** What is known of each job by now, in input order. */
type Board = Map<string, JobResult>;

const USER_AGENT = `agent-follow-up/${VERSION}`;

/** One run of the action, from the inputs to the exit code. It never throws. */
export async function run(host: Host): Promise<0 | 1> {
  const read = readInputs(host.env);
  if (read.kind === 'invalid') return refuseInputs(host, read.problems);
  const { inputs } = read;
  const board: Board = new Map(inputs.jobIds.map((jobId) => [jobId, notBegun(jobId)]));
  try {
    const reporter = openReporterFor(host, inputs, findTrigger(host));
    introduce(host, inputs);
    await Promise.race([followUp(host, inputs, board, reporter), host.crashed]);
    return await report(host, inputs, [...board.values()], reporter);
  } catch (error) {
    return crash(host, board, error);
  }
}

function findTrigger({ env, console }: Host): Trigger {
  const file = readWhole(env.GITHUB_EVENT_PATH ?? '');
  const read = readTrigger(env.GITHUB_EVENT_NAME ?? '', file.kind === 'read' ? file.bytes : null);
  if (read.kind === 'broken') {
    console.warning(`This runs as a plain step, without a conversation: ${read.why}.`);
  }
  return read.trigger;
}

function openReporterFor(host: Host, inputs: Inputs, trigger: Trigger): Reporter {
  return openReporter({
    mode: inputs.comment,
    conversation: inputs.prNumber ?? trigger.conversation,
    projectId: inputs.projectId,
    prompt: inputs.prompt,
    wait: inputs.wait,
    token: inputs.githubToken,
    userAgent: USER_AGENT,
    run: runFacts(host.env, trigger),
    console: host.console,
    redact: host.redact,
    clock: host.clock,
    signal: host.signal,
  });
}

function runFacts(env: Host['env'], trigger: Trigger): RunFacts {
  const apiUrl = env.GITHUB_API_URL || 'https://api.github.com';
  const actor = env.GITHUB_TRIGGERING_ACTOR || env.GITHUB_ACTOR || null;
  return {
    serverUrl: env.GITHUB_SERVER_URL || 'https://github.com',
    repository: env.GITHUB_REPOSITORY ?? '',
    apiUrl,
    graphqlUrl: env.GITHUB_GRAPHQL_URL || `${apiUrl}/graphql`,
    runId: env.GITHUB_RUN_ID ?? '',
    runAttempt: env.GITHUB_RUN_ATTEMPT || '1',
    by: trigger.event === 'schedule' ? null : actor,
  };
}

function introduce({ console }: Host, { baseUrl, apiKey }: Inputs): void {
  const isDefault = baseUrl.href === new URL(DEFAULT_BASE_URL).href;
  if (!isDefault) console.info(`The service is at ${baseUrl.host} (base-url).`);
  if (isDefault && !apiKey.startsWith('mint_')) {
    console.warning('api-key does not begin with "mint_"; the service may not take it.');
  }
}

/** Follows up on every job, and keeps the board and the output file true all the while. */
async function followUp(
  host: Host,
  inputs: Inputs,
  board: Board,
  reporter: Reporter,
): Promise<void> {
  const narrate = createNarrator(host.console, host.clock);
  const transport = createTransport({ ...inputs, userAgent: USER_AGENT });
  const context = serviceContext(host, inputs, transport);

  function observe(progress: Progress): string | undefined {
    board.set(progress.soFar.jobId, progress.soFar);
    narrate(progress);
    if (progress.kind !== 'sending' && progress.kind !== 'delivered') return undefined;
    const results = [...board.values()];
    if (progress.kind === 'delivered') reporter.delivered(results);
    return writeOutputs(host, { results, problem: '', commentUrls: [] });
  }

  try {
    await Promise.all(
      inputs.jobIds.map(async (jobId) => {
        const order = { ...inputs, jobId, serverUrl: host.env.GITHUB_SERVER_URL ?? '' };
        board.set(jobId, await followJob(order, context, observe));
      }),
    );
  } finally {
    await transport.close();
  }
}

function serviceContext(
  host: Host,
  inputs: Inputs,
  transport: ServiceContext['transport'],
): ServiceContext {
  const proxy = inputs.proxy.url === '' ? '' : ` (proxy ${new URL(inputs.proxy.url).host})`;
  return {
    transport,
    where: `${inputs.baseUrl.host}${proxy}`,
    projectId: inputs.projectId,
    clock: host.clock,
    deadline: inputs.timeoutMs,
    signal: host.signal,
    random: host.random,
    debug: (text) => host.console.debug(text),
  };
}

/** Tells the end in every place. The outputs come first: a second signal may end it at once. */
async function report(
  host: Host,
  inputs: Inputs,
  results: readonly JobResult[],
  reporter: Reporter,
): Promise<0 | 1> {
  const { console } = host;
  const failed = failsStep(results, inputs.failOn);
  console.endGroup();
  announce(console, results, failed);
  let problem = writeOutputs(host, { results, problem: '', commentUrls: [] });
  const { url, unwritten } = await reporter.finish(results);
  if (url !== '') problem = writeOutputs(host, { results, problem: '', commentUrls: [url] });
  writeSummary(host, { results, problem: '', commentUrl: url, unwrittenComment: unwritten });
  if (problem !== undefined && !failed) console.error(problem);
  return failed || problem !== undefined ? 1 : 0;
}

/** One annotation at most: an error if the step fails, else a warning or a notice. */
function announce(console: Console, results: readonly JobResult[], failed: boolean): void {
  for (const result of results) {
    const link = result.prLink === null ? '' : ` ${result.prLink}`;
    console.info(`Job ${result.jobId}: ${headline(result)}.${link}`);
  }
  const main = worst(results);
  const reason = main === undefined ? '' : reasonOf(main, results);
  if (reason === '') return;
  if (failed) console.error(reason);
  else if (main?.outcome === 'skipped') console.notice(reason);
  else console.warning(reason);
}

function refuseInputs(host: Host, problems: readonly string[]): 1 {
  const problem = `Nothing was sent. ${problems.join(' ')}`;
  host.console.error(problem);
  writeOutputs(host, { results: [], problem, commentUrls: [] });
  writeSummary(host, { results: [], problem, commentUrl: '', unwrittenComment: '' });
  return 1;
}

/** A bug of ours. What was known before stays true and is kept. */
function crash(host: Host, board: Board, error: unknown): 1 {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const reason = `An unexpected error ended the run; please report it. ${oneLine(what)}`;
  const results = [...board.values()].map((result) => ({
    ...result,
    outcome: 'error' as const,
    reason,
  }));
  host.console.endGroup();
  host.console.error(reason);
  if (error instanceof Error) host.console.debug(error.stack ?? '');
  writeOutputs(host, { results, problem: reason, commentUrls: [] });
  return 1;
}

/** Returns a sentence with the facts if the runner's file cannot be written. */
function writeOutputs(host: Host, report: Report): string | undefined {
  const outputs = toOutputs(report);
  try {
    host.writeOutputs(outputs);
    return undefined;
  } catch (error) {
    return (
      `The outputs cannot be written (${codeOf(error)}), so later steps do not see them: ` +
      `outcome ${outputs.outcome}, delivery ${outputs.delivery}, status ${outputs.status || 'unknown'}.`
    );
  }
}

function writeSummary(host: Host, parts: Parameters<typeof renderSummary>[0]): void {
  try {
    host.writeSummary(renderSummary(parts));
  } catch (error) {
    host.console.warning(`The job summary cannot be written (${codeOf(error)}).`);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'no file is named for it';
}

function notBegun(jobId: string): JobResult {
  return unknownJob(jobId, {
    delivery: 'not-sent',
    outcome: 'error',
    reason: 'The run ended before the message was sent.',
  });
}
