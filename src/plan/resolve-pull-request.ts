import type { Start } from '../context.ts';
import { endAs } from '../job/outcome.ts';
import { whyNot } from '../prompt/sections.ts';
import type { PullRequestHead } from '../pull-request.ts';
import type { Inputs } from '../runner/inputs.ts';
import { listing, ok, type Result } from '../text.ts';
import { type CommitTrigger, choosePull, type Trigger } from '../trigger/trigger.ts';
import type { Skipped } from './resolve-jobs.ts';

// Which pull request the commit of an event belongs to, if the event does not say it.

export interface Located {
  readonly start: Start;
  /** That of the commit, if GitHub was asked for it. */
  readonly seen?: PullRequestHead;
}

/**
 * Finds the pull request of the commit if neither the event nor `pr-number` names it: GitHub leaves it out of events of pull
 * requests that are closed, and now and then of others. With `job-id`, a commit needs none: then only the branch of the run or
 * check counts, because a commit of another branch may have come from a pull request, too.
 */
export async function locate(
  start: Start,
  { prNumber, jobIds }: Inputs,
): Promise<Result<Located> | Skipped> {
  const { trigger, github } = start;
  if (trigger.kind !== 'check' || (prNumber ?? trigger.conversation) !== null) return ok({ start });
  const { check } = trigger;
  const isJobKnown = jobIds.length > 0;
  const skip = (reason: string) =>
    isJobKnown ? ok({ start }) : ({ kind: 'skipped', reason } as const);
  if (check.pulls.length > 0) return skip(whySeveral(check, check.pulls));
  let all: readonly PullRequestHead[];
  try {
    all = await github.pullsOf(check.sha);
  } catch (error) {
    return skip(
      `Which pull request the commit belongs to is not known: ${whyNot(error, 'pull-requests: read')}.`,
    );
  }
  const here = isJobKnown ? all.filter(({ ref }) => ref === check.branch) : all;
  const open = here.filter(({ state }) => state === 'open');
  const ended = choosePull(here, check) ?? here.find(({ state }) => state === 'merged') ?? here[0];
  const pull = open.length > 0 ? choosePull(open, check) : ended;
  if (pull !== undefined) return ok(withPull(start, trigger, pull));
  if (open.length > 0) return skip(whySeveral(check, open));
  return skip('The commit is on no open pull request of this repository.');
}

function withPull(
  start: Start,
  trigger: Extract<Trigger, { kind: 'check' }>,
  pull: PullRequestHead,
): Located {
  const { number, sha } = pull;
  const check = { ...trigger.check, head: sha };
  const located = { ...trigger, conversation: number, isPullRequest: true, check };
  return { start: { ...start, trigger: located }, seen: pull };
}

function whySeveral({ sha }: CommitTrigger, pulls: CommitTrigger['pulls']): string {
  const newest = pulls.filter((pull) => pull.sha === sha);
  if (newest.length === 0) return endAs('newer commits').explanation;
  const numbers = listing(newest.map(({ number }) => `#${number}`));
  return `The commit is the newest of several pull requests: ${numbers}.`;
}
