import { afterAll, expect, it } from 'vitest';
import {
  answer,
  type FaultRequest,
  type FaultServerOptions,
  startAuthority,
  startFaultServer,
  whole,
} from '../sim/fault-server.ts';
import { HAS_LARGE_VARIABLES } from '../sim/platform.ts';
import { type ProxyOptions, type ProxyReply, startProxy } from '../sim/proxy.ts';
import {
  type Expected,
  type Fault,
  IDLE,
  NOT_SENT,
  onItsConnection,
  onMessage,
  RECORD,
  REFUSED,
  SENT,
  type SetUp,
  SILENT,
  testFaults,
  UNKNOWN,
  type Use,
} from './faults.ts';
import { resolver, simulate } from './scenario.ts';

const OK = whole(200, RECORD).toString();
const TRUSTED = await startAuthority();
afterAll(() => TRUSTED[Symbol.dispose]());

/** A server at localhost, which resolves to these results. The first poll has the first one. */
function resolved(results: string) {
  return async (use: Use): Promise<Fault> => {
    const server = await use(startFaultServer({ onRequest: () => answer(OK) }));
    return {
      built: true,
      server,
      with: { 'base-url': `http://localhost:${server.port}` },
      step: resolver('localhost', results),
    };
  };
}

const LARGE = { with: { prompt: 'x'.repeat(HAS_LARGE_VARIABLES ? 120_000 : 30_000) } };
const SILENCE = { ...NOT_SENT, atLeastMs: 30_000, withinMs: 36_000 } as const;

const unsent = (error: RegExp): Expected => ({ ...NOT_SENT, attempts: 0, error });
const unreachable = (why: string) =>
  unsent(RegExp(`: 3 polls failed in a row.*not reach .* ${why}`));

/** Node reads additional CAs only from its environment at the start. */
const trusting = { built: true, step: { env: { NODE_EXTRA_CA_CERTS: TRUSTED.file } } };
const noDns = /^Job job-1: Could not reach .* “localhost:\d+”: DNS did not answer/;
const outage = { ...NOT_SENT, attempts: 3, withinMs: 20_000, error: noDns };
const hangs = { onConnection: onItsConnection('hang' as const) };
const handshakeHangs = secure({ ...SILENT, ...trusting }, hangs);
const unknown: Fault = {
  ...{ built: true, with: { 'base-url': 'https://agent.invalid' } },
  step: resolver('agent.invalid', 'ENOTFOUND'),
};
testFaults('tries up to three times to open a connection:', [
  ['an unknown host', unknown, unreachable('“agent\\.invalid”: .*DNS\\. Check the')],
  ['DNS fails once', resolved('127.0.0.1;EAI_AGAIN;127.0.0.1'), { ...SENT, attempts: 2 }],
  ['DNS keeps failing', resolved('127.0.0.1;EAI_AGAIN'), outage],
  ['a TLS handshake that hangs', handshakeHangs, { ...SILENCE, attempts: 3 }],
]);

const lost = { ...UNKNOWN, error: /was lost after the request was written.*not sent again\./ };
const unread = { ...lost, posts: 0, attempts: 1 };
const minute = { atLeastMs: 60_000, withinMs: 62_000 };
const onConnection = onItsConnection('end' as const);
const half = (ending: 'reset' | 'hang', more: Fault = {}): SetUp => {
  const onFirstBytes = onItsConnection(answer('', ending));
  return onMessage(answer(''), { ...more, ...LARGE }, { onFirstBytes });
};
const onFirstBytes = onItsConnection(answer(whole(413, { error: 'too large' }), 'hang'));
const early = onMessage(answer(''), LARGE, { onFirstBytes });
const tooLarge = { ...REFUSED, posts: 0, attempts: 1, error: /413 to the message: “too large”/ };
testFaults('does not send the message again once the request may have been written:', [
  ['the connection ends at once', onMessage(answer(''), {}, { onConnection }), unread],
  ['the server reads half of it, then a reset', half('reset'), unread],
  ['the server reads half of it, then nothing', half('hang', SILENT), { ...unread, ...minute }],
  ['the server reads it, then a reset', onMessage(answer('', 'reset')), lost],
  ['the server reads it, then its end', onMessage(answer('', 'end')), lost],
  ['the server reads it', onMessage(answer('', 'hang'), SILENT), { ...lost, ...minute }],
  ['the server refuses it before its end', early, tooLarge],
]);

function secure(more: Fault = {}, options: FaultServerOptions = {}): SetUp {
  return async (use) => {
    const tls = await TRUSTED.issue();
    const server = startFaultServer({ onRequest: () => answer(OK), ...options, tls });
    return { ...more, server: await use(server) };
  };
}

