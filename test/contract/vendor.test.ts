import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import * as vendored from '../../src/vendor/undici.ts';
import { startAuthority } from '../sim/fault-server.ts';
import { startProxy } from '../sim/proxy.ts';

// The parts of packages that src/vendor/ takes are the same as those of their index, or behave so.

const ROOT = join(import.meta.dirname, '../..');
const HOST = 'github.test';

it('undici: has the same objects as its index', async () => {
  // Read before the index is loaded, which sets these methods.
  const { connect, request } = vendored.EnvHttpProxyAgent.prototype;
  const index = await import('undici');
  expect(vendored.EnvHttpProxyAgent).toBe(index.EnvHttpProxyAgent);
  expect(connect).toBe(index.Dispatcher.prototype.connect);
  expect(request).toBe(index.Dispatcher.prototype.request);
});

it('@actions/core: the log writes the same commands as its functions', async () => {
  const log = `
    const { createLog, maskInLog } = await import('${own('runner/logger.ts')}');
    const log = createLog((text) => text, (line) => console.log(line));`;
  const toolkit = `
    import * as core from '@actions/core';
    const titled = (write) => (text, title) => write(text, title && { title });
    const maskInLog = (secrets) => secrets.forEach(core.setSecret);
    const [notice, warning, error] = [core.notice, core.warning, core.error].map(titled);
    const log = { debug: core.debug, notice, warning, error };`;
  const writeAll = `
    maskInLog(['a%0A,b:c']);
    log.debug('50 % of a: b, c');
    for (const kind of ['notice', 'warning', 'error']) {
      log[kind]('50 % of a: b, c');
      log[kind]('a text', '50 % of a: b, c');
    }`;
  const printed = await runScript(log + writeAll);
  expect(printed).toBe(await runScript(toolkit + writeAll));
  expect(printed.match(/^::/gm)).toHaveLength(8);
});

it('GitHub’s client sends its requests through a proxy', async () => {
  using authority = await startAuthority();
  const requests: unknown[] = [];
  const server = createServer(await authority.issue(HOST), async (request, response) => {
    const body = await request.setEncoding('utf8').toArray();
    const { method, url, headers } = request;
    requests.push({ method, url, body: body.join(''), headers });
    response.setHeader('content-type', 'application/json').end('{}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const onConnect = () => ({ kind: 'tunnel', port }) as const;
  await using proxy = await startProxy({ credentials: 'user:pass', onConnect });
  const baseUrl = `https://${HOST}:${port}/api/v3`;
  const script = `
    const { getOctokit } = await import('${own('vendor/actions.ts')}');
    const { createFetch } = await import('${own('github/fetch.ts')}');
    const { readNetworkSettings } = await import('${own('runner/environment.ts')}');
    const { value } = readNetworkSettings(process.env, new URL('${baseUrl}'));
    const { signal } = new AbortController();
    const fetch = createFetch({ proxy: value, signal, clock: Date, redact: String });
    const octokit = await getOctokit('ghs_1', '${baseUrl}', 'a-test/1');
    const get = { owner: 'a', repo: 'b', page: 2, request: { fetch } };
    await octokit.request('GET /repos/{owner}/{repo}', get);
    await octokit.graphql('{ viewer { login } }', { request: { fetch } });`;
  await runScript(script, {
    NODE_EXTRA_CA_CERTS: authority.file,
    NODE_OPTIONS: `--import=${pathToFileURL(join(ROOT, 'test/sim/dns.ts'))}?${HOST}=127.0.0.1`,
    HTTPS_PROXY: `http://user:pass@${proxy.host}`,
  });
  server.closeAllConnections();
  server.close();
  expect(proxy.journal.map(({ method }) => method)).toEqual(['CONNECT', 'CONNECT']);
  const headers = {
    authorization: 'token ghs_1',
    'user-agent': expect.stringMatching(/^a-test\/1 .*octokit-core\.js\//),
  };
  expect(requests).toMatchObject([
    { method: 'GET', url: '/api/v3/repos/a/b?page=2', headers },
    { method: 'POST', url: '/api/graphql', body: '{"query":"{ viewer { login } }"}', headers },
  ]);
});

function own(file: string): string {
  return pathToFileURL(join(ROOT, 'src', file)).href;
}

/** Runs a script in a separate process, with only these variables, and returns what it prints. */
async function runScript(script: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const { SystemRoot } = process.env;
  const args = ['--input-type=module', '--eval', script];
  const options = { cwd: ROOT, env: { ...(SystemRoot && { SystemRoot }), ...env } };
  return (await promisify(execFile)(process.execPath, args, options)).stdout;
}
