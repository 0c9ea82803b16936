import { Tail } from './output.ts';

// Finds the lines of failed steps in the log of a job, which may be of any size: only the ends of them are kept.

/** A step as GitHub's API describes it. The times are ISO 8601, in whole seconds. */
export interface Step {
  readonly name: string;
  readonly started_at?: string | null | undefined;
  readonly completed_at?: string | null | undefined;
}

/** The end of what a step said; without one, of what the whole job said. */
export interface LogPart {
  readonly step: string | null;
  readonly tail: Tail;
}

/** What takes the lines of a log, in their order. */
interface LineSink {
  add(lines: Uint8Array, second: string): void;
  /** All lines of an error were added. */
  endError(second: string): void;
}

/** Failed steps of a job whose lines are shown, the first ones. */
const MOST_STEPS = 3;
/** Bytes of a line that show to which step it belongs. */
const LINE_HEAD = 64;
/** The beginning of each line, except of those that belong to the line before; the first has a byte order mark. */
const TIME = /^(?:\xef\xbb\xbf)?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{7}Z (##\[error\])?/;

/** Reads a log to its end. Unless each step has times and lines, the end of the whole log stands for all of them. */
export async function readLog(
  chunks: AsyncIterable<Uint8Array>,
  failed: readonly Step[],
): Promise<readonly LogPart[]> {
  const steps = failed.slice(0, MOST_STEPS);
  const whole = new Tail();
  const selections = steps.flatMap((step) => createSelection(step) ?? []);
  const readLines = createLineReader({
    add(lines, second) {
      whole.add(lines);
      for (const selection of selections) selection.add(lines, second);
    },
    endError(second) {
      for (const selection of selections) selection.endError(second);
    },
  });
  for await (const chunk of chunks) readLines(chunk, false);
  readLines(new Uint8Array(), true);
  const found = selections.filter(({ tail }) => !tail.isEmpty);
  if (found.length > 0 && found.length === steps.length) return found;
  return [{ step: null, tail: whole }];
}

/**
 * Selects the lines of a step by their times; null if the step has none. GitHub truncates the times of steps to seconds,
 * so the first lines of the next step have the last second of this one. They come after its last error.
 */
function createSelection(step: Step): (LogPart & LineSink) | null {
  const [first, last] = [secondOf(step.started_at), secondOf(step.completed_at)];
  if (first === null || last === null) return null;
  const tail = new Tail();
  let afterError: Tail | null = null;
  return {
    step: step.name,
    tail,
    add(lines, second) {
      if (second < first || second > last) return;
      const taker = second === last ? (afterError ?? tail) : tail;
      taker.add(lines);
    },
    endError(second) {
      if (second !== last) return;
      if (afterError !== null) tail.append(afterError);
      afterError = new Tail();
    },
  };
}

/** `2026-11-21T19:32:00`, as lines begin; null if it is no time. */
function secondOf(time: string | null | undefined): string | null {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? null : new Date(ms).toISOString().slice(0, 19);
}

/** Splits a log into runs of lines of the same second, each with one error at its end. */
function createLineReader(sink: LineSink): (chunk: Uint8Array, isLast: boolean) => void {
  let held: Uint8Array = new Uint8Array();
  let isLineStart = true;
  let second = '';
  let isError = false;
  return (chunk, isLast) => {
    const all = Buffer.concat([held, chunk]);
    let [from, at] = [0, 0];
    while (at < all.length) {
      const end = all.indexOf('\n', at) + 1;
      // The rest of the time may be in the next chunk.
      if (isLineStart && end === 0 && all.length - at < LINE_HEAD && !isLast) break;
      if (isLineStart && beginLine(all, from, at)) from = at;
      isLineStart = end > 0;
      at = end || all.length;
    }
    sink.add(all.subarray(from, at), second);
    held = all.subarray(at);
    if (isLast && isError) sink.endError(second);
  };

  /** Returns whether a new run begins with this line. */
  function beginLine(all: Buffer, from: number, at: number): boolean {
    const [, time, mark] = TIME.exec(all.toString('latin1', at, at + LINE_HEAD)) ?? [];
    if (time === undefined) return false;
    const isNewRun = time !== second || isError;
    if (isNewRun) sink.add(all.subarray(from, at), second);
    if (isError) sink.endError(second);
    second = time;
    isError = mark !== undefined;
    return isNewRun;
  }
}
