import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { answer, type Behaviour, head, startFaultServer, whole } from '../sim/fault-server.ts';
import { IDLE, RECORD } from './faults.ts';
import { simulate } from './scenario.ts';

const TYPE = { 'content-type': 'application/json' };
const MIB = 2 ** 20;
const GROWTH_KIB = 64 * 1024;

const folder = mkdtempSync(join(tmpdir(), 'memory-'));
let usualKib = 0;
let runs = 0;

beforeAll(async () => {
  usualKib = await peakKib(IDLE);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The peak memory of a step if the message, and each poll after it, gets this response. */
async function peakKib(behaviour: Behaviour): Promise<number> {
  const path = join(folder, String(++runs));
  const preload = `${new URL('../sim/usage.mjs', import.meta.url)}?${encodeURIComponent(path)}`;
  await using server = await startFaultServer({
    onRequest: ({ method, n }) => (method === 'GET' && n < 3 ? IDLE : behaviour),
  });
  await using sim = await simulate({
    with: { wait: true, 'timeout-minutes': '5', 'base-url': server.origin },
    step: { nodeArgs: ['--import', preload] },
  });
  await sim.run();
  expect(server.posts()).toHaveLength(1);
  return JSON.parse(readFileSync(path, 'utf8')).peakKib;
}

const flood = (status: number): Behaviour => ({
  kind: 'flood',
  bytes: head(status, TYPE),
  chunk: Buffer.alloc(MIB, ' '),
  times: 1024,
});
/** It decompresses to 1 GiB. */
const bomb = Buffer.concat(Array(64).fill(gzipSync(Buffer.alloc(16 * MIB, ' '))));

it.each<[string, Behaviour]>([
  ['a gzip bomb', answer(whole(200, bomb, { ...TYPE, 'content-encoding': 'gzip' }))],
  ['a gigabyte', flood(200)],
  ['a refusal of a gigabyte', flood(429)],
  [
    'a megabyte of JSON',
    answer(whole(200, { ...RECORD, x: Array.from({ length: 90_000 }, (_, n) => `${n}`) })),
  ],
])('uses little memory for %s', async (_, behaviour) => {
  expect((await peakKib(behaviour)) - usualKib).toBeLessThan(GROWTH_KIB);
});
