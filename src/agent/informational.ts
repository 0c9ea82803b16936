import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** Published by undici for every connection that it opens, with the socket. */
const CONNECTED = 'undici:client:connected';
/** Bytes of an informational answer; it has no more than a few headers. */
const LONGEST_HEAD = 4096;
const BEGINNING = 'HTTP/1.1 100';

/**
 * Makes undici ignore `100 Continue`, as a client must even if it did not ask for it (RFC 9110,
 * 15.2). It ignores the other informational answers, but ends the connection at this one, so that
 * a message that was taken would look lost. Returns how to stop.
 */
export function ignoreContinue(): () => void {
  const onConnected = (message: unknown): void => {
    dropContinue((message as { readonly socket: Socket }).socket);
  };
  subscribe(CONNECTED, onConnected);
  return () => unsubscribe(CONNECTED, onConnected);
}

function dropContinue(socket: Socket): void {
  const read = socket.read.bind(socket);
  let held: Buffer = Buffer.alloc(0);
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk: Buffer | null = read(size);
      if (chunk === null) return null;
      held = withoutContinue(held.length === 0 ? chunk : Buffer.concat([held, chunk]));
      if (held.length === 0 || mayBecomeContinue(held)) continue;
      const passed = held;
      held = Buffer.alloc(0);
      return passed;
    }
  };
}

function withoutContinue(bytes: Buffer): Buffer {
  let rest = bytes;
  while (rest.toString('latin1', 0, BEGINNING.length) === BEGINNING) {
    const end = rest.subarray(0, LONGEST_HEAD).indexOf('\r\n\r\n');
    if (end < 0) return rest;
    rest = rest.subarray(end + 4);
  }
  return rest;
}

/** Whether these bytes are the beginning of such an answer, whose end has not come yet. */
function mayBecomeContinue(bytes: Buffer): boolean {
  if (bytes.length >= LONGEST_HEAD) return false;
  const beginning = bytes.toString('latin1', 0, BEGINNING.length);
  return BEGINNING.startsWith(beginning);
}
