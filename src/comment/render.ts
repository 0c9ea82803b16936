import { duration, inUtc } from '../clock.ts';
import {
  changedNothing,
  elapsedMs,
  endedPull,
  isCreated,
  type JobState,
  NEW_JOB,
  toDelivery,
  toLabel,
} from '../job/job.ts';
import {
  ASK_FOR_MORE,
  BEGIN_ANEW,
  byAttention,
  countLabels,
  isBad,
  isUnderway,
  LABELS,
  type Label,
} from '../job/labels.ts';
import {
  blocks,
  code,
  dotted,
  fence,
  fitting,
  icon,
  link,
  quotation,
  sentenceToMarkdown,
  small,
} from '../markdown.ts';
import type { PullRequestHead } from '../pull-request.ts';
import type { RunInfo } from '../runner/environment.ts';
import { cut, listSome, plural, sentences } from '../text.ts';
import { pullRequestLink, renderChange, renderTitle } from './render-change.ts';

// What people read of a run, in the comment and in the job summary.

export const ACTION_URL = 'https://github.com/OWNER/agent-follow-up';

export interface RunReport {
  readonly info: RunInfo;
  /** As Markdown, like the cause: `` `CI` failed on 311411a ``; or empty. */
  readonly failure?: string;
  readonly cause: string;
  /** As a whole, redacted; empty if nothing is sent. */
  readonly prompt: string;
  readonly attached: string;
  readonly message: string;
  readonly startedAt: number;
  readonly until?: number;
  readonly command: string | null;
  /** Whether a command begins a job where no comment names one. */
  readonly createsJobs?: boolean;
  readonly mergedOrClosed?: Pick<PullRequestHead, 'number' | 'state'> | undefined;
  readonly most?: number;
}

/** `conversation` is missing for the summary. */
export function renderReport(
  report: RunReport,
  jobs: readonly JobState[],
  target: { conversation?: number; limit: number; comments?: string },
): string {
  const isSummary = target.conversation === undefined;
  const only = jobs.length === 1 ? jobs[0] : undefined;
  const isHere = !isSummary && only?.record?.prNumber === target.conversation;
  const [label, title] = only
    ? [toLabel(only), renderTitle(only, isHere, report.failure)]
    : summarizeLabels(jobs);
  const isOpen = isUnderway(label);
  const prompt = renderPrompt(report, jobs);
  const head = blocks([
    `${isSummary ? '##' : '###'} ${icon(LABELS[label].icon)} ${title}`,
    // GitHub mails a new comment, and a mail says first what it is about.
    ...(isOpen ? [report.failure ?? '', prompt] : []),
  ]);
  // Nobody can reply to a summary. What to do about what needs attention stands beside it.
  const next = isSummary ? '' : renderNextStep(report, only);
  const links = only === undefined ? '' : renderLinks(report, only, isHere);
  const foot = blocks([
    isOpen ? '' : prompt,
    renderEndedPull(report, only),
    renderOutlook(report, jobs),
    isBad(label) ? '' : next,
    target.comments ?? '',
    renderSmallPrint(report, jobs, links !== ''),
  ]);
  const body = only
    ? blocks([links, renderChange(only), renderEnd(only, isBad(label) ? next : '')])
    : listJobs(jobs, target.limit - head.length - foot.length);
  return blocks([head, body, foot, isSummary ? renderMessage(report, jobs) : '']);
}

function renderPrompt({ prompt, attached }: RunReport, jobs: readonly JobState[]): string {
  // A re-run that only goes on may have another prompt than the one that was sent.
  const goesOn = jobs.every(({ message }) => message.kind === 'sent' && message.isEarlier);
  return goesOn ? '' : quotation(prompt, attached);
}

function renderEnd({ end }: JobState, next: string): string {
  return dotted([sentenceToMarkdown(end?.explanation ?? ''), next], ' ');
}

function renderSmallPrint(report: RunReport, jobs: readonly JobState[], hasLinks: boolean): string {
  const { failure, cause, startedAt, most, info } = report;
  const job = jobs.length === 1 ? jobs[0] : undefined;
  const isSaidAbove = jobs.map(toLabel).some(isUnderway) && Boolean(failure);
  // What was not sent has no number.
  const isCounted = job?.end === undefined || toDelivery(job) !== 'not-sent';
  const hasNumber = job?.nthInARow !== undefined && most !== undefined && isCounted;
  return small(
    dotted([
      isSaidAbove ? '' : cause,
      job === undefined || job.id === NEW_JOB ? '' : `job ${code(job.id, 256)}`,
      hasNumber ? `message ${job.nthInARow} of ${most}` : '',
      hasLinks ? '' : logLink(info),
      ...[inUtc(startedAt), link('Agent Follow-up', ACTION_URL)],
    ]),
  );
}

const LONGEST_MESSAGE = 60_000;

function renderMessage({ message }: RunReport, jobs: readonly JobState[]): string {
  const wasSent = jobs.some((job) => toDelivery(job) !== 'not-sent' && !job.message.isEarlier);
  if (message === '' || !wasSent) return '';
  const part = message.length > LONGEST_MESSAGE ? ', only the beginning' : '';
  const title = `The message (${plural(message.length, 'character')}${part})`;
  const text = fence(cut(message, LONGEST_MESSAGE));
  return `<details>\n<summary>${title}</summary>\n\n${text}\n\n</details>`;
}

