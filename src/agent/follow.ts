import { type JobResult, STATUSES, type Status } from '../outcome.ts';
import {
  type Ending,
  endingNow,
  lookFirst,
  lookOnce,
  type Sent,
  type ServiceContext,
  sendMessage,
} from './client.ts';
import { type End, type Facts, isBaseFinal, noFacts, resultOf, takeIn } from './facts.ts';
import { repeatLook } from './retry.ts';
import { nextLookMs } from './schedule.ts';
import type { StepAside } from './sends.ts';
import { type Base, judge, observe, startTurn, type Turn } from './turn.ts';
import { isFinal, type JobRecord } from './wire.ts';

/** What is wanted of one job. Durations are in milliseconds. */
export interface Order {
  readonly jobId: string;
  readonly task: Task;
  /** Looks that were made before, to find out what was sent. */
  readonly polls: number;
  readonly wait: boolean;
  readonly timeoutMs: number;
  readonly settleMs: number;
  readonly pollIntervalMs: number | null;
  /** Where this job's looks lie among those of others. */
  readonly pace: number;
  /** When a job that gets no message is looked at first. */
  readonly firstLookMs: number;
  /** The code host of this workflow, for the check of pull request links. */
  readonly serverUrl: string;
}

export type Task =
  | {
      readonly kind: 'send';
      readonly prompt: string;
      /** The statuses in which the job gets the message; null is any. */
      readonly onlyWhen: ReadonlySet<Status> | null;
      /**
       * What was seen of the job a while ago; null if nothing was. Where a base is needed, the job
       * is looked at anew.
       */
      readonly seen: JobRecord | null;
      /** Awaited once, before the message goes out. It never rejects. */
      readonly beforeSend: () => Promise<void>;
    }
  /** An earlier attempt of this run sent the message, or may have: nothing is sent again. */
  | { readonly kind: 'go-on'; readonly earlier: Earlier }
  /** Nothing is to be sent; `turn` is a message of an earlier run that is not answered yet. */
  | { readonly kind: 'look'; readonly turn: Earlier | null };

/** A message that an earlier attempt or run sent, or may have sent. */
export interface Earlier {
  readonly delivery: 'sent' | 'unknown';
  readonly base: Base | null;
  readonly sentAt: Date | null;
  readonly evidence: boolean;
  /** Whether another message was sent to the job since. */
  readonly isOvertaken: boolean;
}

/** Something that happened to a job; `soFar` is what is true if the run ends here. */
export type Progress = { readonly soFar: JobResult } & (
  | { readonly kind: 'seen'; readonly status: string | null }
  | { readonly kind: 'sending' | 'delivered' | 'resumed' }
  | { readonly kind: 'waiting'; readonly nextLookMs: number; readonly remainingMs: number }
  | { readonly kind: 'held'; readonly why: string; readonly afterMs: number }
  /** `afterMs` is null if no time is left for another look. */
  | { readonly kind: 'missed'; readonly why: string; readonly afterMs: number | null }
  | { readonly kind: 'doubted'; readonly why: string; readonly lookMs: number }
  | { readonly kind: 'warning'; readonly text: string }
);
type News = Progress extends infer P ? (P extends unknown ? Omit<P, 'soFar'> : never) : never;

/** Called synchronously. A sentence returned on `sending` keeps the message from going out. */
export type Observer = (progress: Progress) => string | undefined;

/** Milliseconds: how long and how often a doubtful send is looked for. */
const DOUBT_MS = 30_000;
const DOUBT_INTERVAL_MS = 5000;
/** Milliseconds for the look that starts at the deadline. */
const LAST_LOOK_MS = 1500;

const IT_MAY_HAVE_ARRIVED =
  'The message may or may not have been delivered; it was not sent again. Look at the job before you ' +
  'send it once more.';

const EARLIER_DOUBT = 'An earlier attempt of this run did not learn what came of its message.';

/** One job on its way through this run. */
interface Case {
  readonly order: Order;
  readonly context: ServiceContext;
  readonly facts: Facts;
  readonly tell: (news: News) => string | undefined;
}

