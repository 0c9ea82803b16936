import { labelOfState } from '../labels.ts';
import type { Reason } from '../reason.ts';
import type { JobState } from '../turn.ts';
import { countsOf, headingOf } from './heading.ts';
import { renderJobs, renderSource, timeTaken } from './job-table.ts';
import { blocks, code, dotted, icon, link, pullRequestLink, reasonToMarkdown } from './markdown.ts';
import type { Report } from './outputs.ts';
import { deliveryOf } from './ranking.ts';
import { renderTimeline } from './timeline.ts';

// The states of all jobs -> the job summary: the result first, then the details, then a timeline.

/** The runner drops a summary of more than 1,048,576 bytes as a whole. */
const SIZE_LIMIT = 1_000_000;
/** Characters of the table of jobs, each of up to three bytes. */
const TABLE_LIMIT = 300_000;
/** If more jobs need no attention, they are folded. */
const MOST_OPEN = 20;

export function renderSummary(report: Report): string {
  const { states, commentUrls, problem, unwrittenComment } = report;
  const [only, ...others] = states;
  const texts = [
    problem === undefined ? '' : nothingSent(problem),
    only === undefined ? '' : others.length === 0 ? renderState(only) : renderStates(states),
    renderTimeline(states),
    renderComments(commentUrls),
    unwrittenComment
      ? `The comment could not be written. It would have said:\n\n${unwrittenComment}`
      : '',
  ].filter((text) => text !== '');
  let summary = '';
  for (const text of texts) {
    const longer = `${summary}${summary === '' ? '' : '\n'}${text}\n`;
    if (Buffer.byteLength(longer) > SIZE_LIMIT) break;
    summary = longer;
  }
  return summary;
}

function nothingSent(problem: Reason): string {
  return blocks([`## ${icon('⚠️')} Nothing was sent`, reasonToMarkdown(problem)]);
}

function renderComments(urls: readonly string[]): string {
  if (urls.length === 0) return '';
  const links = urls
    .map((url) => ({ url, number: Number(new URL(url).pathname.split('/').at(-1)) }))
    .sort((one, other) => one.number - other.number)
    .map(({ url, number }) => link(`#${number}`, url));
  return `${links.length === 1 ? 'Comment' : 'Comments'}: ${links.join(', ')}`;
}

function renderStates(states: readonly JobState[]): string {
  const labels = states.map(labelOfState);
  const rows = states.map((state) => {
    const { jobId, record, turn } = state;
    const label = labelOfState(state);
    const prLink = record?.prLink ?? null;
    const time = timeTaken(turn, label);
    return { jobId, label, prLink, time, reason: turn.reason, log: '', prompt: '' };
  });
  return blocks([
    `## ${headingOf(labels)}`,
    countsOf(labels),
    renderJobs(rows, MOST_OPEN, TABLE_LIMIT),
  ]);
}

function renderState(state: JobState): string {
  const { jobId, isReadOnly, record, turn } = state;
  const label = labelOfState(state);
  const prLink = record?.prLink ?? null;
  const rows: readonly (readonly [string, string])[] = [
    ['Job', code(jobId, 256)],
    ['Message', isReadOnly ? '' : DELIVERY[deliveryOf(state)]],
    ['Confirmed', turn.confirmed === null ? '' : turn.confirmed ? 'yes' : 'no'],
    ['Model', code(record?.model ?? '')],
    ['Source', record?.source ? renderSource(record.source) : ''],
  ];
  const [heading, ...table] = rows
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `| ${name} | ${value} |`);
  return blocks([
    `## ${headingOf([label])}`,
    dotted([
      prLink === null ? '' : `**${pullRequestLink(prLink)}**`,
      timeTaken(turn, label),
      isReadOnly || turn.by === null ? '' : `asked by ${code(turn.by)}`,
    ]),
    reasonToMarkdown(turn.reason),
    // The first row is the heading: without a heading, GitHub shows an empty row.
    [heading, '| :-- | :-- |', ...table].join('\n'),
  ]);
}

const DELIVERY = {
  sent: 'delivered',
  'not-sent': 'not sent',
  unknown: 'unknown',
} as const;
