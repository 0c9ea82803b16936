import type { Job } from '../job.ts';
import { byAttention, type Kind, kindOf, wordOf } from '../labels.ts';

// The time that jobs took, as a Gantt chart of Mermaid: one bar per job, from the message to the end, in
// the color of its result.

const MOST_BARS = 20;
/** Milliseconds. A shorter bar would show nothing. */
const SHORTEST_BAR_MS = 1000;
/** Characters of a name, so that there is room for the bars. */
const LONGEST_NAME = 20;
/** The width of a letter of a name and of the space around it, in Mermaid's pixels. */
const LETTER_WIDTH = 7;
const MARGIN = 24;

/** A phone has no room for more. */
const MOST_TICKS = 4;
const UNITS = { second: 1000, minute: 60_000, hour: 3_600_000 };
/** With these, no two ticks are close: they divide the next unit, and of hours, 30 means each midnight. */
const STEPS = [1, 2, 6, 12, 30];

/** Mermaid's words for bars that are done, need attention or ended early. */
const TAGS: Readonly<Partial<Record<Kind, string>>> = {
  failed: 'crit',
  doubtful: 'crit',
  unknown: 'crit',
  'not-sent': 'crit',
  unconfirmed: 'active',
  'timed-out': 'active',
  cancelled: 'active',
  archived: 'active',
  completed: 'done',
};

/** Green, red, brown and blue: visible on white and black, with legible white text. */
const THEME: Readonly<Record<string, string>> = {
  doneTaskBkgColor: '#1a7f37',
  doneTaskBorderColor: '#1a7f37',
  critBkgColor: '#cf222e',
  critBorderColor: '#cf222e',
  activeTaskBkgColor: '#9a6700',
  activeTaskBorderColor: '#9a6700',
  taskBkgColor: '#0969da',
  taskBorderColor: '#0969da',
  taskTextColor: '#ffffff',
  taskTextLightColor: '#ffffff',
  taskTextDarkColor: '#ffffff',
  sectionBkgColor: 'transparent',
  sectionBkgColor2: 'transparent',
  altSectionBkgColor: 'transparent',
};

/** Empty for a single job, whose bar would say nothing, and if no job took any time. */
export function renderTimeline(jobs: readonly Job[]): string {
  if (jobs.length === 1) return '';
  const bars = jobs
    .toSorted((one, other) => byAttention(kindOf(one), kindOf(other)))
    .flatMap(toBars);
  const shown = bars.slice(0, MOST_BARS);
  if (shown.length === 0) return '';
  const chart = renderChart(shown);
  return shown.length === bars.length
    ? chart
    : `${chart}\n\nThe timeline shows ${shown.length} of ${bars.length} jobs.`;
}

/** A job without a message has no bar. */
function toBars(job: Job) {
  const { id, sentAt, firstSeenAt, isReadOnly, endedAt } = job;
  const from = sentAt ?? (isReadOnly ? firstSeenAt : null);
  if (from === null || endedAt === null || endedAt - from < SHORTEST_BAR_MS) return [];
  return [
    { name: shorten(id), kind: kindOf(job), from: Math.round(from), to: Math.round(endedAt) },
  ];
}

function renderChart(bars: ReturnType<typeof toBars>): string {
  const longest = Math.max(...bars.map(({ name }) => name.length));
  const start = Math.min(...bars.map(({ from }) => from));
  const tick = tickInterval(Math.max(...bars.map(({ to }) => to)) - start);
  return [
    '```mermaid',
    '---',
    'config:',
    '  themeVariables:',
    ...Object.entries(THEME).map(([name, colour]) => `    ${name}: "${colour}"`),
    '  gantt:',
    '    displayMode: compact',
    `    leftPadding: ${MARGIN + longest * LETTER_WIDTH}`,
    '---',
    'gantt',
    // In milliseconds, because with `X`, for seconds, Mermaid reads the starts as milliseconds anyway.
    '    dateFormat x',
    `    axisFormat ${tick.endsWith('second') ? '%H:%M:%S' : '%H:%M'}`,
    `    tickInterval ${tick}`,
    '    todayMarker off',
    ...bars.flatMap(({ name, kind, from, to }) => [
      `    section ${name}`,
      `    ${wordOf(kind)} : ${[TAGS[kind] ?? [], from, to].flat().join(', ')}`,
    ]),
    '```',
  ].join('\n');
}

/** In Mermaid's words. */
function tickInterval(spanMs: number): string {
  for (const [unit, ms] of Object.entries(UNITS)) {
    const step = STEPS.find((many) => spanMs <= MOST_TICKS * many * ms);
    if (step !== undefined) return `${step}${unit}`;
  }
  return '1day';
}

/** Mermaid takes `:`, `;`, `#` and line ends as syntax, so only plain words pass. */
function shorten(text: string): string {
  const words = text.replace(/[^\w.-]+/g, '_');
  const name = words.length > LONGEST_NAME ? `${words.slice(0, LONGEST_NAME - 2)}..` : words;
  return /^(section|title|click|end|gantt)$/i.test(name) ? `_${name}` : name;
}