/** Sends the message to one job and, if wanted, waits until the agent is done with it. */
export async function followJob(
  order: Order,
  context: ServiceContext,
  observer: Observer,
): Promise<JobResult> {
  const facts = noFacts(order.jobId, order.task.kind === 'look', order.polls);
  const { clock } = context;
  const close = (end: End): JobResult => resultOf(facts, end, clock, order.serverUrl);
  const tell = (news: News): string | undefined =>
    observer({ ...news, soFar: close(endedHere(order, facts)) } as Progress);
  const end = await conduct({ order, context, facts, tell });
  facts.milestones.push({ at: clock.date(), what: end.result });
  return close(end);
}

async function conduct(job: Case): Promise<End> {
  const { task } = job.order;
  switch (task.kind) {
    case 'send':
      return send(job, task);
    case 'go-on':
      return goOn(job, task.earlier);
    case 'look':
      return look(job, task.turn);
  }
}

async function send(job: Case, task: SendTask): Promise<End> {
  const { order, context } = job;
  const sent = await context.sends.inTurn((stepAside) => lookAndSend(job, task, stepAside));
  if (sent.kind === 'doubtful') {
    if (!(await hasArrived(job, sent.why))) return doubtful(job, sent.why);
    takeDelivery(job, null);
    job.tell({ kind: 'warning', text: `${sent.why} The job shows that the message arrived.` });
  } else if (sent.kind === 'delivered') {
    takeDelivery(job, sent.record);
    if (sent.warning !== '') job.tell({ kind: 'warning', text: sent.warning });
  } else {
    return notSent(job, sent);
  }
  return order.wait ? watch(job) : { result: 'sent', reason: '' };
}

type SendTask = Extract<Task, { kind: 'send' }>;

/** The look comes just before the message: what changes in between would be taken for its effect. */
async function lookAndSend(
  job: Case,
  { seen, onlyWhen, prompt, beforeSend }: SendTask,
  stepAside: StepAside,
): Promise<Sent | Unwanted> {
  const { order, facts } = job;
  if (order.wait || onlyWhen !== null) {
    const ending = await seeFirst(job, stepAside);
    if (ending !== null) return ending;
  } else if (seen !== null) remember(job, seen);
  if (onlyWhen !== null && !onlyWhen.has(statusOf(facts))) return { kind: 'unwanted', onlyWhen };
  // Of a message that does not go out any more, nobody is told that it is about to.
  const over = endingNow(job.context);
  if (over !== null) return over;
  await beforeSend();
  return sendNow(job, prompt, stepAside);
}

/** The job is in a status in which it does not get the message. */
interface Unwanted {
  readonly kind: 'unwanted';
  readonly onlyWhen: ReadonlySet<Status>;
}

/** A look that must succeed; returns why it did not. */
async function seeFirst(job: Case, stepAside: StepAside): Promise<Ending | null> {
  const { context, order, facts, tell } = job;
  const look = await lookFirst(context, order.jobId, {
    stepAside,
    onLook() {
      facts.polls += 1;
    },
    onMissed: (why, afterMs) => tell({ kind: 'missed', why, afterMs }),
  });
  if (look.kind !== 'seen') return look;
  remember(job, look.record);
  return null;
}

/** A status that the service does not document counts as active: the agent is not done. */
function statusOf({ latest }: Facts): Status {
  return STATUSES.find((status) => status === latest?.status) ?? 'active';
}

/** Sends nothing. Looks once or, if that is wanted, until the agent is done. */
async function look(job: Case, turn: Earlier | null): Promise<End> {
  const { order, facts, context } = job;
  if (order.wait) {
    if (turn !== null) {
      takeUp(job, turn);
      facts.sentAt = momentOf(job, turn);
    }
    return watch(job);
  }
  const ending = await context.sends.inTurn((stepAside) => seeFirst(job, stepAside));
  return ending === null ? { result: statusOf(facts), reason: '' } : notSent(job, ending);
}

