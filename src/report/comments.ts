import { findPersonToMention, findStarter } from '../comment/cause.ts';
import { type Collapsing, collapse } from '../comment/collapse.ts';
import { renderFor, renderProblem, renderStory } from '../comment/render.ts';
import { react, reply } from '../comment/reply.ts';
import { createComment, type TrackingComment } from '../comment/tracking-comment.ts';
import { openComment } from '../delivery/announce.ts';
import { describeRun, pause, type Run } from '../delivery/run-state.ts';
import { describeError } from '../github/errors.ts';
import { changedNothing, deliveryOf, type Job, NEW_JOB } from '../job/job.ts';
import { type Ended, endedNow, worstFirst } from '../job/overall.ts';
import { RESULTS } from '../job/results.ts';
import { fetchLedger, knownRecords } from '../ledger/ledger.ts';
import { composeReply, parseReply, toReplyId } from '../ledger/marker.ts';
import { shortHash } from '../ledger/record.ts';
import { blocks } from '../markdown.ts';
import { ok, type Result } from '../result.ts';
import { listing, oneLine } from '../text.ts';
import { readChanges } from './changes.ts';
import { newsOf } from './notify.ts';

// What GitHub is told at the end. Nothing that happens then changes a result.

/** Milliseconds between two comments, because GitHub limits their rate. */
const APART_MS = 1000;
/** Characters of the IDs of jobs in a line of the log. */
const LONGEST_LIST = 500;

interface Finished {
  readonly commentUrls: readonly string[];
  /** Why the comment is not up to date, in sentences; empty if it is. */
  readonly outdated: string;
}

export async function finishOnGitHub(run: Run): Promise<Finished> {
  await readChanges(run);
  const ended = endedNow(run.jobs, run.inputs.wait);
  const { comment: note } = run;
  const told =
    note === undefined ? { commentUrls: [], outdated: '' } : await finishNote(run, note, ended);
  const commentUrls = [...told.commentUrls, ...(await addComments(run))];
  if (commentUrls.length === 0) commentUrls.push(await replyToEnd(run, ended));
  await reactToEnd(run, ended);
  return { ...told, commentUrls: commentUrls.filter((url) => url !== '') };
}

/** A command that ends without a note gets a reply, unless GitHub takes no comment for now. */
async function replyToEnd(run: Run, ended: readonly Ended[]): Promise<string> {
  const [worst] = worstFirst(ended);
  const { result = 'sent', explanation = '' } = worst?.end ?? {};
  if (worst === undefined || (result !== 'error' && result !== 'skipped')) return '';
  if (run.trigger.kind === 'check') return tellUnsentCheck(run, run.trigger.check.sha, worst);
  if (run.takesNoComment !== true) {
    const login = result === 'error' ? findStarter(run.trigger) : '';
    return reply(run, renderProblem(explanation, run.info, login), 'info');
  }
  run.runtime.log.info('No comment says this, because GitHub limits their rate.');
  return '';
}

/** Of a failed check that could not be sent: once for each commit, where a comment names the job. It has no record. */
async function tellUnsentCheck(run: Run, sha: string, worst: Ended): Promise<string> {
  const { plan, ledger, github, info, runtime, trigger } = run;
  const records = knownRecords(ledger);
  const isNamed = records.some(({ jobs }) => jobs.some(({ id }) => id === worst.id));
  if (plan.comments.kind !== 'tracking comment' || !isNamed || worst.end.result !== 'error')
    return '';
  const { conversation } = plan.comments;
  const about = { ...toReplyId(plan.message), message: shortHash(sha) };
  const told = await github.newestOwnComments(conversation).catch(() => undefined);
  if (told?.some(({ body }) => parseReply(body)?.message === about.message) !== false) return '';
  const person = findPersonToMention(trigger, records, worst);
  const text = renderProblem(worst.end.explanation, info, person);
  const place = { ...runtime, github, conversation, until: Infinity };
  const created = await createComment(place, () =>
    composeReply(about, blocks([text, describeRun(run).failure ?? ''])),
  );
  return created.kind === 'ok' ? created.value.url : '';
}

