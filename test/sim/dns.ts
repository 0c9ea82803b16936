// A preload that replaces the DNS resolver: `--import <this file>?<host>=<answers>`. Answers are
// separated by `;`, one per lookup, and the last one repeats. An answer is an error code, or
// addresses separated by `,`. Other hosts are resolved as usual.

import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

type Found = (error: Error | null, addresses?: unknown, family?: number) => void;

const answers = new Map(
  [...new URL(import.meta.url).searchParams].map(([host, text]) => [host, text.split(';')]),
);
const genuine = dns.lookup;

function lookup(host: string, given: unknown, then?: Found): void {
  const found = (typeof given === 'function' ? given : then) as Found;
  const options = typeof given === 'object' && given !== null ? given : {};
  const script = answers.get(host);
  if (script === undefined) {
    Reflect.apply(genuine, dns, typeof given === 'function' ? [host, given] : [host, given, then]);
    return;
  }
  const next = (script.length > 1 ? script.shift() : script[0]) ?? '';
  process.nextTick(() => {
    if (/^E/.test(next)) {
      const text = `getaddrinfo ${next} ${host}`;
      found(Object.assign(new Error(text), { code: next, syscall: 'getaddrinfo', hostname: host }));
      return;
    }
    const familyOf = (address: string): number => (address.includes(':') ? 6 : 4);
    const list = next.split(',').map((address) => ({ address, family: familyOf(address) }));
    if ('all' in options && options.all === true) found(null, list);
    else found(null, list[0]?.address, list[0]?.family);
  });
}

Object.assign(dns, { lookup });
syncBuiltinESMExports();
