// Varnish and nginx as Debian packages them, each in a separate process and folder.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pass } from 'node:timers/promises';
import { closedPort } from '../sim/fault-server.ts';

/** Debian installs them in a folder that is only on the PATH of root. */
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };

export interface Proxy extends AsyncDisposable {
  readonly url: string;
}

export type StartProxy = (apiPort: number) => Promise<Proxy>;

export const PROXIES: Readonly<Record<string, StartProxy>> = {
  Varnish: async (apiPort) => {
    const port = await closedPort();
    return await start('varnish.vcl', { API_PORT: apiPort }, port, (file, folder) => [
      'varnishd',
      ...['-F', '-j', 'none', '-n', join(folder, 'work'), '-s', 'default,16m'],
      ...['-a', `127.0.0.1:${port}`, '-f', file],
    ]);
  },
  nginx: (apiPort) => startNginx(apiPort, 'ONE_PORT'),
  'nginx, 2 upstreams': (apiPort) => startNginx(apiPort, 'TWO_PORT'),
};

async function startNginx(apiPort: number, used: 'ONE_PORT' | 'TWO_PORT'): Promise<Proxy> {
  const ports = { ONE_PORT: await closedPort(), TWO_PORT: await closedPort() };
  const words = { API_PORT: apiPort, ...ports };
  return await start('nginx.conf', words, ports[used], (file, folder) => [
    'nginx',
    ...['-p', folder, '-c', file, '-e', join(folder, 'errors')],
  ]);
}

export function missingPrograms(): readonly string[] {
  return ['varnishd', 'nginx'].filter((program) => spawnSync(program, ['-V'], { env }).error);
}

/** Starts a program on a copy of its configuration, in which `words` are replaced. */
async function start(
  configuration: string,
  words: Readonly<Record<string, number>>,
  port: number,
  command: (file: string, folder: string) => readonly string[],
): Promise<Proxy> {
  const folder = mkdtempSync(join(tmpdir(), 'proxy-'));
  const file = join(folder, configuration);
  writeFileSync(file, fill(configuration, { ...words, FOLDER: folder }));
  const [program = '', ...args] = command(file, folder);
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  let errors = '';
  child.stderr.on('data', (bytes) => {
    errors += bytes;
  });
  while (!(await listens(port))) {
    if (child.exitCode !== null) throw new Error(`${program}: ${errors}`);
    await pass(50);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

function fill(configuration: string, words: Readonly<Record<string, string | number>>): string {
  const text = readFileSync(join(import.meta.dirname, configuration), 'utf8');
  return Object.entries(words).reduce(
    (filled, [word, value]) => filled.replaceAll(word, String(value)),
    text,
  );
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => socket.destroy());
    socket.on('error', () => {});
    socket.on('close', (failed) => resolve(!failed));
  });
}
