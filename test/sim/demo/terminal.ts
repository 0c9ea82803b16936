import { styleText } from 'node:util';
import type { LogLine } from './log.ts';
import type { PlayedScenario, Viewer } from './play.ts';

const WIDTH = 96;
const COLOURS = {
  group: 'bold',
  text: 'reset',
  error: 'red',
  warning: 'yellow',
  notice: 'cyan',
} as const;

/** Prints a scenario as it happens. */
export const terminal: Viewer = {
  scenarioStarts({ title, setup, runs, pace }, { agent, github }) {
    heading(title, '=');
    console.log('Simulated on this machine:\n');
    for (const line of setup) console.log(`  ${line}`);
    console.log(`\n  The API listens on ${agent}, GitHub's API on ${github}.`);
    const times = runs.length === 1 ? 'once' : `${runs.length} times in a row`;
    console.log(
      `\nThe action itself, dist/index.js, runs ${times}, started as a runner starts it.`,
    );
    console.log(`Time is compressed: ${pace} s of the scenario take 1 s here.`);
  },
  runStarts({ title, about, trigger }) {
    heading(title, '-');
    console.log(about);
    if (trigger.kind === 'comment') {
      console.log(`\n  ${trigger.by} comments on #${trigger.number}: ${bold(trigger.body)}`);
    }
    console.log('\nThe log of the step:\n');
  },
  line: ({ kind, text, isInGroup }: LogLine) => {
    const [mark, indent] = [kind === 'group' ? '▾ ' : '', isInGroup ? '    ' : '  '];
    console.log(styleText(COLOURS[kind], `${indent}${mark}${text}`));
  },
  runEnds({ run: { trigger }, result: { conclusion, outputs } }, github) {
    console.log(`\nThe step is ${colour(conclusion)}. Its outputs:\n`);
    for (const [name, value] of Object.entries(outputs)) console.log(`  ${readable(name, value)}`);
    if (trigger.kind !== 'comment') return;
    const command = github.comments(trigger.number).findLast(({ body }) => body === trigger.body);
    const shown = github.reactions.flatMap(({ id, content }) =>
      id === command?.id ? content : [],
    );
    console.log(`\nReactions to the comment: ${shown.join(', ') || 'none'}`);
  },
};

/** As it is, except `results`, which gets one line per object. */
function readable(name: string, value: string): string {
  if (name !== 'results' || value === '[]') return `${name}=${value.replaceAll('\n', '\n    ')}`;
  const rows = JSON.parse(value).map((row: object) => JSON.stringify(row));
  return `${name}=[\n    ${rows.join(',\n    ')}\n  ]`;
}

export function printChecks({ scenario: { lessons }, checks }: PlayedScenario): void {
  heading('Checks', '-');
  for (const [sentence, isTrue] of Object.entries(checks)) {
    console.log(isTrue ? `  ✓ ${sentence}` : styleText('red', `  ✗ False: ${sentence}`));
  }
  heading('What this shows', '-');
  for (const line of lessons) console.log(`  ${line}`);
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
