// The API has times only in whole seconds, which steps share: the log alone tells what failed.

const TIME = /^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z /;
/** With it, a step begins, and so does each step of a composite action. */
const RUN = '##[group]Run ';
/** The runner shows the script in its color, or settings; a program goes on with something else. */
const BELOW_RUN = /^(?:\x1b\[36;1m|with:|env:|shell: |##\[endgroup\])/;
const POST = 'Post job cleanup.';
/** They stand around each step of a composite action. */
const ACTION_MARK = /^\S+Z ##\[(?:start|end)-action /;

/** Without any, as after a crash of the runner, the whole log, of which a message has the end. */
export function selectFailedSteps(log: string): string {
  const steps: string[][] = [[]];
  const lines = log.split(/\r?\n/).filter((line) => !ACTION_MARK.test(line));
  for (const [index, line] of lines.entries()) {
    if (beginsStep(line, lines[index + 1] ?? '')) steps.push([]);
    steps.at(-1)?.push(line);
  }
  const failed = steps.filter((step) =>
    // A JavaScript action that crashes has no line with an error.
    step.some((line) => /^(?:##\[error\]|Node\.js v\d)/.test(withoutTime(line))),
  );
  return (failed.length > 0 ? failed : steps).flatMap(withoutSettings).join('\n');
}

function beginsStep(line: string, next: string): boolean {
  if (line.endsWith(POST)) return withoutTime(line) === POST;
  return (
    line.includes(RUN) && withoutTime(line).startsWith(RUN) && BELOW_RUN.test(withoutTime(next))
  );
}

/** Without what repeats the title, and without settings (actions/runner, ScriptHandler.cs). */
function withoutSettings(lines: readonly string[]): readonly string[] {
  const end = lines.findIndex((line) => withoutTime(line).startsWith('##[endgroup]'));
  const title = withoutTime(lines[0] ?? '');
  if (end === -1 || !title.startsWith(RUN)) return lines;
  const header = lines.slice(0, end);
  // What has no time belongs to a value of several lines.
  const found = header.findIndex((line) => /^\ufeff?\d[\d:.TZ-]+ (?:shell: |env:$)/.test(line));
  const settings = found === -1 ? end : found;
  const shown = header.slice(0, settings);
  const script = `\x1b[36;1m${title.slice(RUN.length)}\x1b[0m`;
  if (withoutTime(header[1] ?? '') === script) shown.splice(1, 1);
  // A secret that is missing shows in nothing else.
  const empty = header
    .slice(settings)
    .filter((line) => /^ {2}[^\s:]+:\s*$/.test(withoutTime(line)));
  return [...shown, ...(empty.length > 0 ? ['env:', ...empty] : []), ...lines.slice(end)];
}

function withoutTime(line: string): string {
  return line.replace(TIME, '');
}
