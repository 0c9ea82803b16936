// `npm run bench` prints all figures, and writes them to results.md. `npm run bench -- start-up weight` prints only
// some of them and writes nothing.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine } from './machine.ts';
import { describeStartUp } from './start-up.ts';
import { describeWeight } from './weight.ts';

interface Part {
  readonly title: string;
  readonly describe: () => string | Promise<string>;
}

const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '20' },
    // Other builds of the action, compared in the same rounds.
    entry: { type: 'string', multiple: true, default: [] },
  },
});

const PARTS: Readonly<Record<string, Part>> = {
  'start-up': {
    title: 'Start-up',
    describe: () => describeStartUp(Number(options.rounds), options.entry),
  },
  weight: { title: 'Weight', describe: describeWeight },
};

const unknown = names.filter((name) => PARTS[name] === undefined);
if (unknown.length > 0 || !(Number(options.rounds) >= 1)) {
  console.error(
    `usage: npm run bench -- [${Object.keys(PARTS).join('] [')}] [--rounds n] [--entry index.js]…`,
  );
  process.exitCode = 2;
} else {
  await main();
}

async function main(): Promise<void> {
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: join(import.meta.dirname, '..') });
  const sections: string[] = [];
  for (const name of names.length === 0 ? Object.keys(PARTS) : names) {
    const { title, describe } = PARTS[name] as Part;
    const section = `## ${title}\n\n${await describe()}\n`;
    console.log(section);
    sections.push(section);
  }
  if (names.length > 0) return;
  const head = `# Results

Written by \`npm run bench\`; [README.md](README.md) explains the figures.

${describeMachine()}
`;
  writeFileSync(join(import.meta.dirname, 'results.md'), [head, ...sections].join('\n'));
  console.log('Written to bench/results.md.');
}
