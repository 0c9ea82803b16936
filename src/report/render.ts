import { inUtc } from '../clock.ts';
import { deliveryOf, type Job, sentAtOf } from '../job/job.ts';
import {
  byAttention,
  CALM,
  countKinds,
  iconOf,
  type Kind,
  kindOf,
  OPEN,
  titleOf,
  wordOf,
} from '../job/labels.ts';
import { ACTION_URL } from '../link.ts';
import {
  blocks,
  code,
  dotted,
  fence,
  icon,
  link,
  pullRequestLink,
  quotation,
  sentenceToMarkdown,
  small,
} from '../markdown.ts';
import type { RunInfo } from '../runner/environment.ts';
import { plural } from '../text.ts';
import { type Ended, overallReason } from './outputs.ts';
import { renderJobs, timeTaken } from './table.ts';

// What people read of a run, in the comment and in the job summary: the state first, then the links, then
// everything else.

/** A run, for the comment and the summary. */
export interface Story {
  readonly info: RunInfo;
  /** Who asked for it, or after what it was sent, as Markdown; empty if nobody did. */
  readonly occasion: string;
  /** As a whole, redacted; empty if nothing is sent. */
  readonly prompt: string;
  /** What belongs to the prompt and is not shown; empty for nothing. */
  readonly attached: string;
  readonly startedAt: number;
  /** When messages and waits end, in milliseconds since 1970; missing without a wait. */
  readonly until?: number;
  /** The word of a command that asked for it; null without one. */
  readonly command: string | null;
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
  return only !== undefined && others.length === 0
    ? renderJob(story, only, place)
    : renderAll(story, jobs, place);
}

function renderJob(story: Story, job: Job, place: Place): string {
  const { conversation } = place;
  const kind = kindOf(job);
  const { occasion } = story;
  // An email shows the comment as it was created, so it begins like a message.
  const isNew = kind === 'sending' || kind === 'creating' || kind === 'waiting';
  const pull = renderPull(job, conversation);
  const review = reviewLink(job, conversation);
  const isUnsaid = job.isReadOnly && job.end !== undefined;
  const facts = [timeTaken(job), isUnsaid ? 'No message sent' : '', logLink(story.info)];
  // What needs attention is not the changes, and what to do about it stands beside it.
  const isCalm = CALM.has(kind);
  const next = conversation === undefined ? '' : nextStep(story, [kind]);
  const links = isCalm ? [pull, review, ...facts] : [pull, ...facts, review];
  return blocks([
    heading(`${icon(iconOf(kind))} ${titleOfJob(job)}`, conversation === undefined),
    dotted([isNew ? occasion : '', ...links]),
    dotted([sentenceToMarkdown(job.end?.explanation ?? ''), isCalm ? '' : next], ' '),
    renderPrompt(story, [job]),
    outlook(story, kind),
    ...ending(story, isCalm ? next : '', place, [
      isNew ? '' : occasion,
      job.id === '' ? '' : `job ${code(job.id, 256)}`,
      renderNumber(story, job),
    ]),
  ]);
}

/** A re-run that only goes on may have another prompt than the one that was sent. */
function renderPrompt({ prompt, attached }: Story, jobs: readonly Job[]): string {
  const isEarlier = ({ message }: Job): boolean => message.kind === 'sent' && message.isEarlier;
  return jobs.every(isEarlier) ? '' : quotation(prompt, attached);
}

/** What was not sent does not count. */
function renderNumber({ most }: Story, job: Job): string {
  if (job.number === undefined || most === undefined) return '';
  if (job.end !== undefined && deliveryOf(job) === 'not-sent') return '';
  return `message ${job.number} of ${most}`;
}

function heading(text: string, isSummary: boolean): string {
  return `${isSummary ? '##' : '###'} ${text}`;
}

