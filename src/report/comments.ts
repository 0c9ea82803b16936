import { renderBadEnd, renderFor, renderStory } from '../comment/render.ts';
import { react, replyError } from '../comment/reply.ts';
import {
  commentId,
  createComment,
  explainEdit,
  isGone,
  type NotCreated,
  Note,
  pauseBeforeEdit,
  readNotes,
} from '../comment/tracking-comment.ts';
import {
  type Confirmation,
  cancelledJob,
  endJob,
  pause,
  pendingJobs,
  type Run,
  storyOf,
  timedOutJob,
} from '../delivery/run-state.ts';
import { whyOf } from '../github/errors.ts';
import { askAgain } from '../job/explain.ts';
import { changedNothing, deliveryOf, type Job, NEW_JOB } from '../job/job.ts';
import { type End, endAs, RESULTS } from '../job/outcome.ts';
import { type Ended, endedNow, worstFirst } from '../job/overall.ts';
import { composeReply, type FoundNote, replyIdOf, toNoteJob } from '../ledger/record.ts';
import { link } from '../markdown.ts';
import { listing, ok, oneLine, problem, type Result, sentences } from '../text.ts';
import { readChanges } from './changes.ts';
import { newsOf, personToTell } from './notify.ts';

// The comments of a run: its note, which is there before the message, and what GitHub is told at the end. Nothing that
// happens at the end changes a result.

/** Milliseconds between two comments, because GitHub limits their rate. */
const APART_MS = 1000;
/** Characters of the IDs of jobs in a line of the log. */
const LONGEST_LIST = 500;

/** Creates the note: no note, no message. `untold`: the jobs that reach their limit, of which no comment tells yet. */
export async function createNote(run: Run, untold: readonly Job[]): Promise<void> {
  const { plan, runtime } = run;
  const jobs = jobsToName(run, untold);
  if (plan.comments.kind !== 'note' || jobs.length === 0 || runtime.signal.aborted) return;
  const note = openNote(run, plan.comments.conversation, jobs, plan.deadline);
  const created = await note.create();
  if (created.kind === 'ok') {
    run.note = note;
    runtime.log.info(`The comment is ${created.value}.`);
    return;
  }
  if (runtime.signal.aborted) return;
  run.takesNoComment = created.cause === 'rate limit';
  const unsent = pendingJobs(run);
  // Messages of earlier attempts, and jobs without a message, are still waited for.
  if (unsent.length === 0) runtime.log.warning(created.problem);
  for (const job of unsent) endJob(run, job, endWithoutNote(run, created));
}

