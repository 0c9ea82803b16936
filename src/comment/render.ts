import { duration, inUtc } from '../clock.ts';
import {
  type CheckState,
  changedNothing,
  deliveryOf,
  elapsedMs,
  endedPull,
  isCreated,
  type Job,
  labelOf,
  NEW_JOB,
  sentAtOf,
} from '../job/job.ts';
import {
  askForMore,
  byAttention,
  countLabels,
  iconOf,
  isBad,
  isUnderway,
  nextStep,
  titleOf,
  wordOf,
} from '../job/labels.ts';
import {
  blocks,
  code,
  dotted,
  fence,
  fitting,
  folded,
  icon,
  link,
  pullRequestLink,
  quotation,
  sentenceToMarkdown,
  small,
} from '../markdown.ts';
import type { RunInfo } from '../runner/environment.ts';
import { ACTION_URL } from '../runner/network.ts';
import { DASHBOARD_URL } from '../service.ts';
import { cut, listSome, plural, quote, sentences } from '../text.ts';
import { filesIn, nameCommits, nameOthers, renderCommits } from './commits.ts';

// What people read of a run, in the comment and in the job summary.

export interface Story {
  readonly info: RunInfo;
  /** As Markdown: `` `CI` failed on 311411a ``; or empty. */
  readonly failure?: string;
  /** As Markdown: who asked, or after what it was sent. */
  readonly cause: string;
  /** As a whole, redacted; empty if nothing is sent. */
  readonly prompt: string;
  /** What belongs to the prompt and is not shown; empty for nothing. */
  readonly attached: string;
  /** All that is sent, redacted. */
  readonly message: string;
  readonly startedAt: number;
  /** Missing without a wait. */
  readonly until?: number;
  readonly command: string | null;
  /** Whether a command begins a job where no comment names one. */
  readonly createsJobs?: boolean;
  /** The pull request of the event, if it was over when the message was sent. */
  readonly mergedOrClosed?:
    | { readonly number: number; readonly how: 'merged' | 'closed' }
    | undefined;
  readonly most?: number;
}

interface Place {
  /** The number of the pull request or issue with the comment; undefined for the summary. */
  readonly conversation?: number;
  readonly limit: number;
  readonly comments?: string;
}

export function renderStory(story: Story, jobs: readonly Job[], place: Place): string {
  const { conversation, limit } = place;
  const isSummary = conversation === undefined;
  const only = jobs.length === 1 ? jobs[0] : undefined;
  const isUnderwayNow = jobs.map(labelOf).some(isUnderway);
  const title = only === undefined ? titleOfJobs(jobs) : titleOfJob(story, only, conversation);
  // While it is new: GitHub mails a new comment, and a mail says first what it is about.
  const request = blocks([story.failure ?? '', renderPrompt(story, jobs)]);
  const head = blocks([`${isSummary ? '##' : '###'} ${title}`, isUnderwayNow ? request : '']);
  // Nobody can reply to a summary. What to do about what needs attention stands beside it.
  const next = isSummary ? '' : nextOf(story, jobs);
  const isBeside = only !== undefined && isBad(labelOf(only));
  const log = logLink(story.info);
  const links = only === undefined ? '' : renderLinks(story, only, conversation);
  const foot = blocks([
    isUnderwayNow ? '' : renderPrompt(story, jobs),
    sayIfOver(story) || (only ? sayIfPullEnded(only) : ''),
    outlook(story, jobs),
    isBeside ? '' : next,
    place.comments ?? '',
    // A line of its own would have nothing else to say.
    renderSmallPrint(story, jobs, links === '' ? log : ''),
  ]);
  const told =
    only === undefined
      ? listJobs(jobs, limit - head.length - foot.length)
      : blocks([
          links === '' ? '' : dotted([links, log]),
          renderResult(only),
          dotted([sentenceToMarkdown(only.end?.explanation ?? ''), isBeside ? next : ''], ' '),
        ]);
  return blocks([head, told, foot, isSummary ? renderMessage(story, jobs) : '']);
}

function renderSmallPrint(story: Story, jobs: readonly Job[], log: string): string {
  const [job, ...others] = jobs;
  const isSaidAbove = jobs.map(labelOf).some(isUnderway) && Boolean(story.failure);
  const details = [
    isSaidAbove ? '' : story.cause,
    job === undefined || others.length > 0 ? '' : renderDetails(story, job),
    log,
  ];
  const about = [inUtc(story.startedAt), link('Agent Follow-up', ACTION_URL)];
  return small(dotted([...details, ...about]));
}

const LONGEST_MESSAGE = 60_000;

function renderMessage({ message }: Story, jobs: readonly Job[]): string {
  const wasSent = jobs.some(
    (job) =>
      deliveryOf(job) !== 'not-sent' && !('isEarlier' in job.message && job.message.isEarlier),
  );
  if (message === '' || !wasSent) return '';
  const part = message.length > LONGEST_MESSAGE ? ', only the beginning' : '';
  const title = `The message (${plural(message.length, 'character')}${part})`;
  return folded(title, fence(cut(message, LONGEST_MESSAGE)));
}

