import type { JobRecord } from '../job.ts';
import type { Runtime } from '../runner/environment.ts';
import { type Explaining, explain, readRecord } from './answers.ts';
import type { Answer, Exchange, Transport } from './http.ts';
import { classifySend, isDelivery, type SendClass, sendRetryDelayMs } from './retry.ts';

/** What requests to the API need; the same for every job. */
export interface AgentContext
  extends Pick<Runtime, 'clock' | 'signal' | 'random' | 'log' | 'redact'> {
  readonly transport: Transport;
  /** The host of the API, and the proxy if there is one, for messages. */
  readonly where: string;
  readonly isDefaultUrl: boolean;
  readonly projectId: string;
  /** The code host of this workflow, for the check of pull request links. */
  readonly serverUrl: string;
  /** A time of the clock, at which all requests to the API end. */
  readonly deadline: number;
}

export interface Polled {
  readonly kind: 'polled';
  readonly record: JobRecord;
  /** When the request and the response of the poll were made, in milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
}

export interface Missed {
  readonly kind: 'missed';
  readonly exchange: Exchange;
  readonly why: string;
}

export type Sent =
  | {
      readonly kind: 'delivered';
      /** Null if the body of the answer is of no use; `warning` then says why. */
      readonly record: JobRecord | null;
      readonly warning: string;
    }
  | { readonly kind: 'doubtful'; readonly why: string }
  /** `isLimit`: because of the rate limit, under which messages to other jobs fall as well. */
  | { readonly kind: 'refused'; readonly why: string; readonly isLimit: boolean }
  /** It had no effect and may be sent again. */
  | {
      readonly kind: 'retry';
      readonly why: string;
      readonly afterMs: number;
      readonly isLimit: boolean;
    };

/** Milliseconds. */
const POLL_MS = 30_000;
const POST_MS = 60_000;

/** Polls a job once, for at most `mostMs`. */
export async function poll(
  context: AgentContext,
  jobId: string,
  mostMs: number,
): Promise<Polled | Missed> {
  const { transport, clock, redact } = context;
  const path = jobPath(context.projectId, jobId);
  const from = clock.now();
  const exchange = await transport.get(path, Math.min(POLL_MS, mostMs));
  context.log.debug(describeExchange(`GET ${path}`, exchange));
  const isSuccess = exchange.kind === 'answer' && exchange.status >= 200 && exchange.status < 300;
  if (!isSuccess || exchange.body.kind === 'problem') {
    return { kind: 'missed', exchange, why: explain(exchange, about(context, 'poll')) };
  }
  const read = readRecord(exchange.body.value, redact, context.serverUrl);
  if (read.kind === 'ok' && read.value.id === jobId) {
    return { kind: 'polled', record: read.value, from, to: clock.now() };
  }
  const what = read.kind === 'ok' ? 'the record of another job' : read.problem;
  return { kind: 'missed', exchange, why: `Polling the job returned ${what}.` };
}

/**
 * Returns a function that sends the message once, and says whether to repeat that: only if the API certainly
 * did not accept it.
 */
export function messageSender(
  context: AgentContext,
  jobId: string,
  prompt: string,
): () => Promise<Sent> {
  const { transport, clock, deadline } = context;
  const path = `${jobPath(context.projectId, jobId)}/message`;
  const counts = new Map<SendClass, number>();
  return async () => {
    const timeoutMs = Math.min(POST_MS, deadline - clock.now());
    const exchange = await transport.postOnce(path, { prompt }, timeoutMs);
    context.log.debug(describeExchange(`POST ${path}`, exchange));
    if (isDelivery(exchange)) return readDelivered(exchange, jobId, context);
    const sendClass = classifySend(exchange);
    const earlier = counts.get(sendClass) ?? 0;
    counts.set(sendClass, earlier + 1);
    const afterMs = sendRetryDelayMs(exchange, earlier, context);
    const why = explain(exchange, about(context, 'send', afterMs !== null));
    const isLimit = sendClass === 'rate-limited';
    if (sendClass === 'doubtful') return { kind: 'doubtful', why };
    if (afterMs === null) return { kind: 'refused', why, isLimit };
    return { kind: 'retry', why, afterMs, isLimit };
  };
}

function about(
  { where, isDefaultUrl, redact, clock }: AgentContext,
  doing: Explaining['doing'],
  isRetried = false,
): Explaining {
  return { doing, isRetried, where, isDefaultUrl, redact, now: clock.now() };
}

function readDelivered({ status, body }: Answer, jobId: string, context: AgentContext): Sent {
  const read =
    body.kind === 'ok' ? readRecord(body.value, context.redact, context.serverUrl) : body;
  if (read.kind === 'problem') {
    const warning = `The API accepted the message (${status}), but returned ${read.problem}.`;
    return { kind: 'delivered', record: null, warning };
  }
  if (read.value.id === jobId) return { kind: 'delivered', record: read.value, warning: '' };
  const why = `${context.where} returned the record of another job in response to the message.`;
  return { kind: 'doubtful', why };
}

function jobPath(projectId: string, jobId: string): string {
  return `/v2/agent/${projectId}/job/${jobId}`;
}

function describeExchange(what: string, exchange: Exchange): string {
  return exchange.kind === 'answer'
    ? `${what}: ${exchange.status} ${exchange.contentType}`
    : `${what}: ${exchange.why} (request ${exchange.written ? 'written' : 'not written'})`;
}
