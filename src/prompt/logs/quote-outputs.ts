import { dotted, fence, quoteLines } from '../../markdown.ts';
import type { Redact } from '../../runner/logger.ts';
import { hasVisibleText } from '../../text.ts';
import { clean } from './clean.ts';
import { findErrors, selectLines, sizeWithErrors } from './excerpt.ts';

export const OUTPUTS_ROOM = 20_000;
/** The part of it for errors that come before all other lines. */
const FIRST_ROOM = OUTPUTS_ROOM / 5;
/** The last characters, before cleaning. */
const MOST_KEPT = 1_000_000;
const LONGEST_LINE = 1000;
const SHORTEST_LINE = 100;

export type Output = ReturnType<typeof toOutput>;

/**
 * Of a program or file, without secrets, which are taken out after the cleaning, because a color
 * can split one, and before each cut. `lines`: of the whole, of which the text may be only the end.
 */
export function toOutput(title: string, whole: string, redact: Redact) {
  // The first cut may leave the end of a secret, which is not recognized, of a line or a word.
  const end = whole.slice(-MOST_KEPT).replace(/^(?:[^\n]*\n|\S{1,2000})/, '');
  const isCut = whole.length > MOST_KEPT;
  const lines = redact(clean(isCut ? end : whole)).split('\n');
  const text = lines.map((line) => shorten(line, LONGEST_LINE)).join('\n');
  const count = isCut ? whole.replace(/\n$/, '').split('\n').length : lines.length;
  return { title, text, lines: count };
}

function shorten(line: string, limit: number): string {
  if (line.length <= limit) return line;
  const formatGap = (count: number): string => ` … ${count} characters are left out … `;
  const half = Math.floor((limit - formatGap(line.length).length) / 2);
  const gap = formatGap(line.length - 2 * half);
  const shown = `${line.slice(0, half)}${gap}${line.slice(line.length - half)}`;
  return shown.toWellFormed().replaceAll('\ufffd', '');
}

/** Of several logs, such as those of a matrix, only lines that stand in no earlier one. */
export function withoutRepeatedLines(logs: readonly Output[]): readonly Output[] {
  const known = new Set<string>();
  return logs.map((log) => {
    const lines = log.text.split('\n');
    const isNew = lines.map((line) => line === '' || !known.has(line));
    // The name of a file may be known, and what is said of it not.
    for (const [index, file] of findErrors(log.text).files) if (isNew[index]) isNew[file] = true;
    for (const line of lines) known.add(line);
    if (!isNew.includes(false)) return log;
    const own = lines.filter((_, index) => isNew[index]);
    const title = `${log.title} without the lines that stand in a log above`;
    return { title, text: own.join('\n'), lines: own.length };
  });
}

/** Those that need less than their share of the room leave the rest to the others. */
export function quoteOutputs(outputs: readonly Output[], all = OUTPUTS_ROOM): string {
  let left = all;
  const bySize = outputs.toSorted((one, other) => neededRoom(one) - neededRoom(other));
  const rooms = new Map<Output, number>();
  for (const [rank, output] of bySize.entries()) {
    const room = Math.min(neededRoom(output), Math.floor(left / (outputs.length - rank)));
    rooms.set(output, room);
    left -= room;
  }
  return outputs.map((output) => quoteOutput(output, rooms.get(output) ?? 0)).join('\n\n');
}

function neededRoom({ text }: Output): number {
  // Of a long one, it does not matter by how much it is too long.
  return text.length > OUTPUTS_ROOM ? text.length : sizeWithErrors(findErrors(text), FIRST_ROOM);
}

function quoteOutput({ title, text, lines }: Output, room: number): string {
  if (!hasVisibleText(text)) return `${title} is empty.`;
  const whole = findErrors(text);
  // One line must not take all of a small room.
  const most = Math.max(room / 4, SHORTEST_LINE);
  const isFitting = sizeWithErrors(whole, 0) <= room;
  const fitting = { ...whole, lines: whole.lines.map((line) => shorten(line, most)) };
  const { shown, count, hasFirst } = selectLines(isFitting ? whole : fitting, room, FIRST_ROOM);
  const first = hasFirst ? 'what says that something failed comes first' : '';
  const some = `${count} of ${lines} lines, chosen; “…” stands for the others`;
  const remark = dotted([first, count < lines ? some : ''], '; ');
  return `${title}${remark && ` (${remark})`}:\n\n${quoteLines(fence(shown.join('\n')))}`;
}
