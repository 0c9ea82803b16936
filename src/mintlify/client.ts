import { isId, type JobRecord, NEW_JOB } from '../job/job.ts';
import { PATHS } from '../service.ts';
import { sentences } from '../text.ts';
import { askedPause, explainExchange, readRecord } from './responses.ts';
import { classifySend, isDelivery, resendAfterMs, SEND_RULES } from './retry.ts';
import { type AgentContext, type Answer, type Exchange, isFromApi } from './transport.ts';

export interface Missed {
  readonly kind: 'missed';
  readonly exchange: Exchange;
  readonly why: string;
}

/** `from` and `to`: the times of the request and the response. */
type Polled =
  | {
      readonly kind: 'polled';
      readonly record: JobRecord;
      readonly from: number;
      readonly to: number;
    }
  | Missed;

export type Sent =
  /** Without a record, `warning` says why. */
  | { readonly kind: 'delivered'; readonly record: JobRecord | null; readonly warning: string }
  | { readonly kind: 'doubtful'; readonly why: string }
  | {
      /** It had no effect. */
      readonly kind: 'refused';
      readonly exchange: Exchange;
      readonly why: string;
      /** Milliseconds after which it may be sent again; null if it may not. */
      readonly afterMs: number | null;
    };

export async function getJob(context: AgentContext, jobId: string): Promise<Polled> {
  const { transport, clock, redact } = context;
  const from = clock.now();
  const exchange = await transport.get(PATHS.poll(context.projectId, jobId));
  const isSuccess = exchange.kind === 'answer' && exchange.status >= 200 && exchange.status < 300;
  if (!isSuccess || exchange.body.kind === 'problem' || !isFromApi(exchange.body)) {
    return { kind: 'missed', exchange, why: explainExchange(exchange, 'poll', context) };
  }
  const read = readRecord(exchange.body.value, redact, context.repositoryUrl);
  if (read.kind === 'ok' && read.value.id === jobId) {
    return { kind: 'polled', record: read.value, from, to: clock.now() };
  }
  const what = read.kind === 'ok' ? 'the record of another job' : read.problem;
  const suspects = context.isDefaultUrl ? 'the job ID' : 'the job ID and the base URL';
  const why = `Reading the status of the job returned ${what}; check ${suspects}.`;
  return { kind: 'missed', exchange, why };
}

/** Sends the message once or, with `NEW_JOB`, creates a job with it, after so many failures. */
export async function postMessage(
  context: AgentContext,
  jobId: string,
  prompt: string,
  failed: number,
): Promise<Sent> {
  const doing = jobId === NEW_JOB ? 'create' : 'send';
  const path = PATHS[doing](context.projectId, jobId);
  const exchange = await context.transport.postOnce(path, { prompt });
  if (isDelivery(exchange)) return readDelivered(exchange, jobId, context);
  const said = explainExchange(exchange, doing, context);
  const { delivery } = SEND_RULES[classifySend(exchange)];
  if (delivery === 'unknown') return { kind: 'doubtful', why: said };
  const afterMs = resendAfterMs(exchange, failed + 1, context);
  const why = afterMs === null ? sentences(said, askedPause(exchange, context)) : said;
  return { kind: 'refused', exchange, why, afterMs };
}

function readDelivered({ status, body }: Answer, jobId: string, context: AgentContext): Sent {
  const read =
    body.kind === 'ok' ? readRecord(body.value, context.redact, context.repositoryUrl) : body;
  if (jobId === NEW_JOB) {
    if (read.kind === 'ok' && isId(context.redact(read.value.id))) {
      return { kind: 'delivered', record: read.value, warning: '' };
    }
    const what = read.kind === 'ok' ? 'an ID that is not one' : read.problem;
    return { kind: 'doubtful', why: `The API created a job (${status}), but returned ${what}.` };
  }
  if (read.kind === 'problem') {
    const warning = `The API accepted the message (${status}), but returned ${read.problem}.`;
    return { kind: 'delivered', record: null, warning };
  }
  if (read.value.id === jobId) return { kind: 'delivered', record: read.value, warning: '' };
  const what = `the API at ${context.where} returned the record of another job`;
  return { kind: 'doubtful', why: `In response to the message, ${what}.` };
}
