import type { Clock } from '../clock.ts';
import type { Redact } from '../runner/secrets.ts';
import type { JobRecord, Moment } from '../turn.ts';
import { explain, inUtc } from './explain.ts';
import type { Answer, Exchange, Transport } from './http.ts';
import { readRecord } from './job-record.ts';
import {
  classifySend,
  isDelivery,
  repeatPoll,
  repeatSend,
  retryAfterMs,
  type SendClass,
} from './retry.ts';
import type { SendQueue } from './send-queue.ts';

/** What the work with the service needs, for every job the same. */
export interface AgentContext {
  readonly transport: Transport;
  readonly queue: SendQueue;
  /** Names the service, and the proxy on the way, in messages. */
  readonly where: string;
  readonly projectId: string;
  /** The code host of this workflow, for the check of pull request links. */
  readonly serverUrl: string;
  readonly clock: Clock;
  /** By the clock; bounds all work with the service. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** 0 to 1, uniform. */
  readonly random: () => number;
  readonly debug: (text: string) => void;
  readonly redact: Redact;
}

/** Why a piece of work ended without its result. */
export type Ending =
  | { readonly kind: 'refused'; readonly why: string }
  /** Another message of this run has found that the service takes no more. */
  | { readonly kind: 'stopped'; readonly why: string }
  /** `why` is what it was last held up by, or empty. */
  | { readonly kind: 'timed-out'; readonly why: string }
  | { readonly kind: 'cancelled' };

export type Poll =
  | { readonly kind: 'fetched'; readonly record: JobRecord; readonly during: Moment }
  | { readonly kind: 'missed'; readonly exchange: Exchange; readonly why: string };

export type Sent =
  | {
      readonly kind: 'delivered';
      /** Null if the answer's body was of no use, as `warning` then says. */
      readonly record: JobRecord | null;
      readonly warning: string;
    }
  | { readonly kind: 'doubtful'; readonly why: string }
  | Ending;

/** Nothing was taken, and the same may be tried again. */
export interface Again {
  readonly kind: 'again';
  readonly why: string;
  /** Milliseconds to wait before. */
  readonly afterMs: number;
  /** Whether the messages to other jobs had better wait as well. */
  readonly holdsOthers: boolean;
}

/** Milliseconds. */
const POLL_MS = 30_000;
const POST_MS = 60_000;
/** Milliseconds that must be left for a POST: one that the deadline cuts off is in doubt. */
export const LEAST_POST_MS = 2000;

/**
 * Looks at a job once, within 30 s and `remainingMs()`. That is asked when the request starts: many
 * jobs share few connections, and waiting for one of them is not silence of the service.
 */
export async function fetchJob(
  context: AgentContext,
  jobId: string,
  remainingMs: () => number,
): Promise<Poll> {
  const { transport, clock, signal, where, redact } = context;
  const path = jobPath(context.projectId, jobId);
  const from = clock.now();
  const timeoutMs = (): number => Math.min(POLL_MS, remainingMs());
  const exchange = await transport.get(path, { timeoutMs, signal });
  context.debug(describeExchange(`GET ${path}`, exchange));
  if (isSuccess(exchange) && exchange.body.kind === 'ok') {
    const read = readRecord(exchange.body.value, jobId, context);
    if (read.kind === 'ok')
      return { kind: 'fetched', record: read.value, during: { from, to: clock.now() } };
    const what = read.kind === 'other-job' ? 'the record of another job' : read.problem;
    return { kind: 'missed', exchange, why: `The look at the job brought ${what}.` };
  }
  return {
    kind: 'missed',
    exchange,
    why: explain(exchange, { doing: 'look', where, again: null, goesOn: false, redact }),
  };
}

export type Fetched = Extract<Poll, { kind: 'fetched' }>;

export interface PollHooks {
  readonly onPoll: () => void;
  readonly onMissed: OnMissed;
}

/** Called before a pause, in milliseconds; null if no time is left for another look after it. */
export type OnMissed = (why: string, afterMs: number | null) => void;

/**
 * The look before the message, without which nothing is sent. Each call looks once, and says whether
 * another call may help; once no message is let out there is nothing to look for.
 */
export function pollBeforeSend(
  context: AgentContext,
  jobId: string,
  { onPoll, onMissed }: PollHooks,
): () => Promise<Fetched | Ending | Again> {
  const { clock, deadline, signal } = context;
  let failures = 0;
  let networkErrors = 0;
  return async () => {
    const over = endingNow(context, 0);
    if (over !== null) return over;
    onPoll();
    const look = await fetchJob(context, jobId, () => deadline - clock.now());
    if (look.kind === 'fetched') {
      failures = 0;
      networkErrors = 0;
      return look;
    }
    if (signal.aborted) return { kind: 'cancelled' };
    failures += 1;
    if (look.exchange.kind === 'failure') networkErrors += 1;
    const repeat = repeatPoll({
      exchange: look.exchange,
      failures,
      networkErrors,
      sinceSendMs: null,
      now: new Date(clock.now()),
      random: context.random(),
    });
    if (repeat.kind === 'give-up') return { kind: 'refused', why: look.why };
    const { afterMs } = repeat;
    const isTooLate = clock.now() + afterMs >= deadline;
    const until = dateAfter(clock, retryAfterMs(look.exchange, new Date(clock.now())));
    const why =
      isTooLate && until !== null
        ? `${look.why} The service asks to wait until ${inUtc(until)}.`
        : look.why;
    onMissed(why, isTooLate ? null : afterMs);
    return { kind: 'again', why, afterMs, holdsOthers: false };
  };
}

/** Looks at a job, and again while that may help. */
export function pollUntilSeen(
  context: AgentContext,
  jobId: string,
  hooks: PollHooks,
): Promise<Fetched | Ending> {
  return persist(context, pollBeforeSend(context, jobId, hooks));
}

