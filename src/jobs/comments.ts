import { whyOf } from '../github/errors.ts';
import { isAboutJobs } from '../github/event.ts';
import type { Job } from '../job.ts';
import { ownPullRequest } from '../link.ts';
import { noteOf } from '../note/data.ts';
import { hideOlder } from '../note/note.ts';
import { readChangesAfter } from './changes.ts';
import type { RunContext } from './context.ts';

// The comments at the end of a run. Nothing here changes a result.

/** Milliseconds for the report, and what it may take longer under a rate limit of GitHub. */
const REPORT_MS = 30_000;
const RATE_LIMIT_MS = 45_000;
/** Milliseconds between two comments, because GitHub limits their rate; and the most of them. */
const APART_MS = 1000;
const MOST_COMMENTS = 100;

/** Brings all comments up to date. Resolves to their URLs. It takes no longer than the report may take. */
export async function updateComments(run: RunContext): Promise<readonly string[]> {
  const { runtime, jobs } = run;
  const { clock, log } = runtime;
  const targets = targetsOf(run);
  const urls: string[] = [];
  const ready = new AbortController();
  const update = async (): Promise<void> => {
    const [only, ...others] = jobs;
    if (only !== undefined && others.length === 0) await readChangesAfter(run, only);
    if (run.note !== null) {
      urls.push(run.note.url);
      const problem = await run.note.close();
      if (problem !== null) log.warning(problem);
      if (run.conversation !== null) await hide(run, run.conversation);
    }
    await addComments(run, targets, urls);
  };
  const late = async (): Promise<void> => {
    const more = Math.max(0, targets.size - 1) * APART_MS;
    await clock.sleep(REPORT_MS + more, ready.signal).catch(() => {});
    if (ready.signal.aborted) return;
    if (run.note?.isPausing) {
      await clock.sleep(RATE_LIMIT_MS, ready.signal).catch(() => {});
    }
    if (!ready.signal.aborted) {
      log.warning(
        'GitHub did not answer in time, so a comment may be missing or show an older state.',
      );
    }
  };
  await Promise.race([update(), late()]);
  ready.abort();
  return urls;
}

/** The conversations that get a comment only now, each with its jobs. */
function targetsOf(run: RunContext): ReadonlyMap<number, readonly Job[]> {
  const { inputs, jobs, conversation, trigger, info } = run;
  if (!inputs.comment || inputs.githubToken === '' || run.note !== null) return new Map();
  if (conversation !== null) {
    return inputs.send || jobs.every(({ record }) => record === null)
      ? new Map()
      : new Map([[conversation, jobs]]);
  }
  if (!isAboutJobs(trigger)) return new Map();
  const shown = jobs.filter(({ delivery, isReadOnly }) => isReadOnly || delivery !== 'not-sent');
  const targets = Map.groupBy(shown, ({ record }) => {
    return ownPullRequest(record?.prLink, info.repositoryUrl) ?? 0;
  });
  targets.delete(0);
  return targets;
}

async function addComments(
  run: RunContext,
  targets: ReadonlyMap<number, readonly Job[]>,
  urls: string[],
): Promise<void> {
  const { runtime, openNote } = run;
  const { clock, signal, log } = runtime;
  const started: Promise<void>[] = [];
  let problem = '';
  let made = 0;
  for (const [number, jobs] of [...targets].slice(0, MOST_COMMENTS)) {
    if (started.length > 0) await clock.sleep(APART_MS, signal).catch(() => {});
    if (signal.aborted) break;
    const note = openNote(number, jobs, clock.now() + RATE_LIMIT_MS);
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
  if (left > 0) log.info(`${left} pull requests of jobs got no comment.`);
}

/** Hides the older comments of the step. If that is not possible, they stay. */
async function hide({ connect, about, runtime }: RunContext, conversation: number): Promise<void> {
  if (about.series === '' || runtime.signal.aborted) return;
  try {
    await hideOlder(await connect(), conversation, noteOf(about, [], true), runtime.clock.now());
  } catch (error) {
    runtime.log.debug(`Older comments were not hidden: ${whyOf(error)}.`);
  }
}
