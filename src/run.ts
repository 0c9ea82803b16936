import type { AgentContext } from './agent/context.ts';
import { createTransport } from './agent/http.ts';
import { openSendQueue } from './agent/send-queue.ts';
import type { RunContext } from './context.ts';
import { connectOnce, type GitHub } from './github/api.ts';
import { authorize, cannotCheck, getsNoSecrets, isTrusted } from './github/authorize.ts';
import { readRequest } from './github/command.ts';
import { neededFor, whyOf } from './github/errors.ts';
import { type CommentTrigger, isCommentEvent, readTrigger, type Trigger } from './github/event.ts';
import { type Claim, Reactions } from './github/reactions.ts';
import { TimeLimit } from './github/time-limit.ts';
import { DEFAULT_BASE_URL, type Inputs, NO_SECRETS, readInputs } from './inputs.ts';
import { whichJobs } from './job/prepare.ts';
import { reviewState } from './job/reasons.ts';
import { runJobs } from './job/run-jobs.ts';
import { commentText } from './memory/text.ts';
import { Updates } from './memory/updates.ts';
import {
  join,
  NO_REASON,
  ours,
  type Reason,
  reasonToText,
  redactReason,
  sentence,
} from './reason.ts';
import { renderLedger, renderProblem, renderUsage } from './report/comment.ts';
import { cancelled, conclude, crash, fail, skip, writeOutputs } from './report/finish.ts';
import { overallDelivery, worst } from './report/ranking.ts';
import { type RunInfo, readRunInfo } from './runner/environment.ts';
import { readWhole } from './runner/files.ts';
import type { Runtime } from './runner/runtime.ts';
import type { JobState } from './turn.ts';

const MANY_JOBS = 20;
/** The number of possible process names: two of eight runs at once share one in 1 of 10^11 cases. */
const MOST_MARKS = 36 ** 8;
/** Milliseconds that a run waits for GitHub. */
const GITHUB_MS = 30_000;

/** One run of the action, from the inputs to the exit code. It never throws. */
export async function run(runtime: Runtime): Promise<0 | 1> {
  const states = new Map<string, JobState>();
  try {
    return await Promise.race([runSteps(runtime, states), runtime.crashed]);
  } catch (error) {
    return crash(runtime, [...states.values()], error);
  }
}

async function runSteps(runtime: Runtime, states: Map<string, JobState>): Promise<0 | 1> {
  const info = readRunInfo(runtime.env);
  const { access, inputs, problems } = readInputs(runtime.env, runtime.redact);
  const event = runtime.env.GITHUB_EVENT_NAME ?? '';
  const trigger = readTrigger(event, readWhole(runtime.env.GITHUB_EVENT_PATH ?? ''));
  const trusted = isTrusted(trigger);
  if (trigger.problem !== null && !trusted) {
    return fail(runtime, ours(`The run does not know what started it: ${trigger.problem}.`));
  }
  if (!access.hasApiKey && getsNoSecrets(trigger)) return skip(runtime, NO_SECRETS);
  // On other events, anyone may have started the run, and must not be able to make it fail.
  if (trusted && inputs === null) return fail(runtime, join(problems));
  if (trigger.problem !== null) {
    runtime.log.warning(`The step runs without a pull request or issue: ${trigger.problem}.`);
  }
  const request = readRequest(trigger.comment, access);
  if (request.kind === 'problem') return skip(runtime, request.problem);
  const text = request.value;
  /** The command, if the comment is nothing else. */
  const bareCommand = text === '' ? access.command : null;

  const github = openGitHub(runtime, info, trigger, access);
  const { connect, timeLimit, reactions } = github;
  const mark = Math.floor(runtime.random() * MOST_MARKS).toString(36);
  const isReady = inputs !== null && problems.length === 0 && bareCommand === null;
  const opened = isReady ? openMemory(github, inputs, trigger, mark) : null;
  const asking = authorize(trigger, info, access, connect);
  const authorization = await timeLimit.waitFor(asking, runtime.signal).catch(cannotCheck);
  if (runtime.signal.aborted && authorization.kind === 'failed') return cancelled(runtime);
  if (authorization.kind === 'denied') return refuse(runtime, trigger, authorization.reason);
  if (authorization.kind === 'failed') return fail(runtime, authorization.reason);

  if (inputs === null) return complain(github, problems);
  if (bareCommand !== null) return answerWithUsage(github, bareCommand);
  void reactions.show('eyes');
  if (opened === null) return complain(github, problems);
  return followUp({ runtime, states, info, trigger, text, mark, inputs, ...opened }, github);
}

