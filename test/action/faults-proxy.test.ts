import { afterAll, describe, expect } from 'vitest';
import {
  answer,
  closedPort,
  startAuthority,
  startFaultServer,
  whole,
} from '../sim/fault-server.ts';
import { type ProxyOptions, type ProxyServer, startProxy } from '../sim/proxy.ts';
import {
  COMPLETED,
  type Fault,
  NOT_SENT,
  type Row,
  SENT,
  SILENT,
  testFaults,
  UNKNOWN,
  type Use,
} from './faults.ts';
import { JOB, KEY } from './scenario.ts';

const RECORD = { id: JOB, status: 'active' };
const PASSWORD = 'proxy canary%5d1f/+';
const CREDENTIALS = `user:${encodeURIComponent(PASSWORD)}@`;
const SPACED = 'spaced canary 77';
const TRUSTED = await startAuthority();
afterAll(() => TRUSTED[Symbol.dispose]());

type Env = Readonly<Record<string, string>>;

/** Behind a proxy, whose variables are `env`, or only the one for the scheme of the service. */
function behind(
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
        const seen = JSON.stringify(proxy.journal);
        expect(seen).not.toContain('mint_canary');
        expect(seen).not.toContain(Buffer.from(KEY).toString('base64').slice(0, 20));
        more.also?.(result, sim);
      },
    };
  };
}

