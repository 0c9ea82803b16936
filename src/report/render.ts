import { inUtc } from '../clock.ts';
import { type Change, elapsedMs, type Job, type JobRecord } from '../job.ts';
import {
  byAttention,
  CALM,
  countKinds,
  iconOf,
  type Kind,
  kindOf,
  OPEN,
  titleOf,
} from '../labels.ts';
import type { RunInfo } from '../runner/environment.ts';
import {
  blocks,
  code,
  dotted,
  fence,
  fitting,
  icon,
  link,
  pullRequestLink,
  quotation,
  sentenceToMarkdown,
  small,
} from './markdown.ts';
import { renderJobs, timeTaken } from './table.ts';

// What people read of a run, in the comment and in the job summary: the state first, then the links, then
// everything else.

/** A run, for the comment and the summary. */
export interface Story {
  readonly info: RunInfo;
  readonly by: string | null;
  /** As a whole, redacted; empty if nothing is sent. */
  readonly prompt: string;
  readonly startedAt: number;
  /** When messages and waits end, in milliseconds since 1970; null without a wait. */
  readonly until: number | null;
  /** The word of a command that asked for it; null without one. */
  readonly command: string | null;
}

/**
 * At most `limit` characters. `conversation` is the number of the pull request or issue with the comment; null for
 * the summary, whose links to the comments are `comments`.
 */
export function renderStory(
  story: Story,
  jobs: readonly Job[],
  conversation: number | null,
  limit: number,
  comments = '',
): string {
  const [only, ...others] = jobs;
  return only !== undefined && others.length === 0
    ? renderJob(story, only, conversation, limit, comments)
    : renderAll(story, jobs, conversation === null, limit, comments);
}

function renderJob(
  story: Story,
  job: Job,
  conversation: number | null,
  limit: number,
  comments: string,
): string {
  const kind = kindOf(job);
  const asked = askedBy(story);
  // An email shows the comment as it was created, so it begins like a message.
  const isNew = kind === 'sending' || kind === 'waiting';
  const links = [...linksOf(job, conversation), timeTaken(job), logLink(story.info)];
  const texts = [
    heading(
      `${icon(iconOf(kind))} ${dotted([titleOf(kind), nothingNew(job)], ': ')}`,
      conversation === null,
    ),
    dotted([isNew ? asked : '', ...links]),
    sentenceToMarkdown(job.end?.reason ?? ''),
    quotation(story.prompt),
    outlook(story, kind),
    job.isReadOnly && job.end !== null ? 'This run sent no message.' : '',
    comments,
    small(
      dotted([
        isNew ? '' : asked,
        `job ${code(job.id, 256)}`,
        job.record?.model ? `model ${code(job.record.model)}` : '',
        renderSource(job.record?.source),
        ...footer(story, conversation === null || OPEN.has(kind)),
      ]),
    ),
  ].filter((text) => text !== '');
  return blocks(fitting(texts, limit));
}

function heading(text: string, isSummary: boolean): string {
  return `${isSummary ? '##' : '###'} ${text}`;
}

function askedBy({ by }: Story): string {
  return by === null ? '' : `Asked by ${code(by)}`;
}

/** What follows, and by when: a comment that is older is that of a killed run. */
function outlook({ until }: Story, kind: Kind): string {
  if (kind === 'sent') return 'This run does not wait for the result.';
  // The report takes a moment more, and times are shown without seconds.
  return OPEN.has(kind) && until !== null
    ? `This comment will be updated by ${inUtc(until + 60_000)}.`
    : '';
}

/** The links to what the agent has done. On the pull request of the job, the link to it is left out. */
function linksOf(job: Job, conversation: number | null): readonly string[] {
  const { change, end } = job;
  const prLink = job.record?.prLink;
  if (!prLink) return [];
  const isHere = conversation !== null && job.record?.prNumber === conversation;
  return [
    isHere ? '' : `**${pullRequestLink(prLink)}**`,
    describeChange(change),
    change?.kind === 'commits'
      ? link('Review changes', `${prLink}/files/${change.before}..${change.after}`)
      : isHere && elapsedMs(job) !== null && end?.result !== 'sent' && change?.kind !== 'none'
        ? link('Review changes', `${prLink}/files`)
        : '',
  ];
}

