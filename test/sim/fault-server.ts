import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pass } from 'node:timers/promises';
import { createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls';
import { generate } from 'selfsigned';

/** What happens to the connection then: a reset, a normal close, silence, or the next request. */
export type Ending = 'reset' | 'end' | 'hang' | 'keep';

type Bytes = string | Buffer;

/** What the server does after a complete request, or after the first bytes of one. */
export type Behaviour =
  /** Written unchanged. */
  | { readonly kind: 'answer'; readonly bytes: Bytes; readonly ending?: Ending }
  | {
      readonly kind: 'flood';
      readonly bytes: Bytes;
      /** Written up to `times` times, until the client closes the connection. */
      readonly chunk: Bytes;
      readonly times: number;
      readonly ending?: Ending;
    };

/** A complete request. Incomplete requests are not recorded. */
export interface FaultRequest {
  /** Counts the requests of its method from 1. */
  readonly n: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly connection: number;
}

export interface FaultServerOptions {
  /** Called for the n-th connection, from 1, before TLS begins and before anything is read. */
  readonly onConnection?: (n: number) => Exclude<Ending, 'keep'> | undefined;
  /** Called after the first bytes of a request, of which the rest is then not read. */
  readonly onFirstBytes?: (connection: number) => Behaviour | undefined;
  readonly onRequest?: (request: FaultRequest) => Behaviour;
  readonly tls?: SecureContextOptions;
}

export interface FaultServer extends AsyncDisposable {
  readonly port: number;
  /** `https` with TLS. The host is always 127.0.0.1. */
  readonly origin: string;
  readonly journal: readonly FaultRequest[];
  readonly connections: number;
  /** Bytes that were written to the clients. */
  readonly written: number;
  posts(): readonly FaultRequest[];
}

const HEAD_END = '\r\n\r\n';

/** Raw sockets on localhost that do what no HTTP library would do. */
export async function startFaultServer(options: FaultServerOptions = {}): Promise<FaultServer> {
  const { onRequest = () => answer(whole(404, { error: 'Not found' })) } = options;
  const secureContext = options.tls === undefined ? null : createSecureContext(options.tls);
  const journal: FaultRequest[] = [];
  const sockets = new Set<Socket>();
  const closedSockets: number[] = [];
  let connections = 0;

  function take(raw: Socket): void {
    connections += 1;
    const connection = connections;
    sockets.add(raw);
    raw.on('error', () => {});
    raw.on('close', () => {
      sockets.delete(raw);
      closedSockets.push(raw.bytesWritten);
    });
    const first = options.onConnection?.(connection);
    if (first !== undefined) {
      finish(raw, raw, first);
      return;
    }
    if (secureContext === null) {
      converse(raw, raw, connection);
      return;
    }
    // A client that also speaks HTTP/2 would choose it, and not understand this server.
    const ALPNProtocols = ['h2', 'http/1.1'];
    const secure = new TLSSocket(raw, { isServer: true, secureContext, ALPNProtocols });
    secure.on('error', () => raw.destroy());
    converse(secure, raw, connection);
  }

  function converse(socket: Socket, raw: Socket, connection: number): void {
    let received = Buffer.alloc(0);
    let deaf = false;

    function read(chunk: Buffer): void {
      if (deaf) return;
      received = Buffer.concat([received, chunk]);
      const early = options.onFirstBytes?.(connection);
      if (early !== undefined) {
        deaf = true;
        socket.pause();
        void behave(socket, raw, early);
        return;
      }
      const parsed = parseRequest(received);
      if (parsed === null) return;
      received = received.subarray(parsed.bytes);
      const { request } = parsed;
      const n = journal.filter(({ method }) => method === request.method).length + 1;
      const entry = { ...request, n, connection };
      journal.push(entry);
      void behave(socket, raw, onRequest(entry));
    }

    socket.on('data', read);
    socket.on('end', () => socket.end());
    socket.resume();
  }

  const server = createServer({ pauseOnConnect: options.onConnection !== undefined }, take);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    journal,
    get connections() {
      return connections;
    },
    get written() {
      return [...closedSockets, ...[...sockets].map((socket) => socket.bytesWritten)].reduce(
        (sum, bytes) => sum + bytes,
        0,
      );
    },
    posts: () => journal.filter(({ method }) => method === 'POST'),
    [Symbol.asyncDispose]: () => shut(server, sockets),
  };
}

