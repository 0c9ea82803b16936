import { expect, it } from 'vitest';
import { createTransport } from '../../src/agent/http.ts';
import { startFaultServer } from '../sim/fault-server.ts';

it.each(['/v2/../admin', '/v2/./job', '/v2/%2e%2e/admin', '/v2/a b'])(
  'a path that a URL would rewrite is not asked for: %s',
  async (path) => {
    await using server = await startFaultServer();
    const transport = createTransport({
      baseUrl: new URL(`${server.origin}/base/`),
      apiKey: 'mint_key',
      userAgent: 'test',
      proxy: { url: '', noProxy: '' },
    });
    const limits = { timeoutMs: 30_000, signal: new AbortController().signal };
    const refused = {
      kind: 'failure',
      written: false,
      cause: 'network',
      why: 'the connection failed',
    };
    expect(await transport.get(path, limits)).toEqual(refused);
    expect(await transport.postOnce(path, {}, limits)).toEqual(refused);
    expect(server.connections).toBe(0);
    await transport.close();
  },
);
