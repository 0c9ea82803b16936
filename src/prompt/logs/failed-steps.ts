import { FAILURES } from '../../trigger/trigger.ts';
import { type Kept, Tail, toBlock, withoutFirstWord } from './clean.ts';

// Finds the lines of failed steps in the log of a job, which may be of any size: only the ends of them are kept.

/** A step as GitHub's API describes it. The times are ISO 8601 in UTC, truncated to whole seconds. */
export interface Step {
  readonly name: string;
  readonly conclusion: string | null;
  readonly started_at?: string | null | undefined;
  readonly completed_at?: string | null | undefined;
}

/** The end of what a step said; without one, of what the whole job said. */
export interface LogPart {
  readonly step: string | null;
  readonly tail: Kept;
  /** Whether the job went on after it (`continue-on-error`): GitHub calls such a step a success. */
  readonly isOptional: boolean;
}

export interface KeptLog {
  /** Of the failed steps that have lines; if none has any, the end of the whole log stands for all of them. */
  readonly parts: readonly LogPart[];
  /** The failed steps that are not among them then. */
  readonly without: readonly string[];
}

/** Failed steps of a job whose lines are shown, the first ones; of those that may fail as many more. */
const MOST_STEPS = 3;
/** Characters of a line that are kept, the last ones. */
const LONGEST_KEPT_LINE = 100_000;
/** The beginning of each line, except of those that belong to the line before. */
const TIME = /^\ufeff?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z /;
/** With it, a step begins, and so does each step of a composite action. */
const RUN = '##[group]Run ';
/** The color of a line of a script, in that group. */
const SCRIPT = '\x1b[36;1m';
const ERROR = '##[error]';
/** The step has ended with it. Other errors may be no more than notices, such as those of pip. */
const EXIT_CODE_ERROR = /Z ##\[error\].{0,200}\bexit(?:ed)?\b.{0,9}\bcode \d/;
/** With it, a step begins, too, and the one before it ends. */
const POST = 'Post job cleanup.';

/** Reads a log to its end. Of all steps of its job, those that failed are looked for. */
export async function readLog(
  chunks: AsyncIterable<Uint8Array>,
  all: readonly Step[],
): Promise<KeptLog> {
  const failed = failedSteps(all);
  const steps = failed.slice(0, MOST_STEPS).map((step) => new StepTail(step));
  const others = new OptionalSteps(all, failed);
  const withoutSurplus = createSurplusFilter();
  let whole = new Tail();
  let second = '';
  for await (const lines of inLines(chunks)) {
    const kept: string[] = [];
    const seconds: string[] = [];
    for (const each of lines) {
      if (second === '' || !each.startsWith(second)) second = TIME.exec(each)?.[1] ?? second;
      const line = withoutSurplus(each);
      if (line === null) continue;
      kept.push(line);
      seconds.push(second);
    }
    // One string for all that keep these lines: there may be eight logs at once.
    const block = toBlock(kept);
    for (const step of steps) step.add(kept, seconds, block);
    others.add(kept, seconds, block);
    if (steps.every(({ tail }) => tail.lines === 0)) whole.add(kept, block);
    else whole = new Tail();
  }
  const found = steps.filter(({ tail }) => tail.lines > 0);
  if (found.length === 0) {
    return { parts: [{ step: null, tail: whole, isOptional: false }], without: [] };
  }
  const shown = new Set(found.map(({ step }) => step));
  return {
    parts: [...found.map((step) => step.part), ...others.end()],
    without: failed.filter((step) => !shown.has(step)).map(({ name }) => name),
  };
}

/** Of a job that has reached its time limit, the step that ran then was cancelled. */
function failedSteps(steps: readonly Step[]): readonly Step[] {
  const failed = steps.filter(({ conclusion }) => FAILURES.has(conclusion));
  return failed.length > 0 ? failed : steps.filter(({ conclusion }) => conclusion === 'cancelled');
}

function firstSecond(step: Step): string {
  return step.started_at?.slice(0, 19) ?? '';
}

function lastSecond(step: Step): string {
  return step.completed_at?.slice(0, 19) ?? '';
}

/** Keeps the end of the lines of a step. */
class StepTail {
  readonly step: Step;
  #hasBegun = false;
  tail = new Tail();

  constructor(step: Step) {
    this.step = step;
  }