/**
 * Makes attempts until one is not to be repeated. Each of them takes its turn among the messages of
 * this run; a pause between two of them holds up nobody else, unless the answer concerns all.
 */
export async function persist<T extends { readonly kind: string }>(
  context: AgentContext,
  attempt: () => Promise<T | Again>,
): Promise<T | Ending> {
  for (;;) {
    const tried = await context.queue.limit(async () => {
      const end = await attempt();
      if (!isAgain(end) || !end.holdsOthers) return end;
      return (await pause(context, end)) ?? { ...end, afterMs: 0 };
    });
    if (!isAgain(tried)) return tried;
    const ending = await pause(context, tried);
    if (ending !== null) return ending;
  }
}

function isAgain(end: { readonly kind: string }): end is Again {
  return end.kind === 'again';
}

/** Why nothing that takes `neededMs` may be begun any more, if so. */
export function endingNow(
  { queue, clock, deadline, signal }: AgentContext,
  neededMs: number,
): Ending | null {
  if (signal.aborted) return { kind: 'cancelled' };
  if (deadline - clock.now() <= neededMs) return { kind: 'timed-out', why: '' };
  return queue.stopped.aborted ? { kind: 'stopped', why: queue.stopped.reason } : null;
}

/**
 * Sends the message, each call at most once, and says whether another call may send it again: only
 * where it surely was not taken. `onAttempt` is called synchronously before the request, and a
 * sentence that it returns keeps the request from being made.
 */
export function messageSender(
  context: AgentContext,
  jobId: string,
  prompt: string,
  onAttempt: () => string | undefined,
): () => Promise<Sent | Again> {
  const { transport, queue, clock, deadline, signal, where, redact } = context;
  const path = `${jobPath(context.projectId, jobId)}/message`;
  const earlier = new Map<SendClass, number>();
  return async () => {
    const over = endingNow(context, LEAST_POST_MS);
    if (over !== null) return over;
    const veto = onAttempt();
    if (veto !== undefined) return { kind: 'refused', why: veto };
    const timeoutMs = (): number => Math.min(POST_MS, deadline - clock.now());
    const exchange = await transport.postOnce(path, { prompt }, { timeoutMs, signal });
    context.debug(describeExchange(`POST ${path}`, exchange));

    if (isDelivery(exchange)) return readDelivered(exchange, jobId, context);
    const sendClass = classifySend(exchange);
    const repeat = repeatSend({
      exchange,
      earlier: earlier.get(sendClass) ?? 0,
      remainingMs: deadline - clock.now(),
      now: new Date(clock.now()),
      random: context.random(),
    });
    const again = repeat.kind === 'give-up' ? dateAfter(clock, repeat.untilMs) : null;
    const goesOn = repeat.kind === 'again';
    const why = explain(exchange, { doing: 'send', where, again, goesOn, redact });
    if (sendClass === 'doubtful') return { kind: 'doubtful', why };
    if (signal.aborted) return { kind: 'cancelled' };
    const isLimit = sendClass === 'rate-limited';
    if ((goesOn || isLimit) && queue.stopped.aborted) {
      return { kind: 'stopped', why: queue.stopped.reason };
    }
    if (repeat.kind === 'give-up') {
      if (isLimit) queue.stop(`The message to job ${jobId} was not taken. ${why}`);
      return { kind: 'refused', why };
    }
    earlier.set(sendClass, (earlier.get(sendClass) ?? 0) + 1);
    // The limit is everybody's: the others had better not come to it meanwhile.
    return { kind: 'again', why, afterMs: repeat.afterMs, holdsOthers: isLimit };
  };
}

/**
 * Sleeps. Says if a cancel or a stop ended the work, or, at once, if the pause is too long for what
 * is left: to wait for what cannot happen is paid for nothing.
 */
async function pause(
  { clock, deadline, signal, queue: { stopped } }: AgentContext,
  { afterMs, why }: Again,
): Promise<Ending | null> {
  if (clock.now() + afterMs >= deadline) return { kind: 'timed-out', why };
  try {
    await clock.sleep(afterMs, AbortSignal.any([signal, stopped]));
  } catch {
    return signal.aborted ? { kind: 'cancelled' } : { kind: 'stopped', why: stopped.reason };
  }
  return null;
}

function readDelivered({ status, body }: Answer, jobId: string, context: AgentContext): Sent {
  const read = body.kind === 'ok' ? readRecord(body.value, jobId, context) : body;
  switch (read.kind) {
    case 'ok':
      return { kind: 'delivered', record: read.value, warning: '' };
    case 'other-job':
      return {
        kind: 'doubtful',
        why: `${context.where} answered the message with the record of another job.`,
      };
    case 'problem': {
      const what = body.kind === 'ok' && body.value === '' ? 'an empty body' : read.problem;
      return {
        kind: 'delivered',
        record: null,
        warning: `The service took the message (${status}), but answered with ${what}.`,
      };
    }
  }
}

function isSuccess(exchange: Exchange): exchange is Answer {
  return exchange.kind === 'answer' && exchange.status >= 200 && exchange.status < 300;
}

function jobPath(projectId: string, jobId: string): string {
  return `/v2/agent/${projectId}/job/${jobId}`;
}

function dateAfter(clock: Clock, ms: number | null): Date | null {
  // Beyond the range of Date there is no such day to name.
  return ms === null || ms > 1e14 ? null : new Date(clock.now() + ms);
}

function describeExchange(what: string, exchange: Exchange): string {
  return exchange.kind === 'answer'
    ? `${what}: ${exchange.status} ${exchange.contentType} ${exchange.requestId}`
    : `${what}: ${exchange.why} (request ${exchange.written ? 'written' : 'not written'})`;
}
