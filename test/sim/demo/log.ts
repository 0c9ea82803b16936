/** A line of the log as GitHub's page shows it. Groups can be folded. */
export interface LogLine {
  readonly kind: 'group' | 'text' | 'error' | 'warning' | 'notice';
  readonly text: string;
  readonly isInGroup: boolean;
}

/** Converts the lines of the runner's log to those that GitHub's page shows. */
export function readLog(show: (line: LogLine) => void): (line: string) => void {
  let isInGroup = false;
  return (line) => {
    const [, command, title = ''] = /^##\[(group|endgroup)\](.*)$/.exec(line) ?? [];
    if (command !== undefined) {
      isInGroup = command === 'group';
      if (isInGroup) show({ kind: 'group', text: title, isInGroup: false });
      return;
    }
    const [, label = 'text'] = /^(Error|Warning|Notice): /.exec(line) ?? [];
    show({ kind: label.toLowerCase() as LogLine['kind'], text: line, isInGroup });
  };
}
