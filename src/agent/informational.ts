import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** Published by undici for every connection that it opens, with the socket. */
const CONNECTED = 'undici:client:connected';
/** Bytes of an informational answer; it has no more than a few headers. */
const LONGEST_HEAD = 4096;
/** 100, 102 and all others but 101, which switches the protocol and so ends the answer. */
const INFORMATIONAL = /^HTTP\/1\.1 1(?!01)\d\d/;
const LONGEST_BEGINNING = 'HTTP/1.1 1xx'.length;

/**
 * Makes undici ignore informational answers, as a client must even if it did not ask for them
 * (RFC 9110, 15.2). It ends the connection at an unasked `100 Continue`, so that a message that was
 * taken would look lost. Returns how to stop.
 */
export function ignoreInformational(): () => void {
  const onConnected = (message: unknown): void => {
    dropInformational((message as { readonly socket: Socket }).socket);
  };
  subscribe(CONNECTED, onConnected);
  return () => unsubscribe(CONNECTED, onConnected);
}

function dropInformational(socket: Socket): void {
  const read = socket.read.bind(socket);
  let held: Buffer = Buffer.alloc(0);
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk: Buffer | null = read(size);
      if (chunk === null) return null;
      held = withoutInformational(held.length === 0 ? chunk : Buffer.concat([held, chunk]));
      if (held.length === 0 || mayBecomeInformational(held)) continue;
      const passed = held;
      held = Buffer.alloc(0);
      return passed;
    }
  };
}

function withoutInformational(bytes: Buffer): Buffer {
  let rest = bytes;
  while (INFORMATIONAL.test(beginningOf(rest))) {
    const end = rest.subarray(0, LONGEST_HEAD).indexOf('\r\n\r\n');
    if (end < 0) return rest;
    rest = rest.subarray(end + 4);
  }
  return rest;
}

/** Whether these bytes are the beginning of such an answer, whose end has not come yet. */
function mayBecomeInformational(bytes: Buffer): boolean {
  if (bytes.length >= LONGEST_HEAD) return false;
  const beginning = beginningOf(bytes);
  return beginning.length < LONGEST_BEGINNING
    ? INFORMATIONAL.test(beginning + 'HTTP/1.1 100'.slice(beginning.length))
    : INFORMATIONAL.test(beginning);
}

function beginningOf(bytes: Buffer): string {
  return bytes.toString('latin1', 0, LONGEST_BEGINNING);
}
