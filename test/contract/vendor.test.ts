import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import * as vendoredUndici from '../../src/vendor/undici.ts';
import { startAuthority } from '../sim/fault-server.ts';
import { startProxy } from '../sim/proxy.ts';

// Each module of src/vendor/ replaces the public index of a package: it exports the same objects, or
// functions that behave in the same way.

const ROOT = join(import.meta.dirname, '../..');
const HOST = 'github.test';
const AUTHORITY = await startAuthority();
const CERTIFICATE = await AUTHORITY.issue({ hosts: [HOST] });
afterAll(() => AUTHORITY[Symbol.dispose]());

describe('undici', () => {
  it('exports the same objects as its index', async () => {
    // Read before the index is loaded, which sets these methods.
    const { connect, request } = vendoredUndici.Dispatcher.prototype;
    const index = await import('undici');
    const { HTTP1_ONLY, DEFER_TIER_UP, disableMilo, ...same } = vendoredUndici;
    expect(Object.keys(same).sort()).toEqual(['Dispatcher', 'EnvHttpProxyAgent']);
    expect(same.Dispatcher).toBe(index.Dispatcher);
    expect(same.EnvHttpProxyAgent).toBe(index.EnvHttpProxyAgent);
    expect(connect).toBe(index.Dispatcher.prototype.connect);
    expect(request).toBe(index.Dispatcher.prototype.request);
  });

  const load = `
    const [, disable, url] = process.argv;
    const { disableMilo } = await import('${vendored('undici')}');
    if (disable === 'true') disableMilo();
    const { request } = await import('undici');
    const { body } = await request(url);
    await body.dump();
    const { createRequire } = await import('node:module');
    const loaded = Object.keys(createRequire(import.meta.url).cache);
    process.stdout.write(String(loaded.some((file) => /[\\\\/]milo[\\\\/]/.test(file))));`;

  it.each([
    ['loads Milo if the environment enables it', false],
    ['does not load Milo after it is disabled, even for other users of undici', true],
  ])('%s', async (_, disable) => {
    const server = createServer((_, response) => response.end('{}'));
    await using _closing = await listen(server);
    const url = `http://127.0.0.1:${portOf(server)}`;
    const loadsMilo = await runScript(load, [String(disable), url], { UNDICI_USE_MILO: '1' });
    expect(loadsMilo).toBe(String(!disable));
  });
});

describe('@actions/core', () => {
  const log = `
    const [, entry] = process.argv;
    const { createLog, maskInLog } = await import(entry);
    const log = createLog((text) => text, (line) => console.log(line));`;
  const toolkit = `
    import * as core from '@actions/core';
    const titled = (write) => (text, title) => write(text, title && { title });
    const maskInLog = (secrets) => secrets.forEach(core.setSecret);
    const [notice, warning, error] = [core.notice, core.warning, core.error].map(titled);
    const { debug, startGroup: group, endGroup } = core;
    const log = { debug, notice, warning, error, group, endGroup };`;
  const writeAll = `
    maskInLog(['a%0A,b:c']);
    log.debug('50 % of a: b, c');
    for (const kind of ['notice', 'warning', 'error']) {
      log[kind]('50 % of a: b, c');
      log[kind]('a text', '50 % of a: b, c');
    }
    log.group('50 % of a: b, c');
    log.endGroup();`;

  it('writes the same commands as the functions of its index', async () => {
    const printed = await runScript(log + writeAll, [own('runner/log.ts')]);
    expect(printed).toBe(await runScript(toolkit + writeAll, []));
    expect(printed.match(/^::/gm)).toHaveLength(10);
  });
});