/** After a single poll: what is set up wrongly stays so. */
const once = (error: RegExp) => ({ ...NOT_SENT, attempts: 0, withinMs: 1000, error });
const plain: SetUp = async (use) => {
  const onFirstBytes = () => answer(whole(400, 'Bad Request'), 'end');
  const server = await use(startFaultServer({ onFirstBytes }));
  return { server, with: { 'base-url': `https://127.0.0.1:${server.port}` } };
};
testFaults('sends the message only over trusted TLS:', [
  ['a private CA that is trusted', secure(trusting), SENT],
  ['one that is not trusted', secure(), once(/not reach .*certificate.*NODE_EXTRA_CA_CERTS/)],
  ['plain HTTP on the port of https', plain, once(/^Job job-1: Could not reach .*TLS/)],
]);

it('waits for a slow host, although its next address cannot be reached', async () => {
  // Each connection is opened or refused after 400 ms, which is longer than Node waits by default.
  const slow = `
    const { TCP } = process.binding('tcp_wrap');
    for (const name of ['connect', 'connect6']) {
      const connect = TCP.prototype[name];
      TCP.prototype[name] = function (request, ...given) {
        setTimeout(() => {
          const code = connect.call(this, request, ...given);
          if (code !== 0) request.oncomplete(code, this, request, true, true);
        }, 400);
        return 0;
      };
    }`;
  await using sim = await simulate({ time: { pace: 1 }, with: { comment: false } });
  const { port } = new URL(sim.agent.url);
  const { nodeArgs } = resolver('localhost', '127.0.0.1,::1');
  const preload = `data:text/javascript,${encodeURIComponent(slow)}`;
  const run = sim.start({
    with: { 'base-url': `http://localhost:${port}` },
    step: { nodeArgs: ['--import', preload, ...nodeArgs] },
  });
  expect((await run.result).outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
});

const PASSWORD = 'proxy canary%5d1f/+';
const CREDENTIALS = `user:${encodeURIComponent(PASSWORD)}@`;

type Asked = ProxyOptions & { readonly connects: number; readonly user?: string };

/** A step that asks a proxy for so many connections. The poll and the message have one each. */
function withProxy(given: Asked, more: Fault = {}): SetUp {
  const { connects, user = '', ...options } = given;
  return async (use) => {
    const proxy = await use(startProxy(options));
    return {
      ...more,
      secrets: [PASSWORD],
      step: { env: { HTTP_PROXY: `http://${user}${proxy.host}` } },
      also() {
        expect(proxy.journal.map(({ method }) => method)).toEqual(Array(connects).fill('CONNECT'));
        expect(JSON.stringify(proxy.journal)).not.toContain('mint_canary');
      },
    };
  };
}

/** A step with a base URL that only the proxy can resolve. */
function resolvedByProxy(tls: () => Promise<object>, env = {}, onMessage = answer('')): SetUp {
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

const trust = { NODE_EXTRA_CA_CERTS: TRUSTED.file };
const issue = () => TRUSTED.issue('agent.invalid');
const untrusted = unsent(/“agent\.invalid”: .* does not match certificate/);
const accepted = answer(whole(200, RECORD));
const named = { credentials: `user:${PASSWORD}` };
const onConnect = (n: number): ProxyReply =>
  n === 2 ? { kind: 'answer', status: 502 } : { kind: 'tunnel' };
const other = resolvedByProxy(() => TRUSTED.issue(), trust);
const refusing: Asked = { onConnect: () => ({ kind: 'answer', status: 502 }), connects: 3 };
const hanging: Asked = { onConnect: () => ({ kind: 'hang' }), connects: 3 };
const without: Asked = { ...named, connects: 1 };
const late = { ...unreachable('no answer within 30 s'), atLeastMs: 90_000 };
testFaults('sends only through a proxy', [
  ['with credentials', withProxy({ ...named, connects: 2, user: CREDENTIALS }), SENT],
  ['again after its 502', withProxy({ onConnect, connects: 3 }), { ...SENT, attempts: 2 }],
  ['which resolves the name of the API', resolvedByProxy(issue, trust, accepted), SENT],
  ['not to the certificate of another host', other, untrusted],
  ['not if it answers 502', withProxy(refusing), unreachable('the proxy refused .*502')],
  ['not if it hangs', withProxy(hanging, SILENT), { ...late, withinMs: 96_000 }],
  ['not without its credentials', withProxy(without), unsent(/other credentials \(407\)/)],
]);
