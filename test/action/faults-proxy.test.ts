import { afterAll, describe, expect } from 'vitest';
import { answer, startAuthority, startFaultServer, whole } from '../sim/fault-server.ts';
import { type ProxyOptions, type ProxyServer, startProxy } from '../sim/proxy.ts';
import {
  COMPLETED,
  type Expected,
  type Fault,
  NOT_SENT,
  type Row,
  SENT,
  SILENT,
  testFaults,
  UNKNOWN,
  type Use,
} from './faults.ts';
import { JOB, KEY, resolver } from './scenario.ts';

const RECORD = { id: JOB, status: 'active' };
const PASSWORD = 'proxy canary%5d1f/+';
const CREDENTIALS = `user:${encodeURIComponent(PASSWORD)}@`;
const SPACED = 'spaced canary 77';
const TRUSTED = await startAuthority();
afterAll(() => TRUSTED[Symbol.dispose]());

type Env = Readonly<Record<string, string>>;

/** A step that uses a proxy, with these variables, or with only HTTP_PROXY. */
function withProxy(
  options: ProxyOptions,
  more: Fault & { env?: (proxy: ProxyServer) => Env; connects?: number } = {},
) {
  return async (use: Use): Promise<Fault> => {
    const proxy = await use(startProxy(options));
    const env = more.env?.(proxy) ?? { HTTP_PROXY: `http://${proxy.host}` };
    return {
      ...more,
      secrets: [PASSWORD, SPACED],
      step: { env: { ...env, ...more.step?.env } },
      also(result, sim) {
        expect(new Set(proxy.journal.map(({ method }) => method))).toEqual(
          new Set(more.connects === 0 ? [] : ['CONNECT']),
        );
        if (more.connects !== undefined) expect(proxy.journal).toHaveLength(more.connects);
        const requests = JSON.stringify(proxy.journal);
        expect(requests).not.toContain('mint_canary');
        expect(requests).not.toContain(Buffer.from(KEY).toString('base64').slice(0, 20));
        more.also?.(result, sim);
      },
    };
  };
}

