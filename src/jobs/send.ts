import { postMessage, type Sent } from '../agent/client.ts';
import type { SendClass } from '../agent/retry.ts';
import { afterPause } from '../clock.ts';
import {
  accepted,
  doubted,
  type End,
  isBaseFresh,
  isFinal,
  type Job,
  posting,
  sending,
  statusBefore,
} from '../job.ts';
import { pullRequestNumber } from '../link.ts';
import { cancelledEnd, doubtfulEnd, endAs, loopEnd, stoppedEnd } from '../reasons.ts';
import { quote } from '../text.ts';
import { readHead } from './changes.ts';
import { canStillSend, type Outcome, openJobs, over, type Run, save } from './context.ts';
import { isStillHead } from './limits.ts';
import { poll, takeIn } from './poll.ts';

// Sends one message: the poll just before it, the request, and what becomes of it.

/** Milliseconds. */
const SLOW_POLL_MS = 1000;

/**
 * Sends the message, and repeats that only if the API certainly did not accept it. `busy`: it has to wait for the agent
 * first. `failed` has the classes of its failed requests.
 */
export async function sendMessage(
  run: Run,
  job: Job,
  failed: SendClass[],
): Promise<Outcome<'sent' | 'busy'>> {
  const { clock } = run.runtime;
  for (;;) {
    let seen = await lookAtPull(run, job);
    const before = clock.now();
    if (run.plan.needsBase && !isBaseFresh(job, before)) {
      const polled = await poll(run, job);
      if (polled.kind === 'over') return polled;
      if (run.plan.waitsForIdle && !isFinal(statusBefore(job))) return { kind: 'busy' };
      // Something may have been pushed during a slow poll.
      if (clock.now() - before > SLOW_POLL_MS) seen = await lookAtPull(run, job);
    }
    if (seen.still.kind === 'over') return seen.still;
    const end = endOfLoop(run, job);
    if (end !== null) return over(end);
    const can = canStillSend(run, job);
    if (can.kind === 'over') return can;
    const marked = markAllAsSending(run);
    if (marked.kind === 'over') return marked;
    run.log.say(job, 'Sending the message.');
    posting(job, clock.now(), seen.head);
    const sent = await postMessage(run.agent, job.id, run.prompt, failed);
    if (sent.kind !== 'refused') return afterSend(run, job, sent);
    failed.push(sent.sendClass);
    const refused = await afterRefusal(run, job, sent);
    if (refused.kind === 'over') return refused;
  }
}

/** What GitHub shows just before the message: whether the commit of the event is the newest, and what is already pushed. */
async function lookAtPull(run: Run, job: Job) {
  const [still, head] = await Promise.all([isStillHead(run), readHead(run, job)]);
  return { still, head };
}

/**
 * How a job ends if a bot has triggered the run on the pull request of the job itself, or perhaps has: a job without a
 * link, or with one that was refused, does not tell. The repository does not matter, because it may have been renamed.
 */
export function endOfLoop({ plan, trigger }: Run, { record }: Job): End | null {
  if (plan.loopBot === null) return null;
  const link = record?.prLink ?? null;
  const isOther = link !== null && pullRequestNumber(link) !== trigger.conversation;
  return isOther ? null : loopEnd(plan.loopBot);
}

/** From the first message on, the outputs say that each one may have been sent. If they cannot, none is sent. */
function markAllAsSending(run: Run): Outcome<'marked'> {
  const jobs = openJobs(run);
  if (jobs.length === 0) return { kind: 'marked' };
  for (const job of jobs) sending(job);
  const saved = save(run);
  if (saved.kind === 'ok') return { kind: 'marked' };
  const end = endAs('error', `${saved.problem}, so no message was sent.`, 'Free some disk space.');
  run.queue.stop.abort(end);
  return over(end);
}

function afterSend(run: Run, job: Job, sent: Exclude<Sent, { kind: 'refused' }>): Outcome<'sent'> {
  if (sent.kind === 'doubtful') {
    doubted(job);
    return over(doubtfulEnd(sent.why, run.runtime.signal.aborted));
  }
  accepted(job, run.runtime.clock.now());
  run.log.say(job, 'The message is delivered.');
  if (sent.warning !== '') run.log.warn(job, sent.warning);
  if (sent.record !== null) takeIn(run, job, sent.record);
  return { kind: 'sent' };
}

/** The message was certainly not accepted. It may be sent again after a pause. */
async function afterRefusal(
  run: Run,
  job: Job,
  { why, afterMs, sendClass }: Extract<Sent, { kind: 'refused' }>,
): Promise<Outcome<'again'>> {
  const { clock, signal } = run.runtime;
  const { stop } = run.queue;
  if (signal.aborted) return over(cancelledEnd(job, run));
  if (afterMs === null && sendClass === 'rate-limited') {
    if (stop.signal.aborted) return over(stop.signal.reason);
    // Messages to other jobs fall under the same limit.
    const refused = `The message to job ${quote(job.id, 256)} was not accepted. ${why}`;
    stop.abort(stoppedEnd(refused));
  }
  if (afterMs === null) return over(endAs('error', why));
  const can = canStillSend(run, job, afterMs, why);
  if (can.kind === 'over') return can;
  run.log.problem(job, `The message was not accepted. ${why} Trying again ${afterPause(afterMs)}.`);
  // This keeps its place in the queue: all messages count against the same rate limit.
  await clock.sleep(afterMs, AbortSignal.any([signal, stop.signal])).catch(() => {});
  return { kind: 'again' };
}
