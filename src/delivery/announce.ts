import { addMention, renderReport } from '../comment/render.ts';
import { findPersonToMention } from '../comment/starter.ts';
import { type NotCreated, TrackingComment } from '../comment/tracking-comment.ts';
import { type JobState, NEW_JOB, toDelivery } from '../job/job.ts';
import { type Stop, stop } from '../job/stop-reasons.ts';
import { commentId, fetchLedger, knownRecords, type Ledger } from '../ledger/ledger.ts';
import { composeComment } from '../ledger/marker.ts';
import { toRecordedJob } from '../ledger/record.ts';
import { ok, problem, type Result } from '../value-or-problem.ts';
import { type Delivered, describeRun, endJob, pause, pendingJobs, type Run } from './run-state.ts';

/**
 * No comment, no message. `untold`: the jobs whose limit no comment tells yet. `above`: the records
 * above the comment if they decide, as those of other runs may be newer than the first list.
 */
export async function announce(run: Run, untold: readonly JobState[]) {
  const { plan, runtime } = run;
  const open = run.jobs.filter((job) => job.end === undefined || untold.includes(job));
  // None if nothing is left to send, to wait for or to tell.
  const jobs = run.jobs.filter(
    (job) => open.includes(job) || (open.length > 0 && toDelivery(job) === 'sent'),
  );
  if (plan.comments.kind !== 'tracking comment' || jobs.length === 0 || runtime.signal.aborted)
    return {};
  const { conversation } = plan.comments;
  const comment = openComment(run, { conversation, jobs, until: plan.deadline });
  const created = await comment.create();
  const unsent = pendingJobs(run);
  // Whoever waits sends after those above, also if the agent seems to be idle.
  const decides =
    unsent.length > 0 &&
    (plan.decidesBelow || plan.waitsForIdle || unsent.some(({ id }) => id === NEW_JOB));
  const isListed = created.kind === 'ok' ? decides : created.cause === 'unclear';
  const above = isListed ? await listBelow(run, comment, conversation) : undefined;
  if (comment.url !== '') {
    runtime.log.info(`The comment is ${comment.url}.`);
    // A cancelled run reports that, and needs the time to say so in its comment.
    return runtime.signal.aborted ? { comment } : { comment, above };
  }
  if (created.kind === 'ok' || runtime.signal.aborted) return {};
  const left = pendingJobs(run);
  // Messages of earlier attempts, and jobs without a message, are still waited for.
  if (left.length === 0) runtime.log.warning(created.problem);
  for (const job of left) endJob(run, job, stopWithoutComment(run, created));
  return {};
}

const LIST_AGAIN_MS = [0, 1000, 2000, 4000, 8000];

/**
 * The records above the own one. A list of GitHub may lag behind; one that shows the own comment,
 * by its random word, is taken to show all before it. Two comments can have the same time.
 */
async function listBelow(
  run: Run,
  comment: TrackingComment,
  conversation: number,
): Promise<Result<Ledger>> {
  const { plan, github, runtime } = run;
  const { message, deadline } = plan;
  const { clock, signal } = runtime;
  let found = problem('there was no time to list the comments again', true);
  for (const ms of LIST_AGAIN_MS) {
    await pause(run, Math.min(ms, deadline - clock.now()));
    if (signal.aborted || clock.now() > deadline) break;
    const listed = await fetchLedger(github, conversation, message.project, deadline);
    const own = knownRecords(listed).find(({ process }) => process === message.process);
    if (own !== undefined) {
      comment.recognize(own);
      return ok(knownRecords(listed).filter(({ url }) => commentId(url) < commentId(own.url)));
    }
    const why = 'GitHub does not list the comment of this run';
    found = listed.kind === 'problem' ? listed : problem(why, true);
  }
  return found;
}

export async function listAbove({ plan, github, comment, ledger }: Run): Promise<Ledger> {
  const known = knownRecords(ledger);
  if (comment === undefined || plan.page === null) return known;
  const listed = await fetchLedger(github, plan.page, plan.message.project, plan.deadline);
  if (listed.kind === 'problem') return known;
  return listed.value.filter(({ url }) => commentId(url) < commentId(comment.url));
}

function stopWithoutComment({ plan, inputs, isRerun }: Run, created: NotCreated): Stop {
  const { problem: why, cause } = created;
  if (cause === 'unclear') return stop('comment-unclear', { why });
  // Only the words of GitHub, if any, say what helps.
  if (cause === 'refused') return stop('no-comment', { why });
  if (cause !== 'settings') return stop('no-comment', { why }, 'later');
  // What counts by comments cannot do without, nor can a re-run.
  const needsComment = isRerun || plan.limit !== undefined || inputs.createJob;
  return stop('no-comment', { why, isOptional: Number(!needsComment) }, 'in a new run');
}

/** Characters of the paragraph that mentions a person. */
const ROOM_FOR_NAME = 50;

/** `until`: the creation of the comment is not repeated later. */
export function openComment(
  run: Delivered,
  about: { conversation: number; jobs: readonly JobState[]; until: number },
): TrackingComment {
  const { plan, runtime, github, trigger, ledger } = run;
  const { conversation, jobs } = about;
  // GitHub mails the first text alone: without a page of its own, a run writes only at its end.
  const isAtEnd = plan.comments.kind !== 'tracking comment';
  const record = () => ({ ...plan.message, jobs: jobs.map(toRecordedJob) });
  /** A limit is told by the comment itself, if it was known before. */
  const render = (limit: number): string => {
    const target = { conversation, limit: limit - ROOM_FOR_NAME };
    const about = describeRun(run);
    const text = renderReport(about, jobs, target);
    const told = jobs.filter(
      ({ end, nthInARow }) => isAtEnd || (end?.label === 'limited' && nthInARow === undefined),
    );
    const people = told.map((job) => findPersonToMention(trigger, knownRecords(ledger), job));
    return addMention(people.find((login) => login !== '') ?? '', text);
  };
  const compose = (): string => composeComment(record(), render);
  return new TrackingComment({ ...runtime, github, ...about, record, compose });
}
