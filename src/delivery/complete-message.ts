import type { Job } from '../job/job.ts';
import { type Stop, stop } from '../job/stop-reasons.ts';
import { knownRecords, summarizeRequests } from '../ledger/ledger.ts';
import type { RequestPage } from '../prompt/conversation/fetch.ts';
import { readAround, readFailures } from '../prompt/request.ts';
import { describeWhere, isOwnPage, type Run } from './run-state.ts';

// What is read just before the message, after any wait for earlier work: until then, an agent may have pushed for minutes.

/**
 * Reads the logs of a run that failed or, for a command or a review, what people have said since they last asked and the state of
 * the own pull request. It is read anew for a further attempt, before which the agent was at work again, but not for each of several
 * jobs. Resolves to the end of the job if it is not sent.
 */
export async function completeMessage(run: Run, job: Job): Promise<Stop | undefined> {
  const { message, jobs } = run;
  if (message.reading === undefined || jobs.length === 1) {
    message.reading = read(run, pageOf(run, job));
  }
  return message.reading;
}

async function read(run: Run, page: RequestPage | null): Promise<Stop | undefined> {
  const { inputs, plan, runtime, message } = run;
  const now = runtime.clock.now();
  // What is slow must leave time for the message.
  const until = now + (plan.deadline - now) / 2;
  const late =
    page === null
      ? await readFailures(run, inputs, until)
      : await readAround(run, page, inputs, until);
  if (late.nothing) return stop('nothing-to-send', { why: late.nothing });
  if (late.problem) return stop('no-content', { why: late.problem }, 'when fixed');
  message.setLate(late.things, describeWhere(run));
  return undefined;
}

/** Null unless a person asks. */
function pageOf(run: Run, job: Job): RequestPage | null {
  const { asked, trigger, ledger, plan, jobs } = run;
  if (asked === null) return null;
  const isOwn = isOwnPage(run, job);
  const number = (isOwn && plan.page) || asked.conversation;
  const ids = jobs.map(({ id }) => id);
  return {
    asked,
    number,
    isOwn,
    isPull: trigger.isPullRequest || number !== asked.conversation,
    unknown: ledger.kind === 'problem' ? ledger.problem : '',
    ...summarizeRequests(knownRecords(ledger), ids, isOwn && number === asked.conversation),
  };
}
