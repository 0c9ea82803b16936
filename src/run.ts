import type { ServiceContext } from './agent/client.ts';
import { createTransport, type Transport } from './agent/http.ts';
import { openSends } from './agent/sends.ts';
import { authorize, cannotAsk, isTrusted, requestOf } from './authorize.ts';
import { cancelled, conclude, crash, fail, skip } from './ending.ts';
import { prepareErrands } from './errand.ts';
import { readWhole } from './files.ts';
import { type Board, followUp } from './follow-up.ts';
import { connectGitHub, type GitHub, GitHubError, neededFor, whyOf } from './github/api.ts';
import type { Request } from './github/command.ts';
import { isCommentEvent, readTrigger, type Trigger, type TriggerRead } from './github/event.ts';
import { type Host, type RunFacts, readRunFacts } from './host.ts';
import { DEFAULT_BASE_URL, type Inputs, type InputsRead, readInputs } from './inputs.ts';
import { createPatience, type Patience } from './patience.ts';
import { type Reactions, reactTo } from './reactions.ts';
import { renderUsage } from './report/comment.ts';
import { openReporter, type Reporter } from './reporter.ts';
import { VERSION } from './version.ts';

const USER_AGENT = `agent-follow-up/${VERSION}`;
const MANY_JOBS = 20;
/** Milliseconds that a run waits for GitHub, in all and once it is cancelled. */
const GITHUB_MS = 30_000;
const AFTER_CANCEL_MS = 4000;

/** One run of the action, from the inputs to the exit code. It never throws. */
export async function run(host: Host): Promise<0 | 1> {
  const read = readInputs(host.env, host.redact);
  if (read.kind === 'invalid') return fail(host, `Nothing was sent. ${read.problems.join(' ')}`);
  const board: Board = new Map();
  try {
    return await Promise.race([tell(host, read, board), host.crashed]);
  } catch (error) {
    return crash(host, [...board.values()], error);
  }
}

/** The story: trigger, authorization, errands, follow-up, report. */
async function tell(
  host: Host,
  { inputs, missing }: Extract<InputsRead, { kind: 'valid' }>,
  board: Board,
): Promise<0 | 1> {
  const facts = readRunFacts(host.env);
  const { trigger, ...event } = findTrigger(host);
  if (event.kind === 'broken') {
    if (!isTrusted(trigger)) return fail(host, `Nothing was sent: ${event.why}.`);
    host.console.warning(`This runs as a plain step, without a conversation: ${event.why}.`);
  }
  const request = requestOf(trigger, inputs);
  if (request.kind === 'none' || request.kind === 'refused') return skip(host, request.reason);

  const connect = connectOnce(host, inputs, facts);
  const patience = createPatience(host.clock, GITHUB_MS);
  const asking = authorize(trigger, facts, inputs, connect);
  const authorization = await patience.waitFor(asking, host.signal).catch(cannotAsk);
  if (host.signal.aborted && authorization.kind === 'failed') return cancelled(host);
  if (authorization.kind === 'denied') return refuse(host, trigger, authorization.reason);
  if (authorization.kind === 'failed') {
    return fail(host, `Nothing was sent. ${authorization.reason}`);
  }
  if (request.kind === 'usage') return answerWithUsage(host, request, { facts, connect });
  const isCommand = inputs.command !== null;
  const reactions = reactTo(isCommand ? trigger.comment : null, connect, host.console);
  reactions.show('eyes');
  if (missing.length > 0) {
    reactions.show('confused');
    await patience.waitFor(reactions.settled()).catch(() => {});
    return fail(host, `Nothing was sent. ${missing.join(' ')}`);
  }
  introduce(host, inputs);
  // Many jobs live for a long time, and without this the engine grows to twice the memory.
  if (inputs.jobIds.length >= MANY_JOBS) host.saveMemory();
  const reporter = openReporterFor(host, inputs, { facts, connect, patience });
  const transport = createTransport({ ...inputs, userAgent: USER_AGENT });
  try {
    const context = serviceContext(host, inputs, transport);
    const startedAt = host.clock.date().toISOString();
    const asked = { inputs, trigger, facts, text: request.text, startedAt, redact: host.redact };
    const prepared = await prepareErrands(asked, reporter, context);
    if (prepared.kind === 'unclear') {
      if (host.signal.aborted) return cancelled(host);
      reactions.show('confused');
      return fail(host, `Nothing was sent. ${prepared.problem}`);
    }
    const onDelivered = (): void => reactions.show('rocket');
    const scene = { host, inputs, facts, context, reporter, board, onDelivered };
    await followUp(prepared.errands, scene);
    return await report(host, inputs, board, reporter, reactions);
  } finally {
    await transport.close();
    await patience.waitFor(reactions.settled()).catch(() => {});
  }
}

