import type { Exchange, Failure, Transport } from '../../src/agent/http.ts';
import type { JobRecord } from '../../src/turn.ts';
import type { VirtualClock } from './clock.ts';

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
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly retryAfter: readonly string[];
      readonly text: string;
    }
  | { readonly kind: 'body'; readonly status: number; readonly body: BodyKind };

export const BODIES = [
  'record',
  'vendor JSON',
  'bare JSON',
  'odd status',
  'no status',
  'empty',
  'no JSON',
  'an array',
  'null',
  'cut off',
  'silent',
  'other job',
  'HTML',
  'HTML, cut off',
] as const;
export type BodyKind = (typeof BODIES)[number];

/** Bodies that may come from a server in between, as far as the client can know. */
const DOUBTFUL_BODIES: ReadonlySet<BodyKind> = new Set(['other job', 'HTML', 'HTML, cut off']);

/** How a job changes. All times are in milliseconds of the clock. */
export interface JobScript {
  readonly id: string;
  /** The turn before the message: active until `endsAt`, then in the status `ends`. */
  readonly earlier: { readonly endsAt: number; readonly ends: FinalStatus; readonly link: boolean };
  /** From the message, or the end of the earlier turn, until our turn begins. */
  readonly queueMs: number;
  /** Whether the status is `queued` while our turn is queued. */
  readonly showsQueue: boolean;
  /** Whether the message becomes part of an active turn, so that no new turn begins. */
  readonly joins: boolean;
  readonly workMs: number;
  readonly ends: FinalStatus;
  readonly newLink: boolean;
}
type FinalStatus = 'completed' | 'failed' | 'archived';

/** A request. Until it ends, `endedAt` is infinite. */
export interface Span {
  readonly startedAt: number;
  endedAt: number;
}

/** What the model knows about a POST. */
export interface Post extends Span {
  /** Whether the API may have accepted it, as far as the connection and the response show. */
  mayBeAccepted: boolean;
  /** Null without a response. */
  status: number | null;
  retryAfter: readonly string[];
}

export interface Service extends Transport {
  readonly posts: readonly Post[];
  readonly polls: readonly Span[];
  /** How many messages the API accepted. */
  accepted(): number;
  /** How many requests have not ended. */
  open(): number;
  /** Whether the newest record that the client received shows the end of our turn. */
  showedOurEnd(): boolean;
}

export interface ServiceScript {
  readonly job: JobScript;
  /** When the message of an earlier attempt was accepted, or null. */
  readonly acceptedAt: number | null;
  readonly nextPost: () => Step;
  readonly nextPoll: () => Step;
  readonly onRequest: () => void;
  /** Aborted when the run is cancelled. */
  readonly signal: AbortSignal;
}

type Answer = Extract<Exchange, { kind: 'answer' }>;
interface Shown {
  readonly json: Omit<JobRecord, 'linkProblem'>;
  readonly ourEnd: boolean;
}

/** As in src/agent/http.ts. */
const CONNECT_MS = 10_000;
/** How long after its head a body arrives. */
const BODY_MS = 5;
const HOSTILE = 'sonnet\n::error::x ##[add-mask]e | <img> `';

/** A simulated API, as a transport whose requests follow the script. */
export function scriptedService(script: ServiceScript, clock: VirtualClock): Service {
  const posts: Post[] = [];
  let { acceptedAt } = script;
  let accepted = acceptedAt === null ? 0 : 1;
  const polls: Span[] = [];
  let open = 0;
  let showedOurEnd = false;

  function accept(): void {
    accepted += 1;
    acceptedAt ??= clock.now();
  }

  function request(step: Step, timeoutMs: number, onWritten: () => void): Promise<Exchange> {
    const { fault } = step;
    const { signal } = script;
    if (signal.aborted) return Promise.resolve(failure(false, 'network'));
    script.onRequest();
    open += 1;
    return new Promise((resolve) => {
      const timers: (() => void)[] = [];
      let written = false;
      let head: Answer | null = null;

      function end(exchange: Exchange): void {
        for (const cancelTimer of timers) cancelTimer();
        signal.removeEventListener('abort', cancel);
        open -= 1;
        resolve(exchange);
      }
      function fail(cause: Failure['cause']): void {
        end(
          head === null
            ? failure(written, cause)
            : { ...head, body: { kind: 'problem', problem: 'a body that was cut off' } },
        );
      }
      const cancel = (): void => fail('network');

      function connected(): void {
        cancelConnectTimer();
        if (fault.kind === 'unreachable' || fault.kind === 'set-up') {
          fail(fault.kind === 'set-up' ? 'setup' : 'network');
          return;
        }
        written = true;
        onWritten();
        if (fault.kind === 'silent') return;
        // The record is as old as possible: from the moment when the request arrived.
        const shown = show(script.job, acceptedAt, clock.now());
        timers.push(clock.after(step.responseMs, () => respond(shown)));
      }
      function respond(shown: Shown): void {
        if (fault.kind !== 'status' && fault.kind !== 'body') {
          fail('network');
          return;
        }
        const answer = responseOf(fault, shown, script.job.id);
        head = answer;
        if (fault.kind === 'body' && fault.body === 'silent') return;
        // The whole body at once: if cut off, it could be the record of our job.
        if (fault.kind === 'body' && fault.body === 'other job') {
          end(answer);
          return;
        }
        timers.push(
          clock.after(BODY_MS, () => {
            if (answer.showsRecord && !answer.cut) showedOurEnd = shown.ourEnd;
            if (answer.cut) fail('network');
            else end(answer);
          }),
        );
      }

      signal.addEventListener('abort', cancel, { once: true });
      const cancelConnectTimer = clock.after(CONNECT_MS, () => fail('network'));
      timers.push(cancelConnectTimer);
      timers.push(clock.after(timeoutMs, () => fail('network')));
      if (fault.kind !== 'black-hole') timers.push(clock.after(step.connectMs, connected));
    });
  }

  return {
    posts,
    polls,
    accepted: () => accepted,
    open: () => open,
    showedOurEnd: () => showedOurEnd,
    async get(_, timeoutMs) {
      const poll: Span = { startedAt: clock.now(), endedAt: Infinity };
      polls.push(poll);
      const exchange = await request(script.nextPoll(), timeoutMs, () => {});
      poll.endedAt = clock.now();
      return exchange;
    },
    async postOnce(_path, _json, timeoutMs) {
      const post: Post = {
        startedAt: clock.now(),
        endedAt: Infinity,
        mayBeAccepted: false,
        status: null,
        retryAfter: [],
      };
      posts.push(post);
      const step = script.nextPost();
      const exchange = await request(step, timeoutMs, () => {
        post.mayBeAccepted = true;
        if (isAccepted(step)) accept();
      });
      post.endedAt = clock.now();
      if (exchange.kind === 'answer') {
        post.status = exchange.status;
        post.retryAfter = exchange.retryAfter;
      }
      post.mayBeAccepted &&= exchange.kind === 'failure' || !refuses(exchange);
      return exchange;
    },
  };
}

