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

it('the runner downloads at most 145,000 bytes', () => {
  const archive = execFileSync('git', ['archive', 'HEAD'], { cwd: ROOT, maxBuffer: 2 ** 28 });
  expect(gzipSync(archive).length).toBeLessThanOrEqual(145_000);
});

it('a run without a comment loads one file, and only the modules of Node that a request needs', async () => {
  const { loaded } = await runAndObserve({ comment: false });
  expect(filesOf(loaded)).toEqual(['index.js']);
  const builtins = loaded.flatMap((url) => /^node:(.*)$/.exec(url)?.[1] ?? []);
  // The first line is what the action needs, the others are for undici.
  expect(builtins.sort()).toEqual(
    [
      ...['crypto', 'diagnostics_channel', 'fs', 'module', 'os', 'path', 'zlib'],
      ...['assert', 'async_hooks', 'buffer', 'events', 'http', 'net', 'querystring'],
      ...['stream', 'util'],
    ].sort(),
  );
});

it('a run with a comment loads a second file, with GitHub’s client', async () => {
  const { loaded } = await runAndObserve({ comment: true });
  expect(filesOf(loaded)).toEqual(['index.js', expect.stringMatching(/^\d+\.index\.js$/)]);
});

it('a run does not load what dist/ leaves out, even if the environment enables it', async () => {
  const { loaded } = await runAndObserve({ comment: true }, { UNDICI_USE_MILO: '1' });
  expect(filesOf(loaded)).toHaveLength(2);
});

it('only its output keeps a process alive after it has sent a message', async () => {
  const { active } = await runAndObserve({ comment: false });
  expect(active.filter((name) => name !== 'PipeWrap')).toEqual([]);
});

it.each([
  ['a comment', { comment: true }, 'sent'],
  ['a wait', { comment: false, wait: true }, 'completed'],
])(
  'a short run with %s ends without compiling undici’s parser again',
  async (_, inputs, result) => {
    await using sim = await simulate({
      with: inputs,
      step: { nodeArgs: ['--trace-wasm-compilation-times'] },
    });
    const { outputs, stdout } = await sim.run();
    expect(outputs.result).toBe(result);
    const compilers = [...stdout.matchAll(/^Compiled function .* using (\w+),/gm)].map(
      ([, by]) => by,
    );
    expect(new Set(compilers)).toEqual(new Set(['Liftoff']));
  },
);

function filesOf(loaded: readonly string[]): readonly string[] {
  return loaded.filter((url) => url.startsWith('file:')).map((url) => basename(url));
}

interface LoadedModules {
  readonly loaded: readonly string[];
  readonly active: readonly string[];
}

async function runAndObserve(
  inputs: Scenario['with'],
  env: Readonly<Record<string, string>> = {},
): Promise<LoadedModules> {
  const folder = mkdtempSync(join(tmpdir(), 'observer-'));
  try {
    const file = join(folder, 'loaded.json');
    await using sim = await simulate({
      with: inputs ?? {},
      step: { env: { ...env, OBSERVER_FILE: file }, nodeArgs: ['--import', OBSERVER] },
    });
    const { outputs } = await sim.run();
    expect(outputs.result).toBe('sent');
    return JSON.parse(readFileSync(file, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
