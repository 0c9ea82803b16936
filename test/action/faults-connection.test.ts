import { afterAll, describe } from 'vitest';
import {
  answer,
  type Ending,
  type FaultServerOptions,
  head,
  selfSigned,
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
import { resolver } from './scenario.ts';

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
    [
      'refused on IPv6 and IPv4',
      {
        built: true,
        with: { 'base-url': 'http://localhost:9' },
        step: resolver('localhost', '::1,127.0.0.1'),
      },
      unreached(/“localhost:9”: connection refused/),
    ],
  ]);
});

describe('tries up to three times to open the connection of the message:', () => {
  const outage = { ...NOT_SENT, attempts: 3, withinMs: 20_000 };
  const trusting = { built: true, step: { env: { NODE_EXTRA_CA_CERTS: TRUSTED.file } } };
  const handshake = (ending: Ending & ('hang' | 'reset'), more: Fault = {}): SetUp =>
    secure(
      () => TRUSTED.issue(),
      { ...more, ...trusting },
      { onConnection: onItsConnection(ending) },
    );
  testFaults([
    ['DNS fails once', resolved('127.0.0.1;EAI_AGAIN;127.0.0.1'), { ...SENT, attempts: 2 }],
    [
      'DNS keeps failing',
      resolved('127.0.0.1;EAI_AGAIN'),
      { ...outage, error: /^Job job-1: Could not reach .* “localhost:\d+”: DNS did not answer/ },
    ],
    [
      'DNS hangs',
      resolved('127.0.0.1;hang', SILENT),
      { ...SILENCE, attempts: 3, error: /no connection within 10 s/ },
    ],
    ['refused on IPv6, accepted on IPv4', resolved('::1,127.0.0.1'), SENT],
    ['a TLS handshake that hangs', handshake('hang', SILENT), { ...SILENCE, attempts: 3 }],
    ['a TLS handshake that is reset', handshake('reset'), outage],
  ]);
});

describe('does not send the message again once the request may have been written:', () => {
  const lost = { ...UNKNOWN, error: /was lost after the request was written.*not sent again\./ };
  const unread = { ...lost, posts: 0, attempts: 1 };
  const minute = { atLeastMs: 60_000, withinMs: 62_000 };
  const connection = (ending: 'end' | 'hang', more?: Fault): SetUp =>
    onMessage(answer(''), more, { onConnection: onItsConnection(ending) });
  const half = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Le';
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
    ['half of the headers, then end', onMessage(answer(half, 'end')), lost],
    [
      'a status line of one byte at a time',
      onMessage({ kind: 'drip', bytes: 'HTTP/1.1 200 ', drop: 'O', everyMs: 50 }, SILENT),
      { ...lost, ...minute },
    ],
    ['a response that is not HTTP', onMessage(answer('SSH-2.0-OpenSSH_9.9\r\n', 'end')), lost],
    [
      'a 101 that switches the protocol',
      onMessage(answer(head(101, { connection: 'upgrade', upgrade: 'h2c' }))),
      UNKNOWN,
    ],
    // The HTTP client then closes the connection, and never reads the final response.
    ['an unrequested 100 Continue', onMessage(answer(head(100) + OK)), UNKNOWN],
  ]);
});

describe('accepts a response', () => {
  const ends = `${head(200, { 'content-type': 'application/json' })}${JSON.stringify(RECORD)}`;
  testFaults([
    [
      'after 500 informational responses',
      onMessage(answer(head(103, { link: '</x>' }).repeat(500) + OK)),
      SENT,
    ],
    ['that ends with the connection', onMessage(answer(ends, 'end')), SENT],
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
  const oldTls = async () => ({
    ...(await TRUSTED.issue()),
    ...{ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
  });
  const elsewhere = () => TRUSTED.issue({ hosts: ['agent.example'] });
  /** After a single poll: what is set up wrongly stays so. */
  const once = (error: RegExp): Expected => ({
    ...{ ...NOT_SENT, attempts: 0, withinMs: 1000 },
    error: new RegExp(`^Job job-1: Could not reach .*${error.source}`),
  });
  const ofRunner = once(/certificate.*NODE_EXTRA_CA_CERTS/);
  testFaults([
    ['a private CA that is trusted', secure(() => TRUSTED.issue(), trusting), SENT],
    ['a private CA that is not trusted', secure(() => TRUSTED.issue()), ofRunner],
    ['a self-signed certificate', secure(selfSigned), ofRunner],
    [
      'an expired certificate',
      secure(() => TRUSTED.issue({ expired: true }), trusting),
      once(/certificate.*EXPIRED/),
    ],
    ['the certificate of another host', secure(elsewhere, trusting), once(/certificate/)],
    ['TLS 1.1 at most', secure(oldTls, trusting), once(/TLS/)],
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
