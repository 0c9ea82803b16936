import { styleText } from 'node:util';
import type { JournalEntry } from '../agent.ts';
import { toEmoji } from './page.ts';
import type { Entry, Viewer } from './play.ts';
import { PULL, story, type Trigger } from './story.ts';

const WIDTH = 96;
const SHOWN = ['result', 'delivery', 'job-id'];
const COLOURS = { Error: 'red', Warning: 'yellow', Notice: 'cyan' } as const;

/** Prints the story as it happens. */
export const terminal: Viewer = {
  begins({ agent, github }) {
    heading(story.title, '=');
    console.log('Simulated on this machine:\n');
    for (const line of story.setup) console.log(`  ${line}`);
    console.log(`\n  The API listens on ${agent}, GitHub's API on ${github}.`);
    console.log('\nThe action itself, dist/index.js, runs as a runner starts it.');
    console.log(`Time is compressed: ${story.pace} s of the story take 1 s here.`);
  },
  runStarts({ title, about, trigger }) {
    heading(title, '-');
    console.log(about);
    for (const line of describe(trigger)) console.log(`  ${line}`);
    console.log('\nThe log of the step, and what people see on GitHub in the meantime:\n');
  },
  line: printLine,
  write(request) {
    const seen = whatIsSeen(request);
    if (seen !== '') console.log(styleText('dim', `      GitHub: ${seen}`));
  },
  runEnds({ run: { trigger }, result }, entries) {
    if (result === undefined) {
      console.log('  No runner starts: the condition of the job is not met.');
      return;
    }
    const { conclusion, outputs, summary } = result;
    const colour = conclusion === 'success' ? 'green' : 'red';
    const values = SHOWN.map((name) => `${name}=${outputs[name]}`).join('  ');
    console.log(`\nThe step is ${styleText(colour, colour)}. Some of its outputs: ${values}`);
    const urls = outputs['comment-url']?.split('\n') ?? [];
    const text = 'body' in trigger ? trigger.body : '';
    const isShown = ({ html_url, body }: Entry): boolean =>
      urls.includes(html_url) || (text !== '' && body.startsWith(text));
    const shown = entries.filter(isShown);
    for (const { author, body, reactions } of shown) {
      printBox(`On #${PULL}, ${author}`, `${body}\n\n${toEmoji(reactions).join(' ')}`);
    }
    if (shown.length === 0) printBox('The job summary', summary);
  },
};

function printLine(text: string): void {
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
