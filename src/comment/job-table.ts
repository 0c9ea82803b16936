import { duration } from '../clock.ts';
import { elapsedMs, type Job, labelOf } from '../job/job.ts';
import { byAttention, countLabels, iconOf, isBad, wordOf } from '../job/labels.ts';
import {
  blocks,
  code,
  fitting,
  folded,
  icon,
  pullRequestLink,
  sentenceToMarkdown,
} from '../markdown.ts';

// A table of several jobs: those that need attention come first, and the reasons are below it.

/** If more jobs need no attention, they are folded. */
const MOST_CALM = 10;
/** Characters that are reserved for the heads of two tables, and for the note that something is left out. */
const FRAME = 600;

/** How long the agent took; empty if that is not known. */
export function timeTaken(job: Job): string {
  const ms = elapsedMs(job) ?? 0;
  return job.end?.result === 'sent' || Math.round(ms / 1000) === 0 ? '' : inOneLine(duration(ms));
}

/** With spaces, it would wrap on a phone or in a narrow column. */
function inOneLine(text: string): string {
  return text.replaceAll(/ (?!aria)/g, '\u00a0');
}

export function renderJobs(jobs: readonly Job[], room: number): string {
  const sorted = jobs.toSorted((one, other) => byAttention(labelOf(one), labelOf(other)));
  const calm = sorted.filter((job) => !isBad(labelOf(job)));
  const below = calm.length > MOST_CALM ? calm : [];
  const above = sorted.filter((job) => !below.includes(job));
  const reasons = renderReasons(sorted, room / 4);
  // Columns that are empty in all jobs are left out.
  const columns = COLUMNS.filter(([, cellOf]) => jobs.some((job) => cellOf(job) !== ''));
  const head = [toRow(columns.map(([title]) => title)), toRow(columns.map(() => '---'))];
  const toRows = (group: readonly Job[]): readonly string[] =>
    group.map((job) => toRow(columns.map(([, cellOf]) => cellOf(job))));
  const fits = fitting(toRows([...above, ...below]), room - reasons.length - FRAME);
  const render = (rows: readonly string[]): string =>
    rows.length === 0 ? '' : [...head, ...rows].join('\n');
  const folds = render(fits.slice(above.length));
  const left = jobs.length - fits.length;
  return blocks([
    render(fits.slice(0, above.length)),
    reasons,
    folds === '' ? '' : folded(countLabels(below.map(labelOf)), folds),
    left === 0 ? '' : `Jobs not shown for lack of room: ${left}.`,
  ]);
}

function toRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** On a phone, only the first ones are seen without scrolling. */
const COLUMNS: readonly (readonly [title: string, cellOf: (job: Job) => string])[] = [
  ['Job', ({ id }) => code(id, 256)],
  ['Result', (job) => inOneLine(`${icon(iconOf(labelOf(job)))} ${wordOf(labelOf(job))}`)],
  ['Pull request', linkOf],
  ['Time', timeTaken],
];

function linkOf({ record }: Job): string {
  return record === undefined ? '' : pullRequestLink(record);
}

/** One item for all jobs with the same reason. People know a job by its pull request. */
function renderReasons(jobs: readonly Job[], room: number): string {
  const byReason = Map.groupBy(jobs, ({ end }) => end?.explanation ?? '');
  const groups = [...byReason].filter(([reason]) => reason !== '');
  const lines = groups.map(([reason, group]) => {
    const [name] = group.map((job) => linkOf(job) || code(job.id, 256));
    const [label] = group.map((job) => icon(iconOf(labelOf(job))));
    const more = group.length === 1 ? '' : ` and ${group.length - 1} more`;
    return `- ${label} ${name}${more}: ${sentenceToMarkdown(reason)}`;
  });
  const shown = fitting(lines, room);
  const left = groups.slice(shown.length).flatMap(([, group]) => group).length;
  return [...shown, ...(left === 0 ? [] : [`- Reasons not shown for lack of room: ${left}.`])].join(
    '\n',
  );
}
