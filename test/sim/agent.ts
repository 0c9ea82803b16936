import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

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
export interface Fault {
  readonly fault: 'hang' | 'reset';
}

export type Reply = Answer | Fault;

/** `undefined` means the normal response. A promise makes the client wait. */
export type Scripted<T> = T | undefined | Promise<T | undefined>;

export interface Site extends AsyncDisposable {
  readonly origin: string;
  readonly journal: readonly JournalEntry[];
}

/** Connections that wait for a response that will never arrive. */
export const hanging: ReadonlySet<string> = new Set();

/** By both ports: the system may use the same one for connections to several servers. */
export function nameOf(clientPort = 0, serverPort = 0): string {
  return `${clientPort} to ${serverPort}`;
}

/** Listens on a free port. Incomplete requests are neither recorded nor answered. */
type Respond = (request: JournalEntry) => Reply | Promise<Reply>;

export async function serve(clock: Clock, respond: Respond): Promise<Site> {
  const journal: JournalEntry[] = [];
  const sockets = new Map<Socket, number>();
  let opened = 0;

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const socket = sockets.get(request.socket) ?? 0;
    const body = await readBody(request);
    if (body === null) return;
    const entry: JournalEntry & { status: number | null } = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      ),
      body,
      at: clock.now(),
      status: null,
      socket,
    };
    journal.push(entry);
    const reply = await respond(entry);
    if ('fault' in reply) {
      if (reply.fault === 'reset') request.socket.resetAndDestroy();
      if (reply.fault === 'hang') hang(request.socket);
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
  server.on('connection', (socket) => {
    opened += 1;
    sockets.set(socket, opened);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    journal,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets.keys()) socket.destroy();
      await closed;
    },
  };
}

