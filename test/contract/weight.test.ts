import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { type Scenario, simulate } from '../action/scenario.ts';

const ROOT = join(import.meta.dirname, '../..');
const OBSERVER = pathToFileURL(join(import.meta.dirname, '../sim/observer.mjs')).href;

it('the runner downloads at most 241,000 bytes', () => {
  const archive = execFileSync('git', ['archive', 'HEAD'], { cwd: ROOT, maxBuffer: 2 ** 28 });
  expect(gzipSync(archive).length).toBeLessThanOrEqual(241_000);
});

it('a run without a comment loads one file, only the modules of Node that a request needs, and ends by itself', async () => {
  const { loaded, active } = await runAndObserve({ comment: false });
  expect(filesOf(loaded)).toEqual(['index.js']);
  const builtins = loaded.flatMap((url) => /^node:(.*)$/.exec(url)?.[1] ?? []);
  // The first line is what the action needs, the others are for undici.
  expect(builtins.sort()).toEqual(
    [
      ...['crypto', 'diagnostics_channel', 'fs', 'module', 'os', 'path'],
      ...['assert', 'async_hooks', 'buffer', 'events', 'http', 'net', 'querystring'],
      ...['stream', 'util'],
    ].sort(),
  );
  // Only its output keeps the process alive.
  expect(active.filter((name) => name !== 'PipeWrap')).toEqual([]);
});

it('a run with a comment also loads GitHub’s client, and nothing that the environment asks for', async () => {
  const { loaded } = await runAndObserve({ comment: true }, { UNDICI_USE_MILO: '1' });
  expect(filesOf(loaded)).toHaveLength(2);
});

it.each([
  ['a comment', { comment: true }, 'sent'],
  ['a wait', { comment: false, wait: true }, 'completed'],
])('the end of a run with %s does not wait for V8 to compile', async (_, inputs, result) => {
  const nodeArgs = ['--trace-wasm-compilation-times'];
  await using sim = await simulate({ with: inputs, step: { nodeArgs } });
  const { outputs, stdout } = await sim.run();
  expect(outputs.result).toBe(result);
  const compilers = [...stdout.matchAll(/^Compiled function .* using (\w+),/gm)].map(
    ([, by]) => by,
  );
  expect([...new Set(compilers)]).toEqual(['Liftoff']);
});

function filesOf(loaded: readonly string[]): readonly string[] {
  return loaded.filter((url) => url.startsWith('file:')).map((url) => basename(url));
}

/** The modules that a run loads, and what is still active at its end. */
async function runAndObserve(
  inputs: NonNullable<Scenario['with']>,
  env: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<'loaded' | 'active', readonly string[]>>> {
  const folder = mkdtempSync(join(tmpdir(), 'observer-'));
  try {
    const file = join(folder, 'loaded.json');
    await using sim = await simulate({
      with: inputs,
      step: { env: { ...env, OBSERVER_FILE: file }, nodeArgs: ['--import', OBSERVER] },
    });
    const { outputs } = await sim.run();
    expect(outputs.result).toBe('sent');
    return JSON.parse(readFileSync(file, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