/** A step with a base URL that only the proxy can resolve. */
function resolvedByProxy(
  tls: () => Promise<object>,
  { env = {}, ...more }: { env?: Env; onRequest?: () => ReturnType<typeof answer> } = {},
) {
  return async (use: Use): Promise<Fault> => {
    const server = await use(
      startFaultServer({
        onRequest: () => answer(whole(200, RECORD)),
        ...more,
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

const httpProxy =
  (before: string) =>
  ({ host }: ProxyServer): Env => ({ HTTP_PROXY: `http://${before}${host}` });
const secret = { env: httpProxy(CREDENTIALS) };
const spaced = { env: httpProxy(`user:${SPACED}@`) };
const once = (error: RegExp): Expected => ({ ...NOT_SENT, attempts: 1, error });
const unreachable = (error = /\(proxy “127\.0\.0\.1:\d+”\)/): Expected => ({
  ...{ ...NOT_SENT, attempts: 3, withinMs: 20_000, error },
});

describe('uses a proxy:', () => {
  const trust = { env: { NODE_EXTRA_CA_CERTS: TRUSTED.file } };
  const issue = () => TRUSTED.issue({ hosts: ['agent.invalid'] });
  const reset = { ...trust, onRequest: () => answer('', 'reset') };
  const untrusted = once(/“agent\.invalid” \(proxy “127\.0\.0\.1:\d+”\): the certificate/);
  const lower = ({ host }: ProxyServer): Env => ({
    ...{ http_proxy: `http://${host}`, HTTP_PROXY: 'http://127.0.0.1:1' },
  });
  testFaults([
    ['sends the message through CONNECT', withProxy({}, { connects: 1 }), SENT],
    [
      'polls through CONNECT',
      withProxy({}, { with: { wait: true } }),
      { ...COMPLETED, withinMs: 120_000 },
    ],
    ['with credentials', withProxy({ credentials: `user:${PASSWORD}` }, secret), SENT],
    ['with spaces in the password', withProxy({ credentials: `user:${SPACED}` }, spaced), SENT],
    [
      'with a URL without a scheme',
      withProxy({}, { env: ({ host }) => ({ http_proxy: host }), connects: 1 }),
      SENT,
    ],
    ['prefers the variable in lower case', withProxy({}, { env: lower, connects: 1 }), SENT],
    [
      'tries again if the proxy answers 502 once',
      withProxy(
        { onConnect: (n) => (n === 1 ? { kind: 'answer', status: 502 } : { kind: 'tunnel' }) },
        { connects: 2 },
      ),
      { ...SENT, attempts: 2 },
    ],
    ['lets the proxy resolve the name of the API', resolvedByProxy(issue, trust), SENT],
    ['does not send the message again after a reset', resolvedByProxy(issue, reset), UNKNOWN],
    ['refuses a certificate that is not trusted', resolvedByProxy(issue), untrusted],
    [
      'refuses the certificate of another host',
      resolvedByProxy(() => TRUSTED.issue(), trust),
      untrusted,
    ],
  ]);
});

describe('sends nothing if the proxy', () => {
  const named = (host: string, more: Fault = {}): Fault => ({
    ...more,
    secrets: [PASSWORD],
    step: { ...more.step, env: { HTTP_PROXY: `http://${CREDENTIALS}${host}` } },
  });
  const answers = (status: number): ProxyOptions => ({
    onConnect: () => ({ kind: 'answer', status, body: '<html>' }),
  });
  const kind = (name: 'reset' | 'end' | 'hang'): ProxyOptions => ({
    onConnect: () => ({ kind: name }),
  });
  const slow = { ...SILENT, with: { 'timeout-minutes': '0.1' } };
  testFaults([
    [
      'refuses the connection',
      () => Promise.resolve(named('127.0.0.1:9')),
      unreachable(/\(proxy “127\.0\.0\.1:\d+”\): connection refused/),
    ],
    [
      'has an unknown name',
      named('proxy.invalid:3128', {
        built: true,
        step: resolver('proxy.invalid', 'ENOTFOUND'),
      }),
      unreachable(/\(proxy “proxy\.invalid:3128”\): .*DNS/),
    ],
    [
      'answers 502 to CONNECT',
      withProxy(answers(502), { connects: 3 }),
      unreachable(/\(proxy .*: the proxy refused the connection \(502\)/),
    ],
    [
      'answers 403 to CONNECT',
      withProxy(answers(403)),
      { ...unreachable(), attempts: expect.any(Number) },
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
    ['resets the connection', withProxy(kind('reset'), { connects: 3 }), unreachable()],
    [
      'hangs',
      withProxy(kind('hang'), { ...SILENT, connects: 3 }),
      { ...unreachable(/no connection within 10 s/), atLeastMs: 30_000, withinMs: 35_000 },
    ],
    [
      'hangs until the deadline',
      withProxy(kind('hang'), slow),
      { ...once(/within 6 s/), result: 'timed-out', withinMs: 8000 },
    ],
    [
      'requires credentials',
      withProxy({ credentials: `user:${PASSWORD}` }, { connects: 1 }),
      once(/\(proxy .*: the proxy requires other credentials \(407\)/),
    ],
    [
      'requires other credentials',
      withProxy({ credentials: 'user:another' }, { ...secret, connects: 1 }),
      once(/407/),
    ],
    [
      'has an invalid URL',
      { secrets: [PASSWORD], step: { env: { HTTP_PROXY: `http://user:${PASSWORD}@[bad` } } },
      { ...NOT_SENT, attempts: 0, error: /^Nothing was sent\. HTTP_PROXY is not the URL/ },
    ],
    [
      'is unreachable, unless it is for the other scheme',
      { step: { env: { HTTPS_PROXY: 'http://127.0.0.1:1' } } },
      SENT,
    ],
  ]);
});

describe('uses NO_PROXY', () => {
  const withNoProxy = (NO_PROXY: string, connects: number): Row => [
    `"${NO_PROXY}": ${connects === 0 ? 'direct' : 'through the proxy'}`,
    withProxy({}, { env: (proxy) => ({ ...httpProxy('')(proxy), NO_PROXY }), connects }),
    SENT,
  ];
  const direct = ['127.0.0.1', '*', 'localhost, 127.0.0.1', 'example.com,127.0.0.1'];
  const through = ['example.com', '127.0.0.1:1', '127.0.0.2', ''];
  testFaults([
    ...direct.map((noProxy) => withNoProxy(noProxy, 0)),
    ...through.map((noProxy) => withNoProxy(noProxy, 1)),
  ]);
});
