import type { JobResult } from '../outcome.ts';
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
  const blocks = [
    '## Agent follow-up',
    parts.problem === '' ? '' : `**Nothing was sent**\n\n${code(parts.problem, 2000)}`,
    ...parts.results.map(renderResult),
    ...parts.results.map(renderTimeline),
    ...parts.commentUrls.map((url) => link('Comment on the conversation', url)),
    parts.unwrittenComment === ''
      ? ''
      : `The comment could not be written. It would have said:\n\n${parts.unwrittenComment}`,
  ];
  const text = `${blocks.filter((block) => block !== '').join('\n\n')}\n`;
  return Buffer.byteLength(text) > SIZE_LIMIT ? `${blocks.slice(0, 3).join('\n\n')}\n` : text;
}

function renderResult(result: JobResult): string {
  const rows: readonly (readonly [string, string])[] = [
    ['Job', code(result.jobId)],
    ['Status', code(result.status ?? '')],
    ['Message', DELIVERY[result.delivery]],
    [
      'Pull request',
      result.prLink === null ? '' : link(code(shortLink(result.prLink)), result.prLink),
    ],
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

/** `owner/repo#12`, as people write it. */
function shortLink(prLink: string): string {
  const parts = new URL(prLink).pathname.split('/').filter((part) => part !== '-');
  return `${parts.slice(1, -2).join('/')}#${parts.at(-1)}`;
}

/** A Gantt chart with one bar a status, from the first that was seen to the end. */
function renderTimeline({ jobId, milestones, outcome }: JobResult): string {
  if (milestones.length < 2) return '';
  const bars = milestones.map(({ at, what }, index) => {
    const from = Math.round(at.getTime() / 1000);
    const next = milestones[index + 1]?.at ?? at;
    const to = Math.max(from + 1, Math.round(next.getTime() / 1000));
    const last = index === milestones.length - 1;
    const tag = last && (outcome === 'failed' || outcome === 'error') ? 'crit, ' : '';
    return `    ${plain(what)} : ${tag}${last ? 'milestone, ' : ''}${from}, ${last ? from : to}`;
  });
  return [
    '```mermaid',
    'gantt',
    '    dateFormat X',
    '    axisFormat %H:%M:%S',
    `    section ${plain(jobId)}`,
    ...bars,
    '```',
  ].join('\n');
}

/** Mermaid takes `:`, `;`, `#` and line ends as syntax, so only plain words pass. */
function plain(text: string): string {
  const words = text.replace(/[^\w.-]+/g, '_').slice(0, 40);
  return /^(section|title|click|end|gantt)$/i.test(words) ? `_${words}` : words;
}
