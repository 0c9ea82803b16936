import type { Answer, Exchange, Failure, Transport } from '../../src/agent/http.ts';
import { type FinalStatus, isFinal, type JobRecord } from '../../src/job.ts';
import type { VirtualClock } from './clock.ts';

// A simulated API for one job, as a transport whose requests follow a script.

/**
 * What happens to a request. `accepts` applies only if the client cannot know whether the API accepted a
 * message; otherwise, the response decides.
 */
export interface Step {
  readonly fault: Fault;
  /** Milliseconds until the connection is open, and from then until the head of the response. */
  readonly connectMs: number;
  readonly responseMs: number;
  readonly accepts: boolean;
}

export type Fault =
  /** The request is not written: the connection is refused, a certificate is invalid, or it never opens. */
  | { readonly kind: 'unreachable' | 'set-up' | 'black-hole' }
  /** The request is written, then the connection is lost or stays silent. */
  | { readonly kind: 'lost' | 'silent' }
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter: readonly string[] }
  | { readonly kind: 'body'; readonly status: number; readonly body: (typeof BODIES)[number] };

export const BODIES = ['record', 'no status', 'cut off', 'other job'] as const;

/** How a job changes. All times are in milliseconds of the clock. */
export interface JobScript {
  readonly id: string;
  /** The work before the message: active until `endsAt`, then in the status `ends`. */
  readonly earlier: { readonly endsAt: number; readonly ends: FinalStatus; readonly link: boolean };
  /** How much older than the request a record is. */
  readonly lagMs: number;
  /** From the message, or the end of the work before it, until the work on it begins. */
  readonly queueMs: number;
  /** Whether the status is `queued` while a message is queued. */
  readonly showsQueue: boolean;
  /** Whether our message becomes part of work that is active. */
  readonly joins: boolean;
  readonly workMs: number;
  readonly ends: FinalStatus;
  /** When someone else sends a message to the job; null if nobody does. */
  readonly otherAt: number | null;
}

/** What took so long. Until it ends, `endedAt` is infinite. */
export interface Span {
  readonly startedAt: number;
  endedAt: number;
}

/** `mostMs`: the limit that the client has set. */
interface Request extends Span {
  readonly mostMs: number;
  exchange: Exchange | null;
}

export interface Poll extends Request {
  /** What the client read in it; null if that failed. */
  record: Partial<JobRecord> | null;
}

export interface Post extends Request {
  /** Whether the API accepted it, as far as the connection and the response show. */
  verdict: 'refused' | 'doubtful' | 'accepted';
  /** What the saved outputs and the comment said of the delivery just before. */
  readonly before: { readonly saved: string | undefined; readonly noted: string | undefined };
}

export type Service = ReturnType<typeof scriptedService>;

interface ServiceScript {
  readonly job: JobScript;
  /** When the message of an earlier attempt was accepted, or null. */
  readonly acceptedAt: number | null;
  readonly nextPost: () => Step;
  readonly nextPoll: () => Step;
  readonly onRequest: () => void;
  readonly before: () => Post['before'];
  /** Aborted when the run is cancelled. */
  readonly signal: AbortSignal;
}

/** As in src/agent/http.ts. */
const CONNECT_MS = 10_000;
/** How long after its head a body arrives. */
const BODY_MS = 5;

export function scriptedService(script: ServiceScript, clock: VirtualClock) {
  const { job, signal } = script;
  const posts: Post[] = [];
  const polls: Poll[] = [];
  let { acceptedAt } = script;
  let accepted = 0;

  /** `onWritten` returns the record that the response shows. */
  async function request(
    { fault, connectMs, responseMs }: Step,
    timeoutMs: number,
    onWritten: () => Partial<JobRecord>,
  ): Promise<Exchange> {
    script.onRequest();
    const over = new AbortController();
    const end = (): void => over.abort();
    const cancelTimer = clock.after(timeoutMs, end);
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    let written = false;
    let head: Answer | null = null;
    try {
      const opens = fault.kind !== 'black-hole' && connectMs < CONNECT_MS;
      await clock.sleep(opens ? connectMs : CONNECT_MS, over.signal);
      if (fault.kind === 'set-up') return failure(false, 'setup');
      if (!opens || fault.kind === 'unreachable') return failure(false, 'network');
      written = true;
      // The record is as old as possible: from the moment when the request arrived.
      const record = onWritten();
      await clock.sleep(fault.kind === 'silent' ? Infinity : responseMs, over.signal);
      if (fault.kind !== 'status' && fault.kind !== 'body') return failure(true, 'network');
      head = responseOf(fault, record);
      // It counts as accepted if it is cut off: nobody can tell then that the record is that of another job.
      if (fault.kind === 'body' && fault.body === 'other job') return head;
      const isCut = fault.kind === 'body' && fault.body === 'cut off';
      await clock.sleep(isCut ? Infinity : BODY_MS, over.signal);
      return head;
    } catch {
      const body = { kind: 'problem', problem: 'a body that was cut off' } as const;
      return head === null ? failure(written, 'network') : { ...head, body };
    } finally {
      cancelTimer();
      signal.removeEventListener('abort', end);
    }
  }

  const transport: Transport = {
    async get(_, timeoutMs) {
      const poll: Poll = blank({ record: null, mostMs: timeoutMs });
      polls.push(poll);
      const look = () => show(job, acceptedAt, clock.now() - job.lagMs);
      poll.exchange = await request(script.nextPoll(), timeoutMs, look);
      poll.endedAt = clock.now();
      poll.record = readable(poll.exchange, job.id);
      return poll.exchange;
    },
    async postOnce(_path, _json, timeoutMs) {
      const post: Post = blank({ verdict: 'refused', before: script.before(), mostMs: timeoutMs });
      posts.push(post);
      const step = script.nextPost();
      post.exchange = await request(step, timeoutMs, () => {
        if (isAccepted(step)) {
          accepted += 1;
          acceptedAt = clock.now();
        }
        return show(job, acceptedAt, clock.now());
      });
      post.endedAt = clock.now();
      post.verdict = outcomeOf(post.exchange, step);
      return post.exchange;
    },
  };

  return {
    transport,
    posts: posts as readonly Post[],
    polls: polls as readonly Poll[],
    /** How many messages of this attempt the API accepted. */
    accepted: () => accepted,
    /** When the work on our message ends; null without one. */
    endsAt: () => workOn(job, acceptedAt).find(({ isOurs }) => isOurs)?.end ?? null,
  };

  function blank<T>(rest: T) {
    return { startedAt: clock.now(), endedAt: Infinity, exchange: null, ...rest };
  }
}

