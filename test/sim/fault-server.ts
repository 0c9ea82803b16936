import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pass } from 'node:timers/promises';
import { createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls';
import { generate } from 'selfsigned';
import { listen } from './listen.ts';

type Extensions = NonNullable<NonNullable<Parameters<typeof generate>[1]>['extensions']>;

const DAY_MS = 86_400_000;

/** What happens to the connection then: a reset, a normal close, silence, or the next request. */
export type Ending = 'reset' | 'end' | 'hang' | 'keep';

type Bytes = string | Buffer;

/** What the server does after a complete request, or after the first bytes of one. */
export interface Behaviour {
  /** Written unchanged. */
  readonly bytes: Bytes;
  /** Written up to so many times then, until the client closes the connection. */
  readonly flood?: { readonly chunk: Bytes; readonly times: number };
  readonly ending?: Ending;
}

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

const HEAD_END = '\r\n\r\n';

/** Raw sockets on localhost that do what no HTTP library would do. */
export async function startFaultServer(options: FaultServerOptions = {}) {
  const { onRequest = () => answer(whole(404, { error: 'Not found' })) } = options;
  const secureContext = options.tls === undefined ? null : createSecureContext(options.tls);
  const journal: FaultRequest[] = [];
  let connections = 0;
  let written = 0;

  function take(raw: Socket): void {
    connections += 1;
    const connection = connections;
    raw.on('close', () => {
      written += raw.bytesWritten;
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

    function read(chunk: Buffer): void {
      received = Buffer.concat([received, chunk]);
      const early = options.onFirstBytes?.(connection);
      if (early !== undefined) {
        socket.off('data', read).pause();
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
  const { port, sockets, ...listening } = await listen(server);
  return {
    ...{ port, journal: journal as readonly FaultRequest[], ...listening },
    /** `https` with TLS. The host is always 127.0.0.1. */
    origin: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    connections: () => connections,
    /** How many bytes were written to the clients. */
    written: () => sockets.values().reduce((sum, one) => sum + one.bytesWritten, written),
    posts: () => journal.filter(({ method }) => method === 'POST'),
  };
}

export type FaultServer = Awaited<ReturnType<typeof startFaultServer>>;

async function behave(
  socket: Socket,
  raw: Socket,
  { bytes, flood, ending = 'keep' }: Behaviour,
): Promise<void> {
  await write(socket, bytes);
  for (let n = 0; n < (flood?.times ?? 0) && !raw.destroyed; n++) {
    await write(socket, flood?.chunk ?? '');
  }
  // A reset discards what is not yet sent and, on Windows, what is not yet read.
  if (ending === 'reset') await pass(200);
  finish(socket, raw, ending);
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
  if (ending !== 'end') return;
  socket.end();
  // Unread bytes would turn the close into a reset.
  socket.resume();
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
  return { bytes, ending };
}

/** A private CA. A step trusts it if its file is in NODE_EXTRA_CA_CERTS. */
export async function startAuthority() {
  const folder = mkdtempSync(join(tmpdir(), 'authority-'));
  const file = join(folder, 'authority.pem');
  const own = await makeCertificate('Test authority', [
    { name: 'basicConstraints', cA: true, critical: true },
    { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
  ]);
  writeFileSync(file, own.cert);
  return {
    file,
    /** For 127.0.0.1 and this name. */
    issue(host = 'localhost'): Promise<SecureContextOptions> {
      return makeCertificate(
        host,
        [
          { name: 'basicConstraints', cA: false },
          { name: 'keyUsage', digitalSignature: true, keyEncipherment: true },
          {
            name: 'subjectAltName',
            altNames: [
              { type: 7, ip: '127.0.0.1' },
              { type: 2, value: host },
            ],
          },
        ],
        own,
      );
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

type Certificate = { readonly key: string; readonly cert: string };

/** Valid since yesterday, and signed by an authority or by itself. */
async function makeCertificate(name: string, extensions: Extensions, ca?: Certificate) {
  const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
    ...{ keyType: 'ec', algorithm: 'sha256', notBeforeDate: new Date(Date.now() - DAY_MS) },
    ...{ extensions, ...(ca && { ca }) },
  });
  return { key, cert };
}
