// Of the log of a job, the lines of the steps that failed. The log alone tells which ones these are: the API knows steps only by
// whole seconds, of which several steps share one.

const TIME = /^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z /;
/** With it, a step begins, and so does each step of a composite action. */
const RUN = '##[group]Run ';
/** What the runner shows below that: the script in its color, or settings. A group of a program goes on with something else. */
const BELOW_RUN = /^(?:\x1b\[36;1m|with:|env:|shell: |##\[endgroup\])/;
/** The color of the script. */
const SCRIPT = '\x1b[36;1m';
/** With it, a step begins, too. */
const POST = 'Post job cleanup.';
/** They stand around each step of a composite action. */
const ACTION_MARK = /^\S+Z ##\[(?:start|end)-action /;
const ERROR = '##[error]';
const END = '##[endgroup]';

/** Without any, as after a crash of the runner, the whole log, of which a message has the end. */
export function selectFailedSteps(log: string): string {
  const lines = log.split(/\r?\n/).filter((line) => !ACTION_MARK.test(line));
  const steps = splitSteps(lines);
  const failed = steps.filter((lines) => lines.some((line) => withoutTime(line).startsWith(ERROR)));
  return (failed.length > 0 ? failed : steps).flatMap(withoutSettings).join('\n');
}

function splitSteps(lines: readonly string[]): readonly (readonly string[])[] {
  const steps: string[][] = [[]];
  for (const [index, line] of lines.entries()) {
    if (beginsStep(line, lines[index + 1] ?? '')) steps.push([]);
    steps.at(-1)?.push(line);
  }
  return steps;
}

function beginsStep(line: string, next: string): boolean {
  if (line.endsWith(POST)) return withoutTime(line) === POST;
  return line.includes(RUN) && withoutTime(line).startsWith(RUN) && isBelowRun(next);
}

function isBelowRun(line: string): boolean {
  return BELOW_RUN.test(withoutTime(line));
}

/**
 * Leaves out what says nothing new at the beginning of a step: the first line of the script, which is also its title, and the
 * settings after the script (actions/runner, ScriptHandler.cs), but for empty variables: a secret that is missing shows in nothing
 * else. What has no time belongs to a value of several lines.
 */
function withoutSettings(lines: readonly string[]): readonly string[] {
  const end = lines.findIndex((line) => withoutTime(line).startsWith(END));
  const title = withoutTime(lines[0] ?? '');
  if (end === -1 || !title.startsWith(RUN)) return lines;
  const header = lines.slice(0, end);
  const found = header.findIndex((line) => /^\ufeff?\d[\d:.TZ-]+ (?:shell: |env:$)/.test(line));
  const settings = found === -1 ? end : found;
  const script = `${SCRIPT}${title.slice(RUN.length)}\x1b[0m`;
  const shown = header.slice(0, settings);
  if (withoutTime(header[1] ?? '') === script) shown.splice(1, 1);
  const empty = header
    .slice(settings)
    .filter((line) => /^ {2}[^\s:]+:\s*$/.test(withoutTime(line)));
  return [...shown, ...(empty.length > 0 ? ['env:', ...empty] : []), ...lines.slice(end)];
}

function withoutTime(line: string): string {
  return line.replace(TIME, '');
}
