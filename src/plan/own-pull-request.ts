import type { RunReport } from '../comment/render.ts';
import type { Context } from '../context.ts';
import type { GitHub } from '../github/client.ts';
import type { Job } from '../job/job.ts';
import { knownRecords, type Ledger } from '../ledger/ledger.ts';
import type { PullRequest } from '../pull-request.ts';
import type { Result } from '../result.ts';
import { sentences } from '../text.ts';

// Which pull request is that of a job, and whether a message is about another one.

/**
 * The number of the pull request of a job. While the agent works, the API names none: then it is
 * the newest number that a record of the page has.
 */
export function findOwnPull(
  { id, record }: Pick<Job, 'id' | 'record'>,
  ledger: Result<Ledger>,
): number | undefined {
  const recorded = knownRecords(ledger).flatMap(({ jobs }) => jobs.filter((job) => job.id === id));
  return record?.prNumber ?? recorded.findLast(({ prNumber }) => prNumber !== undefined)?.prNumber;
}

/** What the run is about, and what is known of it. */
interface OnPage extends Pick<Context, 'asked' | 'trigger' | 'inputs' | 'info'> {
  readonly plan: { readonly page: number | null };
  readonly ledger: Result<Ledger>;
  readonly jobs: readonly Job[];
}

/** Whether the page is the pull request of the only job. */
export function isOwnPage({ plan, ledger, jobs }: OnPage): boolean {
  const [job, ...others] = jobs;
  return job !== undefined && others.length === 0 && findOwnPull(job, ledger) === plan.page;
}

/** Of a command on a pull request that is merged or closed: which, and how it has ended. */
export function findEndedPull({
  asked,
  trigger,
  plan,
}: Pick<OnPage, 'asked' | 'trigger' | 'plan'>): RunReport['mergedOrClosed'] {
  const { conversation: number, state: how } = trigger;
  if (asked === null || how === 'open' || number === null) return undefined;
  return plan.page === number ? { number, how } : undefined;
}

/**
 * The paragraph that says where a message comes from. Empty without a command, as what is said of a
 * failure names its pull request, and for an open one that is that of the only job.
 */
export function describePage(run: OnPage): string {
  const { asked, trigger, info, inputs, plan } = run;
  const ended = findEndedPull(run);
  if (asked === null || plan.page === null || (isOwnPage(run) && ended === undefined)) return '';
  const isPull = inputs.prNumber !== null || trigger.isPullRequest;
  const [what, path] = isPull ? ['pull request', 'pull'] : ['issue', 'issues'];
  const about = `This is about the ${what} ${info.repositoryUrl}/${path}/${plan.page}.`;
  return sentences(about, ended === undefined ? '' : `It is ${ended.how}.`);
}

/** A pull request as it is now, if there is one and GitHub tells. */
export async function fetchCurrentPullRequest(
  github: GitHub,
  number: number | undefined,
): Promise<PullRequest | undefined> {
  if (number === undefined) return undefined;
  return github.pullRequest(number).catch(() => undefined);
}
