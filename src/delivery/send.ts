import { afterPause } from '../clock.ts';
import { endedPull, type JobState, markCreated, markSent, NEW_JOB, update } from '../job/job.ts';
import { type Stop, stop } from '../job/stop-reasons.ts';
import { whyOutdated } from '../ledger/decide.ts';
import { knownRecords, summarizeRequests } from '../ledger/ledger.ts';
import { postMessage, type Sent } from '../mintlify/client.ts';
import { isRateLimited } from '../mintlify/retry.ts';
import { isFinal } from '../mintlify-api.ts';
import { describePage, fetchCurrentPullRequest, isOwnPage } from '../plan/pull-request.ts';
import type { RequestPage } from '../prompt/conversation/select.ts';
import { fetchSections } from '../prompt/request.ts';
import type { Section } from '../prompt/sections.ts';
import { quote } from '../text.ts';
import { pollNow, stopAfter, takeResponse } from './poll.ts';
import { pause, pendingJobs, type Run, save, stopIfTooLate, stopWork } from './run-state.ts';

// Sends one message: what is read just before it, as until then an agent may have pushed for
// minutes; the last poll; the request; and what becomes of it.

/** Anew for a further attempt, before which the agent was at work, but once for several jobs. */
export async function completeMessage(run: Run): Promise<Stop | undefined> {
  const { prompt, jobs } = run;
  if (prompt.completion === undefined || jobs.length === 1) {
    prompt.completion = complete(run);
  }
  return prompt.completion;
}

async function complete(run: Run): Promise<Stop | undefined> {
  const { plan, runtime, prompt, source, jobs } = run;
  const page = selectPage(run);
  const origin = describePage(run);
  const hasWaited = source !== null && jobs.some((job) => job.hasWaited);
  const fate = hasWaited ? await run.github.fetchFate(source.nodeId) : 'same';
  if (fate === 'deleted') return stop('request-deleted');
  const now = runtime.clock.now();
  // What is slow must leave time for the message.
  const until = now + (plan.deadline - now) / 2;
  const { sections, end } = await fetchSections(run, page, until);
  if (end !== undefined) return end;
  const about: Section = { slot: 'about', shown: 'the text before the comment was edited' };
  prompt.complete(fate === 'edited' ? [...sections, about] : sections, origin);
  return undefined;
}

function selectPage(run: Run): RequestPage | null {
  const { source, trigger, ledger, plan, jobs } = run;
  if (source === null) return null;
  const isOwn = isOwnPage(run);
  const number = (isOwn && plan.page) || source.conversation;
  const ids = jobs.map(({ id }) => id);
  return {
    source,
    number,
    isOwn,
    isPull: trigger.isPullRequest || number !== source.conversation,
    ledger,
    ...summarizeRequests(knownRecords(ledger), ids, isOwn && number === source.conversation),
  };
}

/** Repeated only if the API certainly did not accept it. `busy`: the agent is at work again. */
export async function sendMessage(run: Run, job: JobState): Promise<Stop | 'sent' | 'busy'> {
  for (let failed = 0; ; failed += 1) {
    const tooLate = stopIfTooLate(run, job);
    if (tooLate !== undefined) return tooLate;
    const looked = await lastLook(run, job);
    if (looked !== 'ready') return looked;
    // From here to the request, nothing is awaited: another job may stop all messages.
    const end = stopIfTooLate(run, job) ?? markAllAsSending(run);
    if (end !== undefined) return end;
    run.log.say(job, job.id === NEW_JOB ? 'Creating the job.' : 'Sending the message.');
    const sent = await postMessage(run.agent, { jobId: job.id, prompt: run.prompt.text, failed });
    if (sent.kind !== 'refused') return afterSend(run, job, sent);
    const refused = await afterRefusal(run, job, sent);
    if (refused !== undefined) return refused;
  }
}

/**
 * Just before the message, all at once: the status that it changes, what is pushed already, and
 * whether the commit of the event is the newest. What GitHub does not tell stops nothing.
 */
