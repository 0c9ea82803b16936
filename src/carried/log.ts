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
  /** The first lines of the step with red text, without times and duplicates. */
  readonly red: string;
}

export interface KeptLog {
  /** Of the failed steps that have lines; if none has any, the end of the whole log stands for all of them. */
  readonly parts: readonly LogPart[];
  /** The failed steps that are not among them then. */
  readonly without: readonly string[];
  /** The first lines of the job that the runner marks as errors, without times and duplicates. */
  readonly errors: string;
}

/** Failed steps of a job whose lines are shown, the first ones. */
const MOST_STEPS = 3;
/** Characters of a line that are kept, the last ones. */
const LONGEST_LINE = 100_000;
/** Characters of errors that are kept. A message has room for a twentieth. */
const MOST_ERRORS = 100_000;
/** The beginning of each line, except of those that belong to the line before. */
const TIME = /^\ufeff?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z /;
/** With it, a step begins, and so does each step of a composite action. */
const RUN = '##[group]Run ';
/** The color of a line of a script, in that group. */
const SCRIPT = '\x1b[36;1m';
const ERROR = '##[error]';
/** Most programs show errors in red, as text or behind it: of 8, 16 or 256 colors (ECMA-48, 8.3.117). */
const RED = /\x1b\[(?:[0-7];)*(?:[39]1|41|101|38;5;[19])m/;

/** Reads a log to its end. */
export async function readLog(
  chunks: AsyncIterable<Uint8Array>,
  failed: readonly Step[],
): Promise<KeptLog> {
  const whole = new Tail();
  const steps = failed.slice(0, MOST_STEPS).map((step) => new StepTail(step));
  const isSurplus = createSurplusFilter();
  const errors = new Errors();
  let second = '';
  for await (const lines of inLines(chunks)) {
    const [kept, seconds]: [string[], string[]] = [[], []];
    for (const line of lines) {
      if (second === '' || !line.startsWith(second)) second = TIME.exec(line)?.[1] ?? second;
      if (isSurplus(line)) continue;
      if (line.includes(ERROR) && withoutTime(line).startsWith(ERROR)) errors.add(line);
      kept.push(line);
      seconds.push(second);
    }
    whole.add(kept);
    for (const step of steps) step.add(kept, seconds);
  }
  const found = steps.filter(({ tail }) => tail.lines > 0);
  if (found.length === 0) {
    return { parts: [{ step: null, tail: whole, red: '' }], without: [], errors: errors.text };
  }
  const shown = new Set(found.map(({ step }) => step));
  return {
    parts: found.map((step) => step.part),
    without: failed.filter((step) => !shown.has(step)).map(({ name }) => name),
    errors: errors.text,
  };
}

/** Keeps the end of the lines of a step. */
class StepTail {
  readonly step: Step;
  /** Seconds of its beginning and end. */
  readonly #first: string;
  readonly #last: string;
  #hasBegun = false;
  #red = new Errors();
  tail = new Tail();

  constructor(step: Step) {
    this.step = step;
    this.#first = step.started_at?.slice(0, 19) ?? '';
    this.#last = step.completed_at?.slice(0, 19) ?? '';
  }

  add(lines: readonly string[], seconds: readonly string[]): void {
    const from = this.#hasBegun ? 0 : this.#begin(lines, seconds);
    const [first, last] = [this.#first, this.#last];
    const isInside = (at = ''): boolean => first !== '' && first <= at && at <= last;
    const own = lines.filter((_, index) => index >= from && isInside(seconds[index]));
    this.tail.add(own);
    for (const line of own) if (RED.test(line)) this.#red.add(line);
  }

  /** What comes before its beginning in its first second belongs to the step before. */
  #begin(lines: readonly string[], seconds: readonly string[]): number {
    const index = lines.findIndex(
      (line, at) => seconds[at] === this.#first && withoutTime(line).startsWith(RUN),
    );
    if (index === -1) return 0;
    this.#hasBegun = true;
    this.tail = new Tail();
    this.#red = new Errors();
    return index;
  }

  get part(): LogPart {
    const { text, lines, isWhole } = this.tail;
    const own = withoutNextStep(text, this.#last);
    return { step: this.step.name, tail: { text: own, lines, isWhole }, red: this.#red.text };
  }
}

/** Keeps the first errors, each once. */
class Errors {
  readonly #lines = new Set<string>();
  #length = 0;

  add(line: string): void {
    const text = withoutTime(line);
    if (this.#length > MOST_ERRORS || this.#lines.has(text)) return;
    // A copy: a part of a string would keep the whole chunk.
    this.#lines.add(Buffer.from(text).toString());
    this.#length += text.length;
  }

  get text(): string {
    return [...this.#lines].join('\n');
  }
}

/**
 * Whether a line at the beginning of a step says nothing new: the first line of the script, which is also its title, or one of the
 * settings after the script, which are `shell:`, `env:` and what follows them (actions/runner, ScriptHandler.cs). Lines of the script
 * itself begin with a color.
 */
function createSurplusFilter(): (line: string) => boolean {
  let place: 'script' | 'settings' | 'elsewhere' = 'elsewhere';
  let first = '';
  return (line) => {
    if (place === 'elsewhere' && !line.includes(RUN)) return false;
    const text = withoutTime(line);
    const [title, isTitle] = [first, text.startsWith(RUN)];
    first = isTitle ? text.slice(RUN.length).trimEnd() : '';
    if (title !== '' && text.trimEnd() === `${SCRIPT}${title}\x1b[0m`) return true;
    if (isTitle) place = 'script';
    else if (text.startsWith('##[')) place = 'elsewhere';
    else if (/^(shell: |env:\s*$)/.test(text)) place = 'settings';
    // A value of several lines: its further lines have no time.
    else if (place === 'settings' && !text.startsWith('  ') && text !== line) place = 'elsewhere';
    return place === 'settings';
  };
}

function withoutTime(line: string): string {
  return line.slice(TIME.exec(line)?.[0].length ?? 0);
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
