import { withoutInvisible } from '../../text.ts';

// Only what a reader of the log would see is left. Every expression takes linear time.

/** Colors and moves of the cursor (ECMA-48, 5.4), also as some tools write them: `^[[31m`. */
const SEQUENCES = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]+[0-~]|\^\[\[(?:\??[0-9;]+[A-Za-z]|[mK])/g;
const OPERATING_SYSTEM_COMMANDS = /(?:\x1b|\^\[)\][^\x07\x1b^\n]*(?:\x07|\^G|(?:\x1b|\^\[)\\)/g;
const TIMES = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z ?/gm;
/** `##[error]` says what kind of line it is; `##[group]` and others only how to show it. */
const MARKS = /^##\[(?:(error|warning|notice|debug)|\w*)\]/gm;
/** A longer run would make the fence as long. */
const MOST_BACKTICKS = /`{11,}/g;

/** HTML comments stay: in a fence, they are as visible as any text. */
export function clean(text: string): string {
  const plain = text
    .replace(/\r+\n?/g, '\n')
    .replace(OPERATING_SYSTEM_COMMANDS, '')
    .replace(SEQUENCES, '');
  // Invisible characters after the sequences, whose first one is invisible, and before all that
  // must not be put together again. The runner takes `##[` for a command anywhere in a line
  // (actions/runner, ActionCommand.cs).
  return withoutInvisible(plain)
    .replace(/[\u2028\u2029]/g, ' ')
    .replaceAll('\ufffd', '')
    .replace(TIMES, '')
    .replace(MARKS, (_, kind?: string) => (kind === undefined ? '' : `${kind}: `))
    .replaceAll('##[', '## [')
    .replace(MOST_BACKTICKS, '`'.repeat(10))
    .trimEnd();
}
