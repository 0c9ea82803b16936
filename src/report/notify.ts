import { collapse } from '../comment/collapse-superseded.ts';
import { addMention, type RunReport, renderProblem, renderReport } from '../comment/render.ts';
import { createReply, react, reply } from '../comment/reply.ts';
import { findPersonToMention, findStarter } from '../comment/starter.ts';
import type { TrackingComment } from '../comment/tracking-comment.ts';
import { openComment } from '../delivery/announce.ts';
import { type Delivered, pause } from '../delivery/run-state.ts';
import { changedNothing, type JobState, NEW_JOB, toDelivery } from '../job/job.ts';
import { type Ended, worstFirst } from '../job/outcome.ts';
import { isBadResult } from '../job/stop-reasons.ts';
import { isLimitTold } from '../ledger/decide.ts';
import { fetchLedger, knownRecords } from '../ledger/ledger.ts';
import { parseReply, toReplyId } from '../ledger/marker.ts';
import { shortHash } from '../ledger/record.ts';
import { blocks } from '../markdown.ts';
import { isFinal } from '../mintlify-api.ts';
import { listSome } from '../text.ts';

// The comments and reactions at the end: first what is to be told, then the writing. Nothing that
// happens then changes a result.

/** GitHub limits the rate of comments. */
const APART_MS = 1000;
/** Characters. */
const LONGEST_END = 60_000;

/** `outdated`: why the comment is not up to date, in sentences; empty if it is. */
export async function notify(run: Delivered, about: RunReport, ended: readonly Ended[]) {
  const [worst] = worstFirst(ended);
  const reaction = selectReaction(ended, worst);
  const own = run.comment && (await finishComment(run, run.comment, { about, ended }));
  const commentUrls = [...(own?.urls ?? []), ...(await addComments(run))];
  if (commentUrls.length === 0 && worst !== undefined) {
    commentUrls.push(await replyToEnd(run, about, worst));
  }
  if (reaction !== undefined) await react(run, reaction);
  const outdated = own?.outdated ?? '';
  return { outdated, commentUrls: commentUrls.filter((url) => url !== '') };
}

function selectReaction(ended: readonly Ended[], worst: Ended | undefined) {
  if (ended.some(({ end }) => isBadResult(end.result))) return 'CONFUSED';
  if (worst?.end.result !== 'completed' || worst.end.confirmed === false) return undefined;
  // Nobody knows who has rewritten a branch.
  const isOurs = !changedNothing(worst) && worst.change?.kind !== 'rewritten';
  return isOurs ? 'HOORAY' : 'THUMBS_UP';
}

/** Where no comment tells that nothing was sent. */
async function replyToEnd(run: Delivered, about: RunReport, worst: Ended): Promise<string> {
  const { trigger, info, jobs } = run;
  const { code, result, explanation } = worst.end;
  const isUnsent = jobs.every((job) => toDelivery(job) === 'not-sent');
  // A further comment would fail as the first one.
  if (code === 'no-comment' || !isUnsent) return '';
  if (result !== 'error' && result !== 'skipped') return '';
  if (trigger.kind === 'check') {
    return result === 'error' ? reportUnsentCheck(run, about, worst) : '';
  }
  const login = result === 'error' ? findStarter(trigger) : '';
  return reply(run, renderProblem(explanation, info, login), 'info');
}

/** Of a failed check that was not sent: once for each commit, where a comment names the job. */
async function reportUnsentCheck(run: Delivered, about: RunReport, worst: Ended): Promise<string> {
  const { plan, github, info, trigger } = run;
  const records = knownRecords(run.ledger);
  const isNamed = records.some(({ jobs }) => jobs.some(({ id }) => id === worst.id));
  if (plan.comments.kind !== 'tracking comment' || !isNamed) return '';
  const { conversation } = plan.comments;
  const id = { ...toReplyId(plan.message), message: shortHash(plan.message.commit) };
  const listed = await github.newestOwnComments(conversation).catch(() => undefined);
  if (listed?.some(({ body }) => parseReply(body)?.message === id.message) !== false) return '';
  const person = findPersonToMention(trigger, records, worst);
  const text = renderProblem(worst.end.explanation, info, person);
  const created = await createReply(run, conversation, id, blocks([text, about.failure ?? '']));
  return created.kind === 'ok' ? created.value.url : '';
}

/** Nobody needs to read of it. */
const GAVE_WAY: ReadonlySet<string> = new Set(['commit-taken', 'request-deleted']);

/**
 * The tracking comment comes first, because other runs read it; then the end, if it has a comment
 * of its own. Only then, edits that failed are repeated, which may take minutes.
 */
