import type { Story } from '../comment/render.ts';
import type { Start } from '../context.ts';
import type { GitHub } from '../github/client.ts';
import type { Job } from '../job/job.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { PullRequest } from '../pull-request.ts';
import { type Result, sentences } from '../text.ts';

// Which pull request is that of a job, and whether a message is about another one.

/**
 * The number of the pull request of a job. While the agent works, its record names none: then it is the newest number that a
 * note of the conversation has recorded. `notes`: the oldest first.
 */
export function ownPull(
  { id, record }: Pick<Job, 'id' | 'record'>,
  notes: Ledger,
): number | undefined {
  const recorded = notes.flatMap(({ jobs }) => jobs.filter((job) => job.id === id));
  return record?.prNumber ?? recorded.findLast(({ prNumber }) => prNumber !== undefined)?.prNumber;
}

interface EventRun extends Pick<Start, 'trigger'> {
  readonly inputs: { readonly prNumber: number | null };
  readonly notes: Result<Ledger>;
}

interface Sending extends EventRun, Pick<Start, 'asked' | 'info'> {
  readonly jobs: readonly Job[];
}

/** The number of the pull request or issue of the event; `pr-number` stands for it. */
export function conversationOf({ inputs, trigger }: EventRun): number | null {
  return inputs.prNumber ?? trigger.conversation;
}

/** The notes of the conversation, as far as they are known. */
export function knownNotes({ notes }: Pick<EventRun, 'notes'>): Ledger {
  return notes.kind === 'ok' ? notes.value : [];
}

export function isOwnPlace(run: EventRun, job: Job): boolean {
  return ownPull(job, knownNotes(run)) === conversationOf(run);
}

/** Of a command on a pull request that is merged or closed: which, and how it has ended. */
export function whatIsOver({
  asked,
  trigger,
  inputs,
}: Omit<Sending, 'jobs' | 'notes'>): Story['mergedOrClosed'] {
  const { conversation: number, state: how } = trigger;
  if (asked === null || how === 'open' || number === null) return undefined;
  return (inputs.prNumber ?? number) === number ? { number, how } : undefined;
}

/**
 * The paragraph that says where a message comes from: always if it goes to several jobs or if that is over, and otherwise if that
 * is not the pull request of the job. Empty without a command: what is said of a failure names its pull request.
 */
export function sayPlace(run: Sending): string {
  const { jobs, asked, trigger, info, inputs } = run;
  const number = conversationOf(run);
  if (asked === null || number === null) return '';
  const [job, ...others] = jobs;
  const over = whatIsOver(run);
  const isOwn = job !== undefined && others.length === 0 && isOwnPlace(run, job);
  if (isOwn && over === undefined) return '';
  const isPull = inputs.prNumber !== null || trigger.isPullRequest;
  const [what, path] = isPull ? ['pull request', 'pull'] : ['issue', 'issues'];
  const about = `This is about the ${what} ${info.repositoryUrl}/${path}/${number}.`;
  return sentences(about, over === undefined ? '' : `It is ${over.how}.`);
}

/** A pull request as it is now, if there is one and GitHub tells. */
export async function readHead(
  github: GitHub,
  number: number | undefined,
): Promise<PullRequest | undefined> {
  if (number === undefined) return undefined;
  try {
    return await github.pullRequest(number);
  } catch {
    return undefined;
  }
}