function endWithoutNote({ plan, inputs }: Run, { problem, cause }: NotCreated): End {
  const { start } = plan.again;
  switch (cause) {
    case 'unclear':
      return endAs('comment in doubt', problem, start, plan.isRerun);
    case 'rate limit':
    case 'no answer':
      return endAs('no comment', problem, askAgain(start, true));
    case 'refused':
      // Only the words of GitHub, if any, say what helps.
      return endAs('no comment', problem, '');
    case 'settings': {
      // What counts by comments cannot do without, nor can a re-run.
      const needsComment = plan.isRerun || plan.limit !== undefined || inputs.createJob;
      const without = needsComment ? '' : 'To send without a comment, set “comment: false”.';
      return endAs('no comment', problem, sentences(askAgain(start, false), without));
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
function openNote(run: Run, conversation: number, jobs: readonly Job[], until: number): Note {
  const { messageId, runtime, github } = run;
  return new Note({
    ...runtime,
    github,
    conversation,
    until,
    data: () => ({ ...messageId, jobs: jobs.map(toNoteJob) }),
    render: (limit) => renderNote(run, jobs, conversation, limit),
  });
}

/** A limit is told by the note itself, if it was known before. */
function renderNote(run: Run, jobs: readonly Job[], conversation: number, limit: number): string {
  const [job, ...others] = jobs;
  const isLimit = others.length === 0 && job?.end?.label === 'limited';
  const person = isLimit ? personToTell(run, job) : '';
  return renderFor(
    person,
    renderStory(storyOf(run), jobs, { conversation, limit: limit - ROOM_FOR_NAME }),
  );
}

/** Characters of the paragraph that mentions a person. */
const ROOM_FOR_NAME = 50;

/**
 * A delayed message goes out only if its comment can still be edited, once for each run: the token may have expired meanwhile,
 * or the comment may be gone, and would say for ever that nothing was sent. Resolves to the end of the job if it is not sent.
 */
export async function confirmNote(run: Run, job: Job): Promise<End | undefined> {
  run.confirmation ??= editNote(run);
  const confirmation = await run.confirmation;
  if (run.runtime.signal.aborted) return cancelledJob(run, job);
  switch (confirmation.kind) {
    case 'ok':
      return undefined;
    case 'refused':
      return endAs('no comment', confirmation.why, confirmation.again);
    case 'no time':
      return timedOutJob(run, job, confirmation.why);
  }
}

async function editNote(run: Run): Promise<Confirmation> {
  const { note, plan, runtime } = run;
  const { clock, signal } = runtime;
  if (note === undefined) return { kind: 'ok' };
  for (;;) {
    const edited = await note.edit();
    if (edited === 'done') return { kind: 'ok' };
    const why = explainEdit(edited);
    const pauseMs = pauseBeforeEdit(edited);
    if (pauseMs === undefined) {
      // With the next run come another comment and another token.
      const isOver = isGone(edited) || edited.status === 401;
      const { start } = plan.again;
      return { kind: 'refused', why, again: isOver ? `${start}.` : askAgain(start, false) };
    }
    if (signal.aborted || clock.now() + pauseMs >= plan.deadline) {
      return { kind: 'no time', why };
    }
    await pause(run, pauseMs);
  }
}

/** Milliseconds before each further list. */
const LIST_AGAIN_MS = [0, 1000, 2000, 4000, 8000];

/**
 * The notes above the own one. A list of GitHub may lag behind; one that shows the own note is taken to show all that were
 * created before. Later comments have higher IDs; two can have the same time.
 */
export async function listAgain(run: Run): Promise<Result<readonly FoundNote[]>> {
  const { plan, note, github, messageId } = run;
  if (plan.comments.kind !== 'note' || note === undefined) return run.notes;
  const { conversation } = plan.comments;
  const { clock, signal } = run.runtime;
  let found = problem('there was no time to list the comments again', true);
  for (const ms of LIST_AGAIN_MS) {
    await pause(run, Math.min(ms, plan.deadline - clock.now()));
    if (signal.aborted || clock.now() > plan.deadline) break;
    const listed = await readNotes(github, conversation, messageId.project, plan.deadline);
    if (listed.kind === 'problem') {
      found = listed;
      continue;
    }
    const own = listed.value.filter(({ process }) => process === messageId.process);
    await note.disown(own.filter(({ url }) => url !== note.url));
    found = problem('GitHub does not list the comment of this run', true);
    if (own.some(({ url }) => url === note.url)) {
      return ok(listed.value.filter((one) => !own.includes(one) && isAbove(one.url, note.url)));
    }
  }
  return found;
}

function isAbove(url: string, own: string): boolean {
  return commentId(url) < commentId(own);
}

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
  if (run.takesNoComment !== true) return replyError(run, ended);
  run.runtime.log.info('No comment says this, because GitHub limits their rate.');
  return '';
}

/**
 * The note comes first, because other runs read it; then the end, if it is told by a comment of its own. Only then, edits that
 * failed are repeated, which may take minutes.
 */
async function finishNote(run: Run, note: Note, ended: readonly Ended[]): Promise<Finished> {
  const { plan, jobs, runtime } = run;
  const edited = await note.edit();
  const telling = await tellEnd(run, note, ended);
  const told = telling.kind === 'ok' ? telling.value : '';
  // Of several jobs, the table stays in the note.
  const isWhole = told !== '' && jobs.length === 1;
  const gaveWay = ended.every(({ end }) => end.why === 'same commit');
  await hide(run, () => {
    const itself = isWhole ? 'DUPLICATE' : null;
    return note.collapse(gaveWay ? 'OUTDATED' : itself, told !== '' || hasTold(ended));
  });
  const closed = await note.repeatLast(edited, plan.deadline);
  const outdated = closed.kind === 'problem' ? closed.problem : '';
  // Both can have one cause, and the note says more.
  const untold = telling.kind === 'problem' ? telling.problem : '';
  if (outdated !== '' || untold !== '') runtime.log.warning(outdated || untold);
  return { commentUrls: [isWhole ? told : note.url], outdated };
}

/** Whether a message was sent, or the note tells a limit. */
function hasTold(ended: readonly Ended[]): boolean {
  return ended.some((job) => deliveryOf(job) === 'sent' || job.end.label === 'limited');
}

/** Tells the end by a comment of its own, if that is news. Resolves to its URL, or to an empty text. A problem is a sentence. */
async function tellEnd(run: Run, note: Note, ended: readonly Ended[]): Promise<Result<string>> {
  const { runtime, github, plan, messageId, jobs } = run;
  const story = storyOf(run);
  const [worst] = worstFirst(newsOf(run, ended));
  if (worst === undefined || plan.comments.kind !== 'note' || runtime.signal.aborted) return ok('');
  const { conversation } = plan.comments;
  const person = personToTell(run, worst);
  const text =
    jobs.length === 1
      ? renderFor(person, renderStory(story, jobs, { conversation, limit: LONGEST_END }))
      : renderBadEnd(story, worst, ended, person, link('Details', note.url));
  const place = { ...runtime, github, conversation, until: Infinity };
  const created = await createComment(place, () => composeReply(replyIdOf(messageId), text));
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
  const { inputs, plan, jobs, note, github, messageId, runtime } = run;
  const [job] = jobs;
  const number = job?.record?.prNumber ?? undefined;
  if (!inputs.createJob || note === undefined || plan.comments.kind !== 'note') return [];
  if (job === undefined || number === undefined || number === plan.comments.conversation) return [];
  const found = await readNotes(github, number, messageId.project, Infinity);
  if (found.kind === 'problem' || runtime.signal.aborted) return [];
  if (found.value.some((one) => one.jobs.some(({ id }) => id === job.id))) return [];
  const added = await addComment(run, number, jobs);
  if (added.kind === 'ok') return [added.value];
  runtime.log.warning(added.problem);
  return [];
}

async function addComment(run: Run, number: number, jobs: readonly Job[]): Promise<Result<string>> {
  const note = openNote(run, number, jobs, Infinity);
  const created = await note.create();
  if (created.kind === 'ok') await hide(run, () => note.collapse(null, true));
  return created;
}

/** If that is not possible, the comments stay. */
async function hide({ runtime }: Run, hiding: () => Promise<void>): Promise<void> {
  if (runtime.signal.aborted) return;
  try {
    await hiding();
  } catch (error) {
    runtime.log.debug(`Comments were not hidden: ${whyOf(error)}.`);
  }
}
