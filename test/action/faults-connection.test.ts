import { afterAll, describe, expect, it } from 'vitest';
import {
  answer,
  type FaultServerOptions,
  startAuthority,
  startFaultServer,
  whole,
} from '../sim/fault-server.ts';
import { HAS_LARGE_VARIABLES } from '../sim/platform.ts';
import {
  type Expected,
  type Fault,
  NOT_SENT,
  onItsConnection,
  onMessage,
  RECORD,
  REFUSED,
  type Row,
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

/** A server that the base URL names as localhost, which resolves to these results. The first poll has the first one. */
function resolved(results: string, more: Fault = {}) {
  return async (use: Use): Promise<Fault> => {
    const server = await use(startFaultServer({ onRequest: () => answer(OK) }));
    return {
      ...more,
      built: true,
      server,
      with: { 'base-url': `http://localhost:${server.port}` },
      step: resolver('localhost', results),
    };
  };
}

const LARGE = { with: { prompt: 'x'.repeat(HAS_LARGE_VARIABLES ? 120_000 : 30_000) } };
const SILENCE = { ...NOT_SENT, atLeastMs: 30_000, withinMs: 36_000 } as const;
/** Three polls before the message. */
const unreached = (error: RegExp): Expected => ({
  ...{ ...NOT_SENT, attempts: 0 },
  error: new RegExp(
    `^Job job-1: 3 polls failed in a row\\. Could not reach the API at ${error.source}`,
  ),
});

describe('polls three times, and sends nothing, if no connection can be opened:', () => {
  testFaults([
    [
      'an unknown host',
      {
        built: true,
        with: { 'base-url': 'https://agent.invalid' },
        step: resolver('agent.invalid', 'ENOTFOUND'),
      },
      unreached(/“agent\.invalid”: .*DNS\. Check the base URL and the DNS/),
    ],
  ]);
});

describe('tries up to three times to open the connection of the message:', () => {
  const outage = { ...NOT_SENT, attempts: 3, withinMs: 20_000 };
  const trusting = { built: true, step: { env: { NODE_EXTRA_CA_CERTS: TRUSTED.file } } };
  const handshakeHangs = secure(
    () => TRUSTED.issue(),
    { ...SILENT, ...trusting },
    { onConnection: onItsConnection('hang') },
  );
  testFaults([
    ['DNS fails once', resolved('127.0.0.1;EAI_AGAIN;127.0.0.1'), { ...SENT, attempts: 2 }],
    [
      'DNS keeps failing',
      resolved('127.0.0.1;EAI_AGAIN'),
      { ...outage, error: /^Job job-1: Could not reach .* “localhost:\d+”: DNS did not answer/ },
    ],
    ['a TLS handshake that hangs', handshakeHangs, { ...SILENCE, attempts: 3 }],
  ]);
});

describe('does not send the message again once the request may have been written:', () => {
  const lost = { ...UNKNOWN, error: /was lost after the request was written.*not sent again\./ };
  const unread = { ...lost, posts: 0, attempts: 1 };
  const minute = { atLeastMs: 60_000, withinMs: 62_000 };
  const connection = (ending: 'end' | 'hang', more?: Fault): SetUp =>
    onMessage(answer(''), more, { onConnection: onItsConnection(ending) });
  testFaults([
    ['the connection ends at once', connection('end'), unread],
    ['the server reads nothing', connection('hang', SILENT), { ...unread, ...minute }],
    ...(['reset', 'end', 'hang'] as const).flatMap((ending): readonly Row[] => {
      const late = ending === 'hang' ? minute : {};
      const more: Fault = ending === 'hang' ? SILENT : {};
      const onFirstBytes = onItsConnection(answer('', ending));
      return [
        [
          `the server reads half of the request, then ${ending}`,
          onMessage(answer(''), { ...more, ...LARGE }, { onFirstBytes }),
          { ...unread, ...late },
        ],
        [
          `the server reads the request, then ${ending}`,
          onMessage(answer('', ending), more),
          { ...lost, ...late },
        ],
      ];
    }),
  ]);
});

describe('takes the answer', () => {
  testFaults([
    [
      'that refuses the request before it is complete',
      onMessage(answer(''), LARGE, {
        onFirstBytes: onItsConnection(answer(whole(413, { error: 'too large' }), 'hang')),
      }),
      { ...REFUSED, posts: 0, attempts: 1, error: /answered 413 to the message: “too large”/ },
    ],
  ]);
});

function secure(
  issue: () => Promise<object>,
  more: Fault = {},
  options: FaultServerOptions = {},
): SetUp {
  return async (use) => {
    const tls = await issue();
    const server = startFaultServer({ onRequest: () => answer(OK), ...options, tls });
    return { ...more, server: await use(server) };
  };
}

describe('sends the message only over trusted TLS:', () => {
  /** Node reads additional CAs only from its environment at the start. */
  const trusting = { built: true, step: { env: { NODE_EXTRA_CA_CERTS: TRUSTED.file } } };
  /** After a single poll: what is set up wrongly stays so. */
  const once = (error: RegExp): Expected => ({
    ...{ ...NOT_SENT, attempts: 0, withinMs: 1000 },
    error: new RegExp(`^Job job-1: Could not reach .*${error.source}`),
  });
  testFaults([
    ['a private CA that is trusted', secure(() => TRUSTED.issue(), trusting), SENT],
    [
      'a private CA that is not trusted',
      secure(() => TRUSTED.issue()),
      once(/certificate.*NODE_EXTRA_CA_CERTS/),
    ],
    [
      'plain HTTP on the port of https',
      async (use) => {
        const server = await use(
          startFaultServer({ onFirstBytes: () => answer(whole(400, 'Bad Request'), 'end') }),
        );
        return { server, with: { 'base-url': `https://127.0.0.1:${server.port}` } };
      },
      once(/TLS/),
    ],
  ]);
});

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
