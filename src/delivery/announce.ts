import { findPersonToMention } from '../comment/cause.ts';
import { addMention, renderReport } from '../comment/render.ts';
import { type NotCreated, TrackingComment } from '../comment/tracking-comment.ts';
import { deliveryOf, type Job, NEW_JOB } from '../job/job.ts';
import { type Stop, stop } from '../job/stop-reasons.ts';
import { commentId, fetchLedger, knownRecords, type Ledger } from '../ledger/ledger.ts';
import { composeComment } from '../ledger/marker.ts';
import { toRecordedJob } from '../ledger/record.ts';
import { ok, problem, type Result } from '../result.ts';
import { describeRun, endJob, pause, pendingJobs, type Run } from './run-state.ts';

// The tracking comment, which is there before the message, and the second list below it.

interface Announced extends Pick<Run, 'comment' | 'takesNoComment'> {
  /** The records above the comment, if they decide: those of other runs may have been created since the first list. */
  readonly above?: Result<Ledger> | undefined;
}

/** Creates the comment: no comment, no message. `untold`: the jobs that reach their limit, of which no comment tells yet. */
export async function announce(run: Run, untold: readonly Job[]): Promise<Announced> {
  const { plan, runtime } = run;
  const jobs = jobsToName(run, untold);
  if (plan.comments.kind !== 'tracking comment' || jobs.length === 0 || runtime.signal.aborted)
    return {};
  const { conversation } = plan.comments;
  const comment = openComment(run, conversation, jobs, plan.deadline);
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
  endUnsent(run, created);
  return { takesNoComment: created.cause === 'rate limit' };
}

/** Milliseconds before each further list. */
const LIST_AGAIN_MS = [0, 1000, 2000, 4000, 8000];

/**
 * The records above the own one. A list of GitHub may lag behind; one that shows the own comment, which has a random word, is taken to
 * show all that were created before. Later comments have higher IDs; two can have the same time.
 */
async function listBelow(
  run: Run,
  comment: TrackingComment,
  conversation: number,
): Promise<Result<Ledger>> {
  const { plan, github } = run;
  const { message } = plan;
  const { clock, signal } = run.runtime;
  let found = problem('there was no time to list the comments again', true);
  for (const ms of LIST_AGAIN_MS) {
    await pause(run, Math.min(ms, plan.deadline - clock.now()));
    if (signal.aborted || clock.now() > plan.deadline) break;
    const listed = await fetchLedger(github, conversation, message.project, plan.deadline);
    if (listed.kind === 'problem') {
      found = listed;
      continue;
    }
    const own = listed.value.find(({ process, url }) =>
      comment.url === '' ? process === message.process : url === comment.url,
    );
    if (own !== undefined) {
      comment.recognize(own);
      return ok(listed.value.filter(({ url }) => commentId(url) < commentId(own.url)));
    }
    found = problem('GitHub does not list the comment of this run', true);
  }
  return found;
}

/** The records above the own comment, as they are by now; those that are known if GitHub does not tell. */
export async function listAbove({ plan, github, comment, ledger }: Run): Promise<Ledger> {
  const known = knownRecords(ledger);
  if (comment === undefined || plan.page === null) return known;
  const listed = await fetchLedger(github, plan.page, plan.message.project, plan.deadline);
  if (listed.kind === 'problem') return known;
  return listed.value.filter(({ url }) => commentId(url) < commentId(comment.url));
}

function endUnsent(run: Run, created: NotCreated): void {
  const unsent = pendingJobs(run);
  // Messages of earlier attempts, and jobs without a message, are still waited for.
  if (unsent.length === 0) run.runtime.log.warning(created.problem);
  for (const job of unsent) endJob(run, job, stopWithoutComment(run, created));
}

function stopWithoutComment(
  { plan, inputs, isRerun }: Run,
  { problem: why, cause }: NotCreated,
): Stop {
  switch (cause) {
    case 'unclear':
      return stop('comment-unclear', { why });
    case 'rate limit':
    case 'no answer':
      return stop('no-comment', { why }, 'later');
    case 'refused':
      // Only the words of GitHub, if any, say what helps.
      return stop('no-comment', { why });
    case 'settings': {
      // What counts by comments cannot do without, nor can a re-run.
      const needsComment = isRerun || plan.limit !== undefined || inputs.createJob;
      return stop('no-comment', { why, isOptional: needsComment ? 0 : 1 }, 'when fixed');
    }
  }
}

/** The jobs that the comment is about; none if nothing is left to send, to wait for or to tell. */
function jobsToName({ jobs }: Run, untold: readonly Job[]): readonly Job[] {
  const named = jobs.filter((job) => job.end === undefined || untold.includes(job));
  if (named.length === 0) return [];
  return jobs.filter((job) => named.includes(job) || deliveryOf(job) === 'sent');
}

/** A comment about these jobs, which is not created yet. `until`: its creation is not repeated later. */
export function openComment(
  run: Run,
  conversation: number,
  jobs: readonly Job[],
  until: number,
): TrackingComment {
  const { plan, runtime, github } = run;
  const record = () => ({ ...plan.message, jobs: jobs.map(toRecordedJob) });
  return new TrackingComment({
    ...runtime,
    github,
    conversation,
    until,
    record,
    compose: () =>
      composeComment(record(), (limit) => renderComment(run, jobs, conversation, limit)),
  });
}

/** Characters of the paragraph that mentions a person. */
const ROOM_FOR_NAME = 50;

/** A limit is told by the comment itself, if it was known before. */
function renderComment(
  run: Run,
  jobs: readonly Job[],
  conversation: number,
  limit: number,
): string {
  const [job, ...others] = jobs;
  const isLimit = others.length === 0 && job?.end?.label === 'limited';
  // GitHub mails the first text alone: without a page of its own, a run writes only at its end.
  const told = isLimit || run.plan.comments.kind !== 'tracking comment' ? jobs : [];
  const people = told.map((one) => findPersonToMention(run.trigger, knownRecords(run.ledger), one));
  const person = people.find((login) => login !== '') ?? '';
  const place = { conversation, limit: limit - ROOM_FOR_NAME };
  return addMention(person, renderReport(describeRun(run), jobs, place));
}
