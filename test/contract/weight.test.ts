import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { type Scenario, simulate } from '../action/scenario.ts';
import { ALICE, issueComment, type WebhookEvent } from '../sim/events.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Modules of Node that no request needs and that take long to load. */
const SLOW: ReadonlySet<string> = new Set([
  ...['child_process', 'fs/promises', 'http2', 'https', 'inspector', 'perf_hooks', 'sqlite', 'tls'],
  ...['v8', 'worker_threads'],
]);
const OBSERVER = pathToFileURL(join(import.meta.dirname, '../sim/observer.mjs')).href;

it('the runner downloads at most 160,000 bytes', () => {
  const archive = execFileSync('git', ['archive', 'HEAD'], { cwd: ROOT, maxBuffer: 2 ** 28 });
  expect(gzipSync(archive).length).toBeLessThanOrEqual(160_000);
});

it('a run without a comment loads one file, only the modules of Node that a request needs, and ends by itself', async () => {
  const { loaded, active } = await runAndObserve({ comment: false });
  expect(filesOf(loaded)).toEqual(['index.js']);
  const builtins = loaded.flatMap((url) => /^node:(.*)$/.exec(url)?.[1] ?? []);
  expect(builtins).toContain('http');
  expect(builtins.filter((name) => SLOW.has(name))).toEqual([]);
  // Only its output keeps the process alive.
  expect(active.filter((name) => name !== 'PipeWrap')).toEqual([]);
});

it('a run with a comment also loads GitHub’s client, and nothing that the environment asks for', async () => {
  const { loaded } = await runAndObserve({ comment: true }, { UNDICI_USE_MILO: '1' });
  expect(filesOf(loaded)).toHaveLength(2);
});

it.each([
  ['needs no parser', ALICE, '/agent add `<br>`', 'sent', 1],
  ['may not send', { ...ALICE, login: 'mallory', id: 2002 }, '/agent add `<br>`', 'skipped', 0],
] as const)('a command that %s: %#', async (_, author, body, result, more) => {
  const event = issueComment({ number: 7, body, author });
  const given = { command: '/agent', prompt: '' };
  const { loaded } = await runAndObserve(given, {}, { event, result });
  // The client of GitHub is the other one. What is sent has one more for what people have said.
  expect(filesOf(loaded)).toHaveLength(2 + more);
});

function filesOf(loaded: readonly string[]): readonly string[] {
  return loaded.filter((url) => url.startsWith('file:')).map((url) => basename(url));
}

/** The modules that a run loads, and what is still active at its end. */
async function runAndObserve(
  inputs: NonNullable<Scenario['with']>,
  env: Readonly<Record<string, string>> = {},
  { event, result = 'sent' }: { readonly event?: WebhookEvent; readonly result?: string } = {},
): Promise<Readonly<Record<'loaded' | 'active', readonly string[]>>> {
  const folder = mkdtempSync(join(tmpdir(), 'observer-'));
  try {
    const file = join(folder, 'loaded.json');
    const nodeArgs = ['--import', OBSERVER];
    await using sim = await simulate({
      with: inputs,
      step: { ...(event && { event }), env: { ...env, OBSERVER_FILE: file }, nodeArgs },
    });
    const { outputs } = await sim.run();
    expect(outputs.result).toBe(result);
    return JSON.parse(readFileSync(file, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
