import { type Kept, Tail, withoutFirstWord } from './output.ts';

// Finds the lines of failed steps in the log of a job, which may be of any size: only the ends of them are kept.

/** A step as GitHub's API describes it. The times are ISO 8601 in UTC, truncated to whole seconds. */
export interface Step {
  readonly name: string;
  readonly started_at?: string | null | undefined;
  readonly completed_at?: string | null | undefined;
}

/** The end of what a step said; without one, of what the whole job said. */
export interface LogPart {
  readonly step: string | null;
  readonly tail: Kept;
}

/** Failed steps of a job whose lines are shown, the first ones. */
const MOST_STEPS = 3;
/** Characters of a line that are kept, the last ones. */
const LONGEST_LINE = 100_000;
/** The beginning of each line, except of those that belong to the line before. */
const TIME = /^\ufeff?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z /;

/** Reads a log to its end. Unless each step has times and lines, the end of the whole log stands for all of them. */
export async function readLog(
  chunks: AsyncIterable<Uint8Array>,
  failed: readonly Step[],
): Promise<readonly LogPart[]> {
  const whole = new Tail();
  const steps = failed.slice(0, MOST_STEPS).map(({ name, started_at, completed_at }) => ({
    step: name,
    first: started_at?.slice(0, 19) ?? '',
    last: completed_at?.slice(0, 19) ?? '',
    tail: new Tail(),
  }));
  let second = '';
  for await (const lines of inLines(chunks)) {
    const seconds: string[] = [];
    for (const line of lines) {
      if (second === '' || !line.startsWith(second)) second = TIME.exec(line)?.[1] ?? second;
      seconds.push(second);
    }
    whole.add(lines);
    for (const { first, last, tail } of steps) {
      const isInStep = (at = ''): boolean => first !== '' && first <= at && at <= last;
      tail.add(lines.filter((_, index) => isInStep(seconds[index])));
    }
  }
  const isFound = steps.length > 0 && steps.every(({ tail }) => tail.lines > 0);
  if (!isFound) return [{ step: null, tail: whole }];
  return steps.map(({ step, last, tail: { text, lines, isWhole } }) => {
    return { step, tail: { text: withoutNextStep(text, last), lines, isWhole } };
  });
}

/** The lines that end in each chunk. */
async function* inLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LONGEST_LINE) rest = `…${withoutFirstWord(rest.slice(-LONGEST_LINE))}`;
    yield lines;
  }
  if (rest !== '') yield [rest];
}

/** The first lines of the next step have the last second of this one, too. They come after its last error. */
function withoutNextStep(text: string, last: string): string {
  const error = [...text.matchAll(/^(.{19})\.\d+Z ##\[error\]/gm)].at(-1);
  if (error?.[1] !== last) return text;
  // What belongs to the error has no time.
  const end = text.slice(error.index).search(/\n(?=\ufeff?\d{4}-\d\d-\d\dT)/);
  return end === -1 ? text : text.slice(0, error.index + end + 1);
}
