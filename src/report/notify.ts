import { createReply, react, reply } from '../comment/answer.ts';
import { type Collapsing, collapse } from '../comment/collapse.ts';
import { addMention, renderProblem, renderReport } from '../comment/render.ts';
import { findPersonToMention, findStarter } from '../comment/starter.ts';
import type { TrackingComment } from '../comment/tracking-comment.ts';
import { openComment } from '../delivery/announce.ts';
import { describeRun, pause, type Run } from '../delivery/run-state.ts';
import { describeError } from '../github/errors.ts';
import { changedNothing, deliveryOf, type Job, NEW_JOB } from '../job/job.ts';
import { type Ended, endedNow, worstFirst } from '../job/outcome.ts';
import { isBadResult } from '../job/stop-reasons.ts';
import { isLimitTold } from '../ledger/decide.ts';
import { fetchLedger, knownRecords } from '../ledger/ledger.ts';
import { parseReply, toReplyId } from '../ledger/marker.ts';
import { shortHash } from '../ledger/record.ts';
import { blocks } from '../markdown.ts';
import { ok, type Result } from '../result.ts';
import { isFinal } from '../service.ts';
import { listing, oneLine } from '../text.ts';

// The comments and reactions at the end. Nothing that happens then changes a result.

/** GitHub limits the rate of comments. */
const APART_MS = 1000;
/** Characters of the IDs of jobs in a line of the log. */
const LONGEST_LIST = 500;
const LONGEST_END = 60_000;

interface Notified {
  readonly commentUrls: readonly string[];
  /** Why the comment is not up to date, in sentences; empty if it is. */
  readonly outdated: string;
}

export async function notify(run: Run): Promise<Notified> {
  const ended = endedNow(run.jobs, run.inputs.wait);
  const { comment } = run;
  const own = comment && (await finishComment(run, comment, ended));
  const commentUrls = [...(own?.commentUrls ?? []), ...(await addComments(run))];
  const [worst] = worstFirst(ended);
  if (commentUrls.length === 0 && worst !== undefined)
    commentUrls.push(await replyToEnd(run, worst));
  const isGood = worst?.end.result === 'completed' && worst.end.confirmed !== false;
  // Nobody knows who has rewritten a branch.
  const isOurs = isGood && !changedNothing(worst) && worst.change?.kind !== 'rewritten';
  if (isGood) await react(run, isOurs ? 'HOORAY' : 'THUMBS_UP');
  if (ended.some(({ end }) => isBadResult(end.result))) await react(run, 'CONFUSED');
  const outdated = own?.outdated ?? '';
  return { outdated, commentUrls: commentUrls.filter((url) => url !== '') };
}

/** Where no comment tells that nothing was sent. Resolves to the URL, or to an empty text. */
async function replyToEnd(run: Run, worst: Ended): Promise<string> {
  const { trigger, info } = run;
  const { result, explanation } = worst.end;
  if (result !== 'error' && result !== 'skipped') return '';
  if (!run.jobs.every((job) => deliveryOf(job) === 'not-sent')) return '';
  if (trigger.kind === 'check') {
    return result === 'error' ? reportUnsentCheck(run, trigger.check.sha, worst) : '';
  }
  const login = result === 'error' ? findStarter(trigger) : '';
  return reply(run, renderProblem(explanation, info, login), 'info');
}

/**
 * Of a failed check that could not be sent: once for each commit, where a comment names the job. It
 * has no record.
 */
async function reportUnsentCheck(run: Run, sha: string, worst: Ended): Promise<string> {
  const { plan, github, info, trigger } = run;
  const records = knownRecords(run.ledger);
  const isNamed = records.some(({ jobs }) => jobs.some(({ id }) => id === worst.id));
  if (plan.comments.kind !== 'tracking comment' || !isNamed) return '';
  const { conversation } = plan.comments;
  const about = { ...toReplyId(plan.message), message: shortHash(sha) };
  const listed = await github.newestOwnComments(conversation).catch(() => undefined);
  if (listed?.some(({ body }) => parseReply(body)?.message === about.message) !== false) return '';
  const person = findPersonToMention(trigger, records, worst);
  const text = renderProblem(worst.end.explanation, info, person);
  const shown = blocks([text, describeRun(run).failure ?? '']);
  const created = await createReply(run, conversation, about, shown);
  return created.kind === 'ok' ? created.value.url : '';
}

/**
 * The tracking comment comes first, because other runs read it; then the end, if it has a comment
 * of its own. Only then, edits that failed are repeated, which may take minutes.
 */
async function finishComment(
  run: Run,
  comment: TrackingComment,
  ended: readonly Ended[],
): Promise<Notified> {
  const { plan, runtime } = run;
  const edited = await comment.edit();
  const created = await createEndComment(run, comment, ended);
  const url = created.kind === 'ok' ? created.value : '';
  const isOfNoUse = ['commit-taken', 'request-deleted'];
  const gaveWay = ended.every(({ end }) => isOfNoUse.includes(end.code));
  const itself = url === '' ? null : 'DUPLICATE';
  const isUseful = ended.some((job) => deliveryOf(job) === 'sent' || job.end.result === 'skipped');
  await collapseAround(run, comment, {
    itself: gaveWay ? 'OUTDATED' : itself,
    hasNews: !gaveWay && (url !== '' || isUseful),
  });
  const closed = await comment.repeatLast(edited, plan.deadline);
  const outdated = closed.kind === 'problem' ? closed.problem : '';
  // Both can have one cause, and the tracking comment says more.
  const problem = outdated || (created.kind === 'problem' ? created.problem : '');
  if (problem !== '') runtime.log.warning(problem);
  return { commentUrls: [url || comment.url], outdated };
}

