import { whyOf } from '../github/errors.ts';
import { deliveryOf, type Job } from '../job.ts';
import { composeNote, noteOf } from '../note/data.ts';
import { isLimitTold } from '../note/limit.ts';
import { hideOlder, Note } from '../note/note.ts';
import { endAs } from '../reasons.ts';
import { type Ended, worstFirst } from '../report/outputs.ts';
import { renderStory } from '../report/render.ts';
import { listing, oneLine, type Result } from '../text.ts';
import { show } from './answer.ts';
import { readChanges } from './changes.ts';
import { endJob, openJobs, pause, type Run } from './context.ts';

// The comments of a run: its note, which is there before the message, and what GitHub is told at the end. Nothing that
// happens at the end changes a result.

/** Milliseconds for the report, for what follows a rate limit of GitHub, and for taking back the claim. */
const REPORT_MS = 30_000;
const AFTER_RATE_LIMIT_MS = 15_000;
const RELEASE_MS = 10_000;
/** Milliseconds between two comments, because GitHub limits their rate. */
const APART_MS = 1000;
/** Characters of the IDs of jobs in a line of the log. */
const LONGEST_LIST = 500;

/** Creates the note: no note, no message. */
export async function announce(run: Run): Promise<void> {
  const { plan, runtime } = run;
  const jobs = jobsToAnnounce(run);
  if (plan.comments.kind !== 'note' || jobs.length === 0) return;
  const note = openNote(run, plan.comments.conversation, jobs, plan.deadline);
  const created = await note.create();
  if (created.kind === 'ok') {
    run.note = note;
    runtime.log.info(`The comment is ${created.value}.`);
    return;
  }
  if (runtime.signal.aborted) return;
  const unsent = openJobs(run);
  // Messages of earlier attempts, and jobs without a message, are still waited for.
  if (unsent.length === 0) runtime.log.warning(created.problem);
  const end = endAs('error', created.problem, 'No message is sent without its comment.');
  const hint = 'To send without one, set “comment: false”.';
  for (const job of unsent) endJob(run, job, { ...end, hint });
}

/** The jobs that the comment is about; none if nothing is left to send, to wait for or to tell. */
function jobsToAnnounce(run: Run): readonly Job[] {
  const { jobs, inputs } = run;
  // A mistyped ID is not written down.
  if (!inputs.send) return jobs.filter(({ record }) => record !== null);
  const open = jobs.filter((job) => job.end === null || tellsLimit(run, job));
  const sent = jobs.filter((job) => job.end !== null && deliveryOf(job) === 'sent');
  return open.length === 0 ? [] : jobs.filter((job) => open.includes(job) || sent.includes(job));
}

/** A limit is told by a new comment, once: people get a mail only of that. */
function tellsLimit({ notes, about }: Run, { id, end }: Job): boolean {
  return end?.limit !== undefined && notes.kind === 'ok' && !isLimitTold(notes.value, about, id);
}

/** A comment about these jobs, which is not created yet. */
function openNote(run: Run, conversation: number, jobs: readonly Job[], until: number): Note {
  const { about, runtime, github } = run;
  const compose = (): string =>
    composeNote(noteOf(about, jobs), (limit) => renderStory(run.story, jobs, conversation, limit));
  return new Note({ ...runtime, github, conversation, compose, id: about.id, until });
}