/** Goes on where an earlier attempt of the same run stopped. */
async function goOn(job: Case, earlier: Earlier): Promise<End> {
  const { order, facts } = job;
  facts.delivery = 'unknown';
  takeUp(job, earlier);
  if (earlier.delivery === 'unknown' && !(await hasArrived(job, EARLIER_DOUBT))) {
    return doubtful(job, EARLIER_DOUBT);
  }
  facts.sentAt = momentOf(job, earlier);
  facts.delivery = 'sent';
  job.tell({ kind: 'resumed' });
  return order.wait ? watch(job) : { result: 'sent', reason: '' };
}

function takeUp({ facts }: Case, { base, evidence }: Earlier): void {
  facts.base = base;
  facts.evidence = evidence;
}

/** When an earlier message was answered, in milliseconds of the clock; now if nobody knows. */
function momentOf({ context: { clock } }: Case, { sentAt }: Earlier): number {
  const agoMs = sentAt === null ? 0 : clock.date().getTime() - sentAt.getTime();
  return clock.now() - Math.max(0, agoMs);
}

function remember(job: Case, record: JobRecord): void {
  job.facts.base = record;
  saw(job, record);
}

/** From just before the request until its end the delivery is unknown, and is told to be. */
async function sendNow(
  { order, context, facts, tell }: Case,
  prompt: string,
  stepAside: StepAside,
): Promise<Sent> {
  const sent = await sendMessage(context, order.jobId, prompt, {
    stepAside,
    onAttempt() {
      facts.delivery = 'unknown';
      return tell({ kind: 'sending' });
    },
    onHeld(why, afterMs) {
      facts.delivery = 'not-sent';
      tell({ kind: 'held', why, afterMs });
    },
  });
  if (sent.kind !== 'doubtful') facts.delivery = sent.kind === 'delivered' ? 'sent' : 'not-sent';
  return sent;
}

function takeDelivery(job: Case, record: JobRecord | null): void {
  const { facts, context } = job;
  facts.delivery = 'sent';
  facts.sentAt = context.clock.now();
  facts.milestones.push({ at: context.clock.date(), what: 'sent' });
  const news = record === null ? [] : learn(job, record);
  job.tell({ kind: 'delivered' });
  for (const item of news) job.tell(item);
}

function saw(job: Case, record: JobRecord): void {
  for (const item of learn(job, record)) job.tell(item);
}

/** Takes in a record, and gives what is new in it. */
function learn({ order, context, facts }: Case, record: JobRecord): readonly News[] {
  const changed = facts.latest?.status !== record.status;
  const warnings = takeIn(facts, record, context.clock, order.serverUrl);
  return [
    ...(changed ? [{ kind: 'seen' as const, status: record.status }] : []),
    ...warnings.map((text) => ({ kind: 'warning' as const, text })),
  ];
}

/**
 * Settles a doubtful send by looking. Only a job that had come to rest before can show by a
 * change that the message reached it.
 */
async function hasArrived(job: Case, why: string): Promise<boolean> {
  const { order, context, facts } = job;
  const { clock, signal } = context;
  if (!isBaseFinal(facts)) return false;
  const end = Math.min(clock.now() + DOUBT_MS, context.deadline);
  if (!signal.aborted) job.tell({ kind: 'doubted', why, lookMs: Math.max(0, end - clock.now()) });
  for (;;) {
    const remainingMs = end - clock.now();
    facts.polls += 1;
    const look = await lookOnce(context, order.jobId, Math.max(remainingMs, LAST_LOOK_MS));
    if (look.kind === 'seen') {
      saw(job, look.record);
      if (facts.evidence) return true;
    }
    // A look that may outlast the window is the last one.
    if (remainingMs <= LAST_LOOK_MS || signal.aborted) return false;
    const interval = order.pollIntervalMs ?? DOUBT_INTERVAL_MS;
    await clock.sleep(Math.min(interval, Math.max(0, end - clock.now())), signal).catch(() => {});
    if (signal.aborted) return false;
  }
}

