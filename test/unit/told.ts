import { QUOTATIONS } from '../../src/prompt/quote.ts';
import { lineOf, logOf, messageOf, type Thing } from '../../src/prompt/sections.ts';

/** What a list of things becomes: the message without a task, what people see of it, and what the log says. */
export function told(things: readonly Thing[]) {
  return {
    text: messageOf([], things).replace(`${QUOTATIONS}\n\n`, ''),
    line: lineOf(things),
    log: logOf(things).map(({ level, text }) => `${level}: ${text}`),
  };
}
