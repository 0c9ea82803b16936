import { complain, react, replyWithUsage } from './comment/reply.ts';
import type { Start } from './context.ts';
import { runJobs } from './delivery/deliver.ts';
import { prepare, type Run, storyOf } from './delivery/run-state.ts';
import { GitHub } from './github/client.ts';
import { askAgain } from './job/explain.ts';
import { endedNow, failing } from './job/overall.ts';
import { startAgain } from './plan/plan.ts';
import { type Content, readContent } from './prompt/request.ts';
import { finishOnGitHub } from './report/comments.ts';
import {
  annotate,
  cancelled,
  deny,
  fail,
  saveAtEnd,
  saveOutputs,
  skip,
  skipAttempt,
  skipVisibly,
  summarize,
  withoutJobs,
} from './report/finish.ts';
import { type Runtime, readRunInfo } from './runner/environment.ts';
import { readWhole } from './runner/files.ts';
import { adviseOnSettings, type Inputs, readInputs } from './runner/inputs.ts';
import { sentences } from './text.ts';
import { authorize } from './trigger/authorize.ts';
import { askedBy, whyNothing } from './trigger/command.ts';
import { parseTrigger } from './trigger/payload.ts';
import { mayCarry, whyNoSecrets } from './trigger/trigger.ts';

/** One run of the action, from the inputs to the exit code. */
export async function run(runtime: Runtime): Promise<0 | 1> {
  const info = readRunInfo(runtime.env);
  // Later ones replace these. The process may be killed at any time, or end because of a bug.
  const reason =
    info.attempt > 1
      ? 'This attempt ended before it sent anything.'
      : 'The run ended before anything was sent.';
  saveOutputs(runtime, { ended: [], withoutJobs: withoutJobs(runtime, 'error', reason) });
  const event = runtime.env.GITHUB_EVENT_NAME ?? '';
  const read = parseTrigger(event, readWhole(runtime.env.GITHUB_EVENT_PATH ?? ''));
  if (read.kind === 'problem') {
    const why = `The run does not know what started it: ${read.problem}.`;
    return fail(runtime, `${why} The runner writes that file, so start a new run.`);
  }
  const trigger = read.value;
  const { conversation } = trigger;
  const about = { conversation, mayCarry: mayCarry(event) };
  const { whoMaySend, inputs, problems } = readInputs(runtime.env, runtime.redact, about);
  const withheld = whyNoSecrets(trigger);
  if (whoMaySend.apiKey === '' && withheld !== null) {
    return skipVisibly(runtime, `“api-key” is empty, because ${withheld}`);
  }
  const nothing = whyNothing(trigger, whoMaySend.command, info);
  if (nothing !== null) return skip(runtime, nothing);

  const github = new GitHub({ ...info, ...runtime, token: whoMaySend.githubToken });
  const asked = askedBy(trigger, whoMaySend);
  const start: Start = { runtime, info, trigger, github, asked };
  const refused = await refuse(start, whoMaySend);
  if (refused !== null) return refused;
  // Only now: anyone may have started the run, and must not be able to make it fail.
  if (inputs === null) return complain(start, problems.join(' '));
  return send(start, inputs);
}

/** Ends a run that is not allowed, and resolves to its exit code; null if it is. */
async function refuse(
  start: Start,
  whoMaySend: Pick<Inputs, 'command' | 'minimumPermission' | 'allowedBots'>,
): Promise<0 | 1 | null> {
  const { runtime, info, trigger, github, asked } = start;
  const authorization = await authorize(trigger, info, whoMaySend, github);
  if (runtime.signal.aborted) return cancelled(runtime);
  switch (authorization.kind) {
    case 'allowed':
      return null;
    case 'denied': {
      const code = deny(runtime, authorization.reason, authorization.level);
      // Nobody looks into the log of a green run.
      if (authorization.isOfColleague && whoMaySend.command !== null) await react(start, '-1');
      return code;
    }
    case 'failed': {
      const again = askAgain(startAgain(asked !== null, info.attempt), true);
      return fail(runtime, sentences(authorization.reason, authorization.mayPass ? again : ''));
    }
  }
}

/** Called only if the run is allowed and its settings are valid. */
async function send(start: Start, inputs: Inputs): Promise<0 | 1> {
  const { runtime } = start;
  const content = await readContent(start, inputs);
  if (runtime.signal.aborted) return cancelled(runtime);
  switch (content.kind) {
    case 'nothing':
      return skipAttempt(runtime, content.reason);
    case 'usage':
      return replyWithUsage(start, inputs.command ?? '');
    case 'problem':
      return complain(start, content.problem, content.mayPass);
    case 'ok':
      return followUp(start, inputs, content.value);
  }
}

async function followUp(start: Start, inputs: Inputs, content: Content): Promise<0 | 1> {
  const { runtime } = start;
  adviseOnSettings(inputs, runtime);
  const prepared = await prepare(start, inputs, content);
  if (runtime.signal.aborted) return cancelled(runtime);
  if (prepared.kind === 'problem') return complain(start, prepared.problem, prepared.mayPass);
  if (prepared.kind === 'skipped') {
    return skipAttempt(runtime, prepared.reason);
  }
  const run = prepared.value;
  // The report does not wait for the reaction.
  const [code] = await Promise.all([runJobs(run).then(() => report(run)), react(start, 'eyes')]);
  return code;
}

/** The outputs come first, because a second signal may end the process at once. What follows changes no result. */
async function report(run: Run): Promise<0 | 1> {
  const { inputs, jobs, runtime } = run;
  const ended = endedNow(jobs, inputs.wait);
  const failed = failing(ended, inputs.failOn);
  const commentUrl = run.note?.url ?? '';
  const isBad = failed.length > 0 || runtime.signal.aborted;
  const code = saveAtEnd(runtime, { ended, commentUrls: [commentUrl] }, isBad ? 1 : 0);
  annotate(runtime.log, ended, failed);
  const { commentUrls, outdated } = await finishOnGitHub(run);
  // Only then, all comments are known, and what has changed.
  if (commentUrls.join('\n') !== commentUrl || jobs.some(({ change }) => change !== undefined)) {
    saveOutputs(runtime, { ended: endedNow(jobs, inputs.wait), commentUrls });
  }
  summarize(runtime, storyOf(run), jobs, commentUrls, outdated);
  return code;
}
