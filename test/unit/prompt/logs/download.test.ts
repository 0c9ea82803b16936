import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { download } from '../../../../src/prompt/logs/download.ts';
import { problem } from '../../../../src/text.ts';
import {
  answer,
  type Behaviour,
  head,
  startFaultServer,
  whole,
} from '../../../sim/fault-server.ts';

const SIGNED = '/log?sig=signature';
const LOCAL = 'http://127.0.0.1:1/api';

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of body) text += Buffer.from(chunk).toString();
  return text;
}

const { signal: NEVER } = new AbortController();
function get(address: string, { env = {}, apiUrl = LOCAL, signal = NEVER } = {}) {
  return download(address, { env, apiUrl, signal }, readText);
}

it('reads the body, sends nothing of its own, and uses no proxy for the own machine', async () => {
  await using site = await startFaultServer({ onRequest: () => answer(whole(200, 'the log')) });
  const { host } = new URL(site.origin);
  const env = { http_proxy: 'http://127.0.0.1:1' };
  expect(await get(site.origin + SIGNED, { env })).toEqual({ kind: 'ok', value: 'the log' });
  const headers = { host, connection: 'keep-alive', 'accept-encoding': 'identity' };
  expect(site.journal).toMatchObject([{ path: SIGNED, headers }]);
  expect(site.journal[0]?.headers).not.toHaveProperty('authorization');
});

it.each([
  ['no URL', '/relative?sig=signature', LOCAL],
  ['another scheme', 'file:///etc/passwd', LOCAL],
  ['http on another host', 'http://logs.example/?sig=signature', LOCAL],
  ['http on this machine', 'http://127.0.0.1:1/?sig=signature', 'https://api.github.com'],
  ['a user name', 'https://user@logs.example/', LOCAL],
  ['a password', 'https://:word@logs.example/', LOCAL],
])('does not follow %s', async (_, address, apiUrl) => {
  expect(await get(address, { apiUrl })).toEqual({
    kind: 'problem',
    problem: 'GitHub did not redirect to an https URL',
  });
});

/** A body that ends after these bytes, of more. */
const cutOff = (status: number): Behaviour =>
  answer(`${head(status, { 'content-length': 10 })}half`, 'end');
const coded = (encoding: string, body: string | Buffer): Behaviour =>
  answer(whole(200, body, { 'content-encoding': encoding }));

it.each<[string, Behaviour, string, boolean]>([
  ['a further redirect', answer(whole(302, '', { location: '/again' })), 'answered 302', false],
  ['a large unwanted body', answer(whole(410, 'x'.repeat(1_000_000))), 'answered 410', false],
  ['a log that is not there yet', answer(whole(404, '')), 'answered 404', true],
  ['an error of the server', answer(whole(503, '')), 'answered 503', true],
  ['a body in gzip', coded('gzip', gzipSync('a')), 'answered 200 with a body in gzip', false],
  ['a body that ends too early', cutOff(200), 'did not answer: “other side closed”', true],
  [
    'an unwanted body that ends too early',
    cutOff(500),
    'did not answer: “other side closed”',
    true,
  ],
])('explains %s', async (_, behaviour, why, mayPass) => {
  await using site = await startFaultServer({ onRequest: () => behaviour });
  expect(await get(site.origin + SIGNED)).toEqual(problem(`127.0.0.1 ${why}`, mayPass));
  expect(site.journal).toHaveLength(1);
});

it.each(['identity, identity', 'utf-8', 'none', ''])(
  'reads a body in the encoding “%s”',
  async (encoding) => {
    await using site = await startFaultServer({ onRequest: () => coded(encoding, 'the log') });
    expect(await get(site.origin + SIGNED)).toEqual({ kind: 'ok', value: 'the log' });
  },
);

/** Turns of the event loop in which a client in this process gets what is written to it. */
async function received(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
}

it.each<[string, string]>([
  ['an answer', ''],
  ['the end of an unwanted body', `${head(404, { 'content-length': 10 })}half`],
])('does not wait for ever for %s', async (_, bytes) => {
  const late = new AbortController();
  await using site = await startFaultServer({
    onRequest() {
      void received().then(() => late.abort());
      return answer(bytes, 'hang');
    },
  });
  const problem = '127.0.0.1 did not answer: not in time';
  for (const _ of ['late', 'later']) {
    const result = await get(site.origin + SIGNED, { signal: late.signal });
    expect(result).toEqual({ kind: 'problem', problem, mayPass: true });
  }
  // Nothing begins after its time.
  expect(site.journal).toHaveLength(1);
});

it('does not wait for ever for a proxy, whose settings must be valid', async () => {
  const late = new AbortController();
  await using proxy = await startFaultServer({
    onConnection() {
      void received().then(() => late.abort());
      return 'hang';
    },
  });
  const hanging = { env: { https_proxy: `http://127.0.0.1:${proxy.port}` }, signal: late.signal };
  expect(await get(`https://logs.example${SIGNED}`, hanging)).toEqual({
    kind: 'problem',
    problem: 'logs.example did not answer: not in time',
    mayPass: true,
  });
  const invalid = { env: { https_proxy: 'ftp://proxy' } };
  expect(await get(`https://logs.example${SIGNED}`, invalid)).toEqual({
    kind: 'problem',
    problem: 'the settings of the proxy are not valid',
  });
});

it('lets a bug in what reads the body end the run', async () => {
  await using site = await startFaultServer({ onRequest: () => answer(whole(200, 'the log')) });
  const read = async (): Promise<never> => {
    throw new TypeError('x');
  };
  const options = { env: {}, apiUrl: LOCAL, signal: NEVER };
  await expect(download(site.origin + SIGNED, options, read)).rejects.toThrow(TypeError);
});
