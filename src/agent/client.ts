import type { Clock } from '../clock.ts';
import type { Redact } from '../secrets.ts';
import { explain } from './explain.ts';
import type { Answer, Exchange, Transport } from './http.ts';
import { classifySend, isDelivery, repeatLook, repeatSend, type SendClass } from './retry.ts';
import type { Sends, StepAside } from './sends.ts';
import type { Moment } from './turn.ts';
import { type JobRecord, readRecord } from './wire.ts';

/** What the work with the service needs, for every job the same. */
export interface ServiceContext {
  readonly transport: Transport;
  readonly sends: Sends;
  /** Names the service, and the proxy on the way, in messages. */
  readonly where: string;
  readonly projectId: string;
  readonly clock: Clock;
  /** In milliseconds of the clock; bounds all work with the service. */
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

export type Look =
  | { readonly kind: 'seen'; readonly record: JobRecord; readonly during: Moment }
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

interface SendHooks {
  readonly stepAside: StepAside;
  readonly onAttempt: () => string | undefined;
  readonly onHeld: (why: string, afterMs: number) => void;
}

/** Milliseconds. */
const LOOK_MS = 30_000;
const POST_MS = 60_000;

/** Looks at a job once, within `timeoutMs` and 30 s. */
export async function lookOnce(
  context: ServiceContext,
  jobId: string,
  timeoutMs: number,
): Promise<Look> {
  const { transport, clock, signal, where, redact } = context;
  const path = jobPath(context.projectId, jobId);
  const from = clock.now();
  const exchange = await transport.get(path, { timeoutMs: Math.min(LOOK_MS, timeoutMs), signal });
  context.debug(describeExchange(`GET ${path}`, exchange));
  if (isSuccess(exchange) && exchange.body.kind === 'whole') {
    const read = readRecord(exchange.body.text, jobId, redact);
    if (read.kind === 'record')
      return { kind: 'seen', record: read.record, during: { from, to: clock.now() } };
    const what = read.kind === 'other-job' ? 'the record of another job' : read.why;
    return { kind: 'missed', exchange, why: `The look at the job brought ${what}.` };
  }
  return {
    kind: 'missed',
    exchange,
    why: explain(exchange, { doing: 'look', where, again: null, goesOn: false, redact }),
  };
}

interface LookHooks {
  readonly stepAside: StepAside;
  readonly onLook: () => void;
  readonly onMissed: OnMissed;
}

/** Called before a pause, in milliseconds; null if no time is left for another look after it. */
export type OnMissed = (why: string, afterMs: number | null) => void;

/**
 * The look before the message. It is repeated while that may help; without it nothing is sent, and
 * once no message is let out there is nothing to look for.
 */
export async function lookFirst(
  context: ServiceContext,
  jobId: string,
  { stepAside, onLook, onMissed }: LookHooks,
): Promise<Extract<Look, { kind: 'seen' }> | Ending> {
  const { clock, deadline, signal } = context;
  let failures = 0;
  let networkErrors = 0;
  for (;;) {
    const over = endingNow(context);
    if (over !== null) return over;
    onLook();
    const look = await lookOnce(context, jobId, deadline - clock.now());
    if (look.kind === 'seen') return look;
    if (signal.aborted) return { kind: 'cancelled' };
    failures += 1;
    if (look.exchange.kind === 'failure') networkErrors += 1;
    const repeat = repeatLook({
      exchange: look.exchange,
      failures,
      networkErrors,
      sinceSendMs: null,
      now: clock.date(),
      random: context.random(),
    });
    if (repeat.kind === 'give-up') return { kind: 'refused', why: look.why };
    onMissed(look.why, clock.now() + repeat.afterMs < deadline ? repeat.afterMs : null);
    const ending = await stepAside(() => pause(context, repeat.afterMs, look.why));
    if (ending !== null) return ending;
  }
}

/** Why nothing more may be begun, if so. */
export function endingNow({ sends, clock, deadline, signal }: ServiceContext): Ending | null {
  if (signal.aborted) return { kind: 'cancelled' };
  if (clock.now() >= deadline) return { kind: 'timed-out', why: '' };
  return sends.stopped.aborted ? { kind: 'stopped', why: sends.stopped.reason } : null;
}

/**
 * Sends the message, and sends it again only where it surely was not taken. `onAttempt` is
 * called synchronously before each request, and a sentence that it returns keeps the request from
 * being made; `onHeld` is called before each wait for another attempt.
 */
export async function sendMessage(
  context: ServiceContext,
  jobId: string,
  prompt: string,
  { stepAside, onAttempt, onHeld }: SendHooks,
): Promise<Sent> {
  const { transport, sends, clock, deadline, signal, where, redact } = context;
  const path = `${jobPath(context.projectId, jobId)}/message`;
  const earlier = new Map<SendClass, number>();
  for (;;) {
    const over = endingNow(context);
    if (over !== null) return over;
    const timeoutMs = Math.min(POST_MS, deadline - clock.now());
    const veto = onAttempt();
    if (veto !== undefined) return { kind: 'refused', why: veto };
    const exchange = await transport.postOnce(path, { prompt }, { timeoutMs, signal });
    context.debug(describeExchange(`POST ${path}`, exchange));

    if (isDelivery(exchange)) return readDelivered(exchange, jobId, context);
    const sendClass = classifySend(exchange);
    const repeat = repeatSend({
      exchange,
      earlier: earlier.get(sendClass) ?? 0,
      remainingMs: deadline - clock.now(),
      now: clock.date(),
      random: context.random(),
    });
    const again = repeat.kind === 'give-up' ? dateAfter(clock, repeat.untilMs) : null;
    const goesOn = repeat.kind === 'again';
    const why = explain(exchange, { doing: 'send', where, again, goesOn, redact });
    if (sendClass === 'doubtful') return { kind: 'doubtful', why };
    if (signal.aborted) return { kind: 'cancelled' };
    const mayStop = repeat.kind === 'again' || isRateLimit(exchange);
    if (mayStop && sends.stopped.aborted) return { kind: 'stopped', why: sends.stopped.reason };
    if (repeat.kind === 'give-up') {
      if (isRateLimit(exchange)) sends.stop(`The message to job ${jobId} was not taken. ${why}`);
      return { kind: 'refused', why };
    }
    earlier.set(sendClass, (earlier.get(sendClass) ?? 0) + 1);
    onHeld(why, repeat.afterMs);
    const rest = (): Promise<Ending | null> => pause(context, repeat.afterMs, why);
    // The limit is everybody's: the others had better not come to it meanwhile.
    const ending = await (isRateLimit(exchange) ? rest() : stepAside(rest));
    if (ending !== null) return ending;
  }
}

/** The limit of the project, which holds for every message. A 503 is the service's own trouble. */
function isRateLimit(exchange: Exchange): boolean {
  return exchange.kind === 'answer' && exchange.status === 429;
}

/** Sleeps, at most until the deadline; says if that, a cancel or a stop ended the work. */
async function pause(
  { clock, deadline, signal, sends: { stopped } }: ServiceContext,
  ms: number,
  why: string,
): Promise<Ending | null> {
  const remainingMs = Math.max(0, deadline - clock.now());
  try {
    await clock.sleep(Math.min(ms, remainingMs), AbortSignal.any([signal, stopped]));
  } catch {
    return signal.aborted ? { kind: 'cancelled' } : { kind: 'stopped', why: stopped.reason };
  }
  return ms >= remainingMs ? { kind: 'timed-out', why } : null;
}

function readDelivered(
  { status, body }: Answer,
  jobId: string,
  { where, redact }: ServiceContext,
): Sent {
  const read =
    body.kind === 'whole'
      ? readRecord(body.text, jobId, redact)
      : { kind: 'invalid' as const, why: body.why };
  switch (read.kind) {
    case 'record':
      return { kind: 'delivered', record: read.record, warning: '' };
    case 'other-job':
      return {
        kind: 'doubtful',
        why: `${where} answered the message with the record of another job.`,
      };
    case 'invalid': {
      const what = body.kind === 'whole' && body.text === '' ? 'an empty body' : read.why;
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
  return ms === null || ms > 1e14 ? null : new Date(clock.date().getTime() + ms);
}

function describeExchange(what: string, exchange: Exchange): string {
  return exchange.kind === 'answer'
    ? `${what}: ${exchange.status} ${exchange.contentType} ${exchange.requestId}`
    : `${what}: ${exchange.why} (request ${exchange.written ? 'written' : 'not written'})`;
}
