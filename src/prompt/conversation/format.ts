import type { Post } from '../../github/conversation.ts';
import { fitting } from '../../markdown.ts';
import type { Redact } from '../../runner/logger.ts';
import { hasVisibleText, quote } from '../../text.ts';
import { clean, fenced } from '../logs/clean.ts';
import { beginningOf, quoteLines } from '../quote.ts';
import { cleanText } from '../sanitize/sanitize.ts';
import { type Missing, tellNoRoom } from '../sections.ts';
import { judge, type LeftOut, type Speakers } from './authors.ts';

// Quotes what people and programs have said, as much as there is room for: the newest first.

/** Characters of what was said in a conversation; a thread that is replied to has as many of its own. */
const SAID_ROOM = 8000;
/** Characters of a text, so that others have room, too. */
const LONGEST_SAID = SAID_ROOM / 2;

/** A text that is carried. */
interface Voice {
  readonly kind: 'person' | 'program';
  /** Without secrets. */
  readonly login: string;
  /** What follows the name, such as ` in a review`. */
  readonly where: string;
  readonly body: string;
}

/** What was said in one place: a comment, a review or a thread. */
interface Talk {
  /** Paragraphs above it, without secrets; empty for none. */
  readonly head: string;
  /** The oldest first. */
  readonly voices: readonly Voice[];
  /** How many older ones there are, which were not read. */
  readonly older: number;
}

export interface Overheard {
  readonly talk: Talk;
  readonly leftOut: readonly LeftOut[];
}

/** What is carried of texts in one place, the oldest first. `older`: how many before them were not read. */
export function overhear(
  texts: readonly Post[],
  older: number,
  head: string,
  where: string,
  speakers: Speakers,
): Overheard {
  const voices: Voice[] = [];
  const leftOut: LeftOut[] = [];
  for (const text of texts) {
    const heard = judge(text, speakers);
    if (heard.kind === 'left out') leftOut.push(heard);
    else voices.push({ ...heard, where, body: text.body });
  }
  return { talk: { head, voices, older }, leftOut };
}

interface QuotedTalks {
  /** The oldest first. */
  readonly parts: readonly string[];
  /** Of texts. */
  readonly count: number;
  readonly missing: readonly Missing[];
}

/** `talks`: the newest first. `url`: where people find the rest. */
export async function quoteTalks(
  talks: readonly Talk[],
  redact: Redact,
  url: string,
): Promise<QuotedTalks> {
  const quoted: string[][] = [];
  let [room, count, left, cut, isFull] = [SAID_ROOM, 0, 0, 0, false];
  for (const { head, voices, older } of talks) {
    left += older;
    const own: string[] = [];
    // Only what there is room for is read.
    for (const voice of voices.toReversed()) {
      const said = isFull ? null : await readVoice(voice, redact);
      if (said?.text === '') continue;
      const heads = own.length === 0 && head !== '' ? [head] : [];
      const fits = said !== null && fitting([...heads, said.text], room).length > heads.length;
      if (!fits) {
        left += 1;
        isFull = true;
        continue;
      }
      for (const text of [...heads, said.text]) room -= text.length + 2;
      cut += said.isCut ? 1 : 0;
      own.unshift(said.text);
    }
    if (own.length === 0) continue;
    quoted.unshift(head === '' ? own : [head, ...own]);
    count += own.length;
  }
  return { parts: quoted.flat(), count, missing: tellNoRoom(cut, left, 'older comment', url) };
}

interface QuotedVoice {
  /** Empty if readers see nothing. */
  readonly text: string;
  readonly isCut: boolean;
}

async function readVoice(
  { kind, login, where, body }: Voice,
  redact: Redact,
): Promise<QuotedVoice> {
  const words = await cleanText(body);
  // Secrets are taken out before anything is cut.
  const whole = redact(kind === 'program' ? clean(words) : words).trim();
  if (!hasVisibleText(whole)) return { text: '', isCut: false };
  const text = beginningOf(whole, LONGEST_SAID);
  const name = `${quote(login, 100)}${where}`;
  const quoted =
    kind === 'program'
      ? `${name}, which is a program:\n\n${fenced(text)}`
      : `${name}:\n\n${quoteLines(text)}`;
  return { text: quoted, isCut: text !== whole };
}