/** A workflow whose runs are all refused is set up wrongly, unless it runs on comments: a warning. */
function refuse(host: Host, { event }: Trigger, reason: string): 0 | 1 {
  const level = isCommentEvent(event) ? 'notice' : 'warning';
  return skip(host, `Nothing was sent. ${reason}`, '', level);
}

function findTrigger({ env }: Host): TriggerRead {
  const file = readWhole(env.GITHUB_EVENT_PATH ?? '');
  return readTrigger(env.GITHUB_EVENT_NAME ?? '', file.kind === 'read' ? file.bytes : null);
}

/** The client for GitHub is loaded and connected when something is first to be said there. */
function connectOnce(host: Host, inputs: Inputs, facts: RunFacts): () => Promise<GitHub> {
  let connected: Promise<GitHub> | undefined;
  return () => {
    connected ??= connect(host, inputs, facts);
    return connected;
  };
}

async function connect(host: Host, { githubToken }: Inputs, facts: RunFacts): Promise<GitHub> {
  if (githubToken === '') throw new GitHubError(401, 'github-token is empty');
  const { signal } = host;
  // Some requests more, and it begins; at the end of the run that would cost 20 ms.
  host.compileOnce();
  const github = await connectGitHub({
    ...facts,
    ...host,
    token: githubToken,
    userAgent: USER_AGENT,
  });
  const hurry = (): void => github.hurry(AFTER_CANCEL_MS);
  if (signal.aborted) hurry();
  else signal.addEventListener('abort', hurry, { once: true });
  return github;
}

interface Conversing {
  readonly facts: RunFacts;
  readonly connect: () => Promise<GitHub>;
}

async function answerWithUsage(
  host: Host,
  { command, conversation }: Extract<Request, { kind: 'usage' }>,
  { facts, connect }: Conversing,
): Promise<0 | 1> {
  const reason = `${command} stands alone; the prompt has to follow it in the same comment.`;
  // An earlier attempt of this run has said it already.
  if (facts.attempt > 1) return skip(host, reason);
  try {
    const github = await connect();
    const { url } = await github.createComment(conversation, renderUsage(command));
    return skip(host, reason, url);
  } catch (error) {
    const needed = neededFor(error);
    host.console.warning(`The usage could not be posted: ${whyOf(error)}. ${needed}`.trim());
    return skip(host, reason);
  }
}

function introduce({ console }: Host, { baseUrl, apiKey, repeatedIds }: Inputs): void {
  if (repeatedIds > 0) {
    const are = repeatedIds === 1 ? 'is a repetition' : 'are repetitions';
    console.info(`${repeatedIds} of the ids in job-id ${are}; each job gets one message.`);
  }
  const isDefault = baseUrl.href === new URL(DEFAULT_BASE_URL).href;
  if (!isDefault) console.info(`The service is at ${baseUrl.host} (base-url).`);
  if (isDefault && !apiKey.startsWith('mint_')) {
    console.warning('api-key does not begin with "mint_"; the service may not take it.');
  }
}

function openReporterFor(
  host: Host,
  inputs: Inputs,
  more: Conversing & { readonly patience: Patience },
): Reporter {
  const { comment, projectId, wait } = inputs;
  const { facts } = more;
  return openReporter({ ...host, ...more, comment, projectId, wait, site: facts });
}

function serviceContext(host: Host, inputs: Inputs, transport: Transport): ServiceContext {
  const proxy = inputs.proxy.url === '' ? '' : ` (proxy ${new URL(inputs.proxy.url).host})`;
  return {
    transport,
    sends: openSends(),
    where: `${inputs.baseUrl.host}${proxy}`,
    projectId: inputs.projectId,
    clock: host.clock,
    deadline: inputs.timeoutMs,
    signal: host.signal,
    random: host.random,
    debug: (text) => host.console.debug(text),
    redact: host.redact,
  };
}

function report(
  host: Host,
  { failOn }: Inputs,
  board: Board,
  reporter: Reporter,
  reactions: Reactions,
): Promise<0 | 1> {
  const results = [...board.values()];
  if (results.some(({ result }) => result === 'error' || result === 'failed')) {
    reactions.show('confused');
  }
  return conclude(host, results, failOn, reporter);
}
