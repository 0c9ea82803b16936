import { fence } from '../../markdown.ts';
import type { Redact } from '../../runner/logger.ts';
import { grouped, hasVisibleText, withoutInvisible } from '../../text.ts';
import { chooseLines, needOfLines, readLines, withMarks } from './excerpt.ts';

// Keeps the end of what programs and files say, however much it is, cleans it so that only what a reader of the log would see
// is left, and shares the room in a message among them. Every expression here takes linear time.

/** Characters of all that programs say in one message. */
const OUTPUTS_ROOM = 20_000;
/** The part of it for lines that come before all others. */
const FIRST = OUTPUTS_ROOM / 5;
/** Characters that are kept before cleaning, the last ones. */
const KEPT = 1_000_000;

/** Characters of a line. What is longer is mostly data. */
const LONGEST_LINE = 1000;
/** The least that is worth to be shown of a line. */
const SHORTEST_LINE = 100;
/** The least room of an output that has only what others leave. */
const LEAST_ROOM = 300;

/** What a program said: the end of it, without secrets, so that it can be shown. */
export interface Output {
  /** In our words, with names by others quoted, such as `The file “vale.txt”`. */
  readonly title: string;
  /** Each line has at most `LONGEST_LINE` characters, and those of `withMarks` before it. */
  readonly text: string;
  /** Of the whole, of which the text may be only the end. */
  readonly lines: number;
  readonly isWhole: boolean;
  /** Whether it has only the room that others leave. */
  readonly isLast?: boolean;
  /** Whether the title says it all. */
  readonly isSentence?: true;
}

/** Takes any number of lines, and keeps the last of them. */
export class Tail {
  /** Whole lines, the last ones. Strings that grow and are cut would need many times as much memory. */
  readonly #blocks: string[] = [];
  #length = 0;
  lines = 0;
  isWhole = true;

  /** `block` has these lines. */
  add(lines: readonly string[], block: string): void {
    if (lines.length === 0) return;
    this.#blocks.push(block);
    this.#length += block.length;
    this.lines += lines.length;
    for (
      let [oldest] = this.#blocks;
      oldest && this.#length - oldest.length > KEPT;
      [oldest] = this.#blocks
    ) {
      this.#blocks.shift();
      this.#length -= oldest.length;
      this.isWhole = false;
    }
  }

  get text(): string {
    return this.#blocks.join('');
  }
}

export function toBlock(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}

/** What is kept of a text. */
export type Kept = Pick<Tail, 'text' | 'lines' | 'isWhole'>;

/** The end of a whole text. Only that is decoded: a file may have millions of lines. */
export function tailOf(bytes: Uint8Array): Kept {
  const end = bytes.subarray(-KEPT);
  const isWhole = end.length === bytes.length;
  const text = new TextDecoder().decode(end);
  const breaks = bytes.reduce((count, byte) => count + Number(byte === LINE_FEED), 0);
  const lines = bytes.at(-1) === LINE_FEED ? breaks : breaks + 1;
  return { text: isWhole ? text : withoutFirstLine(text), lines, isWhole };
}

const LINE_FEED = 10;

/** A cut has left only a part of it. */
function withoutFirstLine(text: string): string {
  const end = text.indexOf('\n');
  return end === -1 ? withoutFirstWord(text) : text.slice(end + 1);
}

/** What a cut has left of a word may be the end of a secret, which is not recognized. Secrets have no white space. */
export function withoutFirstWord(text: string): string {
  return text.replace(/^\S{1,2000}/, '');
}

