import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { listen } from './listen.ts';

/** In milliseconds. Tests pass virtual time, which they share with the child process. */
export interface Clock {
  now(): number;
}

/** A complete request. `status` is null if it has no response, or not yet. */
export interface JournalEntry {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly at: number;
  readonly status: number | null;
  /** Requests with the same number used the same connection. */
  readonly socket: number;
}

/** An object is sent as JSON, anything else unchanged and without a content type. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer | object;
}

/** No response: silence, or a TCP reset. */
type Fault = { readonly fault: 'hang' | 'reset' };

export type Reply = Answer | Fault;

/** `undefined` means the normal response. A promise makes the client wait. */
export type Scripted<T> = T | undefined | Promise<T | undefined>;

/** Connections that wait for a response that will never arrive. */
export const hanging = new Set<string>();

/** By both ports: the system may use the same one for connections to several servers. */
export function nameOf(clientPort = 0, serverPort = 0): string {
  return `${clientPort} to ${serverPort}`;
}

/** Listens on a free port. Incomplete requests are neither recorded nor answered. */
export async function serve(clock: Clock, respond: (request: JournalEntry) => Scripted<Reply>) {
  const journal: JournalEntry[] = [];
  const numbers = new WeakMap<Socket, number>();
  let opened = 0;

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    if (body === null) return;
    const { method = '', url: path = '', headers: given, socket } = request;
    const headers = Object.entries(given).map(([name, value]) => [name, String(value)]);
    const entry: JournalEntry & { status: number | null } = {
      ...{ method, path, headers: Object.fromEntries(headers), body },
      ...{ at: clock.now(), status: null, socket: numbers.get(socket) ?? 0 },
    };
    journal.push(entry);
    const reply = (await respond(entry)) ?? {};
    if ('fault' in reply) {
      if (reply.fault === 'reset') socket.resetAndDestroy();
      if (reply.fault === 'hang') hang(socket);
      return;
    }
    entry.status = reply.status ?? 200;
    send(response, entry.status, reply);
  }

  const server = createServer((request, response) => {
    take(request, response).catch((error) => {
      // A hook that resolves after the simulation has ended finds its virtual time gone.
      if (server.listening) throw error;
    });
  });
  server.on('connection', (socket) => numbers.set(socket, ++opened));
  const { port, ...listening } = await listen(server);
  return {
    origin: `http://127.0.0.1:${port}`,
    journal: journal as readonly JournalEntry[],
    ...listening,
  };
}

function hang(socket: Socket): void {
  const name = nameOf(socket.remotePort, socket.localPort);
  hanging.add(name);
  socket.once('close', () => hanging.delete(name));
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  try {
    return Buffer.concat(await request.toArray()).toString('utf8');
  } catch {
    return null;
  }
}

function send(response: ServerResponse, status: number, { headers, body = '' }: Answer): void {
  const asIs = typeof body === 'string' || Buffer.isBuffer(body);
  if (!asIs) response.setHeader('content-type', 'application/json; charset=utf-8');
  for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value);
  response.writeHead(status);
  response.end(asIs ? body : JSON.stringify(body));
}

/** What requests look like: written again, and not taken from src/, so that it is also tested. */
export const SERVICE = {
  create: (project: string) => `/v2/agent/${project}/job`,
  poll: (project: string, job: string) => `${SERVICE.create(project)}/${job}`,
  send: (project: string, job: string) => `${SERVICE.poll(project, job)}/message`,
  /** The header with the key, and what it says. */
  keyHeader: 'authorization',
  keyValue: (key: string) => `Bearer ${key}`,
};

/** Fields of a job. One that is set to undefined is missing in the response. */
export type JobPart = Readonly<Record<string, unknown>>;

export interface TurnScript {
  /** Times count from when the message was accepted. */
  readonly steps: readonly { readonly afterMs: number; readonly set: JobPart }[];
}

export interface JobScript {
  readonly id: string;
  /** The record before any message. */
  readonly base?: JobPart;
  /** The n-th accepted message starts the n-th turn; the last one repeats. */
  readonly turns?: readonly TurnScript[];
}

/** `accept`: whether the API accepts the message. Default for a response: if its status is 2xx. */
export type PostReply =
  | (Answer & { readonly accept?: boolean })
  | (Fault & { readonly accept: boolean });

export interface AgentOptions {
  readonly jobs: readonly JobScript[];
  readonly project?: string;
  readonly apiKey?: string;
  readonly clock?: Clock;
  /** `n` counts the complete requests of the method from 1. */
  readonly onPost?: (n: number, request: JournalEntry) => Scripted<PostReply>;
  readonly onGet?: (n: number, request: JournalEntry) => Scripted<Reply>;
  /** The n-th job that is created, whose first turn its prompt starts. */
  readonly create?: (n: number) => JobScript;
}