function renderLinks(story: Story, job: Job, conversation: number | undefined): string {
  const pull = isOn(job, conversation) ? '' : pullRequestLink(job.record ?? {});
  return dotted([
    pull === '' ? '' : `**${pull}**`,
    reviewLink(story, job, conversation),
    timeTaken(job),
  ]);
}

/** How long the agent took; empty if that is not known. Spaces would wrap on a phone. */
function timeTaken(job: Job): string {
  const ms = elapsedMs(job) ?? 0;
  const isKnown = job.end?.result !== 'sent' && Math.round(ms / 1000) > 0;
  return isKnown ? duration(ms).replaceAll(' ', '\u00a0') : '';
}

/** The answer of an agent that has changed no file is not in the API. */
function renderResult(job: Job): string {
  if (changedNothing(job)) {
    const where = `the dashboard (${DASHBOARD_URL}): look for ${quote(job.id, 256)}`;
    return sentenceToMarkdown(`Its answer, if it gave one, is in ${where}.`);
  }
  return job.change?.kind === 'commits' ? renderCommits(job.change) : '';
}

function sayIfOver({ mergedOrClosed }: Story): string {
  if (mergedOrClosed === undefined) return '';
  return `The request is about #${mergedOrClosed.number}. It is ${mergedOrClosed.how}.`;
}

function sayIfPullEnded(job: Job): string {
  const over = endedPull(job);
  const named = job.record?.prLink ? pullRequestLink(job.record) : `#${over?.number}`;
  return over === undefined ? '' : `The pull request of this job, ${named}, is ${over.state}.`;
}

/** A re-run that only goes on may have another prompt than the one that was sent. */
function renderPrompt({ prompt, attached }: Story, jobs: readonly Job[]): string {
  const isEarlier = ({ message }: Job): boolean => message.kind === 'sent' && message.isEarlier;
  return jobs.every(isEarlier) ? '' : quotation(prompt, attached);
}

/** What was not sent has no number. */
function renderDetails({ most }: Story, job: Job): string {
  const isCounted = job.end === undefined || deliveryOf(job) !== 'not-sent';
  const hasNumber = job.nthInARow !== undefined && most !== undefined && isCounted;
  return dotted([
    job.id === NEW_JOB ? '' : `job ${code(job.id, 256)}`,
    hasNumber ? `message ${job.nthInARow} of ${most}` : '',
  ]);
}

/** What follows. A comment that is much older than the deadline is that of a killed run. */
function outlook({ until }: Story, jobs: readonly Job[]): string {
  const labels = jobs.map(labelOf);
  const label = labels.find(isUnderway) ?? (labels.every((one) => one === 'sent') ? 'sent' : null);
  if (label === null) return '';
  const isNew = label === 'creating' || jobs.some(isCreated);
  const unsent =
    label === 'waiting' ? 'If the agent is not done by then, the message is not sent.' : '';
  return sentences(
    isNew ? 'This starts a new job; the agent opens a pull request of its own.' : '',
    label === 'sent' ? 'This run does not wait for the result.' : '',
    label !== 'sent' && until !== undefined ? `This run waits until ${inUtc(until)}.` : '',
    label !== 'sent' && until !== undefined ? unsent : '',
  );
}

function isOn({ record }: Job, conversation: number | undefined): boolean {
  return conversation !== undefined && record?.prNumber === conversation;
}

function reviewLink({ mergedOrClosed }: Story, job: Job, conversation: number | undefined): string {
  const { change, end, record } = job;
  const isClosed = mergedOrClosed !== undefined && record?.prNumber === mergedOrClosed.number;
  if (!record?.prLink || isClosed) return '';
  if (change?.kind === 'commits') return link('Review changes', filesIn(record.prLink, change));
  const isOver = sentAtOf(job) !== undefined && end !== undefined && end.result !== 'sent';
  const mayHaveChanges = isOver && change?.kind !== 'none';
  return isOn(job, conversation) && mayHaveChanges
    ? link('Review changes', `${record.prLink}/files`)
    : '';
}

const FAILURE = /^(.*) [a-z ]+ on (\w{7})$/;
const CHECK_NOW: Readonly<Record<CheckState, string>> = {
  failed: '$1 still fails on $2: the agent pushed nothing',
  passed: 'Agent finished: $1 has passed since',
  running: 'Agent finished: $1 runs again',
};

function titleOfJob(story: Story, job: Job, conversation: number | undefined): string {
  return `${icon(iconOf(labelOf(job)))} ${newsOfJob(story, job, conversation)}`;
}