/** Starts to read the comment now, because it can be read while the permission is checked. */
function openMemory(
  { runtime, info, connect, timeLimit, reactions }: GitHubSide,
  inputs: Inputs,
  trigger: Trigger,
  mark: string,
): Pick<RunContext, 'updates' | 'conversation' | 'memory'> {
  const updates = new Updates({
    ...runtime,
    ...{ connect, timeLimit, owner: mark, attempt: info.attempt },
    ...{ comment: inputs.comment, wait: inputs.wait },
    text: commentText(
      inputs.projectId,
      (ledger, limit) => renderLedger(ledger, info, limit),
      runtime.redact,
    ),
    review: reviewState,
    claim: () => reactions.claim(),
  });
  const conversation = inputs.prNumber ?? trigger.conversation;
  // To poll a named job once, it does not matter what was sent before.
  const isNeeded = inputs.send || inputs.wait || inputs.jobIds.length === 0;
  return { updates, conversation, memory: updates.load(isNeeded ? conversation : null) };
}

/** Called only if the run is allowed and its settings are valid. */
async function followUp(
  work: Omit<RunContext, 'agent' | 'writeOutputs'>,
  github: GitHubSide,
): Promise<0 | 1> {
  const { runtime, inputs, states } = work;
  const { timeLimit, reactions } = github;
  introduce(runtime, inputs);
  // A run with many jobs takes long, and without this V8 would use twice the memory.
  if (inputs.jobIds.length >= MANY_JOBS) runtime.saveMemory();
  // The end of a run with many requests would wait for V8.
  if (inputs.wait) runtime.deferTierUp();
  const context: RunContext = {
    ...work,
    agent: agentContext(work),
    writeOutputs: () => writeOutputs(runtime, { states: [...states.values()], commentUrls: [] }),
  };
  try {
    const jobs = await whichJobs(context);
    if (jobs.kind === 'problem') {
      if (runtime.signal.aborted) return cancelled(runtime);
      return await complain(github, [jobs.problem]);
    }
    await runJobs(context, jobs.value);
    return await report(context, reactions);
  } finally {
    // The run does not wait for a reaction that takes too long.
    await timeLimit.waitFor(reactions.settled()).catch(() => {});
  }
}

/** What a run needs to use GitHub. */
interface GitHubSide extends Pick<RunContext, 'runtime' | 'info'> {
  /** The comment with the command; null without a command. */
  readonly comment: CommentTrigger | null;
  readonly connect: () => Promise<GitHub>;
  /** Limits the time that the run waits for GitHub in all. */
  readonly timeLimit: TimeLimit;
  readonly reactions: Reactions;
}

function openGitHub(
  runtime: Runtime,
  info: RunInfo,
  trigger: Trigger,
  { githubToken: token, command }: Pick<Inputs, 'githubToken' | 'command'>,
): GitHubSide {
  const connect = connectOnce({ ...info, ...runtime, token });
  const comment = command === null ? null : trigger.comment;
  return {
    runtime,
    info,
    comment,
    connect,
    timeLimit: new TimeLimit(runtime.clock, GITHUB_MS),
    reactions: new Reactions(comment, connect, runtime.log),
  };
}