async function behave(socket: Socket, raw: Socket, behaviour: Behaviour): Promise<void> {
  await write(socket, behaviour.bytes);
  if (behaviour.kind === 'flood') {
    for (let i = 0; i < behaviour.times && !raw.destroyed; i++)
      await write(socket, behaviour.chunk);
  }
  // A reset discards what is not yet sent and, on Windows, what is not yet read.
  if (behaviour.ending === 'reset') await pass(200);
  finish(socket, raw, behaviour.ending ?? 'keep');
}

/** Resolves when the system has the bytes or the connection is closed. */
function write(socket: Socket, bytes: Bytes): Promise<void> {
  if (socket.destroyed || bytes.length === 0) return Promise.resolve();
  return new Promise((resolve) => {
    socket.once('close', resolve);
    socket.write(bytes, () => {
      socket.off('close', resolve);
      resolve();
    });
  });
}

function finish(socket: Socket, raw: Socket, ending: Ending): void {
  if (ending === 'reset') raw.resetAndDestroy();
  if (ending === 'end') {
    socket.end();
    // Unread bytes would turn the close into a reset.
    socket.resume();
  }
}

function parseRequest(received: Buffer) {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const [start = '', ...lines] = received.subarray(0, headEnd).toString('latin1').split('\r\n');
  const [method = '', path = ''] = start.split(' ');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const bodyStart = headEnd + HEAD_END.length;
  const bytes = bodyStart + Number(headers['content-length'] ?? 0);
  if (received.length < bytes) return null;
  const body = received.subarray(bodyStart, bytes).toString('utf8');
  return { bytes, request: { method, path, headers, body } };
}

/** The head of a response, to which a body can be appended. */
export function head(
  status: number,
  headers: Readonly<Record<string, string | number | readonly string[]>> = {},
): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => `${name}: ${one}\r\n`),
  );
  return `HTTP/1.1 ${status} Whatever\r\n${lines.join('')}\r\n`;
}

/** A valid response. Objects are sent as JSON. */
export function whole(
  status: number,
  body: Bytes | object,
  headers: Parameters<typeof head>[1] = { 'content-type': 'application/json' },
): Buffer {
  const asIs = typeof body === 'string' || Buffer.isBuffer(body);
  const bytes = Buffer.from(asIs ? body : JSON.stringify(body));
  const start = head(status, { ...headers, 'content-length': bytes.length });
  return Buffer.concat([Buffer.from(start), bytes]);
}

export function answer(bytes: Bytes, ending: Ending = 'keep'): Behaviour {
  return { kind: 'answer', bytes, ending };
}

export interface Authority extends Disposable {
  /** For NODE_EXTRA_CA_CERTS. */
  readonly file: string;
  /** For these names and IPv4 addresses. */
  issue(...hosts: readonly string[]): Promise<SecureContextOptions>;
}

const DAY_MS = 86_400_000;

/** A private CA. A step trusts it if its file is in NODE_EXTRA_CA_CERTS. */
export async function startAuthority(): Promise<Authority> {
  const folder = mkdtempSync(join(tmpdir(), 'authority-'));
  const file = join(folder, 'authority.pem');
  const own = await generate([{ name: 'commonName', value: 'Test authority' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(Date.now() - 30 * DAY_MS),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  writeFileSync(file, own.cert);
  return {
    file,
    issue: (...hosts) => makeCertificate(hosts, { key: own.private, cert: own.cert }),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function makeCertificate(
  given: readonly string[],
  ca: { readonly key: string; readonly cert: string },
): Promise<SecureContextOptions> {
  const hosts = given.length > 0 ? given : ['127.0.0.1', 'localhost'];
  const made = await generate([{ name: 'commonName', value: hosts[0] ?? '' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(Date.now() - 20 * DAY_MS),
    notAfterDate: new Date(Date.now() + 365 * DAY_MS),
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'keyUsage', digitalSignature: true, keyEncipherment: true },
      {
        name: 'subjectAltName',
        altNames: hosts.map((host) =>
          /^[\d.]+$/.test(host) ? { type: 7, ip: host } : { type: 2, value: host },
        ),
      },
    ],
    ca,
  });
  return { key: made.private, cert: made.cert };
}

async function shut(server: Server, sockets: Iterable<Socket>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const socket of sockets) socket.destroy();
  await closed;
}
