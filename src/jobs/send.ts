import type { Polled, Sent } from '../agent/client.ts';
import { duration } from '../clock.ts';
import { type End, isBaseFinal, isFinal, type Job, statusOf } from '../job.ts';
import { doubtfulEnd, notSentEnd } from '../reasons.ts';
import { type RunContext, waitsForIdle } from './context.ts';
import { LEAST_POST_MS, mustGiveUp, pollBefore, take } from './poll.ts';
import { confirmDelivery } from './wait.ts';

// Sends one message: the poll just before it, the request, and what becomes of it.

/** Milliseconds. A change after the base counts as an effect of the message. */
const FRESH_BASE_MS = 1000;

/** When a job is polled before the message: just before each request, once, or not at all. */
export type BasePolls = 'fresh' | 'once' | 'none';

/** Stores a poll before the message, to compare later polls with. */
export function takeBase(job: Job, { record }: Polled): void {
  const { status, prLink } = record;
  if (status === undefined) job.base = null;
  else job.base = prLink === undefined ? { status } : { status, prLink };
}

/**
 * Sends the message, and repeats that only if the API certainly did not accept it. Null if it was sent; `active`
 * if it has to wait for the agent first. `polled` is the newest poll of the job, if there was one.
 */
export async function sendMessage(
  run: RunContext,
  job: Job,
  post: () => Promise<Sent>,
  basePolls: BasePolls,
  polled: Polled | null,
): Promise<End | 'active' | null> {
  const { inputs, agent, save } = run;
  const { clock } = agent;
  let base = polled;
  for (;;) {
    const isFresh =
      base !== null && (basePolls === 'once' || clock.now() - base.from <= FRESH_BASE_MS);
    if (basePolls !== 'none' && !isFresh) {
      const answer = await pollBefore(run, job);
      if (answer.kind !== 'polled') return notSentEnd(job, inputs, answer);
      base = answer;
      if (waitsForIdle(run) && !isFinal(statusOf(job))) return 'active';
    }
    if (base !== null) takeBase(job, base);
    const over = mustGiveUp(run, LEAST_POST_MS);
    if (over !== null) return notSentEnd(job, inputs, over);
    run.log.say(job, 'Sending the message.');
    job.isPosting = true;
    save(true);
    const wasFresh = base !== null && clock.now() - base.from <= FRESH_BASE_MS;
    const sent = await post();
    if (sent.kind === 'delivered' || sent.kind === 'doubtful') {
      return afterSend(run, job, sent, wasFresh);
    }
    job.isPosting = false;
    const end = await afterRefusal(run, job, sent);
    if (end !== null) return end;
  }
}

async function afterSend(
  run: RunContext,
  job: Job,
  sent: Extract<Sent, { kind: 'delivered' | 'doubtful' }>,
  wasFresh: boolean,
): Promise<End | null> {
  const { agent } = run;
  if (sent.kind === 'doubtful') {
    job.delivery = 'unknown';
    // Only a job that was done just before can show that the message arrived.
    if (!wasFresh || !isBaseFinal(job.base) || agent.signal.aborted) {
      return doubtfulEnd(sent.why, agent.signal.aborted);
    }
    run.log.problem(job, `${sent.why} Polling to see whether the message arrived.`);
    if (!(await confirmDelivery(run, job))) return doubtfulEnd(sent.why, agent.signal.aborted);
    run.log.warn(job, `${sent.why} The job shows that the message arrived.`);
  }
  job.delivery = 'sent';
  job.isPosting = false;
  job.sentAt = agent.clock.now();
  run.log.say(job, 'The message is delivered.');
  if (sent.kind === 'delivered') {
    if (sent.warning !== '') run.log.warn(job, sent.warning);
    if (sent.record !== null) take(run, job, sent.record);
  }
  return null;
}

/** The message was certainly not accepted. Null if it may be sent again. */
async function afterRefusal(
  run: RunContext,
  job: Job,
  sent: Extract<Sent, { kind: 'refused' | 'retry' }>,
): Promise<End | null> {
  const { inputs, agent, save } = run;
  const { clock, signal, deadline } = agent;
  const { why } = sent;
  if (signal.aborted) return notSentEnd(job, inputs, { kind: 'cancelled', why: '' });
  const over = sent.isLimit ? mustGiveUp(run, 0) : null;
  if (over?.kind === 'stopped') return notSentEnd(job, inputs, over);
  if (sent.kind === 'refused') {
    if (sent.isLimit) run.stop.abort(`The message to job ${job.id} was not accepted. ${why}`);
    return notSentEnd(job, inputs, { kind: 'refused', why });
  }
  if (clock.now() + sent.afterMs >= deadline) {
    return notSentEnd(job, inputs, { kind: 'timed-out', why });
  }
  const next = `Trying again in ${duration(sent.afterMs)}.`;
  run.log.problem(job, `The message was not accepted. ${why} ${next}`);
  save(true);
  // This keeps its place in the queue: all messages count against the same rate limit.
  await clock.sleep(sent.afterMs, AbortSignal.any([signal, run.stop.signal])).catch(() => {});
  return null;
}
