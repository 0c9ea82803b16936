// `npm run bench` prints the figures, and writes them to results.md unless other builds are compared.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine } from './machine.ts';
import { describeStartUp } from './start-up.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    // Other builds of the action, compared in the same rounds.
    entry: { type: 'string', multiple: true, default: [] },
  },
});

execFileSync('npm', ['run', '--silent', 'build'], { cwd: join(import.meta.dirname, '..') });
const section = `## Start-up\n\n${await describeStartUp(Number(options.rounds), options.entry)}\n`;
console.log(section);
if (options.entry.length === 0) {
  const head = `# Results

Written by \`npm run bench\`; [README.md](README.md) explains the figures.

${describeMachine()}
`;
  writeFileSync(join(import.meta.dirname, 'results.md'), [head, section].join('\n'));
  console.log('Written to bench/results.md.');
}