/** What follows. A comment that is much older than the deadline is that of a killed run. */
function outlook({ until }: Story, kind: Kind): string {
  if (kind === 'sent') return 'This run does not wait for the result.';
  if (!OPEN.has(kind) || until === undefined) return '';
  const unsent =
    kind === 'waiting' ? ' If the agent is not done by then, the message is not sent.' : '';
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
function reviewLink(job: Job, conversation: number | undefined): string {
  const { change, end, record } = job;
  if (!record?.prLink) return '';
  const files = `${record.prLink}/files`;
  if (change?.kind === 'commits') {
    return link('Review changes', `${files}/${change.before}..${change.after}`);
  }
  const isOver = sentAtOf(job) !== undefined && end !== undefined && end.result !== 'sent';
  const mayHaveChanges = isOver && change?.kind !== 'none';
  return isOn(job, conversation) && mayHaveChanges ? link('Review changes', files) : '';
}

/** The news: what the agent has done, if that is known. */
function titleOfJob(job: Job): string {
  const kind = kindOf(job);
  const { change, record, end } = job;
  if (kind === 'failed' && change?.kind === 'commits') {
    return `Agent failed after pushing ${plural(change.count, 'commit')}`;
  }
  if (kind === 'unconfirmed' && end?.result === 'failed') {
    return 'Agent failed, perhaps on earlier work';
  }
  if (kind !== 'completed' || change === undefined) return titleOf(kind);
  switch (change.kind) {
    case 'commits':
      return `Agent pushed ${plural(change.count, 'commit')}`;
    case 'created':
      return `Agent opened ${pullRequestLink(record ?? {})}`;
    case 'none':
      return 'Agent finished: no new commit seen';
    case 'no-pull-request':
      return 'Agent finished without a pull request';
  }
}

/** Several jobs: first what needs attention, then the counts, then a table of them. */
function renderAll(story: Story, jobs: readonly Job[], place: Place): string {
  const { conversation, limit } = place;
  const kinds = jobs.map(kindOf);
  const open = kinds.find((kind) => OPEN.has(kind));
  const head = blocks([
    heading(titleOfAll(kinds), conversation === undefined),
    // The title counts jobs that are all the same.
    dotted([areSame(kinds) ? '' : countKinds(kinds, ' · '), logLink(story.info)]),
    renderPrompt(story, jobs),
    open === undefined ? '' : outlook(story, open),
  ]);
  // Nobody can reply to a summary.
  const next = conversation === undefined ? '' : nextStep(story, kinds);
  const end = blocks(ending(story, next, place, [story.occasion]));
  return blocks([head, renderJobs(jobs, limit - head.length - end.length), end]);
}

function areSame(kinds: readonly Kind[]): boolean {
  return new Set(kinds).size === 1;
}

/** `7 of 60 agent jobs need attention`, with the worst icon. */
function titleOfAll(kinds: readonly Kind[]): string {
  const [worst = 'completed'] = kinds.toSorted(byAttention);
  const open = kinds.find((kind) => OPEN.has(kind));
  const words = areSame(kinds) ? wordsForSame(worst, kinds.length) : wordsForMixed(kinds);
  return `${icon(iconOf(open ?? worst))} ${words}`;
}

function wordsForSame(kind: Kind, count: number): string {
  const jobs = `${count} agent jobs`;
  if (kind === 'sending') return `Sending a message to ${jobs}`;
  if (kind === 'sent') return `${jobs} got the message`;
  return `${jobs}: ${wordOf(kind)}`;
}

function wordsForMixed(kinds: readonly Kind[]): string {
  const jobs = `${kinds.length} agent jobs`;
  const open = kinds.filter((kind) => OPEN.has(kind)).length;
  const bad = kinds.filter((kind) => !CALM.has(kind)).length;
  if (bad > 0) {
    const need = bad === 1 ? 'needs' : 'need';
    return `${bad} of ${jobs} ${need} attention${open > 0 ? ' so far' : ''}`;
  }
  return open > 0 ? `${kinds.length - open} of ${jobs} done` : `${jobs} done`;
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

/** What a person can do next once a command has ended. */
const NEXT_STEPS: Readonly<Partial<Record<Kind, (command: string) => string>>> = {
  completed: improve,
  unconfirmed: improve,
  failed: (command) => `Comment ${code(`${command} try again`)} to try again.`,
  limited: (command) => `To go on, comment ${code(command)} and what to do.`,
};

function improve(command: string): string {
  return `Not right? Comment ${code(command)} and what to change.`;
}

/** Empty if it is not the same for all jobs: a command goes to all of them. */
function nextStep({ command }: Pick<Story, 'command'>, kinds: readonly Kind[]): string {
  const [say, ...others] = new Set(kinds.map((kind) => NEXT_STEPS[kind]));
  return command === null || say === undefined || others.length > 0 ? '' : say(command);
}

export function logLink({ repositoryUrl, runId, attempt }: RunInfo): string {
  const run = `${repositoryUrl}/actions/runs/${runId}`;
  return link('log', attempt === 1 ? run : `${run}/attempts/${attempt}`);
}

/** The answer to a command that the settings of the workflow stop. */
export function renderProblem(problem: string, info: RunInfo): string {
  const what =
    `${icon('⚠️')} Nothing was sent to the agent. ${sentenceToMarkdown(problem)} ` +
    'Once this is fixed, comment again.';
  return dotted([what, logLink(info)]);
}

/**
 * A bad end, for whoever asked: `person` is a login, or empty. `url` is that of the comment of the run. Of several jobs, the
 * worst stands for the others.
 */
export function renderBadEnd(
  story: Pick<Story, 'command'>,
  worst: Ended,
  ended: readonly Ended[],
  person: string,
  url: string,
): string {
  const mention = /^[a-z\d][a-z\d_-]*$/i.test(person) ? `@${person} ` : '';
  const title = `${icon(iconOf(kindOf(worst)))} ${titleOfJob(worst)}.`;
  const why = sentenceToMarkdown(overallReason(worst, ended));
  const next = nextStep(story, ended.map(kindOf));
  return dotted([mention + title, why, next, link('Details', url)], ' ');
}

/** The answer to a command without a prompt. It must not begin with the command itself. */
export function renderUsage(command: string): string {
  return [
    `Nothing was sent. Write your message to the agent after ${code(command)} in a new comment:`,
    '',
    fence(`${command} also add error handling examples`),
    '',
    'The message can have several lines.',
  ].join('\n');
}
