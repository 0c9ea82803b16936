import type { ServiceContext } from './agent/client.ts';
import { createTransport, type Transport } from './agent/http.ts';
import { openSends } from './agent/sends.ts';
import { authorize, cannotAsk, getsNoSecrets, isTrusted, requestOf } from './authorize.ts';
import { cancelled, conclude, crash, fail, skip } from './ending.ts';
import { prepareErrands } from './errand.ts';
import { readWhole } from './files.ts';
import { type Board, followUp } from './follow-up.ts';
import { connectGitHub, type GitHub, GitHubError, neededFor, whyOf } from './github/api.ts';
import type { Request } from './github/command.ts';
import { isCommentEvent, readTrigger, type Trigger, type TriggerRead } from './github/event.ts';
import { type Host, type RunFacts, readRunFacts } from './host.ts';
import {
  DEFAULT_BASE_URL,
  type Inputs,
  NO_SECRETS,
  problemWithCertificates,
  readInputs,
} from './inputs.ts';
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
  const board: Board = new Map();
  try {
    return await Promise.race([tell(host, board), host.crashed]);
  } catch (error) {
    return crash(host, [...board.values()], error);
  }
}

/** The story: trigger, authorization, errands, follow-up, report. */
async function tell(host: Host, board: Board): Promise<0 | 1> {
  const facts = readRunFacts(host.env);
  const settings = readInputs(host.env, host.redact);
  const access = settings.kind === 'valid' ? settings.inputs : settings.access;
  const { trigger, ...event } = findTrigger(host);
  const trusted = isTrusted(trigger);
  if (event.kind === 'broken' && !trusted) return fail(host, `Nothing was sent: ${event.why}.`);
  if (!access.hasApiKey && getsNoSecrets(trigger)) return skip(host, NO_SECRETS);
  // Otherwise a stranger may have started this, who must not turn the run red.
  if (trusted && settings.kind === 'invalid') return failBecause(host, settings.problems);
  if (event.kind === 'broken') {
    host.console.warning(`This runs as a plain step, without a conversation: ${event.why}.`);
  }
  const request = requestOf(trigger, access);
  if (request.kind === 'none' || request.kind === 'refused') return skip(host, request.reason);

  const connect = connectOnce(host, access.githubToken, facts);
  const patience = createPatience(host.clock, GITHUB_MS);
  const asking = authorize(trigger, facts, access, connect);
  const authorization = await patience.waitFor(asking, host.signal).catch(cannotAsk);
  if (host.signal.aborted && authorization.kind === 'failed') return cancelled(host);
  if (authorization.kind === 'denied') return refuse(host, trigger, authorization.reason);
  if (authorization.kind === 'failed') return failBecause(host, [authorization.reason]);

  const isCommand = access.command !== null;
  const reactions = reactTo(isCommand ? trigger.comment : null, connect, host.console);
  const github = { connect, patience, reactions };
  if (settings.kind === 'invalid') return complain(host, settings.problems, github);
  if (request.kind === 'usage') return answerWithUsage(host, request, { facts, connect });
  reactions.show('eyes');
  if (settings.missing.length > 0) return complain(host, settings.missing, github);
  const { text } = request;
  return followJobs(host, board, { ...github, inputs: settings.inputs, trigger, facts, text });
}

/** What a run speaks on GitHub with. */
interface GitHubSide {
  readonly connect: () => Promise<GitHub>;
  readonly patience: Patience;
  readonly reactions: Reactions;
}

/** What is wrong with the settings is said only now that a stranger cannot hear it. */
async function complain(
  host: Host,
  problems: readonly string[],
  { patience, reactions }: GitHubSide,
): Promise<1> {
  reactions.show('confused');
  await patience.waitFor(reactions.settled()).catch(() => {});
  return failBecause(host, problems);
}

interface Work extends GitHubSide {
  readonly inputs: Inputs;
  readonly trigger: Trigger;
  readonly facts: RunFacts;
  /** What the comment asks for; empty without a command. */
  readonly text: string;
}

async function followJobs(
  host: Host,
  board: Board,
  { inputs, trigger, facts, text, connect, patience, reactions }: Work,
): Promise<0 | 1> {
  introduce(host, inputs);
  // Many jobs live for a long time, and without this the engine grows to twice the memory.
  if (inputs.jobIds.length >= MANY_JOBS) host.saveMemory();
  const reporter = openReporterFor(host, inputs, { facts, connect, patience });
  const transport = createTransport({ ...inputs, userAgent: USER_AGENT });
  try {
    const context = serviceContext(host, inputs, transport);
    const startedAt = host.clock.date().toISOString();
    const asked = { inputs, trigger, facts, text, startedAt, redact: host.redact };
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

function failBecause(host: Host, reasons: readonly string[]): 1 {
  return fail(host, `Nothing was sent. ${reasons.join(' ')}`);
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
function connectOnce(host: Host, token: string, facts: RunFacts): () => Promise<GitHub> {
  let connected: Promise<GitHub> | undefined;
  return () => {
    connected ??= connect(host, token, facts);
    return connected;
  };
}

async function connect(host: Host, token: string, facts: RunFacts): Promise<GitHub> {
  if (token === '') throw new GitHubError(401, 'github-token is empty');
  const unsafe = problemWithCertificates(host.env);
  if (unsafe !== undefined) throw new GitHubError(0, unsafe);
  const { signal } = host;
  // Some requests more, and it begins; at the end of the run that would cost 20 ms.
  host.compileOnce();
  const github = await connectGitHub({
    ...facts,
    ...host,
    token,
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
