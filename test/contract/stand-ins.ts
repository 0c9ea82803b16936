// Runs the shell code of a document without its effects. The PATH contains only stand-ins, which record
// their arguments. The shell is restricted: it does not run commands by path, change the PATH or write
// files.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../sim/platform.ts';

const RECORDED = ['npm', 'npx', 'curl', 'gh', 'apt-get'];
/** Errors of the shell itself if it does not run something, even if the block ignores them. */
const REFUSAL = /: (command not found|restricted|readonly variable)/;

/** Returns the commands that the stand-ins recorded. Runs in a clone of an empty local repository. */
export function playShell(
  block: string,
  variables: Readonly<Record<string, string>> = {},
): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'commands-'));
  try {
    const calls = join(folder, 'calls');
    writeFileSync(calls, '');
    const env = { ...variables, PATH: makeStandIns(folder, calls), HOME: folder, LC_ALL: 'C' };
    // The only harmful builtin command.
    const script = `enable -n kill\n${block}`;
    const { status, stderr } = spawnSync(find('bash'), ['--restricted', '-eu', '-c', script], {
      cwd: makeClone(folder),
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (status !== 0 || REFUSAL.test(stderr)) throw new Error(stderr);
    return readFileSync(calls, 'utf8').split('\n').filter(Boolean);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function makeStandIns(folder: string, calls: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const name of RECORDED) write(name, `echo "${name} $*" >> '${calls}'`);
  // The real one, but without the network.
  write('git', `GIT_ALLOW_PROTOCOL=file '${find('git')}' "$@"`);
  return bin;

  function write(name: string, script: string): void {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
}

function makeClone(folder: string): string {
  const clone = join(folder, 'clone');
  git('init', '--quiet', '--bare', 'origin.git');
  git('clone', '--quiet', 'origin.git', 'clone');
  git('-C', clone, 'config', 'user.name', 'Someone');
  git('-C', clone, 'config', 'user.email', 'someone@example.com');
  git('-C', clone, 'commit', '--quiet', '--allow-empty', '--message', 'Start');
  return clone;

  function git(...args: readonly string[]): void {
    execFileSync('git', args, { cwd: folder, stdio: 'pipe' });
  }
}

function find(tool: string): string {
  const found = findProgram(tool);
  if (found === undefined) throw new Error(`${tool} is not on the PATH.`);
  return found;
}
