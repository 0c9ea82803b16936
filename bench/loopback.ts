// A service on loopback, in a process of its own so that it does not share the event loop with
// the process that measures. It tells its parent its port, and then of each request when its first byte
// came, by the clock that all processes of a machine share.

import { createServer } from 'node:net';

const LATENCY_MS = Number(process.argv[2] ?? 0);
const ANSWER = JSON.stringify({ id: 'job-1', status: 'active' });

const server = createServer((socket) => {
  let request = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    const firstByte = String(process.hrtime.bigint());
    if (request === '') process.send?.({ firstByte, method: /^[A-Z]*/.exec(String(chunk))?.[0] });
    request += chunk;
    const end = request.indexOf('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(request)?.[1]);
    if (end < 0 || request.length < end + 4 + length) return;
    const answer =
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n' +
      `content-length: ${ANSWER.length}\r\n\r\n${ANSWER}`;
    if (LATENCY_MS === 0) socket.end(answer);
    else setTimeout(() => socket.end(answer), LATENCY_MS);
  });
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 });
});
process.on('disconnect', () => process.exit());
