import * as z from 'zod/mini';
import { isId, type JobRecord, NEW_JOB } from '../job/job.ts';
import { isKnownStatus, PATHS } from '../mintlify-api.ts';
import { checkPrLink, ownPullRequest } from '../pull-request.ts';
import { oneLine, parseJson, sentences } from '../text.ts';
import { type Ok, ok, problem, type Result } from '../value-or-problem.ts';
import { explainExchange, explainPause, quoteError } from './errors.ts';
import { classifySend, isDelivery, resendAfterMs, SEND_RULES } from './retry.ts';
import { type AgentContext, type Answer, isFromApi } from './transport.ts';

export type Missed = Exclude<Awaited<ReturnType<typeof getJob>>, Ok<unknown>>;
/** `afterMs`: until it may be sent again, or null. Without a record, `warning` says why. */
export type Sent = Awaited<ReturnType<typeof postMessage>>;

export async function getJob(context: AgentContext, jobId: string) {
  const exchange = await context.transport.get(PATHS.poll(context.projectId, jobId));
  const isSuccess = exchange.kind === 'answer' && exchange.status >= 200 && exchange.status < 300;
  if (!isSuccess || !isFromApi(exchange.body)) {
    const why = explainExchange(exchange, 'poll', context);
    return { kind: 'missed' as const, exchange, why };
  }
  const read = readRecord(exchange.body, context);
  if (read.kind === 'ok' && read.value.id === jobId) return read;
  const what = read.kind === 'ok' ? 'the record of another job' : read.problem;
  const why = `Reading the status of the job returned ${what}; check the job ID.`;
  return { kind: 'missed' as const, exchange, why };
}

/** Sends the message once or, with `NEW_JOB`, creates a job with it, after so many failures. */
export async function postMessage(
  context: AgentContext,
  { jobId, prompt, failed }: { jobId: string; prompt: string; failed: number },
) {
  const doing = jobId === NEW_JOB ? 'create' : 'send';
  const path = PATHS[doing](context.projectId, jobId);
  const exchange = await context.transport.postOnce(path, { prompt });
  if (isDelivery(exchange)) return readDelivered(exchange, jobId, context);
  const said = explainExchange(exchange, doing, context);
  const { delivery } = SEND_RULES[classifySend(exchange)];
  if (delivery === 'unknown') return { kind: 'doubtful' as const, why: said };
  const afterMs = resendAfterMs(exchange, failed + 1, context);
  const why = afterMs === null ? sentences(said, explainPause(exchange, context)) : said;
  return { kind: 'refused' as const, exchange, why, afterMs };
}

function readDelivered({ status, body }: Answer, jobId: string, context: AgentContext) {
  const read = readRecord(body, context);
  const isNew = jobId === NEW_JOB;
  const isRight = (id: string): boolean => (isNew ? isId(context.redact(id)) : id === jobId);
  if (read.kind === 'ok' && isRight(read.value.id)) {
    return { kind: 'delivered' as const, record: read.value, warning: '' };
  }
  const other = isNew ? 'an ID that is not one' : 'the record of another job';
  const what = read.kind === 'ok' ? other : read.problem;
  const done = isNew ? `answered ${status} to the creation` : `accepted the message (${status})`;
  const why = `The API ${done}, but returned ${what}.`;
  if (isNew || read.kind === 'ok') return { kind: 'doubtful' as const, why };
  return { kind: 'delivered' as const, record: null, warning: why };
}

const jobRecord = z.object({
  id: z.string(),
  status: z.catch(z.string(), ''),
  prLink: z.catch(z.nullish(z.string()), 'no link'),
});

/**
 * Secrets are redacted before anything is cut, quoted or compared, except for a status, whose words
 * are known. A problem quotes only an error that the API tells.
 */
export function readRecord(
  body: Result<string>,
  { redact, repositoryUrl }: Pick<AgentContext, 'redact' | 'repositoryUrl'>,
): Result<JobRecord> {
  if (body.kind === 'problem') return body;
  if (body.value === '') return problem('an empty body');
  const json = parseJson(body.value);
  if (json === undefined) return problem(`invalid JSON (${Buffer.byteLength(body.value)} bytes)`);
  const parsed = jobRecord.safeParse(json);
  if (!parsed.success) {
    return problem(`JSON that is not a job record${quoteError(body.value, redact)}`);
  }
  const { id, prLink } = parsed.data;
  const word = oneLine(parsed.data.status).toLowerCase();
  const status = isKnownStatus(word) ? word : oneLine(redact(parsed.data.status));
  const record = { id, ...(status !== '' && { status }) };
  if (prLink === undefined) return ok(record);
  const link = prLink === null || prLink === '' ? ok(null) : checkPrLink(redact(prLink));
  if (link.kind === 'problem') return ok({ ...record, linkProblem: link.problem });
  const prNumber = ownPullRequest(link.value, repositoryUrl);
  return ok({ ...record, prLink: link.value, prNumber });
}
