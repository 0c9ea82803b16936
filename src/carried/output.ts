import { fence } from '../markdown.ts';
import type { Redact } from '../runner/log.ts';
import { grouped, hasVisibleText, withoutInvisible } from '../text.ts';

// Keeps the end of what programs and files say, however much it is, cleans it so that only what a reader of the log would see
// is left, and shares the room in a message among them. Every expression here takes linear time.

/** Characters of all that programs say in one message. */
const ROOM = 20_000;
/** Characters that are kept before cleaning, which leaves a tenth at the worst of ordinary logs. */
const KEPT = 200_000;
/** Characters that a quotation puts before each line. */
const QUOTED = '> '.length;

/** Characters of a line. What is longer is mostly data. */
const LONGEST_LINE = 1000;
/** The least that is worth to be shown of a line. */
const SHORTEST_LINE = 100;
/** The part of a share that errors may take which the end does not have. */
const ERRORS = 1 / 5;

/** What a program said: the end of it, without secrets, so that it can be shown. */
export interface Output {
  /** In our words, with names by others quoted, such as `The file “vale.txt”`. */
  readonly title: string;
  /** Each line has at most `LONGEST_LINE` characters. */
  readonly text: string;
  /** Of the whole, of which the text may be only the end. */
  readonly lines: number;
  readonly isWhole: boolean;
  /** The lines that are marked as errors or red, which the text may have as well. */
  readonly errors: readonly string[];
  /** Whether the title says it all. */
  readonly isSentence?: true;
  /** The most characters of it in a message. */
  readonly most?: number;
}

/** Takes any number of lines, and keeps the last of them. */
export class Tail {
  /** Whole lines, the last ones. Strings that grow and are cut would need many times as much memory. */
  readonly #blocks: string[] = [];
  #length = 0;
  lines = 0;
  isWhole = true;

