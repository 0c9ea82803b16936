import { styleText } from 'node:util';
import type { LogLine } from './log.ts';
import type { Audience, Told } from './tell.ts';

const WIDTH = 96;
const COLOURS = {
  group: 'bold',
  text: 'reset',
  error: 'red',
  warning: 'yellow',
  notice: 'cyan',
} as const;

/** Prints a story as it happens. */
export const terminal: Audience = {
  starts({ title, starts, runs, pace }, { agent, github }) {
    heading(title, '=');
    console.log('What starts, on this machine:\n');
    for (const line of starts) console.log(`  ${line}`);
    console.log(`\n  The service listens on ${agent}, GitHub's API on ${github}.`);
    console.log('\nWhat runs: the action itself, dist/index.js, started as the runner starts it,');
    const times = runs.length === 1 ? 'once' : `${runs.length} times, one after the other`;
    console.log(`  ${times}; ${pace} s of the story take 1 s here.`);
  },
  runs({ title, about, trigger }) {
    heading(title, '-');
    console.log(about);
    if (trigger.kind === 'comment') {
      console.log(`\n  ${trigger.by} writes on #${trigger.number}: ${bold(trigger.body)}`);
    }
    console.log('\nThe log of the step, as it streams:\n');
  },
  line: ({ kind, text, isInGroup }: LogLine) => {
    const [mark, indent] = [kind === 'group' ? '▾ ' : '', isInGroup ? '    ' : '  '];
    console.log(styleText(COLOURS[kind], `${indent}${mark}${text}`));
  },
  ended({ run: { trigger }, result: { conclusion, outputs } }, github) {
    console.log(`\nThe step is ${colour(conclusion)}. Its outputs:\n`);
    for (const [name, value] of Object.entries(outputs)) console.log(`  ${readable(name, value)}`);
    if (trigger.kind !== 'comment') return;
    const asked = github.comments(trigger.number).findLast(({ body }) => body === trigger.body);
    const shown = github.reactions.flatMap(({ id, content }) => (id === asked?.id ? content : []));
    console.log(`\nReactions to the comment: ${shown.join(', ') || 'none'}`);
  },
};

/** As it stands, but of results one object a line. */
function readable(name: string, value: string): string {
  if (name !== 'results' || value === '[]') return `${name}=${value.replaceAll('\n', '\n    ')}`;
  const rows = JSON.parse(value).map((row: object) => JSON.stringify(row));
  return `${name}=[\n    ${rows.join(',\n    ')}\n  ]`;
}

export function conclude({ story: { lesson }, checks }: Told): void {
  heading('What came of it', '-');
  for (const [sentence, holds] of Object.entries(checks)) {
    console.log(holds ? `  ✓ ${sentence}` : styleText('red', `  ✗ NOT SO: ${sentence}`));
  }
  heading('What to learn from it', '-');
  for (const line of lesson) console.log(`  ${line}`);
}

function heading(text: string, line: string): void {
  console.log(bold(`\n${line.repeat(3)} ${text} ${line.repeat(WIDTH - text.length - 5)}\n`));
}

function bold(text: string): string {
  return styleText('bold', text);
}

function colour(conclusion: string): string {
  return conclusion === 'success' ? styleText('green', 'green') : styleText('red', 'red');
}
