import { withoutInvisible } from '../text.ts';
import { issueCommand } from '../vendor/actions.ts';

// The log, and how texts become safe to leave the process: without secrets, and in the log without commands.

/** The only way to write to the log. It escapes and redacts each text, so texts by others may be quoted. */
export interface Log {
  info(text: string): void;
  /** Only shown if step debug logging is on. */
  debug(text: string): void;
  /** These three are annotations. The runner does not mask their titles, so those are constants. */
  notice(text: string, title?: string): void;
  warning(text: string, title?: string): void;
  error(text: string, title?: string): void;
}

export function createLog(redact: Redact, writeLine: (line: string) => void): Log {
  // Before and after escaping, which may split a secret as well as join its parts.
  const clean = (text: string): string => redact(escapeCommands(redact(text)));

  function annotate(kind: 'notice' | 'warning' | 'error'): Log['error'] {
    return (text, title) => issueCommand(kind, title === undefined ? {} : { title }, clean(text));
  }

  return {
    info: (text) => writeLine(clean(text)),
    debug: (text) => issueCommand('debug', {}, clean(text)),
    notice: annotate('notice'),
    warning: annotate('warning'),
    error: annotate('error'),
  };
}

/** Makes the runner replace these values with `***` in the log. */
export function maskInLog(secrets: readonly string[]): void {
  for (const secret of secrets) issueCommand('add-mask', {}, secret);
}

/**
 * Escapes workflow commands. The runner ends a line at `\n`, `\r\n` and a single `\r`. It executes
 * `::command::` at the start of a line, after any Unicode white space, and `##[command]` anywhere
 * in a line (actions/runner, ActionCommand.cs). Control and format characters are removed, because
 * they can move the cursor, reorder the line or hide text.
 */
export function escapeCommands(text: string): string {
  return text
    .split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)
    .map((line) => line.replace(/(?!\t)[\p{Cc}\p{Cf}]/gu, '').replaceAll('##[', '##\\['))
    .map((line, index) => (index > 0 || /^\s*::/.test(line) ? `  | ${line}` : line))
    .join('\n');
}

/** Replaces every secret in a text with `***`. */
export type Redact = (text: string) => string;

/** Characters. A shorter value also occurs in ordinary words. */
const SHORTEST_SECRET = 8;

/**
 * The runner masks secrets only in its log, not in what is sent to an API, written to a file or passed to another job.
 * There, each value by others is redacted by itself, before it becomes a part of JSON, a marker or a comment: a secret may
 * be a word with a meaning there.
 */
export function redactor(secrets: readonly string[]): Redact {
  const long = secrets.filter(({ length }) => length >= SHORTEST_SECRET);
  // A secret may contain another one.
  long.sort((one, other) => other.length - one.length);
  const replaceAll = (text: string): string =>
    long.reduce((clean, secret) => clean.replaceAll(secret, '***'), text);
  return (text) => {
    const clean = replaceAll(text);
    // Characters that are removed later may split a secret.
    const visible = withoutInvisible(clean);
    const found = replaceAll(visible);
    return found === visible ? clean : found;
  };
}