async function lastLook(run: Run, job: JobState): Promise<Stop | 'busy' | 'ready'> {
  const { plan, inputs, trigger } = run;
  const needsBase = job.id !== NEW_JOB && (inputs.wait || plan.waitsForIdle);
  // The pull request whose changes the end will tell. Of many jobs, the calls would take too long.
  const isWatched = run.jobs.length === 1 && inputs.wait;
  const pull = isWatched ? (job.record?.prNumber ?? undefined) : undefined;
  const reading = fetchCurrentPullRequest(run.github, pull);
  const readingOfEvent =
    plan.headOf === pull ? reading : fetchCurrentPullRequest(run.github, plan.headOf);
  if (needsBase) {
    const end = await pollNow(run, job);
    if (end !== undefined) return end;
    if (plan.waitsForIdle && !isFinal(job.base?.status)) return 'busy';
  }
  const [head, headOfEvent] = await Promise.all([reading, readingOfEvent]);
  const past = trigger.kind === 'check' && whyOutdated(trigger.check, headOfEvent);
  if (past) return past;
  // An older base may be out of date.
  update(job, { isWaiting: false, head, ...(!needsBase && { base: {} }) });
  const over = endedPull(job);
  if (run.source !== null && over !== undefined) {
    run.prompt.setDestination(`The pull request of this job, #${over.number}, is ${over.state}.`);
  }
  return 'ready';
}

/** The outputs say that each message may have been sent. If they cannot, none is sent. */
function markAllAsSending(run: Run): Stop | undefined {
  const jobs = pendingJobs(run);
  if (jobs.length === 0) return undefined;
  for (const job of jobs) update(job, { message: { kind: 'sending' } });
  const saved = save(run);
  if (saved.kind === 'ok') return undefined;
  const why = stop('outputs', { why: saved.problem }, 'when fixed');
  run.stopAll.abort(why);
  return why;
}

function afterSend(
  run: Run,
  job: JobState,
  sent: Exclude<Sent, { kind: 'refused' }>,
): Stop | 'sent' {
  if (sent.kind === 'doubtful') {
    update(job, { message: { kind: 'unknown' } });
    if (run.runtime.signal.aborted) return stopWork(run, job);
    return stop('no-answer', { why: sent.why, jobId: job.id });
  }
  const now = run.runtime.clock.now();
  if (job.id === NEW_JOB && sent.record !== null) {
    markCreated(job, sent.record.id, now);
    run.log.say(job, `The job ${job.id} is created.`);
  } else {
    markSent(job, now);
    // Without a wait, the end follows at once and says it.
    run.log.say(job, 'The message is delivered.', run.inputs.wait ? 'info' : 'debug');
  }
  if (sent.warning !== '') run.log.warn(job, sent.warning);
  if (sent.record !== null) takeResponse(run, job, sent.record);
  return 'sent';
}

async function afterRefusal(
  run: Run,
  job: JobState,
  { exchange, why, afterMs }: Extract<Sent, { kind: 'refused' }>,
): Promise<Stop | undefined> {
  const { stopAll, runtime } = run;
  if (runtime.signal.aborted) return stopWork(run, job);
  if (afterMs === null) {
    const refused = stopAfter(exchange, job, why);
    if (!isRateLimited(exchange)) return refused;
    if (stopAll.signal.aborted) return stopAll.signal.reason;
    // Messages to other jobs fall under the same limit.
    stopAll.abort(stop('not-tried', { job: quote(job.id, 256), why }, refused.retry));
    return refused;
  }
  const tooLate = stopIfTooLate(run, job, { afterMs, why });
  if (tooLate !== undefined) return tooLate;
  run.log.say(job, `The message was not accepted. ${why} Trying again ${afterPause(afterMs)}.`);
  // This keeps its place in the queue: all messages count against the same rate limit.
  await pause(run, afterMs);
  return undefined;
}
