import { pathToFileURL } from 'node:url';
import { styleText } from 'node:util';
import { oneLine } from '../../../src/text.ts';
import type { JournalEntry } from '../agent.ts';
import { PAGE, toEmoji } from './page.ts';
import type { PlayedRun, Viewer } from './play.ts';
import { ACTION, type Entry } from './stage.ts';
import { PULL, type Run, story, type Trigger } from './story.ts';

const WIDTH = 96;
const SHOWN = ['result', 'delivery', 'job-id'];
const COLOURS = { Error: 'red', Warning: 'yellow', Notice: 'cyan' } as const;

/** How much is shown of the run that is played. */
let shown: Run['shown'];

/** Prints the story as it happens: its first run whole, of the others only what is new. */
export const terminal: Viewer = {
  begins() {
    heading(story.title, '=');
    for (const line of story.setup) console.log(line);
    console.log('The action is the built one. The API and GitHub are simulated on this machine.');
    console.log(`The page with all of it will be ${pathToFileURL(PAGE)}`);
  },
  runStarts(run) {
    if (run.shown === undefined && shown !== undefined) heading('What happens then', '-');
    shown = run.shown;
    if (shown === undefined) return;
    heading(run.title, '-');
    if (run.about !== undefined) console.log(run.about);
    for (const line of describe(run.trigger)) console.log(`  ${line}`);
    if (shown === 'whole') {
      console.log('\nThe log of the step, and what people see on GitHub in the meantime:\n');
    }
  },
  line: printLine,
  write(request) {
    if (shown !== 'whole') return;
    const seen = whatIsSeen(request);
    if (seen !== '') console.log(styleText('dim', `      GitHub: ${seen}`));
  },
  runEnds(played) {
    if (shown === undefined) return console.log(`  ${played.run.title}: ${endOf(played)}`);
    if (shown === 'message') {
      const text = played.messages.join('\n').replace(/^> ```.*\n?|\n(?=\n)/gm, '');
      printBox('The message that reaches the agent', text);
      return console.log(`\nThe end: ${endOf(played)}`);
    }
    const colour = played.result?.conclusion === 'success' ? 'green' : 'red';
    const values = SHOWN.map((name) => `${name}=${played.result?.outputs[name]}`).join('  ');
    console.log(`\nThe step is ${styleText(colour, colour)}. Some of its outputs: ${values}`);
    printBox(`On #${PULL}, ${ACTION}`, readable(answerOf(played)?.body ?? '').trim());
  },
};

/** The comment of the action that tells how the run has ended. */
function answerOf({ result, entries }: PlayedRun): Entry | undefined {
  const [url = ''] = result?.outputs['comment-url']?.split('\n') ?? [];
  return entries.find(({ author, html_url }) => author === ACTION && html_url === url);
}

/** What people see of its end: what stands first in the answer, or why there is none. */
function endOf(played: PlayedRun): string {
  const answer = answerOf(played);
  if (answer !== undefined) return firstOf(readable(answer.body).trim(), /\. |\.?$/m);
  const reason = played.result?.outputs.reason ?? 'No runner starts.';
  return styleText('dim', firstOf(reason, /[.:] |\.?$/m));
}

function firstOf(text: string, end: RegExp): string {
  return text.split(end)[0] ?? '';
}

function printLine(text: string): void {
  // It names a port of the simulation.
  if (shown !== 'whole' || text.startsWith('The API is at ')) return;
  const [, label = ''] = /^(Error|Warning|Notice): /.exec(text) ?? [];
  const colour = COLOURS[label as keyof typeof COLOURS] ?? 'reset';
  console.log(styleText(colour, `  ${text}`));
}

/** What people do. */
function describe(trigger: Trigger): readonly string[] {
  if (!('body' in trigger)) return [];
  const { kind, by, body, on = PULL } = trigger;
  const does = { comment: 'comments on', reply: 'replies on', review: 'submits a review of' };
  return ['', `${by} ${does[kind]} #${on}: ${bold(body)}`];
}

/** What a call changes on the page; empty for what nobody sees. */
function whatIsSeen({ body, method }: JournalEntry): string {
  const { body: text, content, query = '' } = JSON.parse(body || '{}');
  if (content !== undefined) return toEmoji([{ content }]).join();
  if (text !== undefined) {
    const [title = ''] = readable(text).split('\n');
    return `${method === 'POST' ? 'a new comment' : 'the comment is now'}: ${title.trim()}`;
  }
  return query.includes('minimizeComment') ? 'older comments are hidden' : '';
}

function printBox(title: string, text: string): void {
  if (text.trim() === '') return;
  console.log(`\n${title}:\n`);
  for (const line of text.split('\n')) {
    if (line !== '') console.log(`  │ ${oneLine(line, 2 * WIDTH)}`);
  }
}

/** Markdown of the action, as far as a terminal can show it. */
function readable(markdown: string): string {
  return markdown
    .replace(/^<!--.*-->\n?|^> ```.*\n|<[^>]+>|`/gm, '')
    .replace(/\[([^\]]+)\]\((\S+)\)/g, (_, label) => styleText('underline', label))
    .replace(/^#+ (.*)$|\*\*(.+?)\*\*/gm, (_, title, strong) => bold(title ?? strong))
    .replace(/\n{2,}/g, '\n');
}

function heading(text: string, line: string): void {
  console.log(bold(`\n${line.repeat(3)} ${text} ${line.repeat(WIDTH - text.length - 5)}\n`));
}

function bold(text: string): string {
  return styleText('bold', text);
}
