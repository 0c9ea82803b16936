import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BOMBS } from '../sim/bombs.ts';
import { answer, type Behaviour, head, startFaultServer, whole } from '../sim/fault-server.ts';
import { JOB, type Scenario, simulate } from './scenario.ts';

const RECORD = { id: JOB, status: 'active' };
const TYPE = { 'content-type': 'application/json' };
const MIB = 2 ** 20;
const GROWTH_KIB = 64 * 1024;

const folder = mkdtempSync(join(tmpdir(), 'memory-'));
let usualKib = 0;
let runs = 0;

beforeAll(async () => {
  usualKib = await peakKib(answer(whole(200, { ...RECORD, status: 'completed' })));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The peak memory of a step if the POST, and each poll after it, gets this response. */
async function peakKib(behaviour: Behaviour, scenario: Scenario = {}): Promise<number> {
  const path = join(folder, String(++runs));
  const preload = `${new URL('../sim/usage.mjs', import.meta.url)}?${encodeURIComponent(path)}`;
  await using server = await startFaultServer({
    onRequest: ({ method, n }) =>
      method === 'GET' && n === 1
        ? answer(whole(200, { ...RECORD, status: 'completed' }))
        : behaviour,
  });
  await using sim = await simulate({
    ...scenario,
    with: { wait: true, 'timeout-minutes': '5', 'base-url': server.origin, ...scenario.with },
    step: { nodeArgs: ['--import', preload] },
  });
  await sim.run();
  return JSON.parse(readFileSync(path, 'utf8')).peakKib;
}

const flood = (status: number, headers: Readonly<Record<string, string>> = TYPE): Behaviour => ({
  kind: 'flood',
  bytes: head(status, headers),
  chunk: Buffer.alloc(MIB, ' '),
  times: 1024,
});
const compressed = (encoding: keyof typeof BOMBS): Behaviour =>
  answer(whole(200, BOMBS[encoding], { ...TYPE, 'content-encoding': encoding }));

it.each<[string, Behaviour, Scenario?]>([
  ['a gzip bomb', compressed('gzip')],
  ['a Brotli bomb', compressed('br')],
  ['a Zstandard bomb', compressed('zstd')],
  ['a gigabyte', flood(200)],
  ['a refusal of a gigabyte', flood(429)],
  [
    'a megabyte of JSON',
    answer(whole(200, { ...RECORD, x: Array.from({ length: 90_000 }, (_, n) => `${n}`) })),
  ],
  ['a refusal of a megabyte', answer(whole(400, { error: '::error::\n'.repeat(80_000) }))],
  ['a megabyte of headers', answer(head(200, { ...TYPE, 'x-large': 'x'.repeat(MIB) }))],
])('uses little memory for %s', async (_, behaviour, scenario) => {
  expect((await peakKib(behaviour, scenario)) - usualKib).toBeLessThan(GROWTH_KIB);
});
