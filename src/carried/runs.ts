import { FAILURES } from '../github/event.ts';
import type { WorkflowRun } from '../github/pull-state.ts';
import type { Redact } from '../runner/log.ts';
import type { Start } from '../start.ts';
import { quote } from '../text.ts';
import { ACTIONS, type FailedRun, listFirst, readFailedRuns } from './failure.ts';
import { ask, type Thing } from './things.ts';

// What fails on a commit now: the newest run of each workflow and event, without those of this workflow and of forks.

/** Failed runs whose jobs are read, the newest ones. */
const MOST_RUNS = 10;

/** `until`: a time of the clock. */
export async function readRunsOn(
  start: Start,
  sha: string,
  until: number,
  signal: AbortSignal,
): Promise<readonly Thing[]> {
  const { github, runtime } = start;
  const all = await ask(() => github.runsOn(sha), ACTIONS, signal);
  if (all.kind === 'problem') {
    const missing = { what: 'what fails there', why: all.problem, isFault: true };
    return [{ place: 'about', missing: [missing] }];
  }
  const newest = newestOf(start, all.value, sha);
  const failed: FailedRun[] = [];
  for (const run of newest) {
    const failure = FAILURES.get(run.conclusion);
    if (failure !== undefined) failed.push(toFailedRun(run, failure));
  }
  const read = await readFailedRuns(start, failed.slice(0, MOST_RUNS), until);
  const more = failed.slice(MOST_RUNS).map(({ name }) => quote(runtime.redact(name), 100));
  const parts = more.length === 0 ? [] : [`Also failed: ${listFirst(more)}.`];
  return [...read, { place: 'about', parts: [...parts, ...tellOpenRuns(newest, runtime.redact)] }];
}

function newestOf(
  { info }: Start,
  all: readonly WorkflowRun[],
  sha: string,
): readonly WorkflowRun[] {
  const newest = new Map<string, WorkflowRun>();
  for (const run of all) {
    const file = `${run.head_repository?.full_name}/${fileOf(run)}`;
    const isHere = run.head_sha === sha && isSame(run.head_repository?.full_name, info.repository);
    // A run that did nothing says nothing about an older one.
    const says = run.conclusion !== 'skipped' && run.conclusion !== 'cancelled';
    const key = `${file} ${run.event}`;
    if (isHere && says && !isSame(file, info.workflow) && !newest.has(key)) newest.set(key, run);
  }
  return [...newest.values()];
}

/** GitHub can add a ref. */
function fileOf({ path }: WorkflowRun): string {
  return path.replace(/@.*$/, '');
}

function isSame(one: string | undefined, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}

function toFailedRun(run: WorkflowRun, failure: FailedRun['failure']): FailedRun {
  const { id, run_attempt: attempt = 1, head_sha: sha, html_url: url } = run;
  return { id, attempt, sha, url, failure, name: nameOf(run) };
}

function nameOf({ name, path }: WorkflowRun): string {
  return name || path;
}

function tellOpenRuns(runs: readonly WorkflowRun[], redact: Redact): readonly string[] {
  const open = runs.filter(({ status }) => status !== 'completed');
  if (open.length === 0) return [];
  const names = open.map((run) => quote(redact(nameOf(run)), 100));
  return [`Not finished yet: ${listFirst(names)}.`];
}
