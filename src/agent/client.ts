import { join, NO_REASON, ours, type Reason, sentence } from '../reason.ts';
import type { JobRecord } from '../turn.ts';
import type { AgentContext } from './context.ts';
import { explain, inUtc } from './explain.ts';
import type { Answer, Exchange } from './http.ts';
import { readRecord } from './job-record.ts';
import {
  classifySend,
  isDelivery,
  retryDate,
  retryDelayBeforeSendMs,
  type SendClass,
  sendRetryDelayMs,
} from './retry.ts';

/** Why polling or sending was given up. `stopped`: another message of this run stopped the send queue. */
export interface GiveUp {
  readonly kind: 'refused' | 'stopped' | 'timed-out' | 'cancelled';
  /** Of a time-out, the reason of the last retry, or empty. Empty for a cancellation. */
  readonly why: Reason;
}

const CANCELLED: GiveUp = { kind: 'cancelled', why: NO_REASON };

/** The attempt had no effect and may be repeated. */
export interface Retry {
  readonly kind: 'retry';
  readonly why: Reason;
  readonly afterMs: number;
  /** Whether messages to other jobs should wait, too. */
  readonly holdsOthers: boolean;
}

export interface Fetched {
  readonly kind: 'fetched';
  readonly record: JobRecord;
  /** When the request and the response of the poll were made, in milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
}

export interface Missed {
  readonly kind: 'missed';
  readonly exchange: Exchange;
  readonly why: Reason;
}

export type Sent =
  | {
      readonly kind: 'delivered';
      /** Null if the body of the answer is of no use; `warning` then says why. */
      readonly record: JobRecord | null;
      readonly warning: string;
    }
  | { readonly kind: 'doubtful'; readonly why: Reason }
  | GiveUp;

/** Milliseconds. */
const POLL_MS = 30_000;
const POST_MS = 60_000;
/** Milliseconds that must be left for a POST: if the deadline cuts it off, delivery is unknown. */
export const LEAST_POST_MS = 2000;

/**
 * Polls a job once after its message. `remainingMs` is called when the request starts, so that time spent
 * waiting for one of the few connections does not count.
 */
export function pollAfterSend(
  context: AgentContext,
  jobId: string,
  remainingMs: () => number,
): Promise<Fetched | Missed> {
  return context.queue.limitPolls(() => fetchJob(context, jobId, remainingMs()));
}

async function fetchJob(
  context: AgentContext,
  jobId: string,
  remainingMs: number,
): Promise<Fetched | Missed> {
  const { transport, clock, redact } = context;
  const path = jobPath(context.projectId, jobId);
  const from = clock.now();
  const exchange = await transport.get(path, Math.min(POLL_MS, remainingMs));
  context.log.debug(describeExchange(`GET ${path}`, exchange));
  const isSuccess = exchange.kind === 'answer' && exchange.status >= 200 && exchange.status < 300;
  if (isSuccess && exchange.body.kind === 'ok') {
    const read = readRecord(exchange.body.value, redact, context.serverUrl);
    if (read.kind === 'ok' && read.value.id === jobId) {
      return { kind: 'fetched', record: read.value, from, to: clock.now() };
    }
    const what = read.kind === 'ok' ? 'the record of another job' : read.problem;
    return { kind: 'missed', exchange, why: ours(`Polling the job returned ${what}.`) };
  }
  return { kind: 'missed', exchange, why: explain(exchange, 'poll', false, context) };
}

/**
 * Returns a function that polls a job once before its message, and says whether to retry. `afterMs` is the
 * pause before the next poll, or null if no time is left for one.
 */
export function pollBeforeSend(
  context: AgentContext,
  jobId: string,
  onPoll: () => void,
  onMissed: (why: Reason, afterMs: number | null) => void,
): () => Promise<Fetched | GiveUp | Retry> {
  const { clock, deadline, signal } = context;
  let failures = 0;
  let networkErrors = 0;
  return async () => {
    const giveUp = mustGiveUp(context, 0);
    if (giveUp !== null) return giveUp;
    onPoll();
    const poll = await fetchJob(context, jobId, deadline - clock.now());
    if (poll.kind === 'fetched') {
      failures = 0;
      networkErrors = 0;
      return poll;
    }
    if (signal.aborted) return CANCELLED;
    const { exchange } = poll;
    failures += 1;
    if (exchange.kind === 'failure') networkErrors += 1;
    const afterMs = retryDelayBeforeSendMs(exchange, failures, networkErrors, context);
    if (afterMs === null) return { kind: 'refused', why: poll.why };
    const isTooLate = clock.now() + afterMs >= deadline;
    const retryAt = isTooLate ? retryDate(exchange, context) : null;
    const until = retryAt === null ? '' : `The API asks to wait until ${inUtc(retryAt)}.`;
    const why = join([poll.why, ours(until)]);
    onMissed(why, isTooLate ? null : afterMs);
    return { kind: 'retry', why, afterMs, holdsOthers: false };
  };
}

/**
 * Repeats an attempt while it asks for a retry. Each takes a slot of the send queue, which a pause between
 * two frees unless messages to other jobs should wait as well.
 */