function hang(socket: Socket): void {
  const name = nameOf(socket.remotePort, socket.localPort);
  const names = hanging as Set<string>;
  names.add(name);
  socket.once('close', () => names.delete(name));
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

export interface JobRecord {
  readonly id: string;
  readonly status: string;
  readonly source: { readonly repository: string; readonly ref: string | null };
  readonly model: string;
  readonly prLink: string | null;
  readonly createdAt: string;
  readonly archivedAt: string | null;
}

/** A field that is set to undefined is missing in the response. */
export type JobPart = { readonly [Field in keyof JobRecord]?: JobRecord[Field] | undefined } & {
  readonly [field: string]: unknown;
};

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

/** The prompt of a job that was created counts as its first message. */
export interface AcceptedMessage {
  readonly jobId: string;
  readonly prompt: string;
  readonly at: number;
}

export interface Agent extends AsyncDisposable {
  readonly url: string;
  readonly journal: readonly JournalEntry[];
  posts(): readonly JournalEntry[];
  gets(): readonly JournalEntry[];
  /** The messages that the API accepted, in order. */
  accepted(jobId?: string): readonly AcceptedMessage[];
  /** The IDs of the jobs that were created, in order. */
  created(): readonly string[];
}

const BASE: Omit<JobRecord, 'id'> = {
  status: 'completed',
  source: { repository: 'https://github.com/octo/agents', ref: 'main' },
  model: 'sonnet',
  prLink: null,
  createdAt: '2026-01-05T09:00:00.000Z',
  archivedAt: null,
};

/** The agent works for so long, by default a minute. */
export function turnTo(status = 'completed', ms = 60_000, more: JobPart = {}): TurnScript {
  const end = { afterMs: ms, set: { status, ...more } };
  return { steps: [{ afterMs: 0, set: { status: 'active' } }, end] };
}

/** The simulated API. The state of its jobs follows their scripts and the clock. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { project = 'project_1', apiKey = 'mint_test_key', clock = Date } = options;
  const { create = (n) => ({ id: `new-job-${n}` }) } = options;
  const created: string[] = [];
  const messages: AcceptedMessage[] = [];
  const messagesTo = new Map<string, AcceptedMessage[]>(options.jobs.map(({ id }) => [id, []]));
  const counts = { GET: 0, POST: 0 };

  function accepted(jobId?: string): readonly AcceptedMessage[] {
    return [...(jobId === undefined ? messages : (messagesTo.get(jobId) ?? []))];
  }

  function accept(job: JobScript, request: JournalEntry): void {
    const prompt = readPrompt(request.body) ?? request.body;
    const message = { jobId: job.id, prompt, at: clock.now() };
    messages.push(message);
    messagesTo.get(job.id)?.push(message);
  }

  /** The remaining steps of an earlier turn still happen. */
  function recordOf(job: JobScript): object {
    const now = clock.now();
    const due = accepted(job.id)
      .flatMap(({ at }, index) =>
        turnOf(job, index).steps.map(({ afterMs, set }) => ({ at: at + afterMs, set })),
      )
      .filter(({ at }) => at <= now)
      .sort((one, other) => one.at - other.at);
    return Object.assign({ id: job.id, ...BASE }, job.base, ...due.map(({ set }) => set));
  }

  const creation = `POST ${SERVICE.create(encodeURIComponent(project))}`;
  const jobAt = new Map(options.jobs.flatMap(requestsTo));

  /** The requests of a job, with the job. */
  function requestsTo(job: JobScript): readonly (readonly [string, JobScript])[] {
    const of = [encodeURIComponent(project), encodeURIComponent(job.id)] as const;
    return [
      [`GET ${SERVICE.poll(...of)}`, job],
      [`POST ${SERVICE.send(...of)}`, job],
    ];
  }

  function createJob(): JobScript {
    const job = create(created.length + 1);
    created.push(job.id);
    messagesTo.set(job.id, []);
    for (const [request, of] of requestsTo(job)) jobAt.set(request, of);
    return job;
  }

  function post(find: () => JobScript | undefined, request: JournalEntry): Answer {
    if (!isAuthorized(request)) return refusal(401, 'Invalid API key');
    if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
      return refusal(400, 'Content-Type must be application/json');
    }
    if (!readPrompt(request.body)) return refusal(400, 'prompt must be a non-empty string');
    const job = find();
    if (job === undefined) return refusal(404, 'Job not found');
    accept(job, request);
    return { status: isCreation(request) ? 201 : 200, body: recordOf(job) };
  }

  const nameOfRequest = ({ method, path }: JournalEntry): string => `${method} ${path}`;
  const isCreation = (request: JournalEntry): boolean => nameOfRequest(request) === creation;
  const isAuthorized = ({ headers }: JournalEntry): boolean =>
    headers[SERVICE.keyHeader] === SERVICE.keyValue(apiKey);

  async function respond(request: JournalEntry): Promise<Reply> {
    if (request.method === 'POST') {
      const find = () => (isCreation(request) ? createJob() : jobAt.get(nameOfRequest(request)));
      counts.POST += 1;
      const scripted = await options.onPost?.(counts.POST, request);
      if (scripted === undefined) return post(find, request);
      const job = isAccepted(scripted) ? find() : undefined;
      if (job !== undefined) accept(job, request);
      return scripted;
    }
    if (request.method !== 'GET') return refusal(404, 'Not found');
    counts.GET += 1;
    const scripted = await options.onGet?.(counts.GET, request);
    if (scripted !== undefined) return scripted;
    if (!isAuthorized(request)) return refusal(401, 'Invalid API key');
    const job = jobAt.get(nameOfRequest(request));
    return job === undefined ? refusal(404, 'Job not found') : { body: recordOf(job) };
  }

  const site = await serve(clock, respond);
  return {
    url: site.origin,
    journal: site.journal,
    posts: () => site.journal.filter(({ method }) => method === 'POST'),
    gets: () => site.journal.filter(({ method }) => method === 'GET'),
    accepted,
    created: () => created,
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

function turnOf({ turns = [] }: JobScript, index: number): TurnScript {
  return turns[index] ?? turns.at(-1) ?? turnTo();
}

function isAccepted(reply: PostReply): boolean {
  if (reply.accept !== undefined || 'fault' in reply) return reply.accept === true;
  const { status = 200 } = reply;
  return status >= 200 && status < 300;
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