  add(lines: readonly string[], seconds: readonly string[], block: string): void {
    const first = firstSecond(this.step);
    const last = lastSecond(this.step);
    const from = this.#hasBegun ? 0 : this.#begin(first, lines, seconds);
    const isInside = (at = ''): boolean => first !== '' && first <= at && at <= last;
    const own = lines.filter((_, index) => index >= from && isInside(seconds[index]));
    this.tail.add(own, own.length === lines.length ? block : toBlock(own));
  }

  /** What comes before its beginning in its first second belongs to the step before. */
  #begin(first: string, lines: readonly string[], seconds: readonly string[]): number {
    const index = lines.findIndex(
      (line, at) => seconds[at] === first && withoutTime(line).startsWith(RUN),
    );
    if (index === -1) return 0;
    this.#hasBegun = true;
    this.tail = new Tail();
    return index;
  }

  get part(): LogPart {
    const { text, lines, isWhole } = this.tail;
    const own = withoutNextStep(text, lastSecond(this.step));
    return { step: this.step.name, tail: { text: own, lines, isWhole }, isOptional: false };
  }
}

/**
 * Keeps the ends of steps that failed inside: their lines have an exit code, but the job went on. A step of a composite action is one by
 * itself.
 */
class OptionalSteps {
  readonly #all: readonly Step[];
  readonly #failed: ReadonlySet<Step>;
  readonly #found: LogPart[] = [];
  #tail = new Tail();
  /** Seconds of the first line of this step, and of its last error. */
  #first = '';
  #error = '';

  constructor(all: readonly Step[], failed: readonly Step[]) {
    this.#all = all;
    this.#failed = new Set(failed);
  }

  add(lines: readonly string[], seconds: readonly string[], block: string): void {
    let from = 0;
    this.#first ||= seconds[0] ?? '';
    for (const [index, line] of lines.entries()) {
      if (line.includes(RUN) || line.includes(POST)) {
        const before = lines.slice(from, index);
        this.#tail.add(before, toBlock(before));
        this.#endStep();
        from = index;
        this.#first = seconds[index] ?? '';
      } else if (line.includes(ERROR) && EXIT_CODE_ERROR.test(line)) {
        this.#error = seconds[index] ?? '';
      }
    }
    const rest = from === 0 ? lines : lines.slice(from);
    this.#tail.add(rest, from === 0 ? block : toBlock(rest));
  }

  end(): readonly LogPart[] {
    this.#endStep();
    return this.#found;
  }

  #endStep(): void {
    // Of several steps in one second, it is the last one.
    const step = this.#all.findLast(
      (one) => firstSecond(one) <= this.#first && this.#error <= lastSecond(one),
    );
    const isFound = this.#error !== '' && step !== undefined && !this.#failed.has(step);
    if (isFound && this.#found.length < MOST_STEPS) {
      this.#found.push({ step: step.name, tail: this.#tail, isOptional: true });
    }
    this.#tail = new Tail();
    this.#error = '';
  }
}

/**
 * Leaves out the lines at the beginning of a step that say nothing new: the first line of the script, which is also its title, and
 * the settings after the script, which are `shell:`, `env:` and what follows them (actions/runner, ScriptHandler.cs), but for
 * empty variables: a secret that is missing shows in nothing else. Lines of the script itself begin with a color.
 */
function createSurplusFilter(): (line: string) => string | null {
  let place: 'script' | 'settings' | 'elsewhere' = 'elsewhere';
  let first = '';
  let heading = '';
  return (line) => {
    if (place === 'elsewhere' && !line.includes(RUN)) return line;
    const text = withoutTime(line);
    const title = first;
    const isTitle = text.startsWith(RUN);
    first = isTitle ? text.slice(RUN.length).trimEnd() : '';
    if (title !== '' && text.trimEnd() === `${SCRIPT}${title}\x1b[0m`) return null;
    if (isTitle) place = 'script';
    else if (text.startsWith('##[')) place = 'elsewhere';
    else if (/^(shell: |env:\s*$)/.test(text)) place = 'settings';
    // A value of several lines: its further lines have no time.
    else if (place === 'settings' && !text.startsWith('  ') && text !== line) place = 'elsewhere';
    if (place !== 'settings') return line;
    if (text.startsWith('env:')) heading = `${line}\n`;
    if (!/^ {2}[^\s:]+:\s*$/.test(text)) return null;
    const kept = heading + line;
    heading = '';
    return kept;
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
    if (rest.length > LONGEST_KEPT_LINE)
      rest = `…${withoutFirstWord(rest.slice(-LONGEST_KEPT_LINE))}`;
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
