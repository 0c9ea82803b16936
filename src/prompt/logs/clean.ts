import { fence } from '../../markdown.ts';
import { withoutInvisible } from '../../text.ts';

// Cleans what programs say, so that only what a reader of the log would see is left. Every expression takes linear time.

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
 * A block of code that the text cannot close; the text is clean. It is a quotation, so that no line of it can end a
 * block that the text before it has left open.
 */
export function fenced(text: string, language?: string): string {
  return fence(text, language).replace(/^/gm, '> ');
}