/** Looks until the turn is done, the deadline is there or the run is cancelled. */
async function watch(job: Case): Promise<End> {
  const { order, context, facts } = job;
  const { clock, signal, deadline } = context;
  const sentAt = facts.sentAt ?? clock.now();
  // Without a message, there is no earlier turn that a final status may stem from.
  const settleMs = facts.sentAt === null ? 0 : order.settleMs;
  let turn = openTurn(facts, sentAt);
  let failures = 0;
  // A message of an earlier attempt may be done by now.
  let lookAfterMs: number | null = facts.latest === null ? order.firstLookMs : null;
  let lastMiss = '';
  for (;;) {
    const now = clock.now();
    const verdict = judge(turn, now, settleMs);
    if (verdict.kind === 'done') return done(job, verdict.confirmed);
    if (now >= deadline) return timedOut(job, lastMiss);
    const pauseMs = Math.min(
      deadline - now,
      lookAfterMs ??
        nextLookMs({
          sinceSendMs: now - sentAt,
          lookWithinMs: verdict.lookWithinMs,
          fixedMs: order.pollIntervalMs,
          pace: order.pace,
        }),
    );
    job.tell({ kind: 'waiting', nextLookMs: pauseMs, remainingMs: deadline - now });
    try {
      await clock.sleep(pauseMs, signal);
    } catch {
      return stoppedWatching(job);
    }
    const remainingMs = deadline - clock.now();
    facts.polls += 1;
    const look = await lookOnce(context, order.jobId, Math.max(remainingMs, LAST_LOOK_MS));
    if (signal.aborted) return stoppedWatching(job);
    if (look.kind === 'seen') {
      failures = 0;
      lookAfterMs = null;
      lastMiss = '';
      turn = observe(turn, look.record, look.during);
      saw(job, look.record);
      continue;
    }
    failures += 1;
    // At the deadline all jobs are looked at once more, and not each may get its turn in time.
    if (remainingMs > 0) lastMiss = look.why;
    const repeat = repeatLook({
      exchange: look.exchange,
      failures,
      networkErrors: 0,
      // A job that got no message may not be unknown for a while.
      sinceSendMs: facts.sentAt === null ? Infinity : clock.now() - sentAt,
      now: clock.date(),
      random: context.random(),
    });
    if (repeat.kind === 'give-up' && clock.now() < deadline) return lost(job, failures, look.why);
    lookAfterMs = repeat.kind === 'again' ? repeat.afterMs : 0;
    const leftMs = deadline - clock.now();
    // The last look comes at the deadline, however long the service wants to be left alone.
    if (leftMs > 0) {
      job.tell({ kind: 'missed', why: look.why, afterMs: Math.min(lookAfterMs, leftMs) });
    }
  }
}

/** The answer to the message counts as the first look. */
function openTurn({ base, latest, evidence }: Facts, sentAt: number): Turn {
  const turn = { ...startTurn(base ?? NOTHING_SEEN, sentAt), evidence };
  return latest === null || latest === base
    ? turn
    : observe(turn, latest, { from: sentAt, to: sentAt });
}

/** Stands for a job that may have been at work on something else. */
const NOTHING_SEEN: Base = { status: null, prLink: null, archivedAt: null };

function done({ facts, order }: Case, isSure: boolean): End {
  const status = facts.latest?.status;
  const isOvertaken = order.task.kind === 'go-on' && order.task.earlier.isOvertaken;
  const isPlainLook = facts.sentAt === null;
  const confirmed = isSure && !isOvertaken && !isPlainLook;
  const since = isPlainLook
    ? ''
    : isOvertaken
      ? ' Another message was sent to it since: this is possibly the answer to that one.'
      : ` It showed that before the message, and still ${span(order.settleMs)} after it (settle-seconds): ` +
        'this is possibly from the earlier turn. Look at the job.';
  const doubt = confirmed ? '' : since;
  switch (status) {
    case 'completed':
      return {
        result: 'completed',
        confirmed,
        reason: doubt === '' ? '' : `Job ${facts.jobId} is completed.${doubt}`,
      };
    case 'archived':
      return {
        result: 'archived',
        confirmed,
        reason: `Job ${facts.jobId} was archived, so the agent does not work on it.${doubt}`,
      };
    default:
      return {
        result: 'failed',
        confirmed,
        reason:
          `The agent failed on job ${facts.jobId}.${doubt} The service does not say why; look at the ` +
          'job in its dashboard.',
      };
  }
}

