import { duration } from '../clock.ts';
import { elapsedMs, type JobState } from '../turn.ts';
import { headline } from './comment.ts';
import { code, link } from './markdown.ts';
import { countResults, deliveryOf, worstFirst } from './ranking.ts';

/** The runner drops a summary of more than 1,048,576 bytes as a whole. */
const SIZE_LIMIT = 1_000_000;

export interface SummaryParts {
  readonly states: readonly JobState[];
  /** Why no job was acted on; empty when there are some. */
  readonly problem: string;
  /** Where people read more. */
  readonly commentUrls: readonly string[];
  /** What could not be written as a comment, or an empty string. */
  readonly unwrittenComment: string;
}

/** The job summary: the result first, then the facts, then a timeline. */
export function renderSummary(parts: SummaryParts): string {
  const { states, problem, commentUrls, unwrittenComment } = parts;
  const [only, ...others] = states;
  const blocks = [
    '## Agent follow-up',
    problem === '' ? '' : `**Nothing was sent**\n\n${code(problem, 2000)}`,
    only === undefined ? '' : others.length === 0 ? renderResult(only) : renderTable(states),
    renderTimeline(states),
    renderComments(commentUrls),
    unwrittenComment === ''
      ? ''
      : `The comment could not be written. It would have said:\n\n${unwrittenComment}`,
  ].filter((block) => block !== '');
  let text = '';
  for (const block of blocks) {
    const longer = `${text}${text === '' ? '' : '\n'}${block}\n`;
    if (Buffer.byteLength(longer) > SIZE_LIMIT) break;
    text = longer;
  }
  return text;
}

/** Several are told apart by the numbers of their conversations. */
function renderComments([first, ...others]: readonly string[]): string {
  if (first === undefined) return '';
  if (others.length === 0) return link('Comment on the conversation', first);
  const links = [first, ...others]
    .map((url) => ({ url, number: Number(new URL(url).pathname.split('/').at(-1)) }))
    .sort((one, other) => one.number - other.number)
    .map(({ url, number }) => link(`#${number}`, url));
  return `Comments: ${links.join(', ')}`;
}

/** One row a job, the worst first. */
function renderTable(states: readonly JobState[]): string {
  const rows = worstFirst(states).map(({ jobId, isLook, record, turn }) => {
    const elapsed = elapsedMs(turn, null);
    return [
      code(jobId, 256),
      headline(turn, record?.status ?? null, isLook),
      code(record?.status ?? ''),
      linkTo(record?.prLink),
      // In a narrow column it would stand in two lines.
      elapsed === null ? '' : duration(elapsed / 1000).replaceAll(' ', '\u00a0'),
      code(turn.reason, 300),
    ].join(' | ');
  });
  return [
    `**${states.length} jobs:** ${countResults(states)}`,
    [
      '| Job | Result | Status | Pull request | Time | Reason |',
      '| --- | --- | --- | --- | --- | --- |',
      ...rows.map((row) => `| ${row} |`),
    ].join('\n'),
  ].join('\n\n');
}

function renderResult(state: JobState): string {
  const { jobId, isLook, record, turn, polls } = state;
  const status = record?.status ?? null;
  const elapsed = elapsedMs(turn, null);
  const rows: readonly (readonly [string, string])[] = [
    ['Job', code(jobId)],
    ['Status', code(status ?? '')],
    ['Message', isLook ? '' : DELIVERY[deliveryOf(state)]],
    ['Pull request', linkTo(record?.prLink)],
    ['Confirmed', turn.confirmed === null ? '' : turn.confirmed ? 'yes' : 'no'],
    ['Model', code(record?.model ?? '')],
    ['Repository', code(record?.source?.repository ?? '')],
    ['Ref', code(record?.source?.ref ?? '')],
    ['Time', elapsed === null ? '' : duration(elapsed / 1000)],
    ['Looks at the job', String(polls)],
  ];
  const [heading, ...table] = rows
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `| ${name} | ${value} |`);
  return [
    `**${headline(turn, status, isLook)}**`,
    code(turn.reason, 1000),
    // The first row stands as the heading: without one GitHub draws an empty row.
    [heading, '| :-- | :-- |', ...table].join('\n'),
  ]
    .filter((block) => block !== '')
    .join('\n\n');
}