const BASE = {
  ...{ status: 'completed', model: 'sonnet', prLink: null, archivedAt: null },
  source: { repository: 'https://github.com/octo/agents', ref: 'main' },
  createdAt: '2026-01-05T09:00:00.000Z',
};

/** The agent works for so long, by default a minute. */
export function turnTo(status = 'completed', ms = 60_000, more: JobPart = {}): TurnScript {
  const end = { afterMs: ms, set: { status, ...more } };
  return { steps: [{ afterMs: 0, set: { status: 'active' } }, end] };
}

/** The simulated API. The state of its jobs follows their scripts and the clock. */
export async function startAgent(options: AgentOptions) {
  const { project = 'project_1', apiKey = 'mint_test_key', clock = Date } = options;
  const { create = (n) => ({ id: `new-job-${n}` }) } = options;
  const creation = `POST ${SERVICE.create(encodeURIComponent(project))}`;
  const created: string[] = [];
  const messages: { readonly jobId: string; readonly prompt: string; readonly at: number }[] = [];
  /** The jobs by their requests. */
  const jobAt = new Map<string, JobScript>();
  let [gets, posts] = [0, 0];
  options.jobs.forEach(add);

  function add(job: JobScript): void {
    const of = [encodeURIComponent(project), encodeURIComponent(job.id)] as const;
    jobAt.set(`GET ${SERVICE.poll(...of)}`, job).set(`POST ${SERVICE.send(...of)}`, job);
  }

  /** The job of a request, which is created if the request says so. */
  function find(request: string): JobScript | undefined {
    if (request !== creation) return jobAt.get(request);
    const job = create(created.length + 1);
    created.push(job.id);
    add(job);
    return job;
  }

  function accept(request: string, body: string): JobScript | undefined {
    const job = find(request);
    const prompt = readPrompt(body) ?? body;
    if (job !== undefined) messages.push({ jobId: job.id, prompt, at: clock.now() });
    return job;
  }

  /** In order. The prompt of a job that was created counts as its first message. */
  function accepted(jobId?: string) {
    return messages.filter((one) => jobId === undefined || one.jobId === jobId);
  }

  /** The remaining steps of an earlier turn still happen. */
  function recordOf(job: JobScript): object {
    const now = clock.now();
    const steps = accepted(job.id).flatMap(({ at }, index) =>
      turnOf(job, index).steps.map(({ afterMs, set }) => ({ at: at + afterMs, set })),
    );
    const due = steps.filter(({ at }) => at <= now).sort((one, other) => one.at - other.at);
    return Object.assign({ id: job.id, ...BASE }, job.base, ...due.map(({ set }) => set));
  }

  async function respond(request: JournalEntry): Promise<Reply> {
    const { method, path, headers, body } = request;
    const [name, isPost] = [`${method} ${path}`, method === 'POST'];
    const scripted: Reply | PostReply | undefined = isPost
      ? await options.onPost?.(++posts, request)
      : await options.onGet?.(++gets, request);
    if (scripted !== undefined) {
      if (isPost && isAccepted(scripted)) accept(name, body);
      return scripted;
    }
    const key = headers[SERVICE.keyHeader];
    if (key !== SERVICE.keyValue(apiKey)) return refusal(401, 'Invalid API key');
    if (isPost && !/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) {
      return refusal(400, 'Content-Type must be application/json');
    }
    if (isPost && !readPrompt(body)) return refusal(400, 'prompt must be a non-empty string');
    const job = isPost ? accept(name, body) : find(name);
    if (job === undefined) return refusal(404, 'Job not found');
    return { status: name === creation ? 201 : 200, body: recordOf(job) };
  }

  const { origin: url, journal, ...site } = await serve(clock, respond);
  return {
    ...{ url, journal, ...site, accepted },
    posts: () => journal.filter(({ method }) => method === 'POST'),
    gets: () => journal.filter(({ method }) => method === 'GET'),
    /** The IDs of the jobs that were created, in order. */
    created: (): readonly string[] => created,
  };
}

export type Agent = Awaited<ReturnType<typeof startAgent>>;

function turnOf({ turns = [] }: JobScript, index: number): TurnScript {
  return turns[index] ?? turns.at(-1) ?? turnTo();
}

function isAccepted(reply: PostReply | Reply): boolean {
  if ('accept' in reply && reply.accept !== undefined) return reply.accept;
  return !('fault' in reply) && Math.floor((reply.status ?? 200) / 100) === 2;
}

function readPrompt(body: string): string | null {
  try {
    const { prompt } = JSON.parse(body);
    return typeof prompt === 'string' ? prompt : null;
  } catch {
    return null;
  }
}

function refusal(status: number, error: string): Answer {
  return { status, body: { error } };
}
