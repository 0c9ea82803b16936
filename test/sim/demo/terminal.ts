import { pathToFileURL } from 'node:url';
import { styleText } from 'node:util';
import type { JournalEntry } from '../agent.ts';
import { PAGE, toEmoji } from './page.ts';
import type { Entry, Viewer } from './play.ts';
import { PULL, story, type Trigger } from './story.ts';

const WIDTH = 96;
const SHOWN = ['result', 'delivery', 'job-id'];
const COLOURS = { Error: 'red', Warning: 'yellow', Notice: 'cyan' } as const;

const shown = story.runs.filter(({ isOnPageOnly = false }) => !isOnPageOnly);
/** Whether the run that is played is one for the page. */
let isQuiet = false;

/** Prints the story as it happens. */
export const terminal: Viewer = {
  begins() {
    heading(story.title, '=');
    console.log('What you see takes less than a minute:\n');
    for (const { title } of shown) console.log(`  - ${title}`);
    console.log(
      '\nThe page with all comments and job summaries, and with the rest of the story, will be',
    );
    console.log(`${pathToFileURL(PAGE)}\n`);
    for (const line of story.setup) console.log(line);
    console.log(
      '\nThe action is the built one. The API and GitHub are simulated on this machine, and',
    );
    console.log(`${story.pace} s of the story take 1 s here.`);
  },
  runStarts(run) {
    const { title, about, trigger } = run;
    isQuiet = !shown.includes(run);
    if (isQuiet) return console.log(styleText('dim', `\nOn the page: ${title}. ${about}`));
    heading(title, '-');
    console.log(about);
    for (const line of describe(trigger)) console.log(`  ${line}`);
    console.log('\nThe log of the step, and what people see on GitHub in the meantime:\n');
  },
  line: printLine,
  write(request) {
    if (isQuiet) return;
    const seen = whatIsSeen(request);
    if (seen !== '') console.log(styleText('dim', `      GitHub: ${seen}`));
  },
  runEnds({ run: { trigger, showsMessage = false }, result, message = '' }, entries) {
    if (isQuiet) return;
    if (result === undefined) {
      console.log('  No runner starts: the condition of the job is not met.');
      return;
    }
    const { conclusion, outputs, summary } = result;
    const colour = conclusion === 'success' ? 'green' : 'red';
    const values = SHOWN.map((name) => `${name}=${outputs[name]}`).join('  ');
    console.log(`\nThe step is ${styleText(colour, colour)}. Some of its outputs: ${values}`);
    const urls = outputs['comment-url']?.split('\n') ?? [];
    if (showsMessage) printBox('The message that reaches the agent', message);
    const text = 'body' in trigger ? trigger.body : '';
    const isShown = ({ html_url, body }: Entry): boolean =>
      urls.includes(html_url) || (text !== '' && body.startsWith(text));
    const found = entries.filter(isShown);
    for (const { author, body, reactions } of found) {
      printBox(`On #${PULL}, ${author}`, `${body}\n\n${toEmoji(reactions).join(' ')}`);
    }
    if (found.length === 0) printBox('The job summary', summary);
  },
};

function printLine(text: string): void {
  // It names a port of the simulation.
  if (isQuiet || text.startsWith('The API is at ')) return;
  const [, label = ''] = /^(Error|Warning|Notice): /.exec(text) ?? [];
  const colour = COLOURS[label as keyof typeof COLOURS] ?? 'reset';
  console.log(styleText(colour, `  ${text}`));
}

/** What people or checks do. */
function describe(trigger: Trigger): readonly string[] {
  switch (trigger.kind) {
    case 'event':
      return [];
    case 'checks':
      return ['', `The checks of #${PULL} end: ${bold(trigger.conclusion)}`];
    default: {
      const { kind, by, body, inline = [] } = trigger;
      const does = kind === 'comment' ? 'comments on' : 'submits a review of';
      const lines = inline.map(({ path, line, body }) => `  ${path}:${line} ${body}`);
      return ['', `${by} ${does} #${PULL}: ${bold(body)}`, ...lines];
    }
  }
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

function printBox(title: string, markdown: string): void {
  if (markdown.trim() === '') return;
  console.log(`\n${title}:\n`);
  for (const line of readable(markdown).trim().split('\n')) console.log(`  │ ${line}`);
}

/** Markdown of the action, as far as a terminal can show it. */
function readable(markdown: string): string {
  return markdown
    .replace(/^<!--.*-->\n?|^> ```.*\n|<[^>]+>|`/gm, '')
    .replace(/\[([^\]]+)\]\((\S+)\)/g, (_, label) => styleText('underline', label))
    .replace(/^#+ (.*)$|\*\*(.+?)\*\*/gm, (_, title, strong) => bold(title ?? strong))
    .replace(/^\|[ |-]+\|\n/gm, '')
    .replace(/\n{2,}/g, '\n');
}

function heading(text: string, line: string): void {
  console.log(bold(`\n${line.repeat(3)} ${text} ${line.repeat(WIDTH - text.length - 5)}\n`));
}

function bold(text: string): string {
  return styleText('bold', text);
}
