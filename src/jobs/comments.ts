import { whyOf } from '../github/errors.ts';
import { isAboutJobs } from '../github/event.ts';
import type { Job } from '../job.ts';
import { composeNote, noteOf } from '../note/data.ts';
import { hideOlder, Note } from '../note/note.ts';
import { type Ended, worstFirst } from '../report/outputs.ts';
import { renderStory } from '../report/render.ts';
import { listing, oneLine } from '../text.ts';
import { show } from './answer.ts';
import { readChangesAfter } from './changes.ts';
import type { RunContext } from './context.ts';

// What GitHub is told at the end of a run: the comments, the reactions and that the command is free again. Nothing here
// changes a result.

/** Milliseconds for the report, and what it may take longer under a rate limit of GitHub. */
const REPORT_MS = 30_000;
const RATE_LIMIT_MS = 45_000;
/** Milliseconds between two comments, because GitHub limits their rate; and the most of them. */
const APART_MS = 1000;
const MOST_COMMENTS = 100;
/** Characters of the IDs of jobs in a line of the log. */
const LONGEST_LIST = 500;

/** A comment about these jobs, which is not created yet. */
export function openNote(
  run: RunContext,
  conversation: number,
  jobs: readonly Job[],
  deadline: number,
): Note {
  const { about, story } = run;
  const compose = (): string =>
    composeNote(noteOf(about, jobs), (limit) => renderStory(story, jobs, conversation, limit));
  return new Note({ ...run, conversation, deadline, compose, id: about.id });
}

/** Brings GitHub up to date. Resolves to the URLs of the comments. It takes no longer than the report may take. */
export async function tellGitHub(
  run: RunContext,
  ended: readonly Ended[],
): Promise<readonly string[]> {
  const { clock, log } = run;
  const targets = targetsOf(run);
  const end = clock.now() + REPORT_MS + Math.max(0, targets.size - 1) * APART_MS;
  const urls: string[] = [];
  const ready = new AbortController();
  const update = async (): Promise<void> => {
    const reacted = reactToEnd(run, ended);
    await readChangesAfter(run);
    if (run.note !== null) {
      urls.push(run.note.url);
      const problem = await run.note.close();
      if (problem !== null) log.warning(problem);
      if (run.conversation !== null) await hide(run, run.conversation);
    }
    await addComments(run, targets, end, urls);
    await reacted;
    // As the last call, and only if no request can have been accepted.
    if (run.jobs.some(({ delivery }) => delivery !== 'not-sent')) return;
    await run.release?.().catch((error) => log.debug(`The 🚀 was not removed: ${whyOf(error)}.`));
  };
  const late = async (): Promise<void> => {
    await clock.sleep(end - clock.now(), ready.signal);
    if (run.note?.hasPaused) await clock.sleep(RATE_LIMIT_MS, ready.signal);
    log.warning(
      'GitHub did not answer in time, so a comment may be missing or show an older state.',
    );
  };
  // The pauses end with an error when the comments are ready.
  await Promise.race([update(), late().catch(() => {})]);
  ready.abort();
  return urls;
}

/** Shows the end of a command to its author. */
async function reactToEnd(run: RunContext, ended: readonly Ended[]): Promise<void> {
  const [worst] = worstFirst(ended);
  const isGood = worst?.end.result === 'completed' && worst.end.confirmed !== false;
  const isBad = ended.some(({ end }) => end.result === 'error' || end.result === 'failed');
  await Promise.all([
    run.seen,
    isGood ? show(run, 'hooray') : null,
    isBad ? show(run, 'confused') : null,
  ]);
}

/** The conversations that get a comment only now, each with its jobs. */
function targetsOf(run: RunContext): ReadonlyMap<number, readonly Job[]> {
  const { inputs, jobs, conversation, trigger, log } = run;
  if (!inputs.comment || inputs.githubToken === '' || run.note !== null) return new Map();
  if (conversation !== null) {
    return inputs.send || jobs.every(({ record }) => record === null)
      ? new Map()
      : new Map([[conversation, jobs]]);
  }
  if (!isAboutJobs(trigger)) return new Map();
  const shown = jobs.filter(({ delivery, isReadOnly }) => isReadOnly || delivery !== 'not-sent');
  const targets = Map.groupBy(shown, ({ record }) => record?.prNumber ?? 0);
  const left = (targets.get(0) ?? []).map(({ id }) => id);
  if (left.length > 0) {
    const ids = oneLine(listing(left), LONGEST_LIST);
    log.info(`No comment about ${ids}: no pull request in this repository is known.`);
  }
  targets.delete(0);
  return targets;
}

async function addComments(
  run: RunContext,
  targets: ReadonlyMap<number, readonly Job[]>,
  end: number,
  urls: string[],
): Promise<void> {
  const { clock, signal, log } = run;
  const started: Promise<void>[] = [];
  let problem = '';
  let made = 0;
  for (const [number, jobs] of [...targets].slice(0, MOST_COMMENTS)) {
    if (started.length > 0) await clock.sleep(APART_MS, signal).catch(() => {});
    if (signal.aborted) break;
    const note = openNote(run, number, jobs, end);
    const add = async (): Promise<void> => {
      problem = (await note.create()) ?? problem;
      if (note.url === '') return;
      made += 1;
      urls.push(note.url);
      await hide(run, number);
    };
    started.push(add());
  }
  await Promise.all(started);
  if (problem !== '') log.warning(problem);
  const left = targets.size - made;
  if (left > 0) log.info(`Pull requests of jobs without a comment: ${left}.`);
}

/** Hides the older comments of the step. If that is not possible, they stay. */
async function hide(run: RunContext, conversation: number): Promise<void> {
  const { github, about, clock, log } = run;
  if (about.series === '' || run.signal.aborted) return;
  try {
    await hideOlder(github, conversation, about, clock.now());
  } catch (error) {
    log.debug(`Older comments were not hidden: ${whyOf(error)}.`);
  }
}