async function finishComment(
  run: Delivered,
  comment: TrackingComment,
  { about, ended }: { readonly about: RunReport; readonly ended: readonly Ended[] },
) {
  const { plan, runtime, jobs } = run;
  const { log, signal } = runtime;
  const { conversation } = comment;
  const gaveWay = ended.every(({ end }) => GAVE_WAY.has(end.code));
  const isUseful = ended.some((job) => toDelivery(job) === 'sent' || job.end.result === 'skipped');
  const [news] = worstFirst(ended.filter((job) => isNews(run, job)));
  const person = news && findPersonToMention(run.trigger, knownRecords(run.ledger), news);
  const text = renderReport(about, jobs, { conversation, limit: LONGEST_END });
  const edited = await comment.edit();
  // GitHub mails a new comment, but not an edit.
  const isTold = person !== undefined && !signal.aborted;
  const id = toReplyId(plan.message);
  const created = isTold && (await createReply(run, conversation, id, addMention(person, text)));
  const url = created && created.kind === 'ok' ? created.value.url : '';
  if (url !== '') log.info(`The comment about the end is ${url}.`);
  const itself = url === '' ? null : 'DUPLICATE';
  await collapse(run, comment, {
    itself: gaveWay ? 'OUTDATED' : itself,
    hasNews: !gaveWay && (url !== '' || isUseful),
  });
  const closed = await comment.repeatLast(edited, plan.deadline);
  const outdated = closed.kind === 'problem' ? closed.problem : '';
  // Both can have one cause, and the tracking comment says more.
  const problem = outdated || (created && created.kind === 'problem' ? created.problem : '');
  if (problem !== '') log.warning(problem);
  return { urls: [url || comment.url], outdated };
}

/** Whether an end is bad, or one that GitHub does not mail itself. */
function isNews({ source, trigger, inputs, jobs, plan, ledger }: Delivered, job: Ended): boolean {
  const { id, record, message, end, after, change, nthInARow } = job;
  // Another attempt has told it in its own comments.
  const isKnown = isFinal(end.result) && after.seenAt === undefined;
  if (message.isEarlier && (message.kind === 'unknown' || isKnown)) return false;
  if (isBadResult(end.result)) return true;
  // The comment had announced the message before the limit stopped it.
  if (end.label === 'limited' && nthInARow !== undefined) {
    return ledger.kind === 'problem' || !isLimitTold(ledger.value, plan.message, id);
  }
  // Done, and the agent is not known to have changed anything here: GitHub mails what is pushed.
  const isAwaited = source !== null || (trigger.kind === 'check' && trigger.check.failure !== null);
  const isDone = inputs.wait && isFinal(record?.status) && isFinal(end.result);
  const isChanged = !changedNothing(job) && change?.kind !== 'rewritten';
  const isHere = record?.prNumber === plan.page && isChanged;
  return isAwaited && isDone && jobs.length === 1 && change !== undefined && !isHere;
}

async function addComments(run: Delivered): Promise<readonly string[]> {
  const { signal, log } = run.runtime;
  const targets = await selectPullRequests(run);
  const urls: string[] = [];
  let problem = '';
  for (const [number, jobs] of targets) {
    if (urls.length > 0 || problem !== '') await pause(run, APART_MS);
    if (signal.aborted) break;
    const comment = openComment(run, { conversation: number, jobs, until: Infinity });
    const created = await comment.create();
    if (created.kind === 'problem') {
      problem ||= created.problem;
      continue;
    }
    urls.push(created.value.url);
    await collapse(run, comment, { itself: null, hasNews: true });
  }
  if (problem !== '') log.warning(problem);
  return urls;
}

/**
 * Of jobs that may have got the message, if the event has no page. With `create-job`, that of the
 * new job, so that commands there are follow-ups, too; unless a comment there names the job.
 */
async function selectPullRequests(
  run: Delivered,
): Promise<ReadonlyMap<number, readonly JobState[]>> {
  const { plan, jobs, inputs, comment, runtime, github } = run;
  const reached = jobs.filter((job) => {
    const isOfOther = job.message.kind === 'unknown' && job.message.isEarlier;
    return job.id !== NEW_JOB && !isOfOther && toDelivery(job) !== 'not-sent';
  });
  const targets = Map.groupBy(reached, ({ record }) => record?.prNumber ?? 0);
  const left = targets.get(0)?.map(({ id }) => id) ?? [];
  targets.delete(0);
  if (plan.comments.kind === 'pull requests of the jobs') {
    const why = 'no pull request in this repository is known';
    if (left.length > 0) runtime.log.info(`No comment about ${listSome(left, 20)}: ${why}.`);
    return targets;
  }
  if (!inputs.createJob || comment === undefined) return new Map();
  targets.delete(comment.conversation);
  for (const number of targets.keys()) {
    const found = await fetchLedger(github, number, plan.message.project, Infinity);
    const named = knownRecords(found).flatMap((record) => record.jobs.map(({ id }) => id));
    // Where the list fails, a comment may name the only job.
    if (found.kind === 'problem' || jobs.some(({ id }) => named.includes(id))) {
      targets.delete(number);
    }
  }
  return targets;
}
