// A server on localhost instead of the API, in a process of its own. It sends its port to its parent,
// and then the arrival time of the first byte of each message, by the clock that processes share.

import { createServer } from 'node:net';

const BODY = JSON.stringify({ id: 'job-1', status: 'completed' });

const server = createServer((socket) => {
  let request = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    const arrived = process.hrtime.bigint();
    if (request === '' && chunk.toString().startsWith('POST')) {
      process.send?.({ firstByte: String(arrived) });
    }
    request += chunk;
    const end = request.indexOf('\r\n\r\n');
    const [, length = 0] = /content-length: (\d+)/i.exec(request) ?? [];
    if (end < 0 || request.length < end + 4 + Number(length)) return;
    socket.end(
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n' +
        `content-length: ${BODY.length}\r\n\r\n${BODY}`,
    );
  });
});

server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: Object(server.address()).port });
});
process.on('disconnect', () => process.exit());
