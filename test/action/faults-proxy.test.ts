import { afterAll, describe, expect } from 'vitest';
import { answer, startAuthority, startFaultServer, whole } from '../sim/fault-server.ts';
import { type ProxyOptions, type ProxyReply, type ProxyServer, startProxy } from '../sim/proxy.ts';
import {
  COMPLETED,
  type Expected,
  type Fault,
  IDLE,
  NOT_SENT,
  RECORD,
  SENT,
  type SetUp,
  SILENT,
  testFaults,
  UNKNOWN,
} from './faults.ts';
import { KEY, resolver } from './scenario.ts';

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
        const requests = JSON.stringify(proxy.journal);
        expect(requests).not.toContain('mint_canary');
        expect(requests).not.toContain(Buffer.from(KEY).toString('base64').slice(0, 20));
      },
    };
  };
}

/** A step with a base URL that only the proxy can resolve. */
function resolvedByProxy(tls: () => Promise<object>, env: Env = {}, onMessage = answer('')): SetUp {
  return async (use) => {
    const server = await use(
      startFaultServer({
        onRequest: ({ method }) => (method === 'GET' ? IDLE : onMessage),
        tls: await tls(),
      }),
    );
    const proxy = await use(
      startProxy({ onConnect: () => ({ kind: 'tunnel', port: server.port }) }),
    );
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

const PROXY = '\\(proxy “127\\.0\\.0\\.1:\\d+”\\)';
/** After a single poll. */
const once = (error: RegExp): Expected => ({ ...NOT_SENT, attempts: 0, error });
const unreachable = (why: RegExp): Expected =>
  once(new RegExp(`^Job job-1: 3 polls failed in a row\\. Could not reach .* ${why.source}`));

describe('uses a proxy:', () => {
  const trust = { NODE_EXTRA_CA_CERTS: TRUSTED.file };
  const issue = () => TRUSTED.issue({ hosts: ['agent.invalid'] });
  const untrusted = once(new RegExp(`“agent\\.invalid” ${PROXY}: the certificate`));
  const accepted = answer(whole(200, RECORD));
  const failing = (...failed: readonly number[]): ProxyOptions => ({
    onConnect: (n) => (failed.includes(n) ? { kind: 'answer', status: 502 } : { kind: 'tunnel' }),
  });
  testFaults([
    ['sends the message through CONNECT', withProxy({}, { connects: 2 }), SENT],
    [
      'polls through CONNECT',
      withProxy({}, { with: { wait: true } }),
      { ...COMPLETED, withinMs: 120_000 },
    ],
    [
      'with credentials',
      withProxy({ credentials: `user:${PASSWORD}` }, { env: httpProxy(CREDENTIALS) }),
      SENT,
    ],
    ['polls again if the proxy answers 502 once', withProxy(failing(1), { connects: 3 }), SENT],
    [
      'tries again to send if the proxy answers 502 once',
      withProxy(failing(2), { connects: 3 }),
      { ...SENT, attempts: 2 },
    ],
    [
      'tries to send three times',
      withProxy(failing(2, 3, 4), { connects: 4 }),
      { ...NOT_SENT, attempts: 3, error: /the proxy refused the connection \(502\)/ },
    ],
    ['lets the proxy resolve the name of the API', resolvedByProxy(issue, trust, accepted), SENT],
    [
      'does not send the message again after a reset',
      resolvedByProxy(issue, trust, answer('', 'reset')),
      UNKNOWN,
    ],
    ['refuses a certificate that is not trusted', resolvedByProxy(issue), untrusted],
    [
      'refuses the certificate of another host',
      resolvedByProxy(() => TRUSTED.issue(), trust),
      untrusted,
    ],
    [
      'unless NO_PROXY has the host',
      withProxy({}, { env: direct('127.0.0.1'), connects: 0 }),
      SENT,
    ],
    ['if NO_PROXY has another one', withProxy({}, { env: direct('a.example'), connects: 2 }), SENT],
  ]);
});

function direct(NO_PROXY: string): (proxy: ProxyServer) => Env {
  return (proxy) => ({ ...httpProxy('')(proxy), NO_PROXY });
}

describe('sends nothing if the proxy', () => {
  const at = (host: string, more: Fault = {}): Fault => ({
    ...more,
    secrets: [PASSWORD],
    step: { ...more.step, env: { HTTP_PROXY: `http://${CREDENTIALS}${host}` } },
  });
  const always = (reply: ProxyReply): ProxyOptions => ({ onConnect: () => reply });
  testFaults([
    [
      'refuses the connection',
      at('127.0.0.1:9'),
      unreachable(new RegExp(`${PROXY}: connection refused`)),
    ],
    [
      'has an unknown name',
      at('proxy.invalid:3128', { built: true, step: resolver('proxy.invalid', 'ENOTFOUND') }),
      unreachable(/\(proxy “proxy\.invalid:3128”\): .*DNS/),
    ],
    [
      'answers 502 to CONNECT',
      withProxy(always({ kind: 'answer', status: 502, body: '<html>' }), { connects: 3 }),
      unreachable(/\(proxy .*: the proxy refused the connection \(502\)/),
    ],
    [
      'has the certificate of another host',
      async (use) => {
        const tls = await TRUSTED.issue({ hosts: ['proxy.example'] });
        const { port } = await use(startFaultServer({ tls }));
        const HTTP_PROXY = `https://127.0.0.1:${port}`;
        const env = { HTTP_PROXY, NODE_EXTRA_CA_CERTS: TRUSTED.file };
        return { built: true, step: { env } };
      },
      once(/\(proxy .*: the certificate is not trusted \(ERR_TLS_CERT_ALTNAME/),
    ],
    [
      'resets the connection',
      withProxy(always({ kind: 'reset' }), { connects: 3 }),
      unreachable(new RegExp(PROXY)),
    ],
    [
      'hangs',
      withProxy(always({ kind: 'hang' }), { ...SILENT, connects: 3 }),
      { ...unreachable(/no connection within 10 s/), atLeastMs: 30_000, withinMs: 36_000 },
    ],
    [
      'requires credentials',
      withProxy({ credentials: `user:${PASSWORD}` }, { connects: 1 }),
      once(/\(proxy .*: the proxy requires other credentials \(407\)/),
    ],
    [
      'has an invalid URL',
      { secrets: [PASSWORD], step: { env: { HTTP_PROXY: `http://user:${PASSWORD}@[bad` } } },
      { ...NOT_SENT, attempts: 0, error: /^Nothing was sent\. HTTP_PROXY is not the URL/ },
    ],
  ]);
});