function newsOfJob({ failure = '' }: Story, job: Job, conversation: number | undefined): string {
  const label = labelOf(job);
  const { change, record } = job;
  if (label === 'failed' && change?.kind === 'commits') {
    return `Agent failed after pushing ${nameCommits(change) || 'commits'}`;
  }
  if ((label !== 'completed' && label !== 'still failing') || change === undefined)
    return titleOf(label);
  switch (change.kind) {
    case 'commits':
      return dotted(['Agent pushed', nameCommits(change)], ' ');
    case 'created':
      return `Agent opened ${isOn(job, conversation) ? 'this pull request' : pullRequestLink(record ?? {})}`;
    case 'rewritten':
      return 'The branch was rewritten';
    case 'none':
      if (change.check && failure) return failure.replace(FAILURE, CHECK_NOW[change.check]);
      return change.byOthers ? nameOthers(change.byOthers) : 'Agent finished: no new commit seen';
    case 'no-pull-request':
      return 'Agent finished without a pull request';
  }
}

const MOST_NAMED = 20;
/** For what is left out. */
const LAST_ITEM = 60;

/** The worst first. People know a job by its pull request. */
function listJobs(jobs: readonly Job[], room: number): string {
  const sorted = jobs.toSorted((one, other) => byAttention(labelOf(one), labelOf(other)));
  const groups = Map.groupBy(sorted, (job) => `${labelOf(job)} ${job.end?.explanation ?? ''}`);
  const items = [...groups.values()].map((group) => {
    const [label = 'sent'] = group.map(labelOf);
    const [reason = ''] = group.map(({ end }) => end?.explanation);
    const names = group.map((job) => pullRequestLink(job.record ?? {}) || code(job.id, 256));
    const title = `${icon(iconOf(label))} ${group.length} ${wordOf(label)}`;
    return dotted([`- ${title}`, listSome(names, MOST_NAMED), sentenceToMarkdown(reason)], ': ');
  });
  const shown = fitting(items, room - LAST_ITEM);
  const left = [...groups.values()].slice(shown.length).flat().length;
  const more = left === 0 ? [] : [`- Jobs not shown for lack of room: ${left}.`];
  return [...shown, ...more].join('\n');
}

function titleOfJobs(jobs: readonly Job[]): string {
  const labels = jobs.map(labelOf);
  const [worst = 'completed'] = labels.toSorted(byAttention);
  const underway = labels.find(isUnderway);
  const bad = labels.filter(isBad).length;
  const need = `${bad === 1 ? 'needs' : 'need'} attention${underway === undefined ? '' : ' so far'}`;
  const all = `${labels.length} agent jobs`;
  const isMixed = new Set(labels.map(wordOf)).size > 1;
  const words =
    isMixed && bad > 0
      ? `${bad} of ${all} ${need}`
      : `${all}: ${isMixed ? countLabels(labels) : wordOf(worst)}`;
  return `${icon(iconOf(underway ?? worst))} ${words}`;
}

/**
 * What a person can do next. Empty if it is not the same for all jobs: a command goes to all of
 * them.
 */
function nextOf(
  { command, createsJobs = false }: Pick<Story, 'command' | 'createsJobs'>,
  jobs: readonly Job[],
): string {
  if (command === null) return '';
  const steps = jobs.map((job) => {
    // What is pushed to a pull request that has ended reaches nobody.
    const label = endedPull(job) === undefined ? labelOf(job) : 'archived';
    const isDone = changedNothing(job) && label === 'completed';
    return isDone ? askForMore(command) : nextStep(label, command, createsJobs);
  });
  const [next, ...others] = new Set(steps);
  return next === undefined || others.length > 0 ? '' : sentenceToMarkdown(next);
}

export function logLink({ repositoryUrl, runId, attempt }: RunInfo): string {
  const run = `${repositoryUrl}/actions/runs/${runId}`;
  return link('log', attempt === 1 ? run : `${run}/attempts/${attempt}`);
}

/** The answer to a command that could not be sent. `login`: who is told. */
export function renderProblem(problem: string, info: RunInfo, login = ''): string {
  const what = `${icon('⚠️')} Nothing was sent to the agent. ${sentenceToMarkdown(problem)}`;
  return renderFor(login, dotted([what, logLink(info)]));
}

/** Mentions a person below the title of a text; nobody if the login is empty. */
export function renderFor(login: string, text: string): string {
  const [title = '', ...rest] = text.split('\n\n');
  return blocks([title, mention(login), ...rest]);
}

function mention(login: string): string {
  return /^[a-z\d][a-z\d_-]*$/i.test(login) ? `@${login}` : '';
}

/** The answer to a command without a prompt. It must not begin with the command itself. */
export function renderUsage(command: string): string {
  return blocks([
    `Nothing was sent. Write your message to the agent after ${code(command)} in a new comment:`,
    fence(`${command} also add error handling examples`),
    'The message can have several lines.',
  ]);
}