function isAccepted({ fault, accepts }: Step): boolean {
  switch (fault.kind) {
    case 'unreachable':
    case 'set-up':
    case 'black-hole':
      return false;
    case 'lost':
    case 'silent':
      return accepts;
    case 'status':
      return accepts && !refuses(fault);
    case 'body':
      return accepts || !DOUBTFUL_BODIES.has(fault.body);
  }
}

/** Whether the status means that the message was certainly not accepted. */
function refuses({ status }: Pick<Answer, 'status'>): boolean {
  return status >= 300 && status < 500 && status !== 408 && status !== 499;
}

function failure(written: boolean, cause: Failure['cause']): Exchange {
  return { kind: 'failure', written, cause, why: `the model's ${cause} failure` };
}

type Reply = Answer & { readonly cut: boolean; readonly showsRecord: boolean };

function responseOf(
  fault: Extract<Fault, { kind: 'status' | 'body' }>,
  { json }: Shown,
  jobId: string,
): Reply {
  const answer = {
    kind: 'answer',
    status: fault.status,
    contentType: 'application/json; charset=utf-8',
    retryAfter: [],
    date: '',
    locationHost: '',
    requestId: '',
    body: whole(''),
    cut: false,
    showsRecord: false,
  } as const;
  if (fault.kind === 'status') {
    return {
      ...answer,
      retryAfter: fault.retryAfter,
      locationHost: 'elsewhere.example',
      body: whole(JSON.stringify({ error: fault.text })),
    };
  }
  const text = JSON.stringify(json);
  switch (fault.body) {
    case 'record':
      return { ...answer, body: whole(text), showsRecord: true };
    case 'vendor JSON':
      return {
        ...answer,
        contentType: 'application/vnd.job+json',
        body: whole(text),
        showsRecord: true,
      };
    case 'bare JSON':
      return { ...answer, contentType: '', body: whole(text), showsRecord: true };
    case 'odd status':
      return { ...answer, body: whole(JSON.stringify({ ...json, status: 'queued' })) };
    case 'no status':
      return { ...answer, body: whole(JSON.stringify({ id: jobId })) };
    case 'empty':
      return answer;
    case 'no JSON':
      return { ...answer, body: whole(text.slice(0, -1)) };
    case 'an array':
      return { ...answer, body: whole(`[${text}]`) };
    case 'null':
      return { ...answer, body: whole('null') };
    case 'cut off':
    case 'silent':
      return { ...answer, cut: true };
    case 'other job':
      return { ...answer, body: whole(JSON.stringify({ ...json, id: `${jobId}2` })) };
    case 'HTML':
      return { ...answer, contentType: 'text/html', body: whole('<html>::error::x</html>') };
    case 'HTML, cut off':
      return { ...answer, contentType: 'text/html', cut: true };
  }
}

function whole(text: string): Answer['body'] {
  return { kind: 'ok', value: text };
}

/** The record at `now` if no message was sent. */
export function recordBefore(job: JobScript, now: number): JobRecord {
  return { ...show(job, null, now).json, linkProblem: null };
}

function show(job: JobScript, acceptedAt: number | null, now: number): Shown {
  const { earlier } = job;
  const before = now < earlier.endsAt ? 'active' : earlier.ends;
  if (acceptedAt === null) return shown(job, before, false);
  const joined = job.joins && acceptedAt < earlier.endsAt;
  const begins = joined ? acceptedAt : Math.max(acceptedAt, earlier.endsAt) + job.queueMs;
  const ends = Math.max(begins + job.workMs, joined ? earlier.endsAt : 0);
  if (now >= ends) return shown(job, job.ends, true);
  if (now >= begins) return shown(job, 'active', false);
  return shown(job, job.showsQueue ? 'queued' : before, false);
}

function shown(job: JobScript, status: string, ourEnd: boolean): Shown {
  const link = (number: number): string => `https://github.com/octo/agents/pull/${number}`;
  const earlierLink = job.earlier.link ? link(1) : null;
  return {
    json: {
      id: job.id,
      status,
      source: { repository: 'https://github.com/octo/agents', ref: null },
      model: HOSTILE,
      prLink: ourEnd && job.newLink ? link(2) : earlierLink,
      createdAt: '2026-11-21T11:00:00Z',
      archivedAt:
        status === 'archived' ? (ourEnd ? '2026-11-21T13:00:00Z' : '2026-11-20T13:00:00Z') : null,
    },
    ourEnd,
  };
}
