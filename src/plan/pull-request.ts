import type { RunReport } from '../comment/render.ts';
import type { Context } from '../context.ts';
import type { GitHub } from '../github/client.ts';
import { fetchOrExplain } from '../github/errors.ts';
import type { JobState } from '../job/job.ts';
import { type Stop, stop } from '../job/stop-reasons.ts';
import { knownRecords, type Ledger } from '../ledger/ledger.ts';
import type { PullRequest } from '../pull-request.ts';
import { listing, sentences } from '../text.ts';
import { type CommitTrigger, choosePull } from '../trigger/trigger.ts';
import type { Result } from '../value-or-problem.ts';

/**
 * GitHub leaves out pull requests that are closed, and now and then others. With `job-id`, a commit
 * needs none: then only the branch of the event counts, as other branches can have the commit, too.
 */
export async function resolvePullRequest(context: Context): Promise<Context | Stop> {
  const { inputs, github, trigger, runtime } = context;
  // Only events about a commit can leave out their pull request.
  if (trigger.kind !== 'check' || (inputs.prNumber ?? trigger.conversation) !== null)
    return context;
  const { check } = trigger;
  const isJobKnown = inputs.jobIds.length > 0;
  const without = (why: Stop) => (isJobKnown ? context : why);
  if (check.pulls.length > 0) return without(whySeveral(check, check.pulls));
  const list = () => github.pullRequestsWith(check.sha);
  const all = await fetchOrExplain(list, 'pull-requests: read', runtime.signal);
  if (all.kind === 'problem') return without(stop('pull-request-unknown', { why: all.problem }));
  const here = isJobKnown ? all.value.filter(({ ref }) => ref === check.branch) : all.value;
  const open = here.filter(({ state }) => state === 'open');
  const ended = choosePull(here, check) ?? here.find(({ state }) => state === 'merged') ?? here[0];
  const pull = open.length > 0 ? choosePull(open, check) : ended;
  if (pull === undefined) {
    return without(open.length > 0 ? whySeveral(check, open) : stop('no-pull-request'));
  }
  const { number, state, sha } = pull;
  const event = { conversation: number, isPullRequest: true, state };
  return { ...context, trigger: { ...trigger, ...event, check: { ...check, head: sha } } };
}

function whySeveral({ sha }: CommitTrigger, pulls: CommitTrigger['pulls']): Stop {
  const newest = pulls.filter((pull) => pull.sha === sha);
  if (newest.length === 0) return stop('newer-commits');
  const numbers = listing(newest.map(({ number }) => `#${number}`));
  return stop('several-pull-requests', { numbers });
}

/**
 * The number of the pull request of a job. While the agent works, the API names none: then it is
 * the newest number that a record of the page has.
 */
export function findOwnPull(
  { id, record }: Pick<JobState, 'id' | 'record'>,
  ledger: Result<Ledger>,
): number | undefined {
  const recorded = knownRecords(ledger).flatMap(({ jobs }) => jobs.filter((job) => job.id === id));
  return record?.prNumber ?? recorded.findLast(({ prNumber }) => prNumber !== undefined)?.prNumber;
}

interface OnPage extends Pick<Context, 'source' | 'trigger' | 'inputs' | 'info'> {
  readonly plan: { readonly page: number | null };
  readonly ledger: Result<Ledger>;
  readonly jobs: readonly JobState[];
}

export function isOwnPage({ plan, ledger, jobs }: OnPage): boolean {
  const [job, ...others] = jobs;
  return job !== undefined && others.length === 0 && findOwnPull(job, ledger) === plan.page;
}

/** Of a command on a pull request that is merged or closed: which, and how it has ended. */
export function findEndedPull({ source, trigger, plan }: OnPage): RunReport['mergedOrClosed'] {
  const { conversation: number, state } = trigger;
  if (source === null || state === 'open' || number === null) return undefined;
  return plan.page === number ? { number, state } : undefined;
}

/**
 * The paragraph that says where a message comes from. Empty without a command, as what is said of a
 * failure names its pull request, and for an open one that is that of the only job.
 */
export function describePage(run: OnPage): string {
  const { source, trigger, info, inputs, plan } = run;
  const ended = findEndedPull(run);
  if (source === null || plan.page === null || (isOwnPage(run) && ended === undefined)) return '';
  const isPull = inputs.prNumber !== null || trigger.isPullRequest;
  const [what, path] = isPull ? ['pull request', 'pull'] : ['issue', 'issues'];
  const about = `This is about the ${what} ${info.repositoryUrl}/${path}/${plan.page}.`;
  return sentences(about, ended === undefined ? '' : `It is ${ended.state}.`);
}

export async function fetchCurrentPullRequest(
  github: GitHub,
  number: number | undefined,
): Promise<PullRequest | undefined> {
  if (number === undefined) return undefined;
  return github.pullRequest(number).catch(() => undefined);
}
