import { afterAll, expect } from 'vitest';
import {
  answer,
  type FaultRequest,
  startAuthority,
  startFaultServer,
  whole,
} from '../sim/fault-server.ts';
import { type ProxyOptions, type ProxyReply, type ProxyServer, startProxy } from '../sim/proxy.ts';
import {
  type Expected,
  type Fault,
  IDLE,
  NOT_SENT,
  RECORD,
  SENT,
  type SetUp,
  SILENT,
  testFaults,
} from './faults.ts';

const PASSWORD = 'proxy canary%5d1f/+';
const CREDENTIALS = `user:${encodeURIComponent(PASSWORD)}@`;
const TRUSTED = await startAuthority();
afterAll(() => TRUSTED[Symbol.dispose]());

type Env = Readonly<Record<string, string>>;
interface ProxyFault extends Fault {
  /** The variables of the step. Default: HTTP_PROXY. */
  readonly env?: (proxy: ProxyServer) => Env;
  /** How many connections the proxy is asked for. */
  readonly connects?: number;
}

/** A step that uses a proxy. The poll and the message have a connection each. */
function withProxy(options: ProxyOptions, more: ProxyFault = {}): SetUp {
  return async (use) => {
    const proxy = await use(startProxy(options));
    const { env = httpProxy('') } = more;
    return {
      ...more,
      secrets: [PASSWORD],
      step: { env: env(proxy) },
      also() {
        expect(proxy.journal.filter(({ method }) => method !== 'CONNECT')).toEqual([]);
        if (more.connects !== undefined) expect(proxy.journal).toHaveLength(more.connects);
        expect(JSON.stringify(proxy.journal)).not.toContain('mint_canary');
      },
    };
  };
}

/** A step with a base URL that only the proxy can resolve. */
function resolvedByProxy(tls: () => Promise<object>, env: Env = {}, onMessage = answer('')): SetUp {
  return async (use) => {
    const onRequest = ({ method }: FaultRequest) => (method === 'GET' ? IDLE : onMessage);
    const server = await use(startFaultServer({ onRequest, tls: await tls() }));
    const onConnect = () => ({ kind: 'tunnel', port: server.port }) as const;
    const proxy = await use(startProxy({ onConnect }));
    return {
      built: true,
      server,
      with: { 'base-url': 'https://agent.invalid' },
      step: { env: { HTTPS_PROXY: `http://${proxy.host}`, ...env } },
      also: () => expect(proxy.journal[0]?.target).toBe('agent.invalid:443'),
    };
  };
}

function httpProxy(before: string): (proxy: ProxyServer) => Env {
  return ({ host }) => ({ HTTP_PROXY: `http://${before}${host}` });
}

/** After a single poll. */
const once = (error: RegExp): Expected => ({ ...NOT_SENT, attempts: 0, error });
const unreachable = (why: RegExp): Expected =>
  once(new RegExp(`^Job job-1: 3 polls failed in a row\\. Could not reach .* ${why.source}`));

const trust = { NODE_EXTRA_CA_CERTS: TRUSTED.file };
const issue = () => TRUSTED.issue('agent.invalid');
const untrusted = once(/“agent\.invalid”: .* does not match certificate/);
const accepted = answer(whole(200, RECORD));
const named = { credentials: `user:${PASSWORD}` };
const onConnect = (n: number): ProxyReply =>
  n === 2 ? { kind: 'answer', status: 502 } : { kind: 'tunnel' };
const other = resolvedByProxy(() => TRUSTED.issue(), trust);
testFaults('uses a proxy:', [
  ['with credentials', withProxy(named, { env: httpProxy(CREDENTIALS), connects: 2 }), SENT],
  ['again after 502', withProxy({ onConnect }, { connects: 3 }), { ...SENT, attempts: 2 }],
  ['lets the proxy resolve the name of the API', resolvedByProxy(issue, trust, accepted), SENT],
  ['refuses the certificate of another host', other, untrusted],
]);

const refusing: ProxyOptions = { onConnect: () => ({ kind: 'answer', status: 502 }) };
const hanging: ProxyOptions = { onConnect: () => ({ kind: 'hang' }) };
const secret = { credentials: `user:${PASSWORD}` };
const late = { ...unreachable(/no connection within 10 s/), atLeastMs: 30_000 };
testFaults('sends nothing if the proxy', [
  ['answers 502', withProxy(refusing, { connects: 3 }), unreachable(/the proxy refused .*502/)],
  ['hangs', withProxy(hanging, { ...SILENT, connects: 3 }), { ...late, withinMs: 36_000 }],
  ['requires credentials', withProxy(secret, { connects: 1 }), once(/other credentials \(407\)/)],
]);
