import type { RunReport } from '../comment/render.ts';
import type { Context } from '../context.ts';
import type { GitHub } from '../github/client.ts';
import type { Job } from '../job/job.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { PullRequest } from '../pull-request.ts';
import { sentences } from '../text.ts';

// Which pull request is that of a job, and whether a message is about another one.

/**
 * The number of the pull request of a job. While the agent works, the API names none: then it is
 * the newest number that a record of the page has.
 */
export function ownPull(
  { id, record }: Pick<Job, 'id' | 'record'>,
  ledger: Ledger,
): number | undefined {
  const recorded = ledger.flatMap(({ jobs }) => jobs.filter((job) => job.id === id));
  return record?.prNumber ?? recorded.findLast(({ prNumber }) => prNumber !== undefined)?.prNumber;
}

/** Of a command on a pull request that is merged or closed: which, and how it has ended. */
export function whatIsOver({
  asked,
  trigger,
  inputs,
}: Pick<Context, 'asked' | 'trigger' | 'inputs'>): RunReport['mergedOrClosed'] {
  const { conversation: number, state: how } = trigger;
  if (asked === null || how === 'open' || number === null) return undefined;
  return (inputs.prNumber ?? number) === number ? { number, how } : undefined;
}

/**
 * The paragraph that says where a message comes from. Empty without a command, as what is said of a
 * failure names its pull request, and for one that is open and that of the only job (`isOwn`).
 */
export function describePage(context: Context, isOwn: boolean): string {
  const { asked, trigger, info, inputs } = context;
  const number = inputs.prNumber ?? trigger.conversation;
  const over = whatIsOver(context);
  if (asked === null || number === null || (isOwn && over === undefined)) return '';
  const isPull = inputs.prNumber !== null || trigger.isPullRequest;
  const [what, path] = isPull ? ['pull request', 'pull'] : ['issue', 'issues'];
  const about = `This is about the ${what} ${info.repositoryUrl}/${path}/${number}.`;
  return sentences(about, over === undefined ? '' : `It is ${over.how}.`);
}

/** A pull request as it is now, if there is one and GitHub tells. */
export async function fetchCurrentPullRequest(
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
