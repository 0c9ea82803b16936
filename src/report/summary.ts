import { type JobResult, type Milestone, OUTCOMES, worstFirst } from '../outcome.ts';
import { headline } from './comment.ts';
import { code, duration, link } from './markdown.ts';

/** The runner drops a summary of more than 1,048,576 bytes as a whole. */
const SIZE_LIMIT = 1_000_000;

export interface SummaryParts {
  readonly results: readonly JobResult[];
  /** Why no job was acted on; empty when there are results. */
  readonly problem: string;
  /** Where people read more. */
  readonly commentUrls: readonly string[];
  /** What could not be written as a comment, or an empty string. */
  readonly unwrittenComment: string;
}

/** The job summary: the result first, then the facts, then a timeline. */
export function renderSummary(parts: SummaryParts): string {
  const { results, problem, commentUrls, unwrittenComment } = parts;
  const [only, ...others] = results;
  const blocks = [
    '## Agent follow-up',
    problem === '' ? '' : `**Nothing was sent**\n\n${code(problem, 2000)}`,
    only === undefined ? '' : others.length === 0 ? renderResult(only) : renderTable(results),
    renderTimeline(results),
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

/** One row a job, the worst first. */
function renderTable(results: readonly JobResult[]): string {
  const rows = worstFirst(results).map((result) =>
    [
      code(result.jobId, 256),
      headline(result, result.status),
      code(result.status ?? ''),
      prLinkOf(result),
      result.elapsedSeconds === null ? '' : duration(result.elapsedSeconds),
      code(result.reason, 300),
    ].join(' | '),
  );
  const counts = OUTCOMES.map((outcome) => ({
    outcome,
    count: results.filter((result) => result.outcome === outcome).length,
  })).filter(({ count }) => count > 0);
  return [
    `**${results.length} jobs:** ${counts.map(({ outcome, count }) => `${count} ${outcome}`).join(', ')}`,
    [
      '| Job | Result | Status | Pull request | Time | Reason |',
      '| --- | --- | --- | --- | --- | --- |',
      ...rows.map((row) => `| ${row} |`),
    ].join('\n'),
  ].join('\n\n');
}

function renderResult(result: JobResult): string {
  const rows: readonly (readonly [string, string])[] = [
    ['Job', code(result.jobId)],
    ['Status', code(result.status ?? '')],
    ['Message', result.isLook ? '' : DELIVERY[result.delivery]],
    ['Pull request', prLinkOf(result)],
    ['Confirmed', result.confirmed === null ? '' : result.confirmed ? 'yes' : 'no'],
    ['Model', code(result.model ?? '')],
    ['Repository', code(result.source?.repository ?? '')],
    ['Ref', code(result.source?.ref ?? '')],
    ['Time', result.elapsedSeconds === null ? '' : duration(result.elapsedSeconds)],
    ['Looks', String(result.polls)],
  ];
  const table = rows
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `| ${name} | ${value} |`)
    .join('\n');
  return [
    `**${headline(result, result.status)}**`,
    result.reason === '' ? '' : code(result.reason, 1000),
    `| | |\n| --- | --- |\n${table}`,
  ]
    .filter((block) => block !== '')
    .join('\n\n');
}

const DELIVERY = {
  sent: 'delivered',
  'not-sent': 'not sent',
  unknown: 'may or may not have been delivered; not sent again',
} as const;

function renderComments(urls: readonly string[]): string {
  const [only, ...others] = urls;
  if (only === undefined) return '';
  return others.length === 0
    ? link('Comment on the conversation', only)
    : `Comments: ${urls.map((url) => link(`#${new URL(url).pathname.split('/').at(-1)}`, url)).join(' · ')}`;
}

function prLinkOf({ prLink }: JobResult): string {
  return prLink === null ? '' : link(code(shortLink(prLink)), prLink);
}

/** `owner/repo#12`, as people write it. */
function shortLink(prLink: string): string {
  const parts = new URL(prLink).pathname.split('/').filter((part) => part !== '-');
  return `${parts.slice(1, -2).join('/')}#${parts.at(-1)}`;
}

/** Jobs in a timeline; more cannot be told apart, and Mermaid refuses texts that are too long. */
const MOST_SECTIONS = 30;

/** A Gantt chart with a section a job, and one bar a status, from the first seen to the end. */
function renderTimeline(results: readonly JobResult[]): string {
  const withTime = results.filter(({ milestones }) => milestones.length > 1);
  if (withTime.length === 0) return '';
  const shown = withTime.slice(0, MOST_SECTIONS);
  const chart = [
    '```mermaid',
    'gantt',
    '    dateFormat X',
    '    axisFormat %H:%M:%S',
    ...shown.flatMap(renderSection),
    '```',
  ].join('\n');
  return shown.length === withTime.length
    ? chart
    : `${chart}\n\nThe timeline shows the first ${shown.length} of ${withTime.length} jobs.`;
}

function renderSection({ jobId, milestones, outcome }: JobResult): readonly string[] {
  // How it ended is often just what was seen at that moment.
  const distinct = milestones.filter((one, index) => !isRepeated(one, milestones[index + 1]));
  const bars = distinct.slice(-MOST_BARS).map(({ at, what }, index, all) => {
    const from = Math.round(at.getTime() / 1000);
    const next = all[index + 1]?.at ?? at;
    const to = Math.max(from + 1, Math.round(next.getTime() / 1000));
    const last = index === all.length - 1;
    const tag = last && (outcome === 'failed' || outcome === 'error') ? 'crit, ' : '';
    return `    ${plain(what)} : ${tag}${last ? 'milestone, ' : ''}${from}, ${last ? from : to}`;
  });
  return [`    section ${plain(jobId)}`, ...bars];
}

function isRepeated({ at, what }: Milestone, next: Milestone | undefined): boolean {
  return next?.what === what && next.at.getTime() - at.getTime() < 1000;
}

/** Of a job that changes to and fro all the time only the last statuses are shown. */
const MOST_BARS = 20;

/** Mermaid takes `:`, `;`, `#` and line ends as syntax, so only plain words pass. */
function plain(text: string): string {
  const words = text.replace(/[^\w.-]+/g, '_').slice(0, 40);
  return /^(section|title|click|end|gantt)$/i.test(words) ? `_${words}` : words;
}
