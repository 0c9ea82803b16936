// A TCP relay between a proxy and the API. Its faults look to the proxy like an API that is slow,
// crashes or restarts. The API behind it keeps what it accepted, as its database would.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as pass } from 'node:timers/promises';

/** What happens to each message. By default, the relay passes on the message and the response. */
export interface Fault {
  /** Whether the message reaches the API. Default: true. */
  readonly arrives?: boolean;
  /** The delay of the response. */
  readonly delayMs?: number;
  /** How the connection ends instead of the response, or in the middle of it. */
  readonly ends?: 'reset' | 'closed' | 'in the head' | 'in the body';
  /** Whether this happens only on a connection that was used before. */
  readonly onlyReused?: boolean;
  /** How long the relay then refuses connections. After that, it has no more faults. */
  readonly downMs?: number;
}

export interface Relay extends AsyncDisposable {
  readonly port: number;
  /** Closes all connections, and refuses new ones for `ms` milliseconds. */
  down(ms: number): Promise<void>;
}

/** How many bytes of the response are sent, or if negative, left out. */
const CUTS = { 'in the head': 40, 'in the body': -10 };

export async function startRelay(apiPort: number, fault: Fault): Promise<Relay> {
  const sockets = new Set<Socket>();
  let isFaultOver = false;
  let restart: NodeJS.Timeout | undefined;
  const server = createServer(relay);

  function relay(proxy: Socket): void {
    const api = connect(apiPort, '127.0.0.1');
    let uses = 0;
    let isFaulty = false;
    track(proxy, api);
    track(api, proxy);
    proxy.on('data', (bytes) => {
      const [, method] = /^([A-Z]+) \//.exec(bytes.toString('latin1')) ?? [];
      if (method !== undefined) uses += 1;
      if (method === 'POST' && !isFaultOver && (!fault.onlyReused || uses > 1)) isFaulty = true;
      if (isFaulty && fault.arrives === false) void fail(proxy);
      else api.write(bytes);
    });
    api.on('data', async (bytes) => {
      if (!isFaulty) {
        proxy.write(bytes);
        return;
      }
      await pass(fault.delayMs ?? 0);
      if (fault.ends === undefined) proxy.write(bytes);
      else await fail(proxy, bytes);
    });
  }

  function track(socket: Socket, other: Socket): void {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  }

  async function fail(proxy: Socket, response?: Buffer): Promise<void> {
    const { ends = 'closed' } = fault;
    if (ends === 'reset') proxy.resetAndDestroy();
    else if (ends === 'closed' || response === undefined) proxy.destroy();
    else proxy.write(response.subarray(0, CUTS[ends]), () => proxy.destroy());
    if (fault.downMs !== undefined) await down(fault.downMs);
  }

  async function down(ms: number): Promise<void> {
    isFaultOver = true;
    await close();
    clearTimeout(restart);
    restart = setTimeout(() => server.listen(port, '127.0.0.1'), ms);
  }

  async function close(): Promise<void> {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    down,
    async [Symbol.asyncDispose]() {
      clearTimeout(restart);
      await close();
    },
  };
}
