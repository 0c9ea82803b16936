// `npm run bench` prints all figures, and writes them to results.md, with plots. `npm run bench -- waiting
// weight` prints only some of them and writes nothing.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeBuild, isStale, rebuild } from './build.ts';
import { measureLatency } from './latency.ts';
import { drawLatency } from './latency-plot.ts';
import { describeMachine } from './machine.ts';
import { describeManyJobs } from './many-jobs.ts';
import { drawWaiting } from './plot.ts';
import { describeStartUp } from './start-up.ts';
import { compareWaiting, describeWaiting } from './waiting.ts';
import { describeWeight } from './weight.ts';

interface Part {
  readonly title: string;
  /** Which of the figures differ on another machine. */
  readonly varies: string;
  readonly describe: () => string | Section | Promise<string | Section>;
}

interface Section {
  readonly text: string;
  readonly plot?: { readonly file: string; readonly title: string; readonly svg: string };
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
    varies: 'Milliseconds vary with the machine and its load; ratios vary little.',
    describe: () => describeStartUp(Number(options.rounds), options.entry),
  },
  latency: {
    title: 'Latency',
    varies: 'Milliseconds vary with the machine and its load; counts are the same everywhere.',
    async describe() {
      const { text, lines } = await measureLatency(
        Math.ceil(Number(options.rounds) / 4),
        options.entry,
      );
      const title = 'Time to the message against the latency of every response';
      return { text, plot: { file: 'latency.svg', title, svg: drawLatency(lines) } };
    },
  },
  weight: {
    title: 'Weight',
    varies: 'The same on every machine.',
    describe: describeWeight,
  },
  waiting: {
    title: 'Waiting',
    varies: 'The same on every machine, because it is computed.',
    describe() {
      const costs = compareWaiting();
      const title = 'Polls of a job, and the wait that is wasted after its end';
      const plot = { file: 'waiting.svg', title, svg: drawWaiting(costs) };
      return { text: describeWaiting(costs), plot };
    },
  },
  'many-jobs': {
    title: 'Many jobs',
    varies: 'Minutes and calls are the same everywhere; memory and CPU time vary with the machine.',
    describe: describeManyJobs,
  },
  build: {
    title: 'Build',
    varies: 'Seconds vary with the machine and its load; the bytes do not.',
    describe: describeBuild,
  },
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
  if (names.length === 0) console.log('This takes four to five minutes.\n');
  if (isStale()) {
    console.log('dist/ is older than src/, so it is built again.\n');
    rebuild();
  }
  const sections: Section[] = [];
  for (const name of names.length === 0 ? Object.keys(PARTS) : names) {
    const { title, varies, describe } = PARTS[name] as Part;
    const found = await describe();
    const { text, plot } = typeof found === 'string' ? { text: found } : found;
    const image = plot === undefined ? '' : `\n![${plot.title}](${plot.file})\n`;
    const section = {
      text: `## ${title}\n\n${varies}\n\n${text}\n${image}`,
      ...(plot && { plot }),
    };
    console.log(section.text);
    sections.push(section);
  }
  if (names.length === 0) writeResults(sections);
}

function writeResults(sections: readonly Section[]): void {
  const head = `# Results

Written by \`npm run bench\`; [README.md](README.md) explains the figures, and each part says which of them vary
with the machine.

${describeMachine()}
`;
  const write = (file: string, text: string): void => {
    writeFileSync(join(import.meta.dirname, file), text);
    console.log(`Written to bench/${file}.`);
  };
  write('results.md', [head, ...sections.map(({ text }) => text)].join('\n'));
  for (const { plot } of sections) if (plot !== undefined) write(plot.file, plot.svg);
}
