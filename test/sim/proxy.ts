import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { listen } from './listen.ts';

export type ProxyReply =
  /** To the requested host, or instead to `port` of localhost. */
  | { readonly kind: 'tunnel'; readonly port?: number }
  | { readonly kind: 'answer'; readonly status: number }
  | { readonly kind: 'hang' };

export interface ProxyOptions {
  /** The `user:password` that the client must send. */
  readonly credentials?: string;
  /** For the n-th CONNECT, from 1. Default: a tunnel. */
  readonly onConnect?: (n: number, target: string) => ProxyReply;
}

interface ProxyEntry {
  /** With anything except CONNECT, the proxy would see the request to the target. */
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A CONNECT proxy on localhost. */
export async function startProxy(options: ProxyOptions = {}) {
  const journal: ProxyEntry[] = [];

  function replyTo({ target, headers }: ProxyEntry): ProxyReply {
    const expected = Buffer.from(options.credentials ?? '').toString('base64');
    const sent = headers['proxy-authorization'] ?? '';
    if (expected !== '' && sent !== `Basic ${expected}`) return { kind: 'answer', status: 407 };
    return options.onConnect?.(journal.length, target) ?? { kind: 'tunnel' };
  }

  const server = createServer((request, response) => {
    journal.push(entryOf(request.method, request.url, request.headers));
    response.writeHead(501).end();
  });
  server.on('connect', (request, socket: Socket) => {
    const entry = entryOf(request.method, request.url, request.headers);
    journal.push(entry);
    const reply = replyTo(entry);
    if (reply.kind === 'tunnel') tunnel(socket, entry.target, reply.port);
    if (reply.kind !== 'answer') return;
    const challenge = reply.status === 407 ? 'Proxy-Authenticate: Basic realm="proxy"\r\n' : '';
    socket.end(`HTTP/1.1 ${reply.status} Whatever\r\n${challenge}Content-Length: 0\r\n\r\n`);
  });

  function tunnel(socket: Socket, target: string, port: number | undefined): void {
    const [host = '', targetPort = ''] = target.split(/:(?=\d+$)/);
    const other = connect(port ?? Number(targetPort), port === undefined ? host : '127.0.0.1');
    other.on('connect', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(other).pipe(socket);
    });
    other.on('error', () => other.destroy()).on('close', () => socket.destroy());
    socket.on('close', () => other.destroy());
  }

  const { port, ...listening } = await listen(server);
  return { ...listening, host: `127.0.0.1:${port}`, journal: journal as readonly ProxyEntry[] };
}

export type ProxyServer = Awaited<ReturnType<typeof startProxy>>;

function entryOf(
  method = '',
  target = '',
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): ProxyEntry {
  const plain = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  return { method, target, headers: Object.fromEntries(plain) };
}