  add(lines: readonly string[]): void {
    if (lines.length === 0) return;
    const block = `${lines.join('\n')}\n`;
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

/** What is kept of a text. */
export type Kept = Pick<Tail, 'text' | 'lines' | 'isWhole'>;

/** The end of a whole text. Only that is decoded: a file may have millions of lines. */
export function tailOf(bytes: Uint8Array): Kept {
  const end = bytes.subarray(-4 * KEPT);
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

/**
 * Secrets are taken out after the cleaning, because a color can split one, and before the cut. `errors` has a line of `kept`,
 * or of what stood before it, in each line.
 */
export function toOutput(title: string, kept: Kept, redact: Redact, errors = ''): Output {
  const { lines, isWhole } = kept;
  const [text, marked] = [kept.text, errors].map((one) =>
    redact(clean(one))
      .split('\n')
      .map((line) => shorten(line)),
  ) as [string[], string[]];
  return {
    ...{ title, text: text.join('\n'), lines, isWhole },
    errors: [...new Set(marked)].filter(hasVisibleText),
  };
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

/** Of these outputs, a message has at most `room` characters together. */
export function limited(outputs: readonly Output[], room: number): readonly Output[] {
  const most = shares(outputs.map(needOf), room);
  return outputs.map((output, index) => ({ ...output, most: most[index] ?? 0 }));
}

/** All that programs say in a message: those that need less than their share of the room leave the rest to the others. */
export function quoteOutputs(outputs: readonly Output[]): string {
  if (outputs.length === 0) return '';
  const equal = Math.floor(ROOM / outputs.length);
  const given = shares(outputs.map(needOf), ROOM);
  const blocks = outputs.map((output, index) => quoteOutput(output, given[index] ?? 0, equal));
  return blocks.join('\n\n');
}

/** Shares the room from the smallest need to the largest. */
function shares(needs: readonly number[], room: number): readonly number[] {
  const given = needs.map(() => 0);
  let left = room;
  const order = [...needs.entries()].sort(([, one], [, other]) => one - other);
  for (const [rank, [index, need]] of order.entries()) {
    const share = Math.min(need, Math.floor(left / (order.length - rank)));
    given[index] = share;
    left -= share;
  }
  return given;
}

function needOf({ text, errors, most = Infinity }: Output): number {
  return Math.min(most, sizeOf(linesOf(missing(errors, text), text)));
}

/** Characters of lines in a quotation. */
function sizeOf(lines: readonly string[]): number {
  return lines.reduce((size, line) => size + QUOTED + line.length + 1, 0);
}

/** What is shown of an output: a line between the errors and the end says that they are not next to each other. */
function linesOf(errors: readonly string[], end: string): readonly string[] {
  return [...errors, ...(errors.length > 0 ? ['…'] : []), ...end.split('\n')];
}

/** The errors that the text does not have. */
function missing(errors: readonly string[], text: string): readonly string[] {
  const lines = new Set(text.split('\n').map((line) => line.trimEnd()));
  return errors.filter((line) => !lines.has(line.trimEnd()));
}

function quoteOutput(output: Output, share: number, equal: number): string {
  const { title, text, lines, isWhole, isSentence, errors } = output;
  if (isSentence) return `${title}.`;
  if (!hasVisibleText(text) && errors.length === 0)
    return `${title} ${isWhole ? 'is empty' : 'ends with nothing that can be read'}.`;
  const shown = chooseLines(output, share, Math.floor(Math.min(share, equal) * ERRORS));
  const part = tellPart(shown, isWhole && shown.end === text, lines);
  const all = linesOf(shown.errors, shown.end);
  return `${title}${part === '' ? '' : ` (${part})`}:\n\n${fenced(all.join('\n'))}`;
}

interface Shown {
  /** Empty if the end has all of them. */
  readonly errors: readonly string[];
  readonly hasAllErrors: boolean;
  readonly end: string;
}

/**
 * Errors come first: the end of a log often has only what came of them. Those in the middle of a long end come first as well, or
 * nobody would look for them; the last line is found there, and says only that the step failed.
 */
function chooseLines({ text, errors }: Output, share: number, forErrors: number): Shown {
  const all = missing(errors, text);
  if (sizeOf(linesOf(all, text)) <= share) return { errors: all, hasAllErrors: true, end: text };
  const hasLost = missing(errors, endOf(text, share - forErrors)).length > 0;
  const told = hasLost ? errors.filter((line) => !text.endsWith(line)) : [];
  const first = firstOf(told, forErrors);
  const end = endOf(text, share - sizeOf(linesOf(first, '').slice(0, -1)));
  return { errors: first, hasAllErrors: first.length === told.length, end };
}

/** What the title says of an output that is not there as a whole. */
function tellPart({ errors, end, hasAllErrors }: Shown, isWhole: boolean, lines: number): string {
  if (isWhole) return errors.length === 0 ? '' : 'errors of other steps, and all its lines';
  const count = end.split('\n').length;
  const part =
    count < lines ? `the last ${grouped(count)} of ${grouped(lines)} lines` : 'only its end';
  if (errors.length === 0) return part;
  return `its ${hasAllErrors ? '' : 'first '}errors, and ${part}`;
}

/** The first lines that fit as a quotation, and at least a part of one. */
function firstOf(lines: readonly string[], limit: number): readonly string[] {
  let size = 0;
  const end = lines.findIndex((line) => {
    size += sizeOf([line]);
    return size > limit;
  });
  const [first] = lines;
  if (end !== 0 || first === undefined) return end === -1 ? lines : lines.slice(0, end);
  return [shorten(first, Math.max(limit - sizeOf(['']), SHORTEST_LINE))];
}

/** The last lines that fit as a quotation, and at least a part of one. */
function endOf(text: string, limit: number): string {
  const lines = text.split('\n');
  let size = 0;
  const before = lines.findLastIndex((line) => {
    size += sizeOf([line]);
    return size > limit;
  });
  const end = lines.slice(before + 1);
  return end.length > 0
    ? end.join('\n')
    : shorten(lines.at(-1) ?? '', Math.max(limit - sizeOf(['']), SHORTEST_LINE));
}
