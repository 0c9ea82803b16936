// GitHub stores the address in the head of an answered mail as `***@***.***`.
const ADDRESS = /\*{3}@\*{3}\.\*{3}|\bnotifications@github\.com\b/;
const DATE = /\b20\d\d\b|\b\d\d?[/.]\d\d?[/.]\d\d\b/;
const BLANK = /^[\s>]*$/;
/** Programs break a head around the address; Outlook has the date in a line below. */
const LINES_AROUND = [0, -1, -2, 1, 2, 3];

export function withoutMail(text: string): string {
  const lines = text.split('\n');
  const lastOwn = lines.findLastIndex((line) => !/^\s*>/.test(line) && !BLANK.test(line));
  for (const [at, line] of lines.entries()) {
    // Apple Mail quotes the head, too. With words below it, somebody quotes a reply.
    if (!ADDRESS.test(line) || (/^\s*>/.test(line) && lastOwn > at)) continue;
    const dated = LINES_AROUND.find((by) => {
      const between = lines.slice(Math.min(at, at + by), Math.max(at, at + by));
      return DATE.test(lines[at + by] ?? '') && !between.some((one) => BLANK.test(one));
    });
    if (dated === undefined) continue;
    const above = lines.slice(0, Math.min(at, at + dated));
    return above.join('\n').trimEnd();
  }
  return text;
}
