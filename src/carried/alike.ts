import { hasVisibleText, listing } from '../text.ts';
import type { Output } from './output.ts';

// Of logs that say nearly the same, such as those of a matrix, a message has the first, and what only the others say.

/** What is shown of the log of a job. */
export interface Log {
  /** Between “ and ”. */
  readonly name: string;
  readonly outputs: readonly Output[];
}

/** The part of the lines of a log that an earlier one must have. */
const ALIKE = 9 / 10;
/** Lines that only one of them has; of errors, there may be more. */
const MOST_LINES = 10;

/** A log that is shown. */
interface Told {
  readonly name: string;
  /** The patterns of its lines. */
  readonly known: ReadonlySet<string>;
  /** The names of logs that say nothing else. */
  readonly same: string[];
}

/**
 * Instead of a log that says nearly the same as an earlier one, there is only what is not in that. Those that say nothing else are
 * named at the end. In linear time.
 */
export function withoutRepetition(logs: readonly Log[]): readonly Output[] {
  const told: Told[] = [];
  const shown = logs.flatMap(({ name, outputs }) => {
    const lines = linesOf(outputs.map(({ text }) => text).join('\n'));
    const patterns = lines.map(patternOf);
    const earlier = told.find(({ known }) => {
      const found = patterns.filter((pattern) => known.has(pattern)).length;
      return found > 0 && found >= patterns.length * ALIKE;
    });
    if (earlier !== undefined) return difference(name, outputs, lines, earlier);
    const errors = outputs.flatMap((output) => output.errors.map(patternOf));
    told.push({ name, known: new Set([...patterns, ...errors]), same: [] });
    return outputs;
  });
  return [...shown, ...told.flatMap(tellSame)];
}

function difference(
  name: string,
  outputs: readonly Output[],
  lines: readonly string[],
  earlier: Told,
): readonly Output[] {
  const isOwn = (line: string): boolean => !earlier.known.has(patternOf(line));
  const errors = outputs.flatMap((output) => output.errors).filter(isOwn);
  const own = [...new Set([...errors, ...lines.filter(isOwn)])];
  if (own.length === 0) {
    earlier.same.push(name);
    return [];
  }
  const shown = own.slice(0, Math.max(MOST_LINES, errors.length));
  const count = shown.length < own.length ? `, ${shown.length} of ${own.length} lines` : '';
  const title = `${sayNearlySame([name], earlier)}. Only in it${count}`;
  return [{ title, text: shown.join('\n'), lines: shown.length, isWhole: true, errors }];
}

function tellSame(told: Told): readonly Output[] {
  if (told.same.length === 0) return [];
  const title = sayNearlySame(told.same, told);
  return [{ title, text: '', lines: 0, isWhole: true, errors: [], isSentence: true }];
}

function sayNearlySame(names: readonly string[], { name }: Told): string {
  const [logs, say] = names.length === 1 ? ['log', 'says'] : ['logs', 'say'];
  return `The ${logs} of ${listing(names)} ${say} nearly the same as that of ${name}`;
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter(hasVisibleText);
}

/** Where runners have repositories, tools and the files of npm. */
const RUNNER_PATHS =
  /\/(?:home|Users)\/runner\/(?:work\/|hostedtoolcache\/|\.npm\/)?|\/opt\/hostedtoolcache\/|\b[A-Z]:\/(?:a|hostedtoolcache\/windows|Users\/runneradmin|npm\/cache)\//g;

/** Equal for lines that differ only in times, numbers, hashes and paths of runners. */
function patternOf(line: string): string {
  return line
    .replaceAll('\\', '/')
    .replace(RUNNER_PATHS, '~/')
    .replace(/\b[0-9a-f]{7,}\b/gi, '#')
    .replace(/\d+(?:[.,:]\d+)*/g, '#');
}
