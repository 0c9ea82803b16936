import type { Start } from '../context.ts';
import type { PullOfSha } from '../github/client.ts';
import { endAs } from '../job/outcome.ts';
import type { Seen } from '../ledger/decide.ts';
import { whyNot } from '../prompt/sections.ts';
import type { Inputs } from '../runner/inputs.ts';
import { listing, ok, type Result } from '../text.ts';
import { type CommitTrigger, choosePull } from '../trigger/payload.ts';
import type { Skipped } from './resolve-jobs.ts';

// Which pull request the commit of an event belongs to, if the event does not say it.

export interface Located {
  readonly start: Start;
  /** That of the commit, if GitHub was asked for it. */
  readonly seen?: Seen;
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
  const { commit, conversation } = trigger;
  if (commit === null || (prNumber ?? conversation) !== null) return ok({ start });
  const isJobKnown = jobIds.length > 0;
  const skip = (reason: string) =>
    isJobKnown ? ok({ start }) : ({ kind: 'skipped', reason } as const);
  if (commit.pulls.length > 0) return skip(whySeveral(commit, commit.pulls));
  let all: readonly PullOfSha[];
  try {
    all = await github.pullsOf(commit.sha);
  } catch (error) {
    return skip(
      `Which pull request the commit belongs to is not known: ${whyNot(error, 'pull-requests: read')}.`,
    );
  }
  const here = isJobKnown ? all.filter(({ head }) => head.ref === commit.branch) : all;
  const open = here.filter(({ over }) => over === null);
  const over = choosePull(here, commit) ?? here.find((one) => one.over === 'merged') ?? here[0];
  const pull = open.length > 0 ? choosePull(open, commit) : over;
  if (pull !== undefined) return ok(withPull(start, commit, pull));
  if (open.length > 0) return skip(whySeveral(commit, open));
  return skip('The commit is on no open pull request of this repository.');
}

function withPull(start: Start, commit: CommitTrigger, pull: PullOfSha): Located {
  const { number, head, over } = pull;
  const about = { ...commit, head: head.sha };
  const trigger = { ...start.trigger, conversation: number, place: 'pull' as const, commit: about };
  return { start: { ...start, trigger }, seen: { number, sha: head.sha, over } };
}

function whySeveral({ sha }: CommitTrigger, pulls: CommitTrigger['pulls']): string {
  const newest = pulls.filter(({ head }) => head.sha === sha);
  if (newest.length === 0) return endAs('newer commits').explanation;
  const numbers = listing(newest.map(({ number }) => `#${number}`));
  return `The commit is the newest of several pull requests: ${numbers}.`;
}
