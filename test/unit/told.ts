import {
  formatLogLines,
  formatMessage,
  formatPreview,
  QUOTATIONS,
  type Section,
} from '../../src/prompt/sections.ts';

/** What a list of sections becomes: the message without a task, what people see of it, and what the log says. */
export function told(sections: readonly Section[]) {
  return {
    text: formatMessage([], sections).replace(`${QUOTATIONS}\n\n`, ''),
    line: formatPreview(sections),
    log: formatLogLines(sections).map(({ level, text }) => `${level}: ${text}`),
  };
}
