import { afterAll, describe, expect, it } from 'vitest';
import {
  answer,
  type Behaviour,
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
  REFUSED,
  type Row,
  SENT,
  SILENT,
  testFault,
  testFaults,
  UNKNOWN,
  type Use,
} from './faults.ts';
import { JOB, resolver } from './scenario.ts';

const RECORD = { id: JOB, status: 'active' };
const OK = whole(200, RECORD).toString();
const TRUSTED = await startAuthority();
afterAll(() => TRUSTED[Symbol.dispose]());

/** A server that the base URL names as localhost, which resolves to these results. */
function resolved(results: string, more: Fault = {}) {
  return async (use: Use): Promise<Fault> => {
    const server = await use(startFaultServer({ onRequest: () => answer(whole(200, RECORD)) }));
    return {
      ...more,
      built: true,
      server,
      with: { 'base-url': `http://localhost:${server.port}` },
      step: resolver('localhost', results),
    };
  };
}

function withServer(options: FaultServerOptions, more: Fault = {}) {
  return async (use: Use): Promise<Fault> => ({
    ...more,
    server: await use(startFaultServer(options)),
  });
}

function afterRequest(behaviour: Behaviour, more: Fault = {}) {
  return withServer({ onRequest: () => behaviour }, more);
}

const LARGE = { prompt: 'x'.repeat(HAS_LARGE_VARIABLES ? 120_000 : 30_000) };
const OUTAGE = { ...NOT_SENT, attempts: 3, withinMs: 20_000 } as const;
const SILENCE = { ...NOT_SENT, attempts: 3, atLeastMs: 30_000, withinMs: 35_000 } as const;
const outage = (error: RegExp): Expected => ({ ...OUTAGE, error });

describe('tries up to three times, and sends nothing, if no connection can be opened:', () => {
  const noConnection = { ...SILENCE, error: /no connection within 10 s/ };
  testFaults([
    [
      'an unknown host',
      {
        built: true,
        with: { 'base-url': 'https://agent.invalid' },
        step: resolver('agent.invalid', 'ENOTFOUND'),
      },
      outage(
        /^Job job-1: Could not reach the API at “agent\.invalid”: .*DNS\. Check the base URL and the DNS/,
      ),
    ],
    [
      'a host that stays unknown to the polls before the message',
      {
        with: { 'base-url': 'https://agent.invalid', wait: true },
        built: true,
        step: resolver('agent.invalid', 'ENOTFOUND'),
      },
      {
        ...NOT_SENT,
        attempts: 0,
        error:
          /polls failed in a row\. Could not reach the API at “agent\.invalid”: .*DNS\. Check the base URL/,
        withinMs: 125_000,
      },
    ],
    ['DNS fails once', resolved('EAI_AGAIN;127.0.0.1'), { ...SENT, attempts: 2 }],
    ['DNS keeps failing', resolved('EAI_AGAIN'), outage(/“localhost:\d+”: DNS did not answer/)],
    ['DNS hangs', resolved('hang', SILENT), noConnection],
    [
      'refused on IPv6 and IPv4',
      async () => ({
        built: true,
        with: { 'base-url': 'http://localhost:9' },
        step: resolver('localhost', '::1,127.0.0.1'),
      }),
      outage(/Could not reach the API at “localhost:\d+”: connection refused/),
    ],
    ['refused on IPv6, accepted on IPv4', resolved('::1,127.0.0.1'), SENT],
  ]);
});