/** Part of the title, because that the agent has changed nothing is easily overlooked. */
function nothingNew({ change }: Job): string {
  if (change?.kind === 'no-pull-request') return 'no pull request';
  return change?.kind === 'none' ? 'no new commits' : '';
}

function describeChange(change: Change | null): string {
  switch (change?.kind) {
    case 'commits':
      return `**${change.count} new ${change.count === 1 ? 'commit' : 'commits'}**`;
    case 'rewritten':
      return 'Branch rewritten';
    case 'created':
      return 'Pull request created';
    default:
      return '';
  }
}

/** Several jobs: first what needs attention, then the counts, then a table of them. */
function renderAll(
  story: Story,
  jobs: readonly Job[],
  isSummary: boolean,
  limit: number,
  comments: string,
): string {
  const kinds = jobs.map(kindOf);
  const open = kinds.find((kind) => OPEN.has(kind));
  const head = fitting(
    [
      heading(titleOfAll(kinds), isSummary),
      dotted([countKinds(kinds, ' · '), logLink(story.info)]),
      quotation(story.prompt),
      open === undefined ? '' : outlook(story, open),
    ].filter((text) => text !== ''),
    limit,
  );
  const end = blocks([
    comments,
    small(dotted([askedBy(story), ...footer(story, isSummary || open !== undefined)])),
  ]);
  const room = limit - blocks(head).length - end.length;
  return blocks([...head, renderJobs(jobs, room), end]);
}

/** `7 of 60 agent jobs need attention`, with the worst icon. */
function titleOfAll(kinds: readonly Kind[]): string {
  const [worst = 'completed'] = kinds.toSorted(byAttention);
  const jobs = `${kinds.length} agent jobs`;
  const open = kinds.filter((kind) => OPEN.has(kind));
  const bad = kinds.filter((kind) => !CALM.has(kind)).length;
  const shown = icon(iconOf(open[0] ?? worst));
  if (bad > 0)
    return `${shown} ${bad} of ${jobs} ${bad === 1 ? 'needs' : 'need'} attention${open.length > 0 ? ' so far' : ''}`;
  if (kinds.every((kind) => kind === 'sending')) return `${shown} Sending a message to ${jobs}`;
  if (open.length > 0) return `${shown} ${kinds.length - open.length} of ${jobs} done`;
  const all = kinds.every((kind) => kind === worst) ? worst : '';
  if (all === 'sent') return `${shown} ${jobs} got the message`;
  return `${shown} ${jobs} ${all === 'completed' || all === 'skipped' ? all : 'done'}`;
}

/** `isQuiet`: whether there is nothing to reply to yet, or no place for it. */
function footer({ startedAt, command }: Story, isQuiet: boolean): readonly string[] {
  return [
    inUtc(startedAt),
    'Agent Follow-up',
    command === null || isQuiet ? '' : `comment ${code(`${command} …`)} to continue`,
  ];
}

/** `source owner/name@ref` */
function renderSource(source: JobRecord['source']): string {
  if (source === undefined) return '';
  const name = source.repository.replace(/^https?:\/\/[^/]+\//, '').replace(/\.git$/, '');
  return `source ${code(source.ref === null ? name : `${name}@${source.ref}`)}`;
}

export function logLink({ repositoryUrl, runId, attempt }: RunInfo): string {
  const run = `${repositoryUrl}/actions/runs/${runId}`;
  return link('log', attempt === 1 ? run : `${run}/attempts/${attempt}`);
}

/** The answer to a command that the settings of the workflow stop. */
export function renderProblem(problem: string, info: RunInfo): string {
  const what =
    `${icon('⚠️')} Nothing was sent to the agent. ${sentenceToMarkdown(problem)} ` +
    'Once this is fixed, repeat the command in a new comment.';
  return dotted([what, logLink(info)]);
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