const DELIVERY = {
  sent: 'delivered',
  'not-sent': 'not sent',
  unknown: 'may or may not have been delivered; not sent again',
} as const;

function linkTo(prLink: string | null | undefined): string {
  return prLink ? link(code(shortLink(prLink)), prLink) : '';
}

/** `owner/repo#12`, as people write it. */
function shortLink(prLink: string): string {
  const parts = new URL(prLink).pathname.split('/').filter((part) => part !== '-');
  return `${parts.slice(1, -2).join('/')}#${parts.at(-1)}`;
}

/** Jobs in a timeline; more cannot be told apart, and Mermaid refuses texts that are too long. */
const MOST_SECTIONS = 30;
/** Of a job that changes to and fro all the time only the last statuses are shown. */
const MOST_BARS = 20;
/** Of what took no time there is nothing to see. */
const SHORTEST_CHART_MS = 1000;
/** As a part of the whole time: a shorter bar cannot hold its name. */
const SHORTEST_BAR = 1 / 20;
/** As a part of the whole time: how long the end of a job is drawn. */
const END_BAR = 1 / 8;
/** Of one letter of a name and of the space around it, in Mermaid's pixels. */
const LETTER_WIDTH = 7;
const MARGIN = 24;

/** A Gantt chart with a row a job, and in it one bar a status, from the first seen to the end. */
function renderTimeline(states: readonly JobState[]): string {
  const withTime = worstFirst(states).filter(
    ({ timeline, turn }) => timeline.length > 1 && turn.result !== 'skipped',
  );
  if (withTime.length === 0) return '';
  const shown = withTime.slice(0, MOST_SECTIONS);
  const ends = shown.flatMap(({ timeline }) => [...timeline.slice(0, 1), ...timeline.slice(-1)]);
  const times = ends.map(({ at }) => Math.round(at));
  const span = Math.max(...times) - Math.min(...times);
  if (span < SHORTEST_CHART_MS) return '';
  const longest = Math.max(...shown.map(({ jobId }) => plain(jobId).length));
  const chart = [
    '```mermaid',
    '---',
    'config:',
    '  gantt:',
    '    displayMode: compact',
    `    leftPadding: ${MARGIN + longest * LETTER_WIDTH}`,
    '---',
    'gantt',
    // In milliseconds: with `X`, for seconds, Mermaid takes the starts for milliseconds all the same.
    '    dateFormat x',
    '    axisFormat %H:%M:%S',
    '    todayMarker off',
    ...shown.flatMap((state) => renderSection(state, span)),
    '```',
  ].join('\n');
  return shown.length === withTime.length
    ? chart
    : `${chart}\n\nThe timeline shows the first ${shown.length} of ${withTime.length} jobs.`;
}

/** The last bar is how it ended, and just long enough for its name. */
function renderSection({ jobId, timeline }: JobState, span: number): readonly string[] {
  const bars = timeline
    .map(({ at, what }, index) => {
      const next = timeline[index + 1]?.at ?? at + span * END_BAR;
      return { what, from: Math.round(at), to: Math.round(next) };
    })
    .filter(({ from, to }) => to - from >= span * SHORTEST_BAR)
    .slice(-MOST_BARS)
    .map(({ what, from, to }) => `    ${plain(what)} : ${COLOURS.get(what) ?? ''}${from}, ${to}`);
  return [`    section ${plain(jobId)}`, ...bars];
}

/** What Mermaid shows in another colour: at work, at rest and in trouble. */
const COLOURS: ReadonlyMap<string, string> = new Map([
  ['active', 'active, '],
  ['completed', 'done, '],
  ['failed', 'crit, '],
  ['error', 'crit, '],
  ['timed-out', 'crit, '],
  ['cancelled', 'crit, '],
]);

/** Mermaid takes `:`, `;`, `#` and line ends as syntax, so only plain words pass. */
function plain(text: string): string {
  const words = text.replace(/[^\w.-]+/g, '_').slice(0, 40);
  return /^(section|title|click|end|gantt)$/i.test(words) ? `_${words}` : words;
}