/** A service behind the proxy that no resolver knows. */
function hidden(
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

const spaced = {
  env: ({ host }: ProxyServer) => ({ HTTP_PROXY: `http://user:${SPACED}@${host}` }),
};
const named = /\(proxy 127\.0\.0\.1:\d+\)/;
const outage = { ...NOT_SENT, attempts: 3, withinMs: 20_000, error: named } as const;
const once = { ...NOT_SENT, attempts: 1 } as const;

describe('through a proxy that works', () => {
  const credentials = { credentials: `user:${PASSWORD}` };
  const shown = {
    env: ({ host }: ProxyServer) => ({ HTTP_PROXY: `http://${CREDENTIALS}${host}` }),
  };
  const trust = { env: { NODE_EXTRA_CA_CERTS: TRUSTED.file } };
  const issue = () => TRUSTED.issue({ hosts: ['agent.invalid'] });
  const rows: readonly Row[] = [
    ['the message goes by CONNECT', behind({}, { connects: 1 }), SENT],
    ['so do the looks', behind({}, { with: { wait: true } }), { ...COMPLETED, withinMs: 120_000 }],
    ['with credentials', behind(credentials, shown), SENT],
    ['with a password with spaces', behind({ credentials: `user:${SPACED}` }, spaced), SENT],
    [
      'a URL without a scheme',
      behind({}, { env: ({ host }) => ({ http_proxy: host }), connects: 1 }),
      SENT,
    ],
    [
      'lower case wins',
      behind(
        {},
        {
          env: ({ host }) => ({ http_proxy: `http://${host}`, HTTP_PROXY: 'http://127.0.0.1:1' }),
          connects: 1,
        },
      ),
      SENT,
    ],
    [
      '502 once',
      behind(
        { onConnect: (n) => (n === 1 ? { kind: 'answer', status: 502 } : { kind: 'tunnel' }) },
        { connects: 2 },
      ),
      { ...SENT, attempts: 2 },
    ],
    ['the proxy resolves the name of the service', hidden(issue, trust), SENT],
    [
      'the request is read, then reset',
      hidden(issue, { ...trust, onRequest: () => answer('', 'reset') }),
      UNKNOWN,
    ],
    [
      'a certificate that is not trusted',
      hidden(issue),
      { ...once, error: /agent\.invalid \(proxy 127\.0\.0\.1:\d+\): the certificate/ },
    ],
    [
      'the certificate of another host',
      hidden(() => TRUSTED.issue(), trust),
      { ...once, error: /agent\.invalid \(proxy 127\.0\.0\.1:\d+\): the certificate/ },
    ],
  ];
  testFaults(rows);
});

describe('a proxy that does not', () => {
  const rows: readonly Row[] = [
    [
      'refuses the connection',
      async () => ({
        secrets: [PASSWORD],
        step: { env: { HTTP_PROXY: `http://${CREDENTIALS}127.0.0.1:${await closedPort()}` } },
      }),
      { ...outage, error: /\(proxy 127\.0\.0\.1:\d+\): connection refused/ },
    ],
    [
      'has an unknown name',
      {
        secrets: [PASSWORD],
        step: { env: { HTTP_PROXY: `http://${CREDENTIALS}proxy.invalid:3128` } },
      },
      { ...outage, error: /\(proxy proxy\.invalid:3128\): .*DNS/ },
    ],
    ...[500, 502, 503, 504].map(
      (status): Row => [
        `answers ${status} to CONNECT`,
        behind({ onConnect: () => ({ kind: 'answer', status, body: '<html>' }) }, { connects: 3 }),
        { ...outage, error: new RegExp(`\\(proxy .*: the proxy answered CONNECT with ${status}`) },
      ],
    ),
    ...[302, 400, 403].map(
      (status): Row => [
        `answers ${status} to CONNECT`,
        behind({ onConnect: () => ({ kind: 'answer', status }) }),
        { ...outage, attempts: expect.any(Number) },
      ],
    ),
    [
      'has the certificate of another host',
      async (use) => {
        const tls = await TRUSTED.issue({ hosts: ['proxy.example'] });
        const { port } = await use(startFaultServer({ tls }));
        const HTTP_PROXY = `https://127.0.0.1:${port}`;
        const env = { HTTP_PROXY, NODE_EXTRA_CA_CERTS: TRUSTED.file };
        return { built: true, step: { env } };
      },
      { ...once, error: /\(proxy .*: the certificate is not trusted \(ERR_TLS_CERT_ALTNAME/ },
    ],
    ['resets', behind({ onConnect: () => ({ kind: 'reset' }) }, { connects: 3 }), outage],
    ['ends', behind({ onConnect: () => ({ kind: 'end' }) }, { connects: 3 }), outage],
    [
      'hangs',
      behind({ onConnect: () => ({ kind: 'hang' }) }, { ...SILENT, connects: 3 }),
      { ...outage, atLeastMs: 30_000, withinMs: 35_000, error: /no connection within 10 s/ },
    ],
    [
      'hangs until the deadline',
      behind(
        { onConnect: () => ({ kind: 'hang' }) },
        { ...SILENT, with: { 'timeout-minutes': '0.1' } },
      ),
      {
        ...once,
        result: 'timed-out',
        withinMs: 8000,
        error: /^Nothing was sent .*timeout-minutes/,
      },
    ],
    [
      'asks for credentials',
      behind({ credentials: `user:${PASSWORD}` }, { connects: 1 }),
      { ...once, error: /\(proxy .*: the proxy requires other credentials \(407\)/ },
    ],
    [
      'asks for other credentials',
      behind(
        { credentials: 'user:another' },
        { env: ({ host }) => ({ HTTP_PROXY: `http://${CREDENTIALS}${host}` }), connects: 1 },
      ),
      { ...once, error: /407/ },
    ],
    [
      'does not take a password with spaces',
      behind({ credentials: 'user:another' }, { ...spaced, connects: 1 }),
      { ...once, error: /407/ },
    ],
    ...[
      `http://${CREDENTIALS}`,
      `http://user:${PASSWORD}@[bad`,
      `http://user:${PASSWORD}@127.0.0.1:99999`,
      `socks5://${CREDENTIALS}127.0.0.1:1080`,
      `user:${PASSWORD}@`,
    ].map(
      (url): Row => [
        `has no good URL: ${url}`,
        { secrets: [PASSWORD], step: { env: { HTTP_PROXY: url } } },
        { ...NOT_SENT, attempts: 0, error: /^Nothing was sent\. HTTP_PROXY is not the URL/ },
      ],
    ),
    [
      'is there in name only, for the other scheme',
      { step: { env: { HTTPS_PROXY: 'http://127.0.0.1:1' } } },
      SENT,
    ],
  ];
  testFaults(rows);
});

describe('NO_PROXY', () => {
  const dodge = (noProxy: string, connects: number): Row => [
    `"${noProxy}": ${connects === 0 ? 'direct' : 'through the proxy'}`,
    behind(
      {},
      { env: ({ host }) => ({ HTTP_PROXY: `http://${host}`, NO_PROXY: noProxy }), connects },
    ),
    SENT,
  ];
  const direct = ['127.0.0.1', '*', 'localhost, 127.0.0.1', 'example.com,127.0.0.1'];
  testFaults(direct.map((noProxy) => dodge(noProxy, 0)));
  const through = ['example.com', '127.0.0.1:1', '127.0.0.2', ''];
  testFaults(through.map((noProxy) => dodge(noProxy, 1)));
});
