// A server on localhost instead of the API, in a separate process so that it does not share the event loop
// of the measuring process. It sends its port to its parent, and then the arrival time of the first byte of
// each request, by the clock that all processes of a machine share.

import { createServer } from 'node:net';

const LATENCY_MS = Number(process.argv[2] ?? 0);
const BODY = JSON.stringify({ id: 'job-1', status: 'active' });

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
    const response =
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n' +
      `content-length: ${BODY.length}\r\n\r\n${BODY}`;
    if (LATENCY_MS === 0) socket.end(response);
    else setTimeout(() => socket.end(response), LATENCY_MS);
  });
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 });
});
process.on('disconnect', () => process.exit());