function timedOut({ order, facts }: Case, lastMiss: string): End {
  const status = facts.latest?.status ?? null;
  const limit = `${span(order.timeoutMs)} (timeout-minutes)`;
  const miss = lastMiss === '' ? '' : ` The last look failed: ${lastMiss}`;
  return {
    result: 'timed-out',
    confirmed: false,
    reason: isFinal(status)
      ? `Job ${facts.jobId} is ${status}, but within ${limit} it did not become sure that this ` +
        'answers the message. Look at the job; timeout-minutes should be well above ' +
        `settle-seconds.${miss}`
      : `The agent was not done with job ${facts.jobId} within ${limit}; its status is ` +
        `${status ?? 'not known'}, and the agent ${status === null ? 'may go' : 'goes'} on. Raise timeout-minutes, or go on waiting in a ` +
        `later run with send: false and wait: true.${miss}`,
  };
}

function lost({ facts }: Case, failures: number, why: string): End {
  const count = failures === 1 ? '' : ` (${failures} looks failed in a row)`;
  return {
    result: 'error',
    confirmed: false,
    reason: facts.isLook
      ? `Job ${facts.jobId} cannot be watched${count}. ${why}`
      : `The message was delivered, but job ${facts.jobId} can no longer be watched` +
        `${count}. ${why} The agent may go on; look at the job, or wait in a later run with ` +
        'send: false and wait: true.',
  };
}

function stoppedWatching({ facts }: Case): End {
  const when = facts.isLook ? '' : ' after the message was delivered';
  const again = facts.isLook ? '' : ' A re-run goes on waiting where the comment remembers it.';
  return {
    result: 'cancelled',
    confirmed: false,
    reason: `The run was cancelled${when}: stopped watching; the agent goes on.${again}`,
  };
}

function doubtful({ context }: Case, why: string): End {
  return context.signal.aborted
    ? {
        result: 'cancelled',
        reason: `The run was cancelled while the message was being sent. ${IT_MAY_HAVE_ARRIVED}`,
      }
    : { result: 'error', reason: `${why} ${IT_MAY_HAVE_ARRIVED}` };
}

function notSent({ order, facts }: Case, ending: Ending | Unwanted): End {
  const { jobId } = order;
  const nothing = facts.isLook
    ? `Job ${jobId} could not be seen`
    : `Nothing was sent to job ${jobId}`;
  switch (ending.kind) {
    case 'refused':
      return { result: 'error', reason: `${nothing}. ${ending.why}` };
    case 'stopped':
      return {
        result: 'skipped',
        reason: `${nothing}, for the service takes no more messages for now. ${ending.why}`,
      };
    case 'unwanted': {
      const status = facts.latest?.status ?? 'in an unknown status';
      const wanted = [...ending.onlyWhen].join(', ');
      return {
        result: 'skipped',
        reason: `${nothing}: it is ${status}, and only-when is ${wanted}.`,
      };
    }
    case 'timed-out':
      return {
        result: 'timed-out',
        reason:
          `${nothing}: it was not possible within ${span(order.timeoutMs)} (timeout-minutes).` +
          (ending.why === '' ? '' : ` ${ending.why}`),
      };
    case 'cancelled':
      return {
        result: 'cancelled',
        reason: `The run was cancelled before ${facts.isLook ? `job ${jobId} was seen` : 'the message was sent'}.`,
      };
  }
}

/** What is true if the process is killed now. */
function endedHere({ wait }: Order, { delivery, isLook }: Facts): End {
  if (isLook) return { result: 'error', reason: 'The run ended before the look at the job did.' };
  switch (delivery) {
    case 'not-sent':
      return { result: 'error', reason: 'The run ended before the message was sent.' };
    case 'unknown':
      return {
        result: 'error',
        reason:
          'The run ended while the message was being sent. Look at the job before you send it again.',
      };
    case 'sent':
      return wait
        ? { result: 'sent', reason: 'The run ended before the agent was done.' }
        : { result: 'sent', reason: '' };
  }
}

function span(ms: number): string {
  if (ms < 60_000) return `${Math.round(ms) / 1000} s`;
  const minutes = Math.round(ms / 600) / 100;
  return minutes === 1 ? '1 minute' : `${minutes} minutes`;
}
