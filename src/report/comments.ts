import { type Collapsing, collapse } from '../comment/collapse.ts';
import { personToTell } from '../comment/occasion.ts';
import { renderFor, renderProblem, renderStory } from '../comment/render.ts';
import { react, reply } from '../comment/reply.ts';
import { createComment, type TrackingComment } from '../comment/tracking-comment.ts';
import { openComment } from '../delivery/announce.ts';
import { pause, type Run, storyOf } from '../delivery/run-state.ts';
import { whyOf } from '../github/errors.ts';
import { changedNothing, deliveryOf, type Job, NEW_JOB } from '../job/job.ts';
import { RESULTS } from '../job/outcome.ts';
import { type Ended, endedNow, worstFirst } from '../job/overall.ts';
import { fetchLedger, knownRecords } from '../ledger/ledger.ts';
import { composeReply, toReplyId } from '../ledger/marker.ts';

import { listing, ok, oneLine, type Result } from '../text.ts';
import { readChanges } from './changes.ts';
import { newsOf } from './notify.ts';

// The comments of a run: its note, which is there before the message, and what GitHub is told at the end. Nothing that
// happens at the end changes a result.

/** Milliseconds between two comments, because GitHub limits their rate. */
const APART_MS = 1000;
/** Characters of the IDs of jobs in a line of the log. */
const LONGEST_LIST = 500;

/** What is known at the end. */
interface Finished {
  /** The URLs of the comments. */
  readonly commentUrls: readonly string[];
  /** Why the comment is not up to date, in sentences; empty if it is. */
  readonly outdated: string;
}

/** Brings GitHub up to date. Each call to GitHub has its own limit. */
export async function finishOnGitHub(run: Run): Promise<Finished> {
  await readChanges(run);
  const ended = endedNow(run.jobs, run.inputs.wait);
  const { note } = run;
  const told =
    note === undefined
      ? { commentUrls: await addComments(run), outdated: '' }
      : await finishNote(run, note, ended);
  const commentUrls = [...told.commentUrls, ...(await commentWhereJobIs(run))];
  if (commentUrls.length === 0) commentUrls.push(await replyToEnd(run, ended));
  await reactToEnd(run, ended);
  return { ...told, commentUrls: commentUrls.filter((url) => url !== '') };
}

/** A command that ends without a note gets a reply, unless GitHub takes no comment for now. */
async function replyToEnd(run: Run, ended: readonly Ended[]): Promise<string> {
  const [worst] = worstFirst(ended);
  if (worst?.end.result !== 'error') return '';
  if (run.takesNoComment !== true) {
    return reply(run, renderProblem(worst.end.explanation, run.info), 'info');
  }
  run.runtime.log.info('No comment says this, because GitHub limits their rate.');
  return '';
}

/**
 * The note comes first, because other runs read it; then the end, if it is told by a comment of its own. Only then, edits that
 * failed are repeated, which may take minutes.
 */
async function finishNote(
  run: Run,
  note: TrackingComment,
  ended: readonly Ended[],
): Promise<Finished> {
  const { plan, runtime } = run;
  const edited = await note.edit();
  const telling = await tellEnd(run, ended);
  const told = telling.kind === 'ok' ? telling.value : '';
  const gaveWay = ended.every(({ end }) => end.why === 'same commit');
  const itself = told === '' ? null : 'DUPLICATE';
  await collapseAround(run, note, {
    itself: gaveWay ? 'OUTDATED' : itself,
    hasNews: !gaveWay && (told !== '' || hasNews(ended)),
  });
  const closed = await note.repeatLast(edited, plan.deadline);
  const outdated = closed.kind === 'problem' ? closed.problem : '';
  // Both can have one cause, and the note says more.
  const untold = telling.kind === 'problem' ? telling.problem : '';
  if (outdated !== '' || untold !== '') runtime.log.warning(outdated || untold);
  return { commentUrls: [told || note.url], outdated };
}

/** Whether a message was sent, or the comment says why none was needed or possible. */
function hasNews(ended: readonly Ended[]): boolean {
  return ended.some((job) => deliveryOf(job) === 'sent' || job.end.result === 'skipped');
}