function renderLinks(report: RunReport, job: JobState, isHere: boolean): string {
  const { change, end, record = { id: job.id } } = job;
  const isOver = job.message.kind === 'sent' && end !== undefined && end.result !== 'sent';
  let page = isHere && isOver && change?.kind !== 'none' ? '/files' : '';
  if (change?.kind === 'commits') page = `/files/${change.before}..${change.after}`;
  // Nothing can be reviewed there any more.
  if (!record.prLink || record.prNumber === report.mergedOrClosed?.number) page = '';
  const ms = end?.result === 'sent' ? 0 : (elapsedMs(job) ?? 0);
  const links = dotted([
    isHere || !record.prLink ? '' : `**${pullRequestLink(record)}**`,
    page === '' ? '' : link('Review changes', `${record.prLink}${page}`),
    // Spaces would wrap on a phone.
    ms < 500 ? '' : duration(ms).replaceAll(' ', '\u00a0'),
  ]);
  // The log alone is worth no line of its own.
  return links === '' ? '' : dotted([links, logLink(report.info)]);
}

function renderEndedPull({ mergedOrClosed: over }: RunReport, only: JobState | undefined): string {
  if (over !== undefined) return `The request is about #${over.number}. It is ${over.state}.`;
  const ended = only && endedPull(only);
  if (ended === undefined) return '';
  const named = pullRequestLink(only?.record ?? {}) || `#${ended.number}`;
  return `The pull request of this job, ${named}, is ${ended.state}.`;
}

/** A comment that is much older than the deadline is that of a killed run. */
function renderOutlook({ until }: RunReport, jobs: readonly JobState[]): string {
  const labels = jobs.map(toLabel);
  const label = labels.find(isUnderway) ?? (labels.every((one) => one === 'sent') ? 'sent' : null);
  if (label === null) return '';
  const isNew = label === 'creating' || jobs.some(isCreated);
  const waits = label !== 'sent' && until !== undefined;
  return sentences(
    isNew ? 'This starts a new job; the agent opens a pull request of its own.' : '',
    label === 'sent' ? 'This run does not wait for the result.' : '',
    waits ? `This run waits until ${inUtc(until)}.` : '',
    waits && label === 'waiting'
      ? 'If the agent is not done by then, the message is not sent.'
      : '',
  );
}

const MOST_NAMED = 20;
/** For what is left out. */
const LAST_ITEM = 60;

/** The worst first. People know a job by its pull request. */
function listJobs(jobs: readonly JobState[], room: number): string {
  const sorted = jobs.toSorted((one, other) => byAttention(toLabel(one), toLabel(other)));
  const grouped = Map.groupBy(sorted, (job) => `${toLabel(job)} ${job.end?.explanation ?? ''}`);
  const groups = [...grouped.values()];
  const items = groups.map((group) => {
    const [label = 'sent'] = group.map(toLabel);
    const [reason = ''] = group.map(({ end }) => end?.explanation);
    const names = group.map((job) => pullRequestLink(job.record ?? {}) || code(job.id, 256));
    const title = `${icon(LABELS[label].icon)} ${group.length} ${LABELS[label].word}`;
    return dotted([`- ${title}`, listSome(names, MOST_NAMED), sentenceToMarkdown(reason)], ': ');
  });
  const shown = fitting(items, room - LAST_ITEM);
  const left = groups.slice(shown.length).flat().length;
  const more = left === 0 ? [] : [`- Jobs not shown for lack of room: ${left}.`];
  return [...shown, ...more].join('\n');
}

/** `7 of 60 agent jobs need attention`, with the label of the icon. */
function summarizeLabels(jobs: readonly JobState[]): readonly [Label, string] {
  const labels = jobs.map(toLabel);
  const [worst = 'completed'] = labels.toSorted(byAttention);
  const underway = labels.find(isUnderway);
  const label = underway ?? worst;
  const bad = labels.filter(isBad).length;
  const all = `${labels.length} agent jobs`;
  const words = new Set(labels.map((one) => LABELS[one].word));
  if (words.size < 2) return [label, `${all}: ${LABELS[worst].word}`];
  if (bad === 0) return [label, `${all}: ${countLabels(labels)}`];
  const need = bad === 1 ? 'needs' : 'need';
  return [label, `${bad} of ${all} ${need} attention${underway === undefined ? '' : ' so far'}`];
}

/** Nothing for several jobs: a command there would not know which of them is meant. */
function renderNextStep(
  { command, createsJobs = false }: RunReport,
  only: JobState | undefined,
): string {
  if (command === null || only === undefined) return '';
  // What is pushed to a pull request that has ended reaches nobody.
  const label = endedPull(only) === undefined ? toLabel(only) : 'archived';
  const usual = LABELS[label].next === BEGIN_ANEW && !createsJobs ? '' : LABELS[label].next;
  const next = changedNothing(only) && label === 'completed' ? ASK_FOR_MORE : usual;
  return sentenceToMarkdown(next.replace('{command}', () => command.replace(/[“”]/g, '"')));
}

function logLink({ repositoryUrl, runId, attempt }: RunInfo): string {
  const run = `${repositoryUrl}/actions/runs/${runId}`;
  return link('log', attempt === 1 ? run : `${run}/attempts/${attempt}`);
}

export function renderProblem(problem: string, info: RunInfo, login = ''): string {
  const what = `${icon('⚠️')} Nothing was sent to the agent. ${sentenceToMarkdown(problem)}`;
  return addMention(login, dotted([what, logLink(info)]));
}

/** Mentions a person below the title of a text; nobody if the login is empty. */
export function addMention(login: string, text: string): string {
  if (!/^[a-z\d][a-z\d_-]*$/i.test(login)) return text;
  const [title = '', ...rest] = text.split('\n\n');
  return blocks([title, `@${login}`, ...rest]);
}

/** The answer to a command without a prompt. It must not begin with the command itself. */
export function renderUsage(command: string): string {
  return blocks([
    `Nothing was sent. Write your message to the agent after ${code(command)} in a new comment:`,
    fence(`${command} also add error handling examples`),
    'The message can have several lines.',
  ]);
}
