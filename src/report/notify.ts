import type { Run } from '../delivery/run-state.ts';
import { changedNothing, statusOf } from '../job/job.ts';
import type { Ended } from '../job/overall.ts';
import { RESULTS } from '../job/results.ts';
import { isLimitTold } from '../ledger/decide.ts';
import { isFinal } from '../service.ts';

// Which ends are told by a comment of their own: GitHub mails a new comment, but not an edit.

type ToldRun = Pick<Run, 'asked' | 'inputs' | 'jobs' | 'ledger' | 'plan' | 'trigger'>;

export function newsOf(run: ToldRun, ended: readonly Ended[]): readonly Ended[] {
  return ended.filter((job) => {
    const isNews = RESULTS[job.end.result].isBad || isLateLimit(run, job) || isUnseen(run, job);
    return isNews && !isOfOtherAttempt(job);
  });
}

/** Another attempt has told it in its own comments. */
function isOfOtherAttempt({ message, end, after }: Ended): boolean {
  if (message.kind === 'unknown') return message.isEarlier;
  const isKnown = isFinal(end.result) && after.seenAt === undefined;
  return message.kind === 'sent' && message.isEarlier && isKnown;
}

/** The comment had announced the message before the limit stopped it. */
function isLateLimit({ ledger, plan }: ToldRun, { id, end, nthInARow }: Ended): boolean {
  if (end.label !== 'limited' || nthInARow === undefined) return false;
  return ledger.kind === 'problem' || !isLimitTold(ledger.value, plan.message, id);
}

/** Done, and nothing has changed here: GitHub mails what is pushed to this pull request. */
function isUnseen(run: ToldRun, job: Ended): boolean {
  const { asked, trigger, inputs, jobs } = run;
  const isAwaited = asked !== null || (trigger.kind === 'check' && trigger.check.failure !== null);
  const isDone = inputs.wait && isFinal(statusOf(job)) && isFinal(job.end.result);
  const isHere = job.record?.prNumber === run.plan.page && !changedNothing(job);
  return isAwaited && isDone && jobs.length === 1 && job.change !== undefined && !isHere;
}