function isAccepted({ fault, accepts }: Step): boolean {
  if (fault.kind === 'status') return accepts && !refuses(fault.status);
  return accepts || (fault.kind === 'body' && fault.body !== 'other job');
}

function outcomeOf(exchange: Exchange, step: Step): Post['verdict'] {
  if (exchange.kind === 'failure') return exchange.written ? 'doubtful' : 'refused';
  if (refuses(exchange.status)) return 'refused';
  return isAccepted({ ...step, accepts: false }) ? 'accepted' : 'doubtful';
}

/** Whether the status means that the message was certainly not accepted. */
function refuses(status: number): boolean {
  return status >= 300 && status < 500 && status !== 408 && status !== 499;
}

function failure(written: boolean, cause: Failure['cause']): Failure {
  return { kind: 'failure', written, cause, why: `the model's ${cause} failure` };
}

function responseOf(
  fault: Extract<Fault, { kind: 'status' | 'body' }>,
  record: Partial<JobRecord>,
): Answer {
  return {
    kind: 'answer',
    status: fault.status,
    contentType: 'application/json; charset=utf-8',
    retryAfter: fault.kind === 'status' ? fault.retryAfter : [],
    location: '',
    body: { kind: 'ok', value: JSON.stringify(bodyOf(fault, record)) },
  };
}

function bodyOf(
  fault: Extract<Fault, { kind: 'status' | 'body' }>,
  record: Partial<JobRecord>,
): object {
  if (fault.kind === 'status') return { error: 'a\n::error::b' };
  if (fault.body === 'other job') return { ...record, id: `${record.id}2` };
  return fault.body === 'no status' ? { ...record, status: undefined } : record;
}

function readable(exchange: Exchange, id: string): Partial<JobRecord> | null {
  if (exchange.kind === 'failure' || exchange.body.kind === 'problem') return null;
  const record: Partial<JobRecord> = JSON.parse(exchange.body.value);
  return record.id === id ? record : null;
}

/** What the agent does between two times, because of a message. */
export interface Work {
  readonly at: number;
  readonly begin: number;
  readonly end: number;
  readonly ends: FinalStatus;
  readonly isOurs: boolean;
}

/** All work on the job, one after the other, if our message was accepted at that time. */
export function workOn(job: JobScript, sentAt: number | null): readonly Work[] {
  const { earlier, otherAt, joins, queueMs, workMs } = job;
  const first = { at: -Infinity, begin: -Infinity, end: earlier.endsAt, ends: earlier.ends };
  const works: Work[] = [{ ...first, isOurs: false }];
  const messages = [
    { at: otherAt, ends: 'completed', isOurs: false } as const,
    { at: sentAt, ends: job.ends, isOurs: true } as const,
  ];
  if ((sentAt ?? 0) < (otherAt ?? 0)) messages.reverse();
  for (const { at, ends, isOurs } of messages) {
    if (at === null) continue;
    const freeAt = works.at(-1)?.end ?? 0;
    const isJoined = isOurs && joins && at < freeAt;
    const begin = isJoined ? at : Math.max(at, freeAt) + queueMs;
    works.push({ at, begin, end: Math.max(begin + workMs, freeAt), ends, isOurs });
  }
  return works;
}

/** The record at a time. The link of our work is that to the second pull request. */
export function show(job: JobScript, sentAt: number | null, now: number): Partial<JobRecord> {
  const works = workOn(job, sentAt).filter(({ at }) => at <= now);
  const isActive = works.some(({ begin, end }) => begin <= now && now < end);
  const isQueued = job.showsQueue && works.some(({ begin }) => begin > now);
  const ended = works.findLast(({ end }) => end <= now);
  const isOver = works.some(({ isOurs, end }) => isOurs && end <= now);
  const link = isOver ? 2 : job.earlier.link ? 1 : null;
  return {
    id: job.id,
    status: isActive ? 'active' : isQueued ? 'queued' : (ended?.ends ?? 'active'),
    source: { repository: 'https://github.com/octo/agents', ref: null },
    model: 'sonnet\n::error::x ##[add-mask]e | <img> `',
    prLink: link === null ? null : `https://github.com/octo/agents/pull/${link}`,
  };
}

/** Whether a record shows the end of the work on our message. */
export function showsEnd(record: Partial<JobRecord> | null): boolean {
  return isFinal(record?.status) && record?.prLink?.endsWith('/2') === true;
}
