import { duration, inUtc } from '../clock.ts';
import {
  changedNothing,
  deliveryOf,
  elapsedMs,
  isCreated,
  type Job,
  labelOf,
  NEW_JOB,
  sentAtOf,
} from '../job/job.ts';
import {
  askForMore,
  byAttention,
  iconOf,
  isBad,
  isUnderway,
  type Label,
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
import { filesIn, nameCommits, renderCommits } from './commits.ts';

// What people read of a run, in the comment and in the job summary: the state first, then the links, then
// everything else.

/** A run, for the comment and the summary. */
export interface Story {
  readonly info: RunInfo;
  /** What failed, as Markdown: `` `CI` failed on 311411a ``; or empty. */
  readonly failure?: string;
  /** Who asked for it, or after what it was sent, as Markdown; or empty. */
  readonly occasion: string;
  /** As a whole, redacted; empty if nothing is sent. */
  readonly prompt: string;
  /** What belongs to the prompt and is not shown; empty for nothing. */
  readonly attached: string;
  /** All that is sent, redacted; empty if nothing is. */
  readonly message: string;
  readonly startedAt: number;
  /** When messages and waits end, in milliseconds since 1970; missing without a wait. */
  readonly until?: number;
  /** The word of a command that asked for it; null without one. */
  readonly command: string | null;
  /** Whether a command begins a job where no comment names one. */
  readonly createsJobs?: boolean;
  /** The pull request of the event, if it was over when the message was sent. */
  readonly mergedOrClosed?:
    | { readonly number: number; readonly how: 'merged' | 'closed' }
    | undefined;
  /** The most messages in a row, if there is a limit. */
  readonly most?: number;
}

/** Where a story is shown. */
interface Place {
  /** The number of the pull request or issue with the comment; undefined for the summary. */
  readonly conversation?: number;
  /** The most characters. */
  readonly limit: number;
  /** Links to the comments, in the summary. */
  readonly comments?: string;
}

export function renderStory(story: Story, jobs: readonly Job[], place: Place): string {
  const [only, ...others] = jobs;
  const isOne = only !== undefined && others.length === 0;
  const told = isOne ? renderJob(story, only, place) : renderJobs(story, jobs, place);
  return place.conversation === undefined ? blocks([told, renderMessage(story, jobs)]) : told;
}

/** Characters of the message in the summary. */
const LONGEST_MESSAGE = 60_000;

/** The whole message that this attempt has sent, or may have sent. */
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

function renderJob(story: Story, job: Job, place: Place): string {
  const { conversation } = place;
  const label = labelOf(job);
  const log = logLink(story.info);
  const links = dotted([
    renderPull(job, conversation),
    reviewLink(story, job, conversation),
    timeTaken(job),
  ]);
  // What to do about what needs attention stands beside it.
  const isCalm = !isBad(label);
  const next = conversation === undefined ? '' : nextOf(story, [job]);
  return blocks([
    heading(`${icon(iconOf(label))} ${titleOfJob(job, conversation)}`, conversation === undefined),
    isUnderway(label) ? renderRequest(story, [job]) : '',
    links === '' ? '' : dotted([links, log]),
    renderResult(job),
    dotted([sentenceToMarkdown(job.end?.explanation ?? ''), isCalm ? '' : next], ' '),
    isUnderway(label) ? '' : renderPrompt(story, [job]),
    sayIfOver(story),
    outlook(story, job),
    ...ending(story, isCalm ? next : '', place, [
      isUnderway(label) && story.failure ? '' : story.occasion,
      job.id === NEW_JOB ? '' : `job ${code(job.id, 256)}`,
      renderNumber(story, job),
      // A line of its own would have nothing else to say.
      links === '' ? log : '',
    ]),
  ]);
}

/** How long the agent took; empty if that is not known. Spaces would wrap on a phone. */
function timeTaken(job: Job): string {
  const ms = elapsedMs(job) ?? 0;
  const isKnown = job.end?.result !== 'sent' && Math.round(ms / 1000) > 0;
  return isKnown ? duration(ms).replaceAll(' ', '\u00a0') : '';
}

/** What became of the message: the answer of an agent that has changed no file is not in the API. */
function renderResult(job: Job): string {
  if (changedNothing(job)) {
    const where = `the dashboard (${DASHBOARD_URL}): look for ${quote(job.id, 256)}`;
    return sentenceToMarkdown(`Its answer, if it gave one, is in ${where}.`);
  }
  return job.change?.kind === 'commits' ? renderCommits(job.change) : '';
}

/** While it is new: GitHub mails a new comment, and a mail says first what it is about. */
function renderRequest(story: Story, jobs: readonly Job[]): string {
  return blocks([story.failure ?? '', renderPrompt(story, jobs)]);
}

function sayIfOver({ mergedOrClosed }: Story): string {
  if (mergedOrClosed === undefined) return '';
  return `The request is about #${mergedOrClosed.number}. It is ${mergedOrClosed.how}.`;
}

/** A re-run that only goes on may have another prompt than the one that was sent. */
function renderPrompt({ prompt, attached }: Story, jobs: readonly Job[]): string {
  const isEarlier = ({ message }: Job): boolean => message.kind === 'sent' && message.isEarlier;
  return jobs.every(isEarlier) ? '' : quotation(prompt, attached);
}

/** What was not sent does not count. */
function renderNumber({ most }: Story, job: Job): string {
  if (job.nthInARow === undefined || most === undefined) return '';
  if (job.end !== undefined && deliveryOf(job) === 'not-sent') return '';
  return `message ${job.nthInARow} of ${most}`;
}

function heading(text: string, isSummary: boolean): string {
  return `${isSummary ? '##' : '###'} ${text}`;
}

/** What follows. A comment that is much older than the deadline is that of a killed run. */
function outlook({ until }: Story, job: Job): string {
  const label = labelOf(job);
  const isNew = (label === 'creating' || isCreated(job)) && (isUnderway(label) || label === 'sent');
  return sentences(
    isNew ? 'This starts a new job; the agent opens a pull request of its own.' : '',
    outlookOf(label, until),
  );
}

function outlookOf(label: Label, until: number | undefined): string {
  if (label === 'sent') return 'This run does not wait for the result.';
  if (!isUnderway(label) || until === undefined) return '';
  const unsent =
    label === 'waiting' ? ' If the agent is not done by then, the message is not sent.' : '';
  return `This run waits until ${inUtc(until)}.${unsent}`;
}

/** The link to the pull request of the job; empty on that pull request. */
function renderPull(job: Job, conversation: number | undefined): string {
  const prLink = job.record?.prLink;
  return prLink && !isOn(job, conversation) ? `**${pullRequestLink(job.record)}**` : '';
}

function isOn({ record }: Job, conversation: number | undefined): boolean {
  return conversation !== undefined && record?.prNumber === conversation;
}

/** Where to review what the agent has changed; empty if no change is known. */
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

/** The news: what the agent has done, if that is known. */
function titleOfJob(job: Job, conversation?: number): string {
  const label = labelOf(job);
  const { change, record } = job;
  if (label === 'failed' && change?.kind === 'commits') {
    return `Agent failed after pushing ${nameCommits(change) || 'commits'}`;
  }
  if (label !== 'completed' || change === undefined) return titleOf(label);
  switch (change.kind) {
    case 'commits':
      return dotted(['Agent pushed', nameCommits(change)], ' ');
    case 'created':
      return `Agent opened ${isOn(job, conversation) ? 'this pull request' : pullRequestLink(record ?? {})}`;
    case 'rewritten':
      return 'Agent rewrote the branch';
    case 'none':
      return 'Agent finished: no new commit seen';
    case 'no-pull-request':
      return 'Agent finished without a pull request';
  }
}

/** Several jobs: first what needs attention, then one item for each result and reason. */
function renderJobs(story: Story, jobs: readonly Job[], place: Place): string {
  const { conversation, limit } = place;
  const labels = jobs.map(labelOf);
  const underway = labels.find(isUnderway);
  const head = blocks([
    heading(titleOfJobs(labels), conversation === undefined),
    underway === undefined ? renderPrompt(story, jobs) : renderRequest(story, jobs),
    underway === undefined ? '' : outlookOf(underway, story.until),
    sayIfOver(story),
  ]);
  // Nobody can reply to a summary.
  const next = conversation === undefined ? '' : nextOf(story, jobs);
  const occasion = underway !== undefined && story.failure ? '' : story.occasion;
  const end = blocks(ending(story, next, place, [occasion, logLink(story.info)]));
  return blocks([head, listJobs(jobs, limit - head.length - end.length), end]);
}

/** Jobs that an item names. */
const MOST_NAMED = 20;
/** Characters for the item that says what is left out. */
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

/** `7 of 60 agent jobs need attention`, with the worst icon. */
function titleOfJobs(labels: readonly Label[]): string {
  const [worst = 'completed'] = labels.toSorted(byAttention);
  const underway = labels.find(isUnderway);
  const areSame = new Set(labels.map(wordOf)).size === 1;
  const words = areSame ? wordsForSame(worst, labels.length) : wordsForMixed(labels);
  return `${icon(iconOf(underway ?? worst))} ${words}`;
}

function wordsForSame(label: Label, count: number): string {
  const jobs = `${count} agent jobs`;
  if (label === 'sending') return `Sending a message to ${jobs}`;
  if (label === 'sent') return `${jobs} got the message`;
  return `${jobs}: ${wordOf(label)}`;
}

function wordsForMixed(labels: readonly Label[]): string {
  const jobs = `${labels.length} agent jobs`;
  const underway = labels.filter(isUnderway).length;
  const bad = labels.filter(isBad).length;
  if (bad > 0) {
    const need = bad === 1 ? 'needs' : 'need';
    return `${bad} of ${jobs} ${need} attention${underway > 0 ? ' so far' : ''}`;
  }
  if (underway > 0) return `${labels.length - underway} of ${jobs} done`;
  // The agent is at work on what was only sent.
  const sent = labels.filter((label) => label === 'sent').length;
  return sent > 0 ? `${sent} of ${jobs} got the message` : `${jobs} done`;
}

/** What follows everything else, the small print last. */
function ending(
  story: Story,
  next: string,
  { comments = '' }: Place,
  details: readonly string[],
): readonly string[] {
  const about = [inUtc(story.startedAt), link('Agent Follow-up', ACTION_URL)];
  return [next, comments, small(dotted([...details, ...about]))];
}

/** What a person can do next. Empty if it is not the same for all jobs: a command goes to all of them. */
function nextOf(
  { command, createsJobs = false }: Pick<Story, 'command' | 'createsJobs'>,
  jobs: readonly Job[],
): string {
  if (command === null) return '';
  const steps = jobs.map((job) =>
    changedNothing(job) ? askForMore(command) : nextStep(labelOf(job), command, createsJobs),
  );
  const [next, ...others] = new Set(steps);
  return next === undefined || others.length > 0 ? '' : sentenceToMarkdown(next);
}

export function logLink({ repositoryUrl, runId, attempt }: RunInfo): string {
  const run = `${repositoryUrl}/actions/runs/${runId}`;
  return link('log', attempt === 1 ? run : `${run}/attempts/${attempt}`);
}

/** The answer to a command that the settings of the workflow stop. */
export function renderProblem(problem: string, info: RunInfo): string {
  const what = `${icon('⚠️')} Nothing was sent to the agent. ${sentenceToMarkdown(problem)}`;
  return dotted([what, logLink(info)]);
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
