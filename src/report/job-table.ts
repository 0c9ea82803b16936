import { duration } from '../clock.ts';
import { byAttention, countLabels, type Label, UNCONFIRMED } from '../labels.ts';
import { isLink, readPullRequest } from '../pull-request-link.ts';
import { isOurs, type Reason } from '../reason.ts';
import { elapsedMs, type JobRecord, type Turn } from '../turn.ts';
import { CALM } from './heading.ts';
import {
  blocks,
  code,
  fitting,
  folded,
  icon,
  pullRequestLink,
  reasonToMarkdown,
} from './markdown.ts';

// A table of several jobs, for the comment and the job summary: those that need attention come first, and
// the reasons are below it.

export interface Row {
  readonly jobId: string;
  readonly label: Label;
  readonly prLink: string | null;
  /** How long it took, or when it started. */
  readonly time: string;
  readonly reason: Reason;
  /** A link to the log of its run, and its prompt; empty if they are above the table, for all jobs. */
  readonly log: string;
  readonly prompt: string;
}

/** How long the agent took; empty if that is not known. */
export function timeTaken(turn: Turn, { kind }: Label): string {
  const seconds = Math.round((elapsedMs(turn, null) ?? 0) / 1000);
  return kind === 'sent' || seconds === 0 ? '' : duration(seconds);
}

/** `owner/name@ref` */
export function renderSource({ repository, ref }: NonNullable<JobRecord['source']>): string {
  const name = repository.replace(/^https?:\/\/[^/]+\//, '').replace(/\.git$/, '');
  return code(ref === null ? name : `${name}@${ref}`);
}

/** Characters that are reserved for the note that something is left out. */
const ROOM_FOR_MORE = 300;

/** Groups of more than `mostOpen` jobs that need no attention are folded. */
export function renderJobs(rows: readonly Row[], mostOpen: number, room: number): string {
  const sorted = rows.toSorted((one, other) => byAttention(one.label, other.label));
  const groups = [...Map.groupBy(sorted, ({ label }) => label.kind)]
    .filter(([kind, { length }]) => CALM.has(kind) && length > mostOpen)
    .map(([, group]) => group);
  const inGroups = new Set(groups.flat());
  const open = sorted.filter((row) => !inGroups.has(row));
  const columns = columnsFor(rows);
  const reasons = renderReasons(sorted, room / 4);
  let left = room - reasons.length - ROOM_FOR_MORE;
  const [table, hiddenOpen] = renderTable(open, columns, left);
  const hidden = [...hiddenOpen];
  left -= table.length;
  const folds = groups.map((group) => {
    const title = countLabels(group.map(({ label }) => label));
    const [part, rest] = renderTable(group, columns.slice(1), left - folded(title, '').length);
    hidden.push(...rest);
    if (part === '') return '';
    const text = folded(title, part);
    left -= text.length;
    return text;
  });
  return blocks([table, reasons, ...folds, countHidden(hidden)]);
}

function countHidden(rows: readonly Row[]): string {
  if (rows.length === 0) return '';
  const counts = countLabels(rows.map(({ label }) => label));
  return `${rows.length} more jobs are not shown for lack of room: ${counts}.`;
}

/** Titles and cells. Job IDs may be long, so they come after what people recognize jobs by. */
function columnsFor(
  rows: readonly Row[],
): readonly (readonly [title: string, cellOf: (row: Row) => string])[] {
  const links = rows.map(({ prLink }) => prLink).filter(isLink);
  const isClear = new Set(links.map((url) => readPullRequest(url)?.repository)).size === 1;
  return [
    ['Result', renderResult],
    ['Link', ({ prLink }) => (isLink(prLink) ? pullRequestLink(prLink, isClear) : '')],
    ['Time', ({ time }) => inOneLine(time)],
    ['Job', ({ jobId }) => code(jobId, 256)],
    ['Prompt', ({ prompt }) => code(prompt, LONGEST_PROMPT)],
    ['Log', ({ log }) => log],
  ];
}

const LONGEST_PROMPT = 80;

function renderResult({ label }: Row): string {
  const { word, detail } = label;
  const words = detail === UNCONFIRMED ? `${word}, ${detail}` : word;
  return `${icon(label.icon)}${inOneLine(` ${words}`)}`;
}

/** With spaces, it would wrap in a narrow column. */
function inOneLine(text: string): string {
  return text.replaceAll(' ', '\u00a0');
}

/** Returns the table, without empty columns, and the rows for which it has no room. */
function renderTable(
  rows: readonly Row[],
  columns: ReturnType<typeof columnsFor>,
  room: number,
): readonly [table: string, hidden: readonly Row[]] {
  const cells = rows.map((row) => columns.map(([, cellOf]) => cellOf(row)));
  const filled = columns.map((_, index) => cells.some((line) => line[index] !== ''));
  const pick = (line: readonly string[]): string =>
    `| ${line.filter((_, index) => filled[index]).join(' | ')} |`;
  const head = [pick(columns.map(([title]) => title)), pick(columns.map(() => '---'))];
  const shown = fitting([...head, ...cells.map(pick)], room).slice(head.length);
  const table = shown.length === 0 ? '' : [...head, ...shown].join('\n');
  return [table, rows.slice(shown.length)];
}

/** One item for all jobs with the same reason. */
function renderReasons(rows: readonly Row[], room: number): string {
  const explained = rows.filter(({ reason }) => reason.length > 0);
  const groups = [...Map.groupBy(explained, withoutJob).values()];
  const lines = groups.map((group) => `- ${renderReason(group)}`);
  const shown = fitting(lines, room);
  const rest = groups.slice(shown.length).flat().length;
  const more = rest === 0 ? [] : [`- The reasons of ${rest} more jobs are not shown.`];
  return [...shown, ...more].join('\n');
}

/** If several jobs have the same reason, the first one is named, and the others are counted. */
function renderReason(group: readonly Row[]): string {
  const [{ reason, jobId }, ...others] = group as readonly [Row, ...Row[]];
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  const at = reason.findIndex((part, index) => !isOurs(index) && part === jobId);
  if (at === -1) return `${code(jobId, 256)}${more}: ${reasonToMarkdown(reason)}`;
  const [next = '', ...rest] = reason.slice(at + 1);
  return reasonToMarkdown([...reason.slice(0, at + 1), `${more}${next}`, ...rest]);
}

function withoutJob({ reason, jobId }: Row): string {
  return JSON.stringify(reason.map((part) => (part === jobId ? '' : part)));
}
