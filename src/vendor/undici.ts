// The part of undici that is used. With all of it, the archive that each job downloads has 64 KB
// more, and a run takes 15 % more CPU time. The build leaves out HTTP/2, which HTTP1_ONLY forbids.

import type * as undici from 'undici';
import connect from 'undici/lib/api/api-connect.js';
import request from 'undici/lib/api/api-request.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import Agent from 'undici/lib/dispatcher/env-http-proxy-agent.js';

export type { Dispatcher } from 'undici';
export const EnvHttpProxyAgent: typeof undici.EnvHttpProxyAgent = Agent;

const { prototype }: typeof undici.Dispatcher = Dispatcher;
// The index of undici does this for all such methods. An agent calls `connect` for a tunnel.
Object.assign(prototype, { connect, request });

/** For agents: over HTTP/2, undici silently repeats a POST that ends with REFUSED_STREAM. */
export const HTTP1_ONLY = { allowH2: false, proxyTls: { allowH2: false } } as const;