describe('@actions/github', () => {
  const load = `
    const [, entry, fetchFile, environment, baseUrl] = process.argv;
    const { getOctokit } = await import(entry);`;
  const setUpPublic = `${load}
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const octokit = getOctokit('ghs_1', { baseUrl, userAgent: 'a-test/1', log });`;
  /** With the fetch of src/github/ instead of the toolkit's. */
  const setUpOwn = `${load}
    const [{ createFetch }, { readProxy }] = [await import(fetchFile), await import(environment)];
    const proxy = readProxy(process.env, new URL(baseUrl));
    if (proxy.kind === 'problem') throw new Error(proxy.problem);
    const octokit = await getOctokit('ghs_1', baseUrl, 'a-test/1', createFetch(proxy.value));`;
  const requestWith = (setUp: string): string => `
    try {
      ${setUp}
      await octokit.request('GET /repos/{owner}/{repo}', { owner: 'a', repo: 'b', page: 2 });
      await octokit.request('POST /graphql', { query: '{ viewer { login } }' });
    } catch (error) {
      process.stdout.write(error.name);
    }`;

  /** What servers see of a process that sends two requests. */
  async function observe(client: 'own' | 'public', env: (proxy: string) => NodeJS.ProcessEnv) {
    const requests: unknown[] = [];
    const server = createTlsServer(CERTIFICATE, async (request, response) => {
      const body = await request.setEncoding('utf8').toArray();
      const { method, url, headers } = request;
      requests.push({ method, url, body, headers: relevant(headers) });
      response.setHeader('content-type', 'application/json').end('{}');
    });
    await using _closing = await listen(server);
    const port = portOf(server);
    await using proxy = await startProxy({
      credentials: 'user:pass',
      onConnect: () => ({ kind: 'tunnel', port }),
    });
    const baseUrl = `https://${HOST}:${port}/api/v3`;
    const entry = client === 'own' ? vendored('actions-github') : '@actions/github';
    const files = [entry, own('github/fetch.ts'), own('runner/environment.ts')];
    const script = requestWith(client === 'own' ? setUpOwn : setUpPublic);
    const printed = await runScript(script, [...files, baseUrl], {
      GITHUB_API_URL: baseUrl,
      NODE_EXTRA_CA_CERTS: AUTHORITY.file,
      NODE_OPTIONS: `--import=${pathToFileURL(join(ROOT, 'test/sim/dns.ts'))}?${HOST}=127.0.0.1`,
      ACTIONS_ORCHESTRATION_ID: 'an id',
      ...env(`http://user:pass@${proxy.host}`),
    });
    const connects = proxy.journal.map(({ method, target, headers }) => ({
      method,
      target: withoutPort(target),
      headers: { ...headers, host: withoutPort(headers.host ?? '') },
    }));
    return { printed, requests, connects };
  }

  /** Without headers that matter only to browsers or only to the connection. */
  function relevant(headers: IncomingHttpHeaders): object {
    const names = ['accept-language', 'sec-fetch-mode', 'accept-encoding', 'connection'];
    const entries = Object.entries(headers).filter(([name]) => !names.includes(name));
    return { ...Object.fromEntries(entries), host: withoutPort(headers.host ?? '') };
  }

  it.each<readonly [string, (proxy: string) => NodeJS.ProcessEnv, number]>([
    ['without a proxy', () => ({}), 0],
    ['through a proxy', (HTTPS_PROXY) => ({ HTTPS_PROXY }), 1],
    ['without the proxy for plain http', (HTTP_PROXY) => ({ HTTP_PROXY }), 0],
    [
      'without a proxy if NO_PROXY has the host',
      (https_proxy) => ({ https_proxy, NO_PROXY: HOST }),
      0,
    ],
    [
      'without a proxy if NO_PROXY has the domain',
      (https_proxy) => ({ https_proxy, NO_PROXY: HOST.replace(/^\w+/, '') }),
      0,
    ],
  ])('sends the same requests as the client of its index, %s', async (_, env, connects) => {
    const [own, publicOne] = await Promise.all([observe('own', env), observe('public', env)]);
    expect(own.requests).toEqual(publicOne.requests);
    expect([own.printed, publicOne.printed]).toEqual(['', '']);
    // The public client opens a tunnel for each request.
    expect(own.connects).toEqual(publicOne.connects.slice(0, 1));
    expect(own.connects).toHaveLength(connects);
    const userAgent = /^a-test\/1 actions_orchestration_id\/an_id octokit-core\.js\//;
    const headers = {
      authorization: 'token ghs_1',
      'user-agent': expect.stringMatching(userAgent),
    };
    expect(own.requests).toMatchObject([
      { method: 'GET', url: '/api/v3/repos/a/b?page=2', headers },
      { method: 'POST', url: '/api/v3/graphql', headers },
    ]);
  });

  it('fails like the client of its index if the URL of the proxy is invalid', async () => {
    const env = (): NodeJS.ProcessEnv => ({ HTTPS_PROXY: '[' });
    const [own, publicOne] = await Promise.all([observe('own', env), observe('public', env)]);
    expect(own).toEqual({ printed: 'Error', requests: [], connects: [] });
    expect(publicOne).toEqual({ printed: 'TypeError', requests: [], connects: [] });
  });

  it('uses the same core', async () => {
    const [{ GitHub }, { Octokit }] = await Promise.all([
      import('@actions/github/lib/utils'),
      import('@octokit/core'),
    ]);
    expect(GitHub.prototype).toBeInstanceOf(Octokit);
  });
});

function vendored(name: string): string {
  return own(`vendor/${name}.ts`);
}

function own(file: string): string {
  return pathToFileURL(join(ROOT, 'src', file)).href;
}

/** Runs a script in a separate process, with only these variables, and returns what it prints. */
async function runScript(
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const { SystemRoot } = process.env;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', script, ...args],
    { cwd: ROOT, env: { ...(SystemRoot && { SystemRoot }), ...env } },
  );
  return stdout;
}

type Server = ReturnType<typeof createServer> | ReturnType<typeof createTlsServer>;

async function listen(server: Server): Promise<AsyncDisposable> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function withoutPort(text: string): string {
  return text.replace(/^([\w.-]+):\d+$/, '$1');
}
