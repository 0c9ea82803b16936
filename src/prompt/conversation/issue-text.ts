import type { Redact } from '../../runner/logger.ts';
import { hasVisibleText, oneLine, quote } from '../../text.ts';
import type { Topic } from '../../trigger/trigger.ts';
import { clean, fenced } from '../logs/clean.ts';
import { beginningOf, quoteLines } from '../quote.ts';
import { cleanQuotation, cleanText } from '../sanitize/sanitize.ts';
import type { Missing, Thing } from '../sections.ts';
import { judgeAccount, type Speakers } from './authors.ts';

// The title and text of an issue or pull request that is not the job's own. Whoever commands there has them before their eyes, so
// they are carried whoever wrote them; of the event, so that nobody changes them after the command.

/** Characters of the title and of the text. */
const LONGEST_TITLE = 300;
const LONGEST_TOPIC = 4000;

/** `what`: `issue` or `pull request`. `url`: its page. */
export async function quoteTopic(
  { title, body, author }: Topic,
  what: string,
  url: string,
  speakers: Speakers,
  redact: Redact,
): Promise<Thing> {
  const heard = author === null ? null : judgeAccount(author, speakers);
  const isStranger = heard === null || heard.kind === 'left out';
  const isProgram = heard?.kind === 'program';
  // Words can hide in what only readers of the source see.
  const { words, isWhole } = isStranger
    ? await cleanQuotation(body)
    : { words: await cleanText(body), isWhole: true };
  const whole = redact(isProgram ? clean(words) : words).trim();
  const text = beginningOf(whole, LONGEST_TOPIC);
  const name = author === null ? 'a deleted account' : quote(redact(author.login), 100);
  const hasText = hasVisibleText(text);
  const head = `The ${what}, by ${name}${remarkOn(heard)}${hasText ? '' : ', without a text'}:`;
  const missing: Missing[] = [];
  if (heard?.kind === 'left out' && heard.isFault) {
    const permission = `the permission of ${name}, who wrote the ${what}`;
    missing.push({ what: permission, why: heard.why, isTold: true, isFault: true });
  }
  if (text !== whole || !isWhole) {
    missing.push({ what: `the end of the text of the ${what}`, why: `see ${url}` });
  }
  // The title is theirs, too, and so within the quotation.
  const all = `${oneLine(redact(title), LONGEST_TITLE)}\n\n${text}`.trim();
  const quoted = isProgram ? fenced(all) : quoteLines(all);
  return {
    place: 'about',
    parts: [head, quoted],
    shown: `${hasText ? 'text' : 'title'} of the ${what}`,
    missing,
  };
}

function remarkOn(heard: ReturnType<typeof judgeAccount> | null): string {
  if (heard?.kind === 'person') return '';
  if (heard?.kind === 'program') return ', which is a program';
  const why = heard?.why ?? '';
  return why === ''
    ? ', who may not ask you for changes'
    : `, whose permission is not known (${why})`;
}