/** On comments, a refusal is normal. On other events, the workflow probably needs a change: a warning. */
function refuse(runtime: Runtime, { event }: Trigger, reason: Reason): 0 | 1 {
  const level = isCommentEvent(event) ? 'notice' : 'warning';
  return skip(runtime, `Nothing was sent. ${reasonToText(reason)}`, '', level);
}

/**
 * Ends a run that the settings of the workflow stop. It is called after the authorization, so that
 * strangers do not get an answer. A command is answered once: GitHub says whether the reaction is new.
 */
async function complain(github: GitHubSide, problems: readonly Reason[]): Promise<1> {
  const { runtime, info, timeLimit, reactions } = github;
  const problem = redactReason(join(problems), runtime.redact);
  const claim = await timeLimit.waitFor(reactions.show('confused')).catch((): Claim => 'failed');
  const isFirst = claim === 'ours' || (claim !== 'taken' && info.attempt === 1);
  const url = isFirst ? await answer(github, renderProblem(problem, info)) : '';
  // The other reactions do not change the result.
  await timeLimit.waitFor(reactions.settled()).catch(() => {});
  return fail(runtime, problem, url);
}

async function answerWithUsage(github: GitHubSide, command: string): Promise<0 | 1> {
  const { runtime, info } = github;
  const reason = `${command} has no prompt; write the prompt after it, in the same comment.`;
  // An earlier attempt of this run has already answered.
  if (info.attempt > 1) return skip(runtime, reason);
  return skip(runtime, reason, await answer(github, renderUsage(command)));
}

/** Posts an answer to a command, if there is one. Returns its URL, or an empty text if none was posted. */
async function answer(
  { runtime, comment, connect, timeLimit }: GitHubSide,
  body: string,
): Promise<string> {
  if (comment === null) return '';
  try {
    const posting = connect().then((github) => github.createComment(comment.conversation, body));
    const { url } = await timeLimit.waitFor(posting);
    return url;
  } catch (error) {
    const needed = neededFor(error);
    runtime.log.warning(`The answer could not be posted: ${whyOf(error)}. ${needed}`.trim());
    return '';
  }
}

function introduce({ log }: Runtime, { baseUrl, apiKey, repeatedIds }: Inputs): void {
  if (repeatedIds > 0) {
    const are = repeatedIds === 1 ? 'is a repetition' : 'are repetitions';
    log.info(`${repeatedIds} of the IDs in job-id ${are}; each job gets one message.`);
  }
  const isDefault = baseUrl.href === new URL(DEFAULT_BASE_URL).href;
  if (!isDefault) log.info(`The API is at ${baseUrl.host} (base-url).`);
  if (isDefault && !apiKey.startsWith('mint_')) {
    log.warning('api-key does not begin with "mint_"; the API may not accept it.');
  }
}

function agentContext({
  runtime,
  inputs,
  info,
}: Pick<RunContext, 'runtime' | 'inputs' | 'info'>): AgentContext {
  const { baseUrl, projectId, proxy, timeoutMs } = inputs;
  const through = proxy.url === '' ? NO_REASON : sentence` (proxy ${new URL(proxy.url).host})`;
  return {
    ...runtime,
    transport: createTransport({ ...inputs, ...runtime }),
    queue: openSendQueue(),
    where: sentence`${baseUrl.host}${through}`,
    projectId,
    serverUrl: info.serverUrl,
    deadline: runtime.clock.startedAt + timeoutMs,
  };
}

function report(context: RunContext, reactions: Reactions): Promise<0 | 1> {
  const states = [...context.states.values()];
  if (overallDelivery(states) === 'not-sent') reactions.release();
  if (worst(states)?.turn.result === 'completed') void reactions.show('hooray');
  if (states.some(({ turn }) => turn.result === 'error' || turn.result === 'failed')) {
    void reactions.show('confused');
  }
  return conclude(context);
}