/** Colors and moves of the cursor (ECMA-48, 5.4), and also colors as some tools write them: `^[[31m`. */
const SEQUENCES = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]+[0-~]|\^\[\[(?:\??[0-9;]+[A-Za-z]|[mK])/g;
/** Links and titles of windows, up to their end in the same line. */
const OPERATING_SYSTEM_COMMANDS = /(?:\x1b|\^\[)\][^\x07\x1b^\n]*(?:\x07|\^G|(?:\x1b|\^\[)\\)/g;
/** GitHub puts a time before each line of a log, always with seven digits. */
const TIMES = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z ?/gm;
/** The runner takes them for commands anywhere in a line (actions/runner, ActionCommand.cs). */
const MARKS = /^##\[(\w*)\]/gm;
/** A longer run would make the fence as long. */
const MOST_BACKTICKS = /`{11,}/g;

/** Line breaks become `\n`. HTML comments stay: in a fence, they are as visible as any text. */
export function clean(text: string): string {
  const plain = text
    .replace(/\r+\n?/g, '\n')
    .replace(OPERATING_SYSTEM_COMMANDS, '')
    .replace(SEQUENCES, '');
  // After the sequences, whose first character is invisible, and before all that must not be put together again.
  return withoutInvisible(plain)
    .replace(/[\u2028\u2029]/g, ' ')
    .replaceAll('\ufffd', '')
    .replace(TIMES, '')
    .replace(MARKS, (_, mark: string) => readable(mark))
    .replaceAll('##[', '## [')
    .replace(MOST_BACKTICKS, '`'.repeat(10))
    .trimEnd();
}

/** `##[error]` says what kind of line it is; `##[group]` and others only how to show it. */
function readable(mark: string): string {
  return /^(error|warning|notice|debug)$/.test(mark) ? `${mark}: ` : '';
}

/** Most programs show errors in red, as text or behind it: of 8, 16 or 256 colors (ECMA-48, 8.3.117). */
const RED_COLORS = /\x1b\[(?:[0-7];)*(?:[39]1|41|101|38;5;[19])m/;
/** The runner shows the script of a step in this color. */
const SCRIPT_COLOR = /^(?:\ufeff?\S{28} )?\x1b\[36;1m/;

/** Secrets are taken out after the cleaning, because a color can split one, and before the cut. */
export function toOutput(title: string, kept: Kept, redact: Redact, isLast = false): Output {
  const { lines, isWhole } = kept;
  const linesOf = (text: string): readonly string[] => redact(clean(text)).split('\n');
  const raw = kept.text.split(/\r+\n?|\n/);
  const textsOf = (pattern: RegExp): ReadonlySet<string> =>
    new Set(linesOf(raw.filter((line) => pattern.test(line)).join('\n')).filter(hasVisibleText));
  const marked = withMarks(linesOf(kept.text), textsOf(RED_COLORS), textsOf(SCRIPT_COLOR));
  const text = marked.map((line) => shorten(line)).join('\n');
  return { title, text, lines, isWhole, isLast };
}

/** At most `limit` characters of a line, without its middle. */
function shorten(line: string, limit = LONGEST_LINE): string {
  if (line.length <= limit) return line;
  const gapOf = (count: number): string => ` … ${grouped(count)} characters are left out … `;
  const half = Math.floor((limit - gapOf(line.length).length) / 2);
  const gap = gapOf(line.length - 2 * half);
  const [start, end] = [line.slice(0, half), line.slice(line.length - half)];
  return `${start.replace(/[\ud800-\udbff]$/, '')}${gap}${end.replace(/^[\udc00-\udfff]/, '')}`;
}

/**
 * A block of code that the text cannot close; the text is clean. It is a quotation, so that no line of it can end a
 * block that the text before it has left open.
 */
export function fenced(text: string, language?: string): string {
  return fence(text, language).replace(/^/gm, '> ');
}

/** The most characters of each: those that need less than their share leave the rest to the others, and all to those that come last. */
function roomsOf(outputs: readonly Output[]): ReadonlyMap<Output, number> {
  const first = outputs.filter(({ isLast }) => isLast !== true);
  const given = shares(first, OUTPUTS_ROOM);
  const left = OUTPUTS_ROOM - given.reduce((sum, [, room]) => sum + room, 0);
  const last = outputs.filter(({ isLast }) => isLast === true);
  return new Map([...given, ...shares(last, left)]);
}

/** All that programs say in a message, as quotations that share the room. */
export function quoteOutputs(outputs: readonly Output[]): string {
  const rooms = roomsOf(outputs);
  const blocks = outputs.map((output) => quoteOutput(output, rooms.get(output) ?? 0));
  return blocks.join('\n\n');
}

/** Shares the room from the smallest need to the largest. */
function shares(outputs: readonly Output[], room: number): readonly (readonly [Output, number])[] {
  let left = room;
  const needs = outputs.map((output) => [output, needOf(output)] as const);
  return needs
    .toSorted(([, one], [, other]) => one - other)
    .map(([output, need], rank) => {
      const share = Math.min(need, Math.floor(left / (outputs.length - rank)));
      left -= share;
      return [output, share] as const;
    });
}

function needOf({ text, isSentence }: Output): number {
  if (isSentence) return 0;
  // Of a long one, it does not matter by how much it is too long.
  return text.length > OUTPUTS_ROOM ? text.length : needOfLines(readLines(text), FIRST);
}

function quoteOutput(output: Output, room: number): string {
  const { title, text, lines, isWhole, isLast, isSentence } = output;
  if (isSentence) return `${title}.`;
  if (!hasVisibleText(text)) {
    return `${title} ${isWhole ? 'is empty' : 'ends with nothing that can be read'}.`;
  }
  const told = readLines(text);
  const isFitting = needOfLines(told, 0) <= room;
  if (isLast && !isFitting && room < LEAST_ROOM) {
    return `${title}, is not shown: there is no room for it.`;
  }
  // One line must not take all of a small room.
  const most = Math.max(room / 4, SHORTEST_LINE);
  const fitting = { ...told, lines: told.lines.map((line) => shorten(line, most)) };
  const { shown, count, hasFirst } = chooseLines(isFitting ? told : fitting, room, FIRST);
  const parts = [
    hasFirst ? 'what says that something failed comes first' : '',
    isWhole && count === told.lines.length ? '' : tellPart(count, lines),
  ];
  const part = parts.filter((one) => one !== '').join('; ');
  return `${title}${part === '' ? '' : ` (${part})`}:\n\n${fenced(shown.join('\n'))}`;
}

/** What the title says of an output that is not there as a whole. */
function tellPart(count: number, lines: number): string {
  // A long line, or one that a program has written over, is cut.
  const part = count < lines ? `${grouped(count)} of ${grouped(lines)} lines` : 'a part of it';
  return `${part}, chosen; “…” stands for the others`;
}
