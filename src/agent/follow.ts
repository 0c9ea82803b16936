import type { Clock } from '../clock.ts';
import { type JobResult, STATUSES, type Status } from '../outcome.ts';
import {
  type Again,
  type Ending,
  endingNow,
  LEAST_POST_MS,
  type LookHooks,
  lookBeforeSend,
  lookOnce,
  lookUntilSeen,
  messageSender,
  persist,
  type Seen,
  type Sent,
  type ServiceContext,
} from './client.ts';
import { type End, type Facts, isBaseFinal, noFacts, resultOf, takeIn } from './facts.ts';
import { repeatLook } from './retry.ts';
import { nextLookMs } from './schedule.ts';
import { type Base, judge, NO_TURN, observe } from './turn.ts';
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
      /** What was seen of the job a while ago; null if nothing was. It is no base: that is looked for anew. */
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
/** Milliseconds for which a look before the message holds: what changes later would be taken for its effect. */
const FRESH_MS = 1000;
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
  const close = (end: End): JobResult => resultOf(facts, end, context, order.serverUrl);
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
  if (task.seen !== null) show(job, task.seen);
  const sent = await persist(context, sendAttempt(job, task));
  if (sent.kind === 'doubtful') {
    // Without a wait the message is the one request that is made.
    const mayLook = looksFirst(job, task);
    if (!mayLook || !(await hasArrived(job, sent.why))) return doubtful(job, sent.why);
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

/** The job is in a status in which it does not get the message. */
interface Unwanted {
  readonly kind: 'unwanted';
  readonly onlyWhen: ReadonlySet<Status>;
}

function looksFirst({ order }: Case, { onlyWhen }: SendTask): boolean {
  return order.wait || onlyWhen !== null;
}

/**
 * Look, note and message, anew for each attempt: a base from before a pause is none any more. The
 * look comes before the note, which keeps the base for a re-run, and again after a note that took
 * its time. Of a message that does not go out, nobody is told that it is about to.
 */
function sendAttempt(job: Case, task: SendTask): () => Promise<Sent | Unwanted | Ending | Again> {
  const { order, context, facts, tell } = job;
  const { onlyWhen, prompt, beforeSend } = task;
  const { clock } = context;
  const look = lookBeforeSend(context, order.jobId, lookHooks(job));
  const post = messageSender(context, order.jobId, prompt, () => {
    facts.delivery = 'unknown';
    return tell({ kind: 'sending' });
  });
  let isNoted = false;

  /** Null if nothing is against the message. */
  async function lookFirst(): Promise<Ending | Again | Unwanted | null> {
    if (!looksFirst(job, task)) return null;
    const seen = await look();
    if (seen.kind !== 'seen') return seen;
    remember(job, seen);
    if (onlyWhen === null || onlyWhen.has(statusOf(facts))) return null;
    return { kind: 'unwanted', onlyWhen };
  }

  async function note(): Promise<void> {
    if (!isNoted) await beforeSend();
    isNoted = true;
  }

  return async () => {
    const first = (await lookFirst()) ?? endingNow(context, LEAST_POST_MS);
    if (first !== null) return first;
    const lookedAt = clock.now();
    await note();
    const second = clock.now() - lookedAt > FRESH_MS ? await lookFirst() : null;
    if (second !== null) return second;
    const sent = await post();
    if (sent.kind !== 'doubtful') facts.delivery = sent.kind === 'delivered' ? 'sent' : 'not-sent';
    if (sent.kind === 'again') tell({ kind: 'held', why: sent.why, afterMs: sent.afterMs });
    return sent;
  };
}

function lookHooks({ facts, tell }: Case): LookHooks {
  return {
    onLook() {
      facts.polls += 1;
    },
    onMissed: (why, afterMs) => tell({ kind: 'missed', why, afterMs }),
  };
}

/** A status that the service does not document counts as active: the agent is not done. */
function statusOf({ latest }: Facts): Status {
  return STATUSES.find((status) => status === latest?.status) ?? 'active';
}

/** Sends nothing. Looks once or, if that is wanted, until the agent is done. */
async function look(job: Case, earlier: Earlier | null): Promise<End> {
  const { order, facts, context } = job;
  if (order.wait) {
    if (earlier !== null) takeUp(job, earlier, momentOf(job, earlier));
    return watch(job);
  }
  const end = await lookUntilSeen(context, order.jobId, lookHooks(job));
  if (end.kind !== 'seen') return notSent(job, end);
  show(job, end.record);
  return { result: statusOf(facts), reason: '' };
}

/** Goes on where an earlier attempt of the same run stopped. */
async function goOn(job: Case, earlier: Earlier): Promise<End> {
  const { order, facts } = job;
  facts.delivery = 'unknown';
  takeUp(job, earlier, null);
  if (earlier.delivery === 'unknown' && !(await hasArrived(job, EARLIER_DOUBT))) {
    return doubtful(job, EARLIER_DOUBT);
  }
  facts.turn = { ...facts.turn, sentAt: momentOf(job, earlier) };
  facts.delivery = 'sent';
  job.tell({ kind: 'resumed' });
  return order.wait ? watch(job) : { result: 'sent', reason: '' };
}

function takeUp({ facts }: Case, { base, evidence }: Earlier, sentAt: number | null): void {
  facts.turn = { ...NO_TURN, base, evidence, sentAt };
}

/** When an earlier message was answered, in milliseconds of the clock; now if nobody knows. */
function momentOf({ context: { clock } }: Case, { sentAt }: Earlier): number {
  const agoMs = sentAt === null ? 0 : clock.date().getTime() - sentAt.getTime();
  return clock.now() - Math.max(0, agoMs);
}

/** Takes in what the look just before the message saw. */
function remember(job: Case, { record }: Seen): void {
  job.facts.turn = { ...NO_TURN, base: record };
  show(job, record);
}

/** Takes in what a look since the message saw. */
function saw(job: Case, { record, during }: Seen): void {
  job.facts.turn = observe(job.facts.turn, record, during);
  show(job, record);
}

function takeDelivery(job: Case, record: JobRecord | null): void {
  const { facts, context } = job;
  facts.delivery = 'sent';
  facts.turn = { ...facts.turn, sentAt: context.clock.now() };
  facts.milestones.push({ at: context.clock.date(), what: 'sent' });
  const news = record === null ? [] : learn(job, record);
  job.tell({ kind: 'delivered' });
  for (const item of news) job.tell(item);
}

function show(job: Case, record: JobRecord): void {
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
    const look = await lookOnce(context, order.jobId, () => lookMs(end, clock));
    if (look.kind === 'seen') {
      saw(job, look);
      if (facts.turn.evidence) return true;
    }
    // A look that may outlast the window is the last one.
    if (remainingMs <= LAST_LOOK_MS || signal.aborted) return false;
    const interval = order.pollIntervalMs ?? DOUBT_INTERVAL_MS;
    await clock.sleep(Math.min(interval, Math.max(0, end - clock.now())), signal).catch(() => {});
    if (signal.aborted) return false;
  }
}