describe('does not send the message again once the request may have been written:', () => {
  const lost = { ...UNKNOWN, error: /was lost after the request was written.*not sent again\./ };
  const unread = { ...lost, posts: 0, attempts: 1 };
  const minute = { atLeastMs: 60_000, withinMs: 62_000 };
  testFaults([
    ['the connection ends at once', withServer({ onConnection: () => 'end' }), unread],
    [
      'the server reads nothing',
      withServer({ onConnection: () => 'hang' }, SILENT),
      { ...unread, ...minute },
    ],
    ...(['reset', 'end', 'hang'] as const).flatMap((ending): readonly Row[] => {
      const late = ending === 'hang' ? minute : {};
      const more: Fault = ending === 'hang' ? SILENT : {};
      const respond = (bytes: string): Row[1] => afterRequest(answer(bytes, ending), more);
      const half = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Le';
      return [
        [
          `the server reads half of the request, then ${ending}`,
          withServer(
            { onFirstBytes: () => ({ kind: 'mid-request', ending }) },
            { ...more, with: { ...more.with, ...LARGE } },
          ),
          { ...unread, ...late },
        ],
        [`the server reads the request, then ${ending}`, respond(''), { ...lost, ...late }],
        [`half a status line, then ${ending}`, respond('HTTP/1.1 20'), { ...lost, ...late }],
        [`half of the headers, then ${ending}`, respond(half), { ...lost, ...late }],
      ];
    }),
    [
      'a status line of one byte at a time',
      afterRequest({ kind: 'drip', bytes: 'HTTP/1.1 200 ', drop: 'O', everyMs: 50 }, SILENT),
      { ...lost, ...minute },
    ],
    ['a response that is not HTTP', afterRequest(answer('SSH-2.0-OpenSSH_9.9\r\n', 'end')), lost],
    [
      'a 101 that switches the protocol',
      afterRequest(answer(head(101, { connection: 'upgrade', upgrade: 'h2c' }))),
      UNKNOWN,
    ],
    // The HTTP client then closes the connection, and never reads the final response.
    ['an unrequested 100 Continue', afterRequest(answer(head(100) + OK)), UNKNOWN],
  ]);

  it.concurrent('the connection is reset at once, before or after the request is written', async () => {
    // Which of the two happens first is a race. The delivery depends on it.
    const either = expect.stringMatching(/^(unknown|not-sent)$/);
    const server = await startFaultServer({ onConnection: () => 'reset' });
    await using _ = server;
    await testFault(
      { server },
      {
        ...NOT_SENT,
        delivery: either,
        attempts: expect.any(Number),
        withinMs: 20_000,
      },
    );
  });
});

describe('accepts a response', () => {
  const ends = `${head(200, { 'content-type': 'application/json' })}${JSON.stringify(RECORD)}`;
  testFaults([
    [
      'after 500 informational responses',
      afterRequest(answer(head(103, { link: '</x>' }).repeat(500) + OK)),
      SENT,
    ],
    ['with a second response after it', afterRequest(answer(OK + whole(500, {}).toString())), SENT],
    ['in chunks', afterRequest(answer(chunked(JSON.stringify(RECORD)))), SENT],
    ['that ends with the connection', afterRequest(answer(ends, 'end')), SENT],
    ['in HTTP/1.0', afterRequest(answer(OK.replace('HTTP/1.1', 'HTTP/1.0'), 'end')), SENT],
    [
      'that refuses the request before it is complete',
      withServer(
        { onFirstBytes: () => answer(whole(413, { error: 'too large' }), 'hang') },
        { with: LARGE },
      ),
      { ...REFUSED, posts: 0, attempts: 1, error: /answered 413 to the message: “too large”/ },
    ],
  ]);
});

describe('sends the message only over trusted TLS:', () => {
  /** Node reads additional CAs only from its environment at the start. */
  const trusting = { built: true, step: { env: { NODE_EXTRA_CA_CERTS: TRUSTED.file } } };
  const secure =
    (issue: () => Promise<object>, more: Fault = trusting, options: FaultServerOptions = {}) =>
    async (use: Use): Promise<Fault> => ({
      ...more,
      server: await use(
        startFaultServer({
          onRequest: () => answer(whole(200, RECORD)),
          ...options,
          tls: await issue(),
        }),
      ),
    });
  const issue = () => TRUSTED.issue();
  const handshake = (ending: Exclude<Ending, 'keep'>, more: Fault = {}) =>
    secure(issue, { ...more, ...trusting }, { onConnection: () => ending });
  const oldTls = async () => ({
    ...(await TRUSTED.issue()),
    ...{ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
  });
  const elsewhere = () => TRUSTED.issue({ hosts: ['agent.example'] });
  const once = (error: RegExp): Expected => ({ ...NOT_SENT, attempts: 1, error });
  const ofRunner = once(/certificate.*NODE_EXTRA_CA_CERTS/);
  testFaults([
    ['a private CA that is trusted, over HTTP/1.1 only', secure(issue), SENT],
    ['a private CA that is not trusted', secure(issue, {}), ofRunner],
    ['a self-signed certificate', secure(selfSigned, {}), ofRunner],
    [
      'an expired certificate',
      secure(() => TRUSTED.issue({ expired: true })),
      once(/certificate.*EXPIRED/i),
    ],
    ['the certificate of another host', secure(elsewhere), once(/certificate/)],
    ['TLS 1.1 at most', secure(oldTls), once(/TLS/)],
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
    ['a handshake that hangs', handshake('hang', SILENT), SILENCE],
    ['a handshake that is reset', handshake('reset'), OUTAGE],
    [
      'a reset after the server reads the request',
      secure(issue, trusting, { onRequest: () => answer('', 'reset') }),
      UNKNOWN,
    ],
  ]);
});

function chunked(body: string): string {
  const headers = head(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
  return `${headers}${[...body].map((character) => `1\r\n${character}\r\n`).join('')}0\r\n\r\n`;
}
