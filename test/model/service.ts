import type { Answer, Exchange, Failure, Transport } from '../../src/agent/http.ts';
import type { FinalStatus, JobRecord } from '../../src/job.ts';
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
  | { readonly kind: 'body'; readonly status: number; readonly body: BodyKind };

export const BODIES = [
  ...['record', 'odd status', 'no status', 'empty', 'no JSON', 'cut off', 'silent', 'other job'],
  'HTML',
] as const;
export type BodyKind = (typeof BODIES)[number];

/** Bodies that may come from a server in between, as far as the client can know. */
const DOUBTFUL_BODIES: ReadonlySet<BodyKind> = new Set(['other job', 'HTML']);

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
  /** Whether the message becomes part of work that is active. */
  readonly joins: boolean;
  readonly workMs: number;
  readonly ends: FinalStatus;
  /** When somebody else sends a message to the job; null if nobody does. */
  readonly otherAt: number | null;
}

/** A request. Until it ends, `endedAt` is infinite. */
export interface Span {
  readonly startedAt: number;
  endedAt: number;
}

interface Request extends Span {
  /** Null without a response. */
  status: number | null;
  kind: Fault['kind'];
}

export interface Poll extends Request {
  /** The record that the client received; null if the poll failed. */
  record: Partial<JobRecord> | null;
  /** Whether it shows the end of the work on our message. */
  showsEnd: boolean;
}

export interface Post extends Request {
  /** Whether the API accepted it, as far as the connection and the response show. */
  outcome: 'refused' | 'doubtful' | 'accepted';
  /** What was true of the run just before. */
  readonly before: Facts;
}

export interface Facts {
  /** The delivery in the saved outputs, and in the comment; undefined without one. */
  readonly saved: string | undefined;
  readonly noted: string | undefined;
}

export interface Service extends Transport {
  readonly posts: readonly Post[];
  readonly polls: readonly Poll[];
  /** How many messages of this attempt the API accepted. */
  accepted(): number;
  /** How many requests have not ended. */
  open(): number;
  /** When the work on our message ends; null without one. */
  endsAt(): number | null;
}

export interface ServiceScript {
  readonly job: JobScript;
  /** When the message of an earlier attempt was accepted, or null. */
  readonly acceptedAt: number | null;
  readonly nextPost: () => Step;
  readonly nextPoll: () => Step;
  readonly onRequest: () => void;
  readonly facts: () => Facts;
  /** Aborted when the run is cancelled. */
  readonly signal: AbortSignal;
}

/** As in src/agent/http.ts. */
const CONNECT_MS = 10_000;
/** How long after its head a body arrives. */
const BODY_MS = 5;
const HOSTILE = 'sonnet\n::error::x ##[add-mask]e | <img> `';

export function scriptedService(script: ServiceScript, clock: VirtualClock): Service {
  const { job, signal } = script;
  const posts: Post[] = [];
  const polls: Poll[] = [];
  let { acceptedAt } = script;
  let accepted = 0;
  let open = 0;

  /** `onWritten` returns the record that the response shows. */
  function request(step: Step, timeoutMs: number, onWritten: () => Shown): Promise<Received> {
    const { fault } = step;
    if (signal.aborted) return Promise.resolve({ exchange: failure(false, 'network') });
    script.onRequest();
    open += 1;
    return new Promise((resolve) => {
      const timers: (() => void)[] = [];
      let written = false;
      let head: Answer | null = null;

      function end(exchange: Exchange, shown?: Shown): void {
        for (const cancelTimer of timers) cancelTimer();
        signal.removeEventListener('abort', cancel);
        open -= 1;
        resolve({ exchange, shown });
      }
      function fail(cause: Failure['cause']): void {
        const body = { kind: 'problem', problem: 'a body that was cut off' } as const;
        end(head === null ? failure(written, cause) : { ...head, body });
      }
      const cancel = (): void => fail('network');

      function connected(): void {
        cancelConnectTimer();
        if (fault.kind === 'unreachable' || fault.kind === 'set-up') {
          fail(fault.kind === 'set-up' ? 'setup' : 'network');
          return;
        }
        written = true;
        // The record is as old as possible: from the moment when the request arrived.
        const shown = onWritten();
        if (fault.kind !== 'silent')
          timers.push(clock.after(step.responseMs, () => respond(shown)));
      }
      function respond(shown: Shown): void {
        if (fault.kind !== 'status' && fault.kind !== 'body') {
          fail('network');
          return;
        }
        const answer = responseOf(fault, shown.record);
        head = answer;
        const body = fault.kind === 'body' ? fault.body : null;
        if (body === 'silent') return;
        const finish = (): void => (body === 'cut off' ? fail('network') : end(answer, shown));
        timers.push(clock.after(BODY_MS, finish));
      }

      signal.addEventListener('abort', cancel, { once: true });
      const cancelConnectTimer = clock.after(CONNECT_MS, () => fail('network'));
      timers.push(
        cancelConnectTimer,
        clock.after(timeoutMs, () => fail('network')),
      );
      if (fault.kind !== 'black-hole') timers.push(clock.after(step.connectMs, connected));
    });
  }

  function start({ fault }: Step): Request {
    return { startedAt: clock.now(), endedAt: Infinity, status: null, kind: fault.kind };
  }

  return {
    posts,
    polls,
    accepted: () => accepted,
    open: () => open,
    endsAt: () => (acceptedAt === null ? null : workOn(job, acceptedAt).end),
    async get(_, timeoutMs) {
      const step = script.nextPoll();
      const poll: Poll = { ...start(step), record: null, showsEnd: false };
      polls.push(poll);
      const look = (): Shown => show(job, acceptedAt, clock.now() - job.lagMs);
      const { exchange, shown } = await request(step, timeoutMs, look);
      poll.endedAt = clock.now();
      if (exchange.kind === 'answer') poll.status = exchange.status;
      if (shown !== undefined) {
        poll.record = readable(step.fault, shown.record);
        poll.showsEnd = shown.isEnd && poll.record?.status === shown.record.status;
      }
      return exchange;
    },
    async postOnce(_path, _json, timeoutMs) {
      const step = script.nextPost();
      const post: Post = { ...start(step), outcome: 'refused', before: script.facts() };
      posts.push(post);
      const { exchange } = await request(step, timeoutMs, () => {
        post.outcome = 'doubtful';
        if (isAccepted(step)) {
          accepted += 1;
          acceptedAt = clock.now();
        }
        return show(job, acceptedAt, clock.now());
      });
      post.endedAt = clock.now();
      if (exchange.kind === 'answer') {
        post.status = exchange.status;
        if (refuses(exchange.status)) post.outcome = 'refused';
        if (isAccepted({ ...step, accepts: false })) post.outcome = 'accepted';
      }
      return exchange;
    },
  };
}