/** Milliseconds that a look may take: until `end`, but the last one may start there. */
function lookMs(end: number, clock: Clock): number {
  return Math.max(end - clock.now(), LAST_LOOK_MS);
}

/** Looks until the turn is done, the deadline is there or the run is cancelled. */
async function watch(job: Case): Promise<End> {
  const { order, context, facts } = job;
  const { clock, signal, deadline } = context;
  const isPlainLook = facts.turn.sentAt === null;
  const sentAt = facts.turn.sentAt ?? clock.now();
  // Without a message, there is no earlier turn that a final status may stem from.
  const settleMs = isPlainLook ? 0 : order.settleMs;
  let failures = 0;
  // A message of an earlier attempt may be done by now.
  let lookAfterMs: number | null = facts.latest === null ? order.firstLookMs : null;
  let lastMiss = '';
  for (;;) {
    const now = clock.now();
    const verdict = judge(facts.turn, now, settleMs);
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
    const look = await lookOnce(context, order.jobId, () => lookMs(deadline, clock));
    if (signal.aborted) return stoppedWatching(job);
    if (look.kind === 'seen') {
      failures = 0;
      lookAfterMs = null;
      lastMiss = '';
      saw(job, look);
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
      sinceSendMs: isPlainLook ? Infinity : clock.now() - sentAt,
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

function done(job: Case, isSure: boolean): End {
  const { facts, order } = job;
  const status = facts.latest?.status;
  const isOvertaken = order.task.kind === 'go-on' && order.task.earlier.isOvertaken;
  const confirmed = facts.turn.sentAt === null ? null : isSure && !isOvertaken;
  const doubt = confirmed === false ? ` ${doubtOf(job, isOvertaken)}` : '';
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

/** Why a final status may not belong to our message. */
function doubtOf({ facts: { turn }, order }: Case, isOvertaken: boolean): string {
  if (isOvertaken) {
    return 'Another message was sent to it since: this is possibly the answer to that one.';
  }
  if (turn.base === null) {
    return (
      'Its status before the message is not known: this is possibly from an earlier turn. Look at ' +
      'the job.'
    );
  }
  return isFinal(turn.base.status)
    ? `It showed that before the message, and still ${span(order.settleMs)} after it (settle-seconds): ` +
        'this is possibly from the earlier turn. Look at the job.'
    : 'The agent was already working when the message was sent: this is possibly the end of that work.';
}

/** Where there is no message to wait for, there is nothing to confirm. */
function unconfirmed({ turn }: Facts): false | null {
  return turn.sentAt === null ? null : false;
}

function timedOut({ order, facts }: Case, lastMiss: string): End {
  const status = facts.latest?.status ?? null;
  const limit = `${span(order.timeoutMs)} (timeout-minutes)`;
  const miss = lastMiss === '' ? '' : ` The last look failed: ${lastMiss}`;
  return {
    result: 'timed-out',
    confirmed: unconfirmed(facts),
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
    confirmed: unconfirmed(facts),
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
    confirmed: unconfirmed(facts),
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
