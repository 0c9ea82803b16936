// `npm run bench` prints the figures, and writes results.md unless other builds are compared.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeStartUp } from './start-up.ts';

const ROOT = join(import.meta.dirname, '..');
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    entry: { type: 'string', multiple: true, default: [] },
  },
});

execFileSync('npm', ['run', '--silent', 'build'], { cwd: ROOT });
const section = await describeStartUp(Number(options.rounds), options.entry);
console.log(section);
if (options.entry.length === 0) {
  const commit = execFileSync('git', ['describe', '--always', '--dirty'], { cwd: ROOT });
  const machine = `${process.platform} ${process.arch}, ${cpus().length} CPUs (${cpus()[0]?.model})`;
  const head = `# Results

Written by \`npm run bench\`; [README.md](README.md) explains the figures.

Taken on ${new Date().toISOString().slice(0, 10)} at commit ${String(commit).trim()}: Node ${process.versions.node}, ${machine}, load of the
last minute at the end ${loadavg()[0]?.toFixed(1)}.
`;
  writeFileSync(join(import.meta.dirname, 'results.md'), `${head}\n${section}`);
}