/**
 * The note comes first, because other runs read it; then the end, if it is told by a comment of its
 * own. Only then, edits that failed are repeated, which may take minutes.
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
  const gaveWay = ended.every(({ end }) => end.code === 'commit-taken');
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

function hasNews(ended: readonly Ended[]): boolean {
  return ended.some((job) => deliveryOf(job) === 'sent' || job.end.result === 'skipped');
}

async function tellEnd(run: Run, ended: readonly Ended[]): Promise<Result<string>> {
  const { runtime, github, plan, jobs } = run;
  const story = describeRun(run);
  const [worst] = worstFirst(newsOf(run, ended));
  if (worst === undefined || plan.comments.kind !== 'tracking comment' || runtime.signal.aborted)
    return ok('');
  const { conversation } = plan.comments;
  const person = findPersonToMention(run.trigger, knownRecords(run.ledger), worst);
  const text = renderFor(person, renderStory(story, jobs, { conversation, limit: LONGEST_END }));
  const place = { ...runtime, github, conversation, until: Infinity };
  const created = await createComment(place, () => composeReply(toReplyId(plan.message), text));
  if (created.kind === 'problem') return created;
  runtime.log.info(`The comment about the end is ${created.value.url}.`);
  return ok(created.value.url);
}

const LONGEST_END = 60_000;

async function reactToEnd(run: Run, ended: readonly Ended[]): Promise<void> {
  const [worst] = worstFirst(ended);
  const isGood = worst?.end.result === 'completed' && worst.end.confirmed !== false;
  // Nobody knows who has rewritten a branch.
  const isOurs = isGood && !changedNothing(worst) && worst.change?.kind !== 'rewritten';
  if (isGood) await react(run, isOurs ? 'hooray' : '+1');
  if (ended.some(({ end }) => RESULTS[end.result].isBad)) await react(run, 'confused');
}

async function addComments(run: Run): Promise<readonly string[]> {
  const { signal, log } = run.runtime;
  const targets = await pullRequestsToTell(run);
  const urls: string[] = [];
  const problems: string[] = [];
  for (const [number, jobs] of targets) {
    if (urls.length + problems.length > 0) await pause(run, APART_MS);
    if (signal.aborted) break;
    const comment = openComment(run, number, jobs, Infinity);
    const created = await comment.create();
    if (created.kind === 'problem') {
      problems.push(created.problem);
      continue;
    }
    urls.push(created.value);
    await collapseAround(run, comment, { itself: null, hasNews: true });
  }
  if (problems[0] !== undefined) log.warning(problems[0]);
  const left = targets.size - urls.length;
  if (left > 0) log.info(`Pull requests of jobs without a comment: ${left}.`);
  return urls;
}

/**
 * By number: of jobs that may have got the message, if the event has no page. With `create-job`,
 * that of the new job, unless a comment there names the job: from then on, commands there are
 * follow-ups, too.
 */
async function pullRequestsToTell(run: Run): Promise<ReadonlyMap<number, readonly Job[]>> {
  const { plan, jobs, inputs, comment } = run;
  const { comments } = plan;
  const told = jobs.filter((job) => job.id !== NEW_JOB && hasPerhapsSent(job));
  const targets = Map.groupBy(told, ({ record }) => record?.prNumber ?? 0);
  const left = targets.get(0) ?? [];
  targets.delete(0);
  if (comments.kind === 'pull requests of the jobs') {
    const ids = oneLine(listing(left.map(({ id }) => id)), LONGEST_LIST);
    const why = 'no pull request in this repository is known';
    if (left.length > 0) run.runtime.log.info(`No comment about ${ids}: ${why}.`);
    return targets;
  }
  if (!inputs.createJob || comment === undefined) return new Map();
  targets.delete(comment.conversation);
  for (const number of targets.keys()) if (await isNamedOn(run, number)) targets.delete(number);
  return targets;
}

/** Whether this attempt may have sent the message. */
function hasPerhapsSent(job: Job): boolean {
  const isOfOther = job.message.kind === 'unknown' && job.message.isEarlier;
  return !isOfOther && deliveryOf(job) !== 'not-sent';
}

/** Whether a comment there names the only job, or may: the list can fail. */
async function isNamedOn({ github, jobs, plan }: Run, number: number): Promise<boolean> {
  const found = await fetchLedger(github, number, plan.message.project, Infinity);
  if (found.kind === 'problem') return true;
  return found.value.some((record) =>
    record.jobs.some(({ id }) => jobs.some((job) => job.id === id)),
  );
}

async function collapseAround(
  { runtime, github }: Run,
  own: TrackingComment,
  how: Collapsing,
): Promise<void> {
  if (runtime.signal.aborted) return;
  try {
    await collapse(github, own, how);
  } catch (error) {
    runtime.log.debug(`Comments were not collapsed: ${describeError(error)}.`);
  }
}
