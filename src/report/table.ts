import { duration } from '../clock.ts';
import { elapsedMs, type Job } from '../job.ts';
import { byAttention, CALM, countKinds, iconOf, kindOf, wordOf } from '../labels.ts';
import { readPullRequest } from '../link.ts';
import {
  blocks,
  code,
  fitting,
  folded,
  icon,
  pullRequestLink,
  sentenceToMarkdown,
} from './markdown.ts';

// A table of several jobs: those that need attention come first, and the reasons are below it.

/** Characters that are reserved for the note that something is left out. */
const ROOM_FOR_MORE = 300;

/** How long the agent took; empty if that is not known. */
export function timeTaken(job: Job): string {
  const ms = elapsedMs(job) ?? 0;
  return job.end?.result === 'sent' || Math.round(ms / 1000) === 0 ? '' : inOneLine(duration(ms));
}

/** With spaces, it would wrap on a phone or in a narrow column. */
function inOneLine(text: string): string {
  return text.replaceAll(/ (?!aria)/g, '\u00a0');
}

/** Groups of more than `mostOpen` jobs that need no attention are folded. */
export function renderJobs(jobs: readonly Job[], mostOpen: number, room: number): string {
  const sorted = jobs.toSorted((one, other) => byAttention(kindOf(one), kindOf(other)));
  const groups = [...Map.groupBy(sorted, kindOf)]
    .filter(([kind, { length }]) => CALM.has(kind) && length > mostOpen)
    .map(([, group]) => group);
  const inGroups = new Set(groups.flat());
  const open = sorted.filter((job) => !inGroups.has(job));
  const links = jobs.flatMap(({ record }) => record?.prLink ?? []);
  const isClear = new Set(links.map((url) => readPullRequest(url).repository)).size === 1;
  const reasons = renderReasons(sorted, isClear, room / 4);
  let left = room - reasons.length - ROOM_FOR_MORE;
  let hidden: readonly Job[] = [];
  const render = (some: readonly Job[]): string => {
    const [table, rest] = renderTable(some, jobs, isClear, left);
    left -= table.length;
    hidden = [...hidden, ...rest];
    return table;
  };
  const table = render(open);
  const folds = groups.map((group) => {
    left -= folded(countKinds(group.map(kindOf)), '').length;
    const part = render(group);
    const shown = group.filter((job) => !hidden.includes(job));
    const some = shown.length === group.length ? '' : `${shown.length} of `;
    return part === '' ? '' : folded(some + countKinds(group.map(kindOf)), part);
  });
  const more =
    hidden.length === 0
      ? ''
      : `Jobs not shown for lack of room: ${hidden.length} (${countKinds(hidden.map(kindOf))}).`;
  return blocks([table, reasons, ...folds, more]);
}

/** Job IDs may be long, so they come after what people recognize jobs by. */
const COLUMNS: readonly (readonly [
  title: string,
  cellOf: (job: Job, isRepositoryClear: boolean) => string,
])[] = [
  ['Result', (job) => inOneLine(`${icon(iconOf(kindOf(job)))} ${wordOf(kindOf(job))}`)],
  ['Pull request', linkOf],
  ['Time', timeTaken],
  ['Job', ({ id }) => code(id, 256)],
];

function linkOf({ record }: Job, isRepositoryClear: boolean): string {
  return record?.prLink ? pullRequestLink(record.prLink, isRepositoryClear) : '';
}

/** Returns the table, without columns that are empty in all jobs, and the jobs for which it has no room. */
function renderTable(
  jobs: readonly Job[],
  all: readonly Job[],
  isClear: boolean,
  room: number,
): readonly [table: string, hidden: readonly Job[]] {
  const columns = COLUMNS.filter(([, cellOf]) => all.some((job) => cellOf(job, isClear) !== ''));
  const lines = jobs.map((job) => columns.map(([, cellOf]) => cellOf(job, isClear)));
  const head = [columns.map(([title]) => title), columns.map(() => '---')];
  const rows = [...head, ...lines].map((cells) => `| ${cells.join(' | ')} |`);
  const shown = fitting(rows, room);
  if (shown.length <= head.length) return ['', jobs];
  return [shown.join('\n'), jobs.slice(shown.length - head.length)];
}

/** One item for all jobs with the same reason. People know a job by its pull request. */
function renderReasons(jobs: readonly Job[], isClear: boolean, room: number): string {
  const byReason = Map.groupBy(jobs, ({ end }) => end?.reason ?? '');
  const groups = [...byReason].filter(([reason]) => reason !== '');
  const lines = groups.map(([reason, group]) => {
    const [name] = group.map((job) => linkOf(job, isClear) || code(job.id, 256));
    const [label] = group.map((job) => icon(iconOf(kindOf(job))));
    const more = group.length === 1 ? '' : ` and ${group.length - 1} more`;
    return `- ${label} ${name}${more}: ${sentenceToMarkdown(reason)}`;
  });
  const shown = fitting(lines, room);
  const left = groups.slice(shown.length).flatMap(([, group]) => group).length;
  return [...shown, ...(left === 0 ? [] : [`- Reasons not shown for lack of room: ${left}.`])].join(
    '\n',
  );
}
