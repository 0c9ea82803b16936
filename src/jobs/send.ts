import { postMessage, type Sent } from '../agent/client.ts';
import { LEAST_POST_MS, type SendClass } from '../agent/retry.ts';
import { duration } from '../clock.ts';
import { isAboutJobs } from '../github/event.ts';
import { type End, isBaseFinal, isFinal, type Job, statusOf } from '../job.ts';
import { cancelledEnd, doubtfulEnd, endAs, loopEnd, stoppedEnd, timedOutEnd } from '../reasons.ts';
import { quote } from '../text.ts';
import { botOf, isDetailed, type RunContext, save, waitsForIdle } from './context.ts';
import { mustGiveUp, poll, storeRecord } from './poll.ts';
import { confirmDelivery } from './wait.ts';

// Sends one message: the poll just before it, the request, and what becomes of it.

/** Milliseconds. A change after the base counts as an effect of the message. */
const FRESH_BASE_MS = 1000;

/**
 * Sends the message, and repeats that only if the API certainly did not accept it. Null if it was sent; `active`
 * if it has to wait for the agent first. `failed` has the classes of its failed requests.
 */
export async function sendMessage(
  run: RunContext,
  job: Job,
  failed: SendClass[],
): Promise<End | 'active' | null> {
  const { inputs } = run;
  const needsFresh = inputs.wait || waitsForIdle(run);
  // The comment shows the pull request of the job, which only a poll tells.
  const needsPoll = inputs.comment && inputs.prNumber === null && isAboutJobs(run.trigger);
  for (;;) {
    if (needsFresh ? !isBaseFresh(run, job) : needsPoll && job.baseAt === null) {
      const end = await poll(run, job);
      if (end !== null) return end;
      if (waitsForIdle(run) && !isFinal(statusOf(job))) return 'active';
    }
    const over = endOfLoop(run, job) ?? mustGiveUp(run, job);
    if (over !== null) return over;
    run.jobLog.say(job, 'Sending the message.');
    job.delivery = 'posting';
    saveAtMessage(run);
    const wasFresh = isBaseFresh(run, job);
    const sent = await postMessage(run.agent, job.id, run.prompt, failed);
    if (sent.kind !== 'refused') return afterSend(run, job, sent, wasFresh);
    job.delivery = 'open';
    failed.push(sent.sendClass);
    const end = await afterRefusal(run, job, sent);
    if (end !== null) return end;
  }
}

/**
 * How a job ends if a bot has triggered the run on the pull request of the job itself, or perhaps has: a job that is
 * done, and whose link is missing or refused, does not tell. Otherwise null.
 */
export function endOfLoop(run: RunContext, job: Job): End | null {
  const bot = botOf(run);
  const number = job.base?.prNumber;
  const isOther =
    number === undefined ? !isFinal(statusOf(job)) : number !== run.trigger.conversation;
  return bot === null || isOther ? null : loopEnd(bot.login);
}

/** Of many messages, the outputs are only written at the first one, and say that all may have been sent. */
function saveAtMessage(run: RunContext): void {
  if (isDetailed(run)) save(run);
  else if (!run.hasStarted) save({ ...run, jobs: run.jobs.map(asPosting) });
  run.hasStarted = true;
}

function asPosting(job: Job): Job {
  return job.delivery === 'open' ? { ...job, delivery: 'posting' } : job;
}

function isBaseFresh({ clock }: RunContext, { baseAt }: Job): boolean {
  return baseAt !== null && clock.now() - baseAt <= FRESH_BASE_MS;
}

async function afterSend(
  run: RunContext,
  job: Job,
  sent: Exclude<Sent, { kind: 'refused' }>,
  wasFresh: boolean,
): Promise<End | null> {
  const { clock, signal } = run;
  if (sent.kind === 'doubtful') {
    job.delivery = 'unknown';
    // Only a job that was done just before can show that the message arrived.
    if (!wasFresh || !isBaseFinal(job.base) || signal.aborted) {
      return doubtfulEnd(sent.why, signal.aborted);
    }
    run.jobLog.problem(job, `${sent.why} Polling to see whether the message arrived.`);
    if (!(await confirmDelivery(run, job))) return doubtfulEnd(sent.why, signal.aborted);
    run.jobLog.warn(job, `${sent.why} The job shows that the message arrived.`);
  }
  job.delivery = 'sent';
  run.jobLog.say(job, 'The message is delivered.');
  if (sent.kind === 'delivered') {
    if (sent.warning !== '') run.jobLog.warn(job, sent.warning);
    if (sent.record !== null) storeRecord(run, job, sent.record);
  }
  job.sentAt = clock.now();
  return null;
}

/** The message was certainly not accepted. Null if it may be sent again. */
async function afterRefusal(
  run: RunContext,
  job: Job,
  sent: Extract<Sent, { kind: 'refused' }>,
): Promise<End | null> {
  const { clock, signal, stop, deadline } = run;
  const { why } = sent;
  if (signal.aborted) return cancelledEnd(job, run);
  if (sent.afterMs === null) {
    // Messages to other jobs fall under the same limit.
    if (sent.sendClass === 'rate-limited') {
      if (stop.signal.aborted) return stoppedEnd(String(stop.signal.reason));
      stop.abort(`The message to job ${quote(job.id, 256)} was not accepted. ${why}`);
    }
    return endAs('error', why);
  }
  if (clock.now() + sent.afterMs >= deadline - LEAST_POST_MS) return timedOutEnd(job, run, why);
  const next = `Trying again in ${duration(sent.afterMs)}.`;
  run.jobLog.problem(job, `The message was not accepted. ${why} ${next}`);
  if (isDetailed(run)) save(run);
  // What is pushed in the pause does not count.
  job.commitsBefore = null;
  // This keeps its place in the queue: all messages count against the same rate limit.
  await clock.sleep(sent.afterMs, AbortSignal.any([signal, stop.signal])).catch(() => {});
  return null;
}