interface Received {
  readonly exchange: Exchange;
  /** What the response shows, if it was received as a whole. */
  readonly shown?: Shown | undefined;
}

function isAccepted({ fault, accepts }: Step): boolean {
  if (fault.kind === 'status') return accepts && !refuses(fault.status);
  return fault.kind === 'body' ? accepts || !DOUBTFUL_BODIES.has(fault.body) : accepts;
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
  const value = fault.kind === 'status' ? '{"error":"a\\n::error::b"}' : bodyOf(fault.body, record);
  return {
    kind: 'answer',
    status: fault.status,
    contentType:
      fault.kind === 'body' && fault.body === 'HTML'
        ? 'text/html'
        : 'application/json; charset=utf-8',
    retryAfter: fault.kind === 'status' ? fault.retryAfter : [],
    locationHost: '',
    requestId: '',
    body: { kind: 'ok', value },
  };
}

function bodyOf(kind: BodyKind, record: Partial<JobRecord>): string {
  switch (kind) {
    case 'odd status':
      return JSON.stringify({ ...record, status: 'queued' });
    case 'no status':
      return JSON.stringify({ ...record, status: undefined });
    case 'no JSON':
      return JSON.stringify(record).slice(0, -1);
    case 'other job':
      return JSON.stringify({ ...record, id: `${record.id}2` });
    case 'HTML':
      return '<html>::error::x</html>';
    case 'empty':
      return '';
    default:
      return JSON.stringify(record);
  }
}

/** What the client can read in the response to a poll; null if that fails. */
function readable(fault: Fault, record: Partial<JobRecord>): Partial<JobRecord> | null {
  if (fault.kind !== 'body') return null;
  switch (fault.body) {
    case 'record':
      return record;
    case 'odd status':
      return { ...record, status: 'queued' };
    case 'no status': {
      const { status: _, ...others } = record;
      return others;
    }
    default:
      return null;
  }
}

interface Shown {
  readonly record: Partial<JobRecord>;
  readonly isEnd: boolean;
}

/** The time of the work on a message. */
interface Work {
  readonly begin: number;
  readonly end: number;
  readonly ends: FinalStatus;
}

function workOn(job: JobScript, acceptedAt: number): Work {
  const { earlier, otherAt, joins, queueMs, workMs, ends } = job;
  const isFirst = otherAt === null || acceptedAt <= otherAt;
  const freeAt = isFirst ? earlier.endsAt : workOfOther(job, otherAt, null).end;
  if (joins && acceptedAt < freeAt) {
    return { begin: acceptedAt, end: Math.max(acceptedAt + workMs, freeAt), ends };
  }
  const begin = Math.max(acceptedAt, freeAt) + queueMs;
  return { begin, end: begin + workMs, ends };
}

function workOfOther(job: JobScript, otherAt: number, acceptedAt: number | null): Work {
  const isFirst = acceptedAt === null || otherAt < acceptedAt;
  const freeAt = isFirst ? job.earlier.endsAt : workOn(job, acceptedAt).end;
  const begin = Math.max(otherAt, freeAt) + job.queueMs;
  return { begin, end: begin + job.workMs, ends: 'completed' };
}

/** The record at a time. */
function show(job: JobScript, sentAt: number | null, at: number): Shown {
  const { id, earlier, otherAt } = job;
  const ours = sentAt !== null && sentAt <= at ? workOn(job, sentAt) : null;
  const others = otherAt !== null && otherAt <= at ? workOfOther(job, otherAt, sentAt) : null;
  const first: Work = { begin: -Infinity, end: earlier.endsAt, ends: earlier.ends };
  const all = [first, ours, others].filter((work) => work !== null);
  const isActive = all.some(({ begin, end }) => begin <= at && at < end);
  const isQueued = job.showsQueue && all.some(({ begin }) => begin > at);
  const last = all
    .filter(({ end }) => end <= at)
    .reduce<Work>((one, other) => (other.end >= one.end ? other : one), first);
  const status = isActive ? 'active' : isQueued ? 'queued' : last.ends;
  const isEnd = ours !== null && ours.end <= at;
  const link = isEnd ? 2 : earlier.link ? 1 : null;
  return {
    record: {
      id,
      status,
      source: { repository: 'https://github.com/octo/agents', ref: null },
      model: HOSTILE,
      prLink: link === null ? null : `https://github.com/octo/agents/pull/${link}`,
      createdAt: '2026-11-21T11:00:00Z',
      archivedAt: status === 'archived' ? '2026-11-20T13:00:00Z' : null,
    },
    isEnd: isEnd && !isActive,
  };
}
