import { hasVisibleText } from '../../text.ts';
import type { Output } from './clean.ts';
import { readLines, withoutMark } from './excerpt.ts';

// Of logs that say the same, such as those of a matrix, a message has the first, and what only the others say.

/** Where runners have repositories, tools and the files of npm. */
const RUNNER_PATHS =
  /\/(?:home|Users)\/runner\/(?:work\/|\.npm\/)?|(?:\/opt\/|\/Users\/runner\/|\b[A-Z]:\/)hostedtoolcache\/(?:windows\/)?(?:\w+\/[\d.]+\/\w+\/)?|\b[A-Z]:\/(?:a|Users\/runneradmin|npm\/cache)\//g;
/** Times of the day, dates, UUIDs, hashes and addresses; and durations. */
const CHANGING =
  /\b\d{4}-\d\d-\d\d(?:[T _]\d\d[:_]\d\d[:_]\d\d[\d.,_]*Z?)?|\b\d?\d:\d\d:\d\d(?:[.,]\d+)?|\b0x[0-9a-f]+\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,}\b/gi;
const DURATIONS = /\b\d+(?:\.\d+)?(?: ?(?:ns|µs|ms|s|secs?|seconds?|mins?|minutes?)|m|h)\b/g;

/**
 * Of each log, the lines that stand in an earlier one are left out. They are the same if only times, durations, hashes and paths of
 * runners differ: any other number may be what the logs differ in. In linear time.
 */
export function withoutRepetition(logs: readonly (readonly Output[])[]): readonly Output[] {
  const known = new Set<string>();
  return logs.flatMap((outputs) => {
    const own = outputs.map((output) => withoutKnown(output, known));
    for (const { text } of outputs) {
      for (const line of text.split('\n')) known.add(patternOf(line));
    }
    return own;
  });
}

function withoutKnown(output: Output, known: ReadonlySet<string>): Output {
  const lines = output.text.split('\n');
  const isOwn = lines.map((line) => hasVisibleText(line) && !known.has(patternOf(line)));
  if (lines.every((line, index) => isOwn[index] || !hasVisibleText(line))) return output;
  if (!isOwn.includes(true)) {
    const title = `${output.title} says nothing that a log above does not say`;
    return { title, text: '', lines: 0, isWhole: true, isSentence: true };
  }
  // The name of a file may be known, and what is said of it not.
  for (const [index, file] of readLines(output.text).files) if (isOwn[index]) isOwn[file] = true;
  const own = lines.filter((_, index) => isOwn[index]);
  const title = `${output.title}, without the lines that stand in a log above`;
  return { ...output, title, text: own.join('\n'), lines: own.length };
}

function patternOf(line: string): string {
  return withoutMark(line)
    .replaceAll('\\', '/')
    .replace(RUNNER_PATHS, '~/')
    .replace(CHANGING, '#')
    .replace(DURATIONS, '#')
    .trimEnd();
}
