// What a runner downloads in every job that uses the action, and the size of each part.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { originOf } from './origin.ts';
import { table, thousands } from './table.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');
const BUDGET = 145_000;

export async function describeWeight(): Promise<string> {
  const archive = execFileSync('git', ['archive', 'HEAD'], { cwd: ROOT, maxBuffer: 2 ** 28 });
  const packed = gzipSync(archive).length;
  if (packed > BUDGET) throw new Error(`the archive has ${packed} bytes packed`);
  const files = readdirSync(DIST);
  const whole = files.map((name) => [`\`dist/${name}\``, readFileSync(join(DIST, name))] as const);
  const sum = Buffer.concat(whole.map(([, bytes]) => bytes));
  const codeFiles = files.filter((name) => name.endsWith('.js')).toReversed();
  return `What a runner downloads, and how much of it is \`dist/\`:

${table(
  ['weight', 'bytes', 'packed', 'of the budget'],
  [
    ['`git archive HEAD`', thousands(archive.length), thousands(packed), share(packed, BUDGET)],
    ['its budget', '', thousands(BUDGET), ''],
    ['`dist/`', ...row(sum), share(gzipSync(sum).length, BUDGET)],
    ...whole.map(([name, bytes]) => [name, ...row(bytes), '']),
  ],
)}

The size of each package in \`dist/\`, with every byte counted once. Each run loads \`index.js\`; runs that call
the GitHub API also load the other file. Each package is packed alone, so the sum is slightly more than the whole.

${table(['package', ...codeFiles, 'together', 'packed', 'share'], await describePackages(codeFiles))}`;
}

async function describePackages(files: readonly string[]): Promise<readonly (readonly string[])[]> {
  const packages = new Map<string, Map<string, string>>();
  for (const file of files) {
    for (const { origin, text } of await originOf(ROOT, file)) {
      const code = packages.get(origin) ?? new Map<string, string>();
      code.set(file, (code.get(file) ?? '') + text);
      packages.set(origin, code);
    }
  }
  const rows = [...packages].map(([name, code]) => ({
    name,
    code,
    whole: Buffer.from([...code.values()].join('')),
  }));
  const sum = rows.reduce((total, { whole }) => total + whole.length, 0);
  return rows
    .toSorted((one, other) => other.whole.length - one.whole.length)
    .map(({ name, code, whole }) => [
      name,
      ...files.map((file) => thousands(code.get(file)?.length ?? 0)),
      ...row(whole),
      `${((100 * whole.length) / sum).toFixed(1)} %`,
    ]);
}

function row(bytes: Buffer): readonly string[] {
  return [thousands(bytes.length), thousands(gzipSync(bytes).length)];
}

function share(part: number, whole: number): string {
  return `${Math.round((100 * part) / whole)} %`;
}
