import { inUtc } from '../clock.ts';
import { type Change, elapsedMs, type Job, type JobRecord } from '../job.ts';
import {
  byAttention,
  CALM,
  countKinds,
  detailOf,
  iconOf,
  type Kind,
  kindOf,
  OPEN,
  titleOf,
} from '../labels.ts';
import { ownPullRequest } from '../link.ts';
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
  /** Redacted; empty if nothing is sent. */
  readonly prompt: string;
  readonly startedAt: number;
  /** The word of a command that asked for it; null without one. */
  readonly command: string | null;
}

/** Where the text is shown. */
export interface Place {
  readonly heading: '###' | '##';
  /** The pull request or issue with the comment; null in the summary. */
  readonly conversation: number | null;
  /** If more jobs need no attention, they are folded. */
  readonly mostOpen: number;
  /** Characters. */
  readonly limit: number;
}

export function renderStory(story: Story, jobs: readonly Job[], place: Place): string {
  const [only, ...others] = jobs;
  if (only === undefined) return '';
  return others.length === 0 ? renderJob(story, only, place) : renderAll(story, jobs, place);
}

function renderJob(story: Story, job: Job, { heading, conversation, limit }: Place): string {
  const kind = kindOf(job);
  const detail = detailOf(job);
  const asked = story.by === null ? '' : `Asked by ${code(story.by)}`;
  // An email shows the comment as it was created, so it begins like a message.
  const isNew = kind === 'sending' || kind === 'waiting';
  const links = [...linksOf(story, job, conversation), timeTaken(job), logLink(story.info)];
  const texts = [
    `${heading} ${icon(iconOf(kind))} ${titleOf(kind)}${detail === '' ? '' : `: ${detail}`}`,
    dotted([isNew ? asked : '', ...links]),
    sentenceToMarkdown(job.end?.reason ?? ''),
    story.prompt === '' ? '' : quotation(story.prompt),
    small(
      dotted([
        isNew ? '' : asked,
        `job ${code(job.id, 256)}`,
        job.record?.model ? `model ${code(job.record.model)}` : '',
        renderSource(job.record?.source),
        ...footer(story, OPEN.has(kind)),
      ]),
    ),
  ].filter((text) => text !== '');
  return blocks(fitting(texts, limit));
}

/** The links to what the agent has done. On the pull request of the job, the link to it is left out. */
function linksOf({ info }: Story, job: Job, conversation: number | null): readonly string[] {
  const { change, end } = job;
  const prLink = job.record?.prLink;
  if (!prLink) return change?.kind === 'no-files' ? ['No files changed'] : [];
  const number = ownPullRequest(prLink, info.repositoryUrl);
  const isHere = number !== null && number === conversation;
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

function describeChange(change: Change | null): string {
  switch (change?.kind) {
    case 'commits':
      return `**${change.count} new ${change.count === 1 ? 'commit' : 'commits'}**`;
    case 'none':
      return 'No new commits';
    case 'rewritten':
      return 'Branch rewritten';
    case 'created':
      return 'Pull request created';
    default:
      return '';
  }
}

/** Several jobs: first what needs attention, then the counts, then a table of them. */
function renderAll(story: Story, jobs: readonly Job[], place: Place): string {
  const kinds = jobs.map(kindOf);
  const head = fitting(
    [
      `${place.heading} ${headingOf(kinds)}`,
      dotted([countKinds(kinds, ' · '), logLink(story.info)]),
      story.prompt === '' ? '' : quotation(story.prompt),
    ].filter((text) => text !== ''),
    place.limit,
  );
  const end = small(
    dotted([
      story.by === null ? '' : `Asked by ${code(story.by)}`,
      ...footer(
        story,
        kinds.some((kind) => OPEN.has(kind)),
      ),
    ]),
  );
  const room = place.limit - blocks(head).length - end.length;
  return blocks([...head, renderJobs(jobs, place.mostOpen, room), end]);
}

/** `7 of 60 agent jobs need attention`, with the worst icon. */
function headingOf(kinds: readonly Kind[]): string {
  const [worst = 'completed'] = kinds.toSorted(byAttention);
  const jobs = `${kinds.length} agent jobs`;
  const bad = kinds.filter((kind) => !CALM.has(kind)).length;
  const open = kinds.find((kind) => OPEN.has(kind));
  if (bad > 0) {
    const shown = open === undefined ? worst : open;
    return `${icon(iconOf(shown))} ${bad} of ${jobs} ${bad === 1 ? 'needs' : 'need'} attention`;
  }
  if (open === undefined) {
    const isOne = new Set(kinds).size === 1;
    const done =
      isOne && worst === 'completed'
        ? 'completed'
        : isOne && worst === 'skipped'
          ? 'skipped'
          : 'done';
    return `${icon(iconOf(worst))} ${jobs} ${isOne && worst === 'sent' ? 'got the message' : done}`;
  }
  if (kinds.every((kind) => kind === 'sending')) {
    return `${icon(iconOf(open))} Message to ${jobs}`;
  }
  const left = kinds.filter((kind) => OPEN.has(kind)).length;
  return `${icon(iconOf(open))} ${kinds.length - left} of ${jobs} done`;
}

function footer({ startedAt, command }: Story, isOpen: boolean): readonly string[] {
  return [
    inUtc(startedAt),
    'Agent Follow-up',
    command === null || isOpen ? '' : `reply ${code(`${command} …`)} to continue`,
  ];
}

/** `owner/name@ref` */
function renderSource(source: JobRecord['source']): string {
  if (source === undefined) return '';
  const name = source.repository.replace(/^https?:\/\/[^/]+\//, '').replace(/\.git$/, '');
  return code(source.ref === null ? name : `${name}@${source.ref}`);
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
    `Write what the agent should do after ${code(command)}, in the same comment:`,
    '',
    fence(`${command} also add error handling examples`),
    '',
    'Everything after the command is the prompt, over as many lines as there are.',
  ].join('\n');
}