/** GitHub mails a new comment, but not an edit. Resolves to the URL; empty without news. */
async function createEndComment(
  run: Run,
  { conversation }: TrackingComment,
  ended: readonly Ended[],
): Promise<Result<string>> {
  const { runtime, plan, jobs } = run;
  const [worst] = worstFirst(ended.filter((job) => needsComment(run, job)));
  if (worst === undefined || runtime.signal.aborted) return ok('');
  const shown = renderReport(describeRun(run), jobs, { conversation, limit: LONGEST_END });
  const person = findPersonToMention(run.trigger, knownRecords(run.ledger), worst);
  const about = toReplyId(plan.message);
  const created = await createReply(run, conversation, about, addMention(person, shown));
  if (created.kind === 'problem') return created;
  runtime.log.info(`The comment about the end is ${created.value.url}.`);
  return ok(created.value.url);
}

/** Whether the end is bad, or one that GitHub does not mail itself. */
function needsComment(run: Run, job: Ended): boolean {
  const { message, end, after } = job;
  // Another attempt has told it in its own comments.
  if (message.kind === 'unknown' && message.isEarlier) return false;
  const isKnown = isFinal(end.result) && after.seenAt === undefined;
  if (message.kind === 'sent' && message.isEarlier && isKnown) return false;
  return isBadResult(end.result) || isLateLimit(run, job) || isUnseen(run, job);
}

/** The comment had announced the message before the limit stopped it. */
function isLateLimit({ ledger, plan }: Run, { id, end, nthInARow }: Ended): boolean {
  if (end.label !== 'limited' || nthInARow === undefined) return false;
  return ledger.kind === 'problem' || !isLimitTold(ledger.value, plan.message, id);
}

/**
 * Done, and the agent is not known to have changed anything here: GitHub mails what is pushed to
 * this pull request.
 */
function isUnseen({ asked, trigger, inputs, jobs, plan }: Run, job: Ended): boolean {
  const isAwaited = asked !== null || (trigger.kind === 'check' && trigger.check.failure !== null);
  const isDone = inputs.wait && isFinal(job.record?.status) && isFinal(job.end.result);
  const isChanged = !changedNothing(job) && job.change?.kind !== 'rewritten';
  const isHere = job.record?.prNumber === plan.page && isChanged;
  return isAwaited && isDone && jobs.length === 1 && job.change !== undefined && !isHere;
}

async function addComments(run: Run): Promise<readonly string[]> {
  const { signal, log } = run.runtime;
  const targets = await selectPullRequests(run);
  const urls: string[] = [];
  const problems: string[] = [];
  for (const [number, jobs] of targets) {
    if (urls.length + problems.length > 0) await pause(run, APART_MS);
    if (signal.aborted) break;
    const comment = openComment(run, { conversation: number, jobs, until: Infinity });
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
async function selectPullRequests(run: Run): Promise<ReadonlyMap<number, readonly Job[]>> {
  const { plan, jobs, inputs, comment, runtime } = run;
  const reached = jobs.filter((job) => {
    const isOfOther = job.message.kind === 'unknown' && job.message.isEarlier;
    return job.id !== NEW_JOB && !isOfOther && deliveryOf(job) !== 'not-sent';
  });
  const targets = Map.groupBy(reached, ({ record }) => record?.prNumber ?? 0);
  const left = targets.get(0) ?? [];
  targets.delete(0);
  if (plan.comments.kind === 'pull requests of the jobs') {
    const ids = oneLine(listing(left.map(({ id }) => id)), LONGEST_LIST);
    const why = 'no pull request in this repository is known';
    if (left.length > 0) runtime.log.info(`No comment about ${ids}: ${why}.`);
    return targets;
  }
  if (!inputs.createJob || comment === undefined) return new Map();
  targets.delete(comment.conversation);
  for (const number of targets.keys()) if (await isNamedOn(run, number)) targets.delete(number);
  return targets;
}

/** Whether a comment there names the only job, or may: the list can fail. */
async function isNamedOn({ github, jobs, plan }: Run, number: number): Promise<boolean> {
  const found = await fetchLedger(github, number, plan.message.project, Infinity);
  if (found.kind === 'problem') return true;
  const named = new Set(found.value.flatMap((record) => record.jobs.map(({ id }) => id)));
  return jobs.some(({ id }) => named.has(id));
}

async function collapseAround(run: Run, own: TrackingComment, how: Collapsing): Promise<void> {
  const { signal, log } = run.runtime;
  if (signal.aborted) return;
  try {
    await collapse(run.github, own, how);
  } catch (error) {
    log.debug(`Comments were not collapsed: ${describeError(error)}.`);
  }
}
