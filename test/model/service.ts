import type { Exchange, Failure, Transport } from '../../src/agent/http.ts';
import type { JobRecord } from '../../src/turn.ts';
import type { VirtualClock } from './clock.ts';

/**
 * How a request goes. `taken` says whether the service acted on a message where the one who
 * sent it cannot tell; where the answer tells, the model follows the answer.
 */
export interface Step {
  readonly fault: Fault;
  /** Milliseconds until the connection stands, and from there until the head of the answer. */
  readonly connectMs: number;
  readonly answerMs: number;
  readonly taken: boolean;
}

export type Fault =
  /** Nothing is written: refused, a certificate, a connection that never comes to stand. */
  | { readonly kind: 'unreachable' | 'set-up' | 'black-hole' }
  /** The request is written, then the connection is lost or nothing comes any more. */
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

/** What a client cannot tell from a page of somebody on the way. */
const DOUBTFUL_BODIES: ReadonlySet<BodyKind> = new Set(['other job', 'HTML', 'HTML, cut off']);

/** A job over time. All times are in milliseconds of the clock. */
export interface JobScript {
  readonly id: string;
  /** The turn before the message: active until `endsAt`, then as `ends` says. */
  readonly earlier: { readonly endsAt: number; readonly ends: FinalStatus; readonly link: boolean };
  /** From the message, or the end of the turn before, until our turn begins. */
  readonly queueMs: number;
  /** Whether the service shows a word of its own while our turn is queued. */
  readonly showsQueue: boolean;
  /** Whether an active turn takes the message in, so that no turn begins. */
  readonly joins: boolean;
  readonly workMs: number;
  readonly ends: FinalStatus;
  readonly newLink: boolean;
}
type FinalStatus = 'completed' | 'failed' | 'archived';

/** A request; as long as it is under way its end is infinitely far. */
export interface Span {
  readonly startedAt: number;
  endedAt: number;
}

/** What the model knows of a POST, whatever the client makes of it. */
export interface Post extends Span {
  /** Whether one who sees only the connection and the answer must fear that it was taken. */
  mayBeTaken: boolean;
  /** Null until, and unless, a status came. */
  status: number | null;
  retryAfter: readonly string[];
}

export interface Service extends Transport {
  readonly posts: readonly Post[];
  readonly polls: readonly Span[];
  /** Messages that the service acted on. */
  accepted(): number;
  /** Requests that have not ended. */
  open(): number;
  /** Of the newest record that reached the client: whether it shows the end of our turn. */
  showedOurEnd(): boolean;
}

export interface ServiceScript {
  readonly job: JobScript;
  /** When the message of an earlier attempt was accepted, if one was. */
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

/** As src/agent/http.ts has it. */
const CONNECT_MS = 10_000;
/** A body comes that long after its head. */
const BODY_MS = 5;
const HOSTILE = 'sonnet\n::error::x ##[add-mask]e | <img> `';

/** The service, seen through a transport whose every request goes as the script says. */
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
        for (const callOff of timers) callOff();
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
        callOffConnect();
        if (fault.kind === 'unreachable' || fault.kind === 'set-up') {
          fail(fault.kind === 'set-up' ? 'setup' : 'network');
          return;
        }
        written = true;
        onWritten();
        if (fault.kind === 'silent') return;
        // What is shown is as old as it can be: made up as soon as the request was there.
        const shown = show(script.job, acceptedAt, clock.now());
        timers.push(clock.after(step.answerMs, () => answered(shown)));
      }
      function answered(shown: Shown): void {
        if (fault.kind !== 'status' && fault.kind !== 'body') {
          fail('network');
          return;
        }
        const answer = answerOf(fault, shown, script.job.id);
        head = answer;
        if (fault.kind === 'body' && fault.body === 'silent') return;
        // Cut off, the record of another job would look like that of ours: it comes at once.
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
      const callOffConnect = clock.after(CONNECT_MS, () => fail('network'));
      timers.push(callOffConnect);
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
        mayBeTaken: false,
        status: null,
        retryAfter: [],
      };
      posts.push(post);
      const step = script.nextPost();
      const exchange = await request(step, timeoutMs, () => {
        post.mayBeTaken = true;
        if (isTaken(step)) accept();
      });
      post.endedAt = clock.now();
      if (exchange.kind === 'answer') {
        post.status = exchange.status;
        post.retryAfter = exchange.retryAfter;
      }
      post.mayBeTaken &&= exchange.kind === 'failure' || !refuses(exchange);
      return exchange;
    },
  };
}

function isTaken({ fault, taken }: Step): boolean {
  switch (fault.kind) {
    case 'unreachable':
    case 'set-up':
    case 'black-hole':
      return false;
    case 'lost':
    case 'silent':
      return taken;
    case 'status':
      return taken && !refuses(fault);
    case 'body':
      return taken || !DOUBTFUL_BODIES.has(fault.body);
  }
}

/** Whether a status says for certain that the message was not taken. */
function refuses({ status }: Pick<Answer, 'status'>): boolean {
  return status >= 300 && status < 500 && status !== 408 && status !== 499;
}

function failure(written: boolean, cause: Failure['cause']): Exchange {
  return { kind: 'failure', written, cause, why: `the model's ${cause} failure` };
}

type Reply = Answer & { readonly cut: boolean; readonly showsRecord: boolean };

function answerOf(
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

/** The record that the service shows at `now` to one who has sent nothing. */
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
