// What a runner downloads in every job that uses the action.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { table, thousands } from './table.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');

export function describeWeight(): string {
  const archive = execFileSync('git', ['archive', 'HEAD'], { cwd: ROOT, maxBuffer: 2 ** 28 });
  const files = readdirSync(DIST).map(
    (name) => [`dist/${name}`, readFileSync(join(DIST, name))] as const,
  );
  const rows = [['git archive HEAD', archive] as const, ...files].map(([name, bytes]) => [
    `\`${name}\``,
    ...[bytes.length, gzipSync(bytes).length].map(thousands),
  ]);
  return `${table(['weight', 'bytes', 'packed'], rows)}

The budget: an archive of 225,000 bytes, packed.`;
}