/** Brings GitHub up to date. Resolves to the URLs of the comments. It takes no longer than the report may take. */
export async function tellGitHub(run: Run, ended: readonly Ended[]): Promise<readonly string[]> {
  const { clock, log } = run.runtime;
  const targets = targetsOf(run);
  const urls: string[] = [];
  run.github.limitTo(Infinity);
  const release = mayRelease(run) ? run.release : null;
  const most = REPORT_MS + Math.max(0, targets.size - 1) * APART_MS;
  const end = clock.now() + most - (release === null ? 0 : RELEASE_MS);
  const ready = new AbortController();
  const late = async (): Promise<void> => {
    await clock.sleep(end - clock.now(), ready.signal);
    if (run.note !== null && run.note.pausedMs > 0) {
      const restMs = run.note.pausedMs + AFTER_RATE_LIMIT_MS - most;
      await clock.sleep(Math.max(0, restMs), ready.signal);
    }
    log.warning(
      'GitHub did not answer in time, so a comment may be missing or show an older state.',
    );
  };
  const update = async (): Promise<void> => {
    const reacted = reactToEnd(run, ended);
    await readChanges(run);
    await closeNote(run, urls);
    await addComments(run, targets, urls);
    await reacted;
  };
  // The pauses end with an error when the comments are ready.
  await Promise.race([update(), late().catch(() => {})]);
  ready.abort();
  // As the last call.
  await release?.().catch((error) => log.debug(`The 🚀 was not removed: ${whyOf(error)}.`));
  return urls;
}

/** Whether no request for any job can have been accepted. */
function mayRelease({ jobs }: Run): boolean {
  return jobs.every((job) => deliveryOf(job) === 'not-sent');
}

/** Shows the end of a command to its author. */
async function reactToEnd(run: Run, ended: readonly Ended[]): Promise<void> {
  const [worst] = worstFirst(ended);
  const isGood = worst?.end.result === 'completed' && worst.end.confirmed !== false;
  const isBad = ended.some(({ end }) => end.result === 'error' || end.result === 'failed');
  if (isGood) await show(run, 'hooray');
  if (isBad) await show(run, 'confused');
}

async function closeNote(run: Run, urls: string[]): Promise<void> {
  const { note, plan, runtime } = run;
  if (note === null || plan.comments.kind !== 'note') return;
  urls.push(note.url);
  const closed = await note.close();
  if (closed.kind === 'problem') runtime.log.warning(closed.problem);
  await hide(run, plan.comments.conversation);
}

/** The pull requests that get a comment only now, each with its jobs. */
function targetsOf({ plan, jobs, runtime }: Run): ReadonlyMap<number, readonly Job[]> {
  if (plan.comments.kind !== 'pull requests of the jobs') return new Map();
  const shown = jobs.filter((job) => job.isReadOnly || deliveryOf(job) !== 'not-sent');
  const targets = Map.groupBy(shown, ({ record }) => record?.prNumber ?? 0);
  const left = (targets.get(0) ?? []).map(({ id }) => id);
  if (left.length > 0) {
    const ids = oneLine(listing(left), LONGEST_LIST);
    runtime.log.info(`No comment about ${ids}: no pull request in this repository is known.`);
  }
  targets.delete(0);
  return targets;
}

async function addComments(
  run: Run,
  targets: ReadonlyMap<number, readonly Job[]>,
  urls: string[],
): Promise<void> {
  const { signal, log } = run.runtime;
  const started: Promise<Result<string>>[] = [];
  for (const [number, jobs] of targets) {
    if (started.length > 0) await pause(run, APART_MS);
    if (signal.aborted) break;
    started.push(addComment(run, number, jobs, urls));
  }
  const problems = (await Promise.all(started)).flatMap((added) =>
    added.kind === 'problem' ? [added.problem] : [],
  );
  const left = targets.size - started.length + problems.length;
  if (problems[0] !== undefined) log.warning(problems[0]);
  if (left > 0) log.info(`Pull requests of jobs without a comment: ${left}.`);
}

async function addComment(
  run: Run,
  number: number,
  jobs: readonly Job[],
  urls: string[],
): Promise<Result<string>> {
  const created = await openNote(run, number, jobs, Infinity).create();
  if (created.kind === 'problem') return created;
  urls.push(created.value);
  await hide(run, number);
  return created;
}

/** Hides the older comments of the step. If that is not possible, they stay. */
async function hide(run: Run, conversation: number): Promise<void> {
  const { github, about, runtime } = run;
  if (about.series === '' || runtime.signal.aborted) return;
  try {
    await hideOlder(github, conversation, about, runtime.clock.now());
  } catch (error) {
    runtime.log.debug(`Older comments were not hidden: ${whyOf(error)}.`);
  }
}
