import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { type Scenario, simulate } from '../action/scenario.ts';

const ROOT = join(import.meta.dirname, '../..');
const WITNESS = pathToFileURL(join(import.meta.dirname, '../sim/witness.mjs')).href;

it('what the runner downloads has at most 145,000 bytes', () => {
  const archive = execFileSync('git', ['archive', 'HEAD'], { cwd: ROOT, maxBuffer: 2 ** 28 });
  expect(gzipSync(archive).length).toBeLessThanOrEqual(145_000);
});

it('a run that says nothing on GitHub loads one file, and of Node what a request takes', async () => {
  const { loaded } = await witness({ comment: false });
  expect(filesOf(loaded)).toEqual(['index.js']);
  const builtins = loaded.flatMap((url) => /^node:(.*)$/.exec(url)?.[1] ?? []);
  // The first line is our own need, the others are undici's.
  expect(builtins.sort()).toEqual(
    [
      ...['crypto', 'diagnostics_channel', 'fs', 'module', 'os', 'path', 'zlib'],
      ...['assert', 'async_hooks', 'buffer', 'events', 'http', 'net', 'querystring'],
      ...['stream', 'util'],
    ].sort(),
  );
});

it('GitHub’s client is a second file, loaded where something is said there', async () => {
  const { loaded } = await witness({ comment: true });
  expect(filesOf(loaded)).toEqual(['index.js', expect.stringMatching(/^\d+\.index\.js$/)]);
});

it('what is left out of dist/ is not asked for, whatever the environment says', async () => {
  const { loaded } = await witness({ comment: true }, { UNDICI_USE_MILO: '1' });
  expect(filesOf(loaded)).toHaveLength(2);
});

it('nothing but its output holds a process that has sent a message', async () => {
  const { active } = await witness({ comment: false });
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

interface Testimony {
  readonly loaded: readonly string[];
  readonly active: readonly string[];
}

async function witness(
  inputs: Scenario['with'],
  env: Readonly<Record<string, string>> = {},
): Promise<Testimony> {
  const folder = mkdtempSync(join(tmpdir(), 'witness-'));
  try {
    const file = join(folder, 'testimony.json');
    await using sim = await simulate({
      with: inputs ?? {},
      step: { env: { ...env, WITNESS: file }, nodeArgs: ['--import', WITNESS] },
    });
    const { outputs } = await sim.run();
    expect(outputs.result).toBe('sent');
    return JSON.parse(readFileSync(file, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
