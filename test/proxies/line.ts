// The way from a proxy to the service. What goes wrong on it looks to the proxy like a service that
// is slow, dies or restarts; the service behind it remembers what it took, as its database would.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as pass } from 'node:timers/promises';

/** What happens to each message on the way. By default it passes, and so does its answer. */
export interface Fault {
  /** Whether the service gets the message at all. Default: yes. */
  readonly taken?: boolean;
  /** How long the answer takes. */
  readonly lateMs?: number;
  /** How the connection ends in place of the answer, or in the middle of it. */
  readonly ends?: 'reset' | 'closed' | 'in the head' | 'in the body';
  /** Whether that happens only to a connection that has been used before. */
  readonly onlyKept?: boolean;
  /** How long no connection is taken afterwards; what comes then passes. */
  readonly downMs?: number;
}

export interface Line extends AsyncDisposable {
  readonly port: number;
  /** Ends all connections, and takes no other one for so long. */
  down(ms: number): Promise<void>;
}

/** Of an answer: from the start, or from its end. */
const CUTS = { 'in the head': 40, 'in the body': -10 };

export async function layLine(servicePort: number, fault: Fault): Promise<Line> {
  const sockets = new Set<Socket>();
  let isWell = false;
  let restart: NodeJS.Timeout | undefined;
  const server = createServer(join);

  function join(proxy: Socket): void {
    const service = connect(servicePort, '127.0.0.1');
    let uses = 0;
    let isStruck = false;
    hold(proxy, service);
    hold(service, proxy);
    proxy.on('data', (bytes) => {
      const [, method] = /^([A-Z]+) \//.exec(bytes.toString('latin1')) ?? [];
      if (method !== undefined) uses += 1;
      if (method === 'POST' && !isWell && (!fault.onlyKept || uses > 1)) isStruck = true;
      if (isStruck && fault.taken === false) void strike(proxy);
      else service.write(bytes);
    });
    service.on('data', async (bytes) => {
      if (!isStruck) {
        proxy.write(bytes);
        return;
      }
      await pass(fault.lateMs ?? 0);
      if (fault.ends === undefined) proxy.write(bytes);
      else await strike(proxy, bytes);
    });
  }

  function hold(socket: Socket, other: Socket): void {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  }

  async function strike(proxy: Socket, answer?: Buffer): Promise<void> {
    const { ends = 'closed' } = fault;
    if (ends === 'reset') proxy.resetAndDestroy();
    else if (ends === 'closed' || answer === undefined) proxy.destroy();
    else proxy.write(answer.subarray(0, CUTS[ends]), () => proxy.destroy());
    if (fault.downMs !== undefined) await down(fault.downMs);
  }

  async function down(ms: number): Promise<void> {
    isWell = true;
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
