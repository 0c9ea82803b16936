import type { Context } from '../context.ts';
import { whyNot } from '../github/errors.ts';
import { type Stop, stop } from '../job/stop-reasons.ts';
import type { PullRequestHead } from '../pull-request.ts';
import { listing } from '../text.ts';
import { type CommitTrigger, choosePull, type Trigger } from '../trigger/trigger.ts';

// Which pull request the commit of an event belongs to, if the event does not say it.

/**
 * GitHub leaves out pull requests that are closed, and now and then others. With `job-id`, a commit
 * needs none: then only the branch of the event counts, as other branches can have the commit, too.
 */
export async function resolvePullRequest(
  context: Context,
  trigger: Extract<Trigger, { kind: 'check' }>,
): Promise<Context | Stop> {
  const { inputs, github } = context;
  if ((inputs.prNumber ?? trigger.conversation) !== null) return context;
  const { check } = trigger;
  const isJobKnown = inputs.jobIds.length > 0;
  const without = (why: Stop) => (isJobKnown ? context : why);
  if (check.pulls.length > 0) return without(whySeveral(check, check.pulls));
  let all: readonly PullRequestHead[];
  try {
    all = await github.pullRequestsWith(check.sha);
  } catch (error) {
    return without(stop('pull-request-unknown', { why: whyNot(error, 'pull-requests: read') }));
  }
  const here = isJobKnown ? all.filter(({ ref }) => ref === check.branch) : all;
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