/** Tells the end by a comment of its own, if that is news. Resolves to its URL, or to an empty text. A problem is a sentence. */
async function tellEnd(run: Run, ended: readonly Ended[]): Promise<Result<string>> {
  const { runtime, github, plan, jobs } = run;
  const story = storyOf(run);
  const [worst] = worstFirst(newsOf(run, ended));
  if (worst === undefined || plan.comments.kind !== 'note' || runtime.signal.aborted) return ok('');
  const { conversation } = plan.comments;
  const person = personToTell(run.trigger, knownRecords(run.ledger), worst);
  const text = renderFor(person, renderStory(story, jobs, { conversation, limit: LONGEST_END }));
  const place = { ...runtime, github, conversation, until: Infinity };
  const created = await createComment(place, () => composeReply(toReplyId(plan.message), text));
  if (created.kind === 'problem') return created;
  runtime.log.info(`The comment about the end is ${created.value.url}.`);
  return ok(created.value.url);
}

/** Characters. */
const LONGEST_END = 60_000;

async function reactToEnd(run: Run, ended: readonly Ended[]): Promise<void> {
  const [worst] = worstFirst(ended);
  const isGood = worst?.end.result === 'completed' && worst.end.confirmed !== false;
  if (isGood) await react(run, changedNothing(worst) ? '+1' : 'hooray');
  if (ended.some(({ end }) => RESULTS[end.result].isBad)) await react(run, 'confused');
}

/** Whether this attempt may have sent the message. */
function hasReport(job: Job): boolean {
  const { message } = job;
  if (message.kind === 'unknown' && message.isEarlier) return false;
  return deliveryOf(job) !== 'not-sent';
}

/** The pull requests that get a comment only now, each with its jobs. */
function targetsOf({ plan, jobs, runtime, inputs }: Run): ReadonlyMap<number, readonly Job[]> {
  if (plan.comments.kind !== 'pull requests of the jobs') return new Map();
  const shown = jobs.filter((job) => job.id !== NEW_JOB && hasReport(job));
  const targets = Map.groupBy(shown, ({ record }) => record?.prNumber ?? 0);
  const left = targets.get(0) ?? [];
  if (left.length > 0) {
    const ids = oneLine(listing(left.map(({ id }) => id)), LONGEST_LIST);
    const isElsewhere = left.some(({ record }) => record?.prLink);
    const where = isElsewhere
      ? 'the pull request is in another repository'
      : 'no pull request is known';
    const text = `No comment about ${ids}: ${where}.`;
    if (isElsewhere && inputs.createJob)
      runtime.log.warning(`${text} Commands there do not find the job.`);
    else runtime.log.info(text);
  }
  targets.delete(0);
  return targets;
}

async function addComments(run: Run): Promise<string[]> {
  const { signal, log } = run.runtime;
  const targets = targetsOf(run);
  const started: Promise<Result<string>>[] = [];
  for (const [number, jobs] of targets) {
    if (started.length > 0) await pause(run, APART_MS);
    if (signal.aborted) break;
    started.push(addComment(run, number, jobs));
  }
  const added = await Promise.all(started);
  const problems = added.flatMap((one) => (one.kind === 'problem' ? [one.problem] : []));
  const left = targets.size - started.length + problems.length;
  if (problems[0] !== undefined) log.warning(problems[0]);
  if (left > 0) log.info(`Pull requests of jobs without a comment: ${left}.`);
  return added.flatMap((one) => (one.kind === 'ok' ? [one.value] : []));
}

/**
 * With `create-job`, the pull request of the job gets a comment that names the job, unless it has one: from then on, commands
 * there are follow-ups, too.
 */
async function commentWhereJobIs(run: Run): Promise<readonly string[]> {
  const { inputs, plan, jobs, note, github, runtime } = run;
  const [job] = jobs;
  const number = job?.record?.prNumber ?? undefined;
  if (!inputs.createJob || note === undefined || plan.comments.kind !== 'note') return [];
  if (job === undefined || number === undefined || number === plan.comments.conversation) return [];
  const found = await fetchLedger(github, number, plan.message.project, Infinity);
  if (found.kind === 'problem' || runtime.signal.aborted) return [];
  if (found.value.some((one) => one.jobs.some(({ id }) => id === job.id))) return [];
  const added = await addComment(run, number, jobs);
  if (added.kind === 'ok') return [added.value];
  runtime.log.warning(added.problem);
  return [];
}

async function addComment(run: Run, number: number, jobs: readonly Job[]): Promise<Result<string>> {
  const note = openComment(run, number, jobs, Infinity);
  const created = await note.create();
  if (created.kind === 'ok') await collapseAround(run, note, { itself: null, hasNews: true });
  return created;
}

/** If that is not possible, the comments stay. */
async function collapseAround(
  { runtime, github }: Run,
  own: TrackingComment,
  how: Collapsing,
): Promise<void> {
  if (runtime.signal.aborted) return;
  try {
    await collapse(github, own, how);
  } catch (error) {
    runtime.log.debug(`Comments were not collapsed: ${whyOf(error)}.`);
  }
}
