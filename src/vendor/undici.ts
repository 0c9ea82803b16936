// The part of undici that is in use, and all that has to be set up for it. The public import would be
//   export { Dispatcher, EnvHttpProxyAgent } from 'undici';
// which loads all of undici in each run: dist/index.js has 701 instead of 470 KB, and the first byte
// of the message leaves 12 % later (134 instead of 120 ms; a bare script with fetch takes 94 ms).
// The archive would not grow: GitHub's client, a file of its own, already brings all of undici.

import connect from 'undici/lib/api/api-connect.js';
import request from 'undici/lib/api/api-request.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js';
import { setMiloEnabled } from 'undici/lib/dispatcher/parser-h1.js';

export { Dispatcher, EnvHttpProxyAgent };

// As the index does with all such methods. An agent itself calls `connect` for a tunnel.
Object.assign(Dispatcher.prototype, { connect, request });

/** For an agent: over HTTP/2 undici silently repeats a POST that is answered with REFUSED_STREAM. */
export const HTTP1_ONLY = { allowH2: false, proxyTls: { allowH2: false } } as const;

/**
 * Makes undici use its one proven parser, whatever UNDICI_USE_MILO says, in requests of others too:
 * the experimental one, a sixth of all that a runner would download, is left out of dist/.
 */
export function disableMilo(): void {
  setMiloEnabled(false);
}

/**
 * For the engine: the work after which it would compile the parser, which is WebAssembly, once more;
 * a process that ends would wait for that. It is more than any run has.
 */
export const DEFER_TIER_UP = '--wasm-tiering-budget=1000000000';