export async function withRetries<T extends object>(
  context: AgentContext,
  attempt: () => Promise<T | Retry>,
): Promise<T | GiveUp> {
  for (;;) {
    const result = await context.queue.limit(async () => {
      const first = await attempt();
      if (!isRetry(first) || !first.holdsOthers) return first;
      return (await pause(context, first)) ?? { ...first, afterMs: 0 };
    });
    if (!isRetry(result)) return result;
    const giveUp = await pause(context, result);
    if (giveUp !== null) return giveUp;
  }
}

function isRetry(result: object): result is Retry {
  return 'kind' in result && result.kind === 'retry';
}

/** Why nothing that takes `neededMs` may start now, or null if it may. */
export function mustGiveUp(
  { queue, clock, deadline, signal }: AgentContext,
  neededMs: number,
): GiveUp | null {
  if (signal.aborted) return CANCELLED;
  if (deadline - clock.now() <= neededMs) return { kind: 'timed-out', why: NO_REASON };
  return queue.stopped.aborted ? { kind: 'stopped', why: queue.stopped.reason } : null;
}

/**
 * Returns a function that sends the message once, and says whether to retry: only if the API certainly did
 * not accept it. `onAttempt` is called synchronously before each request, which a returned sentence prevents.
 */
export function messageSender(
  context: AgentContext,
  jobId: string,
  prompt: string,
  onAttempt: () => string | undefined,
): () => Promise<Sent | Retry> {
  const { transport, clock, deadline } = context;
  const path = `${jobPath(context.projectId, jobId)}/message`;
  const counts = new Map<SendClass, number>();
  return async () => {
    const giveUp = mustGiveUp(context, LEAST_POST_MS);
    if (giveUp !== null) return giveUp;
    const veto = onAttempt();
    if (veto !== undefined) return { kind: 'refused', why: ours(veto) };
    const timeoutMs = Math.min(POST_MS, deadline - clock.now());
    const exchange = await transport.postOnce(path, { prompt }, timeoutMs);
    context.log.debug(describeExchange(`POST ${path}`, exchange));
    if (isDelivery(exchange)) return readDelivered(exchange, jobId, context);
    const sendClass = classifySend(exchange);
    const earlier = counts.get(sendClass) ?? 0;
    counts.set(sendClass, earlier + 1);
    return afterFailedSend(context, jobId, exchange, earlier);
  };
}

/** `earlier` is how many sends of this message failed in the same way before. */
function afterFailedSend(
  context: AgentContext,
  jobId: string,
  exchange: Exchange,
  earlier: number,
): Sent | Retry {
  const { queue, signal } = context;
  const afterMs = sendRetryDelayMs(exchange, earlier, context);
  const isRetried = afterMs !== null;
  const why = explain(exchange, 'send', isRetried, context);
  const sendClass = classifySend(exchange);
  if (sendClass === 'doubtful') return { kind: 'doubtful', why };
  if (signal.aborted) return CANCELLED;
  const isLimit = sendClass === 'rate-limited';
  if ((isRetried || isLimit) && queue.stopped.aborted) {
    return { kind: 'stopped', why: queue.stopped.reason };
  }
  if (isRetried) {
    // All messages count against the same rate limit, so the others should wait as well.
    return { kind: 'retry', why, afterMs, holdsOthers: isLimit };
  }
  if (isLimit) queue.stop(sentence`The message to job ${jobId} was not accepted. ${why}`);
  return { kind: 'refused', why };
}

/** Sleeps, unless the pause would last until the deadline: waiting would only cost minutes of the runner. */
async function pause(
  { clock, deadline, signal, queue: { stopped } }: AgentContext,
  { afterMs, why }: Retry,
): Promise<GiveUp | null> {
  if (clock.now() + afterMs >= deadline) return { kind: 'timed-out', why };
  try {
    await clock.sleep(afterMs, AbortSignal.any([signal, stopped]));
  } catch {
    return signal.aborted ? CANCELLED : { kind: 'stopped', why: stopped.reason };
  }
  return null;
}

function readDelivered({ status, body }: Answer, jobId: string, context: AgentContext): Sent {
  const read =
    body.kind === 'ok' ? readRecord(body.value, context.redact, context.serverUrl) : body;
  if (read.kind === 'problem') {
    const warning = `The API accepted the message (${status}), but returned ${read.problem}.`;
    return { kind: 'delivered', record: null, warning };
  }
  if (read.value.id === jobId) return { kind: 'delivered', record: read.value, warning: '' };
  const why = sentence`${context.where} returned the record of another job in response to the message.`;
  return { kind: 'doubtful', why };
}

function jobPath(projectId: string, jobId: string): string {
  return `/v2/agent/${projectId}/job/${jobId}`;
}

function describeExchange(what: string, exchange: Exchange): string {
  return exchange.kind === 'answer'
    ? `${what}: ${exchange.status} ${exchange.contentType} ${exchange.requestId}`
    : `${what}: ${exchange.why} (request ${exchange.written ? 'written' : 'not written'})`;
}
