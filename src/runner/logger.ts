import { withoutInvisible } from '../text.ts';
import { issueCommand } from '../vendor/actions.ts';

/** It escapes and redacts each text, so texts by others may be quoted. */
export type Log = Readonly<ReturnType<typeof createLog>>;

export function createLog(redact: Redact, writeLine: (line: string) => void) {
  // Before and after escaping, which may split a secret as well as join its parts.
  const clean = (text: string): string => redact(escapeCommands(redact(text)));

  /** The runner does not mask titles, so they are constants. */
  function annotate(kind: 'notice' | 'warning' | 'error') {
    return (text: string, title?: string): void =>
      issueCommand(kind, title === undefined ? {} : { title }, clean(text));
  }

  return {
    info: (text: string): void => writeLine(clean(text)),
    debug: (text: string): void => issueCommand('debug', {}, clean(text)),
    notice: annotate('notice'),
    warning: annotate('warning'),
    error: annotate('error'),
  };
}

export function maskInLog(secrets: readonly string[]): void {
  for (const secret of secrets) issueCommand('add-mask', {}, secret);
}

/**
 * The runner executes `::command::` at the start of a line, after any white space, and
 * `##[command]` anywhere in it (actions/runner, ActionCommand.cs). Control and format characters
 * can move the cursor, reorder the line or hide text.
 */
export function escapeCommands(text: string): string {
  return text
    .split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)
    .map((line) => line.replace(/(?!\t)[\p{Cc}\p{Cf}]/gu, '').replaceAll('##[', '##\\['))
    .map((line, index) => (index > 0 || /^\s*::/.test(line) ? `  | ${line}` : line))
    .join('\n');
}

export type Redact = (text: string) => string;

/**
 * The runner masks secrets only in its log. Elsewhere, each value by others is redacted by itself,
 * before it becomes a part of JSON or a comment: a secret may be a word with a meaning there.
 */
export function redactor(secrets: readonly string[]): Redact {
  // A shorter one also occurs in ordinary words, and one may contain another.
  const long = secrets.filter(({ length }) => length >= 8).sort((a, b) => b.length - a.length);
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
