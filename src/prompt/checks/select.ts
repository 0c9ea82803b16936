import type { CheckRun, WorkflowRun } from '../../github/checks.ts';
import type { Page } from '../../github/client.ts';
import { blocks } from '../../markdown.ts';
import type { RunInfo } from '../../runner/environment.ts';
import type { Result } from '../../text.ts';
import { type CommitTrigger, FAILURES, type HowFailed } from '../../trigger/trigger.ts';

// Which runs and checks fail on a commit, by the lists that GitHub has of them.

/** A run of a workflow that failed, or that was cancelled: its jobs tell whether something failed before. */
export interface FailedRun extends Pick<CommitTrigger, 'id' | 'attempt' | 'name' | 'url'> {
  readonly failure: HowFailed;
}

export interface ChosenRuns {
  readonly failed: readonly FailedRun[];
  /** Names. */
  readonly open: readonly string[];
  readonly waiting: readonly string[];
}

interface Where extends Pick<RunInfo, 'repository' | 'workflow'> {
  readonly sha: string;
  /** That of the event, which is told first. */
  readonly ownId: number | null;
}

/** Of each workflow and event the newest, without those of this workflow, of forks, and the own one. `all`: the newest first. */
export function chooseRuns(all: readonly WorkflowRun[], where: Where): ChosenRuns {
  const newest = newestRuns(all.filter((run) => isOther(run, where)));
  const failed: FailedRun[] = [];
  for (const run of newest) {
    const failure = howItFailed(run);
    if (failure !== undefined) failed.push(toFailedRun(run, failure));
  }
  const waiting = newest.filter(isWaiting);
  const open = newest.filter((run) => run.status !== 'completed' && !isWaiting(run));
  return { failed, open: open.map(nameOf), waiting: waiting.map(nameOf) };
}

function isOther(run: WorkflowRun, { sha, repository, workflow, ownId }: Where): boolean {
  if (run.head_sha !== sha || run.id === ownId) return false;
  const home = run.head_repository?.full_name ?? '';
  return isSame(home, repository) && !isSame(`${home}/${fileOf(run)}`, workflow);
}

/** One that did nothing says nothing about an older one. One that was cancelled may have failed before, so it is named, too. */
function newestRuns(all: readonly WorkflowRun[]): readonly WorkflowRun[] {
  const seen = new Map<string, WorkflowRun>();
  return all.filter((run) => {
    const key = `${run.workflow_id ?? fileOf(run)} ${run.event}`;
    const newer = seen.get(key);
    const says = newer === undefined || (isCancelled(newer) && !isCancelled(run));
    if (run.conclusion === 'skipped' || !says) return false;
    seen.set(key, run);
    return true;
  });
}

function isCancelled({ conclusion }: WorkflowRun): boolean {
  return conclusion === 'cancelled';
}

function howItFailed(run: WorkflowRun): HowFailed | undefined {
  return isCancelled(run) ? 'was cancelled' : FAILURES.get(run.conclusion);
}

/** For a person who lets it run, or lets it deploy. */
function isWaiting({ status, conclusion }: WorkflowRun): boolean {
  return status === 'waiting' || conclusion === 'action_required';
}

/** GitHub can add a ref. */
function fileOf({ path }: WorkflowRun): string {
  return path.replace(/@.*$/, '');
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function nameOf({ name, path }: WorkflowRun): string {
  return name || path;
}

function toFailedRun(run: WorkflowRun, failure: HowFailed): FailedRun {
  const { id, run_attempt: attempt = 1, html_url: url } = run;
  return { id, attempt, url, failure, name: nameOf(run) };
}

/** A check that failed and is no job of a run that is known. */
export interface FailedCheck extends Pick<CommitTrigger, 'id' | 'name' | 'url' | 'said' | 'text'> {
  readonly failure: HowFailed;
  /** How many it has. */
  readonly annotations: number;
  /** Of which it is a job, if it is one. */
  readonly runId: number | null;
}

function toFailedCheck(check: CheckRun, failure: HowFailed): FailedCheck {
  const { id, name, html_url, output } = check;
  const { title, summary, text, annotations_count: annotations } = output;
  return {
    id,
    name,
    url: html_url ?? '',
    failure,
    said: blocks([title, summary]),
    text,
    annotations,
    runId: runOf(check),
  };
}

/** What became of the run or check of the event. */
export type OwnNow =
  /** Also without one. */
  | { readonly kind: 'as at the event' }
  | { readonly kind: 'passed' | 'at work' | 'cancelled' }
  | { readonly kind: 'failed'; readonly run: FailedRun }
  | { readonly kind: 'failed check'; readonly check: FailedCheck };

export interface Lists {
  readonly runs: Result<Page<WorkflowRun>>;
  readonly checks: Result<Page<CheckRun>>;
}

export function ownNow(own: CommitTrigger | null, { runs, checks }: Lists): OwnNow {
  if (own?.kind === 'workflow_run' && runs.kind === 'ok') return ownRunNow(own, runs.value.all);
  if (own?.kind === 'check_run' && checks.kind === 'ok') return ownCheckNow(own, checks.value.all);
  return { kind: 'as at the event' };
}

/** By its newest attempt. GitHub says late which attempt that is, but at once how it stands. */
function ownRunNow(own: CommitTrigger, all: readonly WorkflowRun[]): OwnNow {
  const run = all.find(({ id }) => id === own.id);
  if (run === undefined) return { kind: 'as at the event' };
  if (run.status !== 'completed') return { kind: 'at work' };
  if (run.conclusion === 'success') return { kind: 'passed' };
  const isLater = (run.run_attempt ?? 1) > own.attempt;
  if (isCancelled(run) && (isLater || own.failure !== 'was cancelled')) {
    return { kind: 'cancelled' };
  }
  const failure = FAILURES.get(run.conclusion);
  if (failure === undefined) return { kind: 'as at the event' };
  const failed = toFailedRun(run, failure);
  const attempt = Math.max(failed.attempt, own.attempt);
  return { kind: 'failed', run: { ...failed, attempt } };
}

/** By the newest check of the same app and name. */
function ownCheckNow(own: CommitTrigger, all: readonly CheckRun[]): OwnNow {
  const same = all.filter((check) => isOwnCheck(check, own));
  const [newest] = same.toSorted((one, other) => other.id - one.id);
  if (newest === undefined) return { kind: 'as at the event' };
  if (isOpen(newest)) return { kind: 'at work' };
  if (newest.conclusion === 'success') return { kind: 'passed' };
  if (newest.conclusion === 'cancelled') return { kind: 'cancelled' };
  const failure = FAILURES.get(newest.conclusion);
  if (failure === undefined) return { kind: 'as at the event' };
  return { kind: 'failed check', check: toFailedCheck(newest, failure) };
}

export interface ChosenChecks {
  readonly failed: readonly FailedCheck[];
  /** Names. */
  readonly open: readonly string[];
  readonly waiting: readonly string[];
}

/** Of each app and name the newest, without that of the event, and those that are jobs of these runs. `jobs`: the IDs of such. */
export function chooseChecks(
  all: readonly CheckRun[],
  own: CommitTrigger | null,
  known: { readonly runs: ReadonlySet<number>; readonly jobs: ReadonlySet<number> },
): ChosenChecks {
  const newest = newestChecks(
    all.filter(
      (check) =>
        !(isOwnCheck(check, own) || known.jobs.has(check.id) || known.runs.has(runOf(check) ?? 0)),
    ),
  );
  const failed: FailedCheck[] = [];
  for (const check of newest) {
    const failure = FAILURES.get(check.conclusion);
    if (failure !== undefined) failed.push(toFailedCheck(check, failure));
  }
  const waiting = newest.filter(({ conclusion }) => conclusion === 'action_required');
  return {
    failed,
    open: newest.filter(isOpen).map(({ name }) => name),
    waiting: waiting.map(({ name }) => name),
  };
}

function isOpen({ status }: CheckRun): boolean {
  return (status ?? 'completed') !== 'completed';
}

function newestChecks(all: readonly CheckRun[]): readonly CheckRun[] {
  const newest = new Map<string, CheckRun>();
  for (const check of all) {
    const other = newest.get(keyOf(check));
    if (other === undefined || other.id < check.id) newest.set(keyOf(check), check);
  }
  return all.filter((check) => newest.get(keyOf(check)) === check);
}

type Addressed = Pick<CheckRun, 'id' | 'html_url'> & Partial<Pick<CheckRun, 'details_url'>>;

/** Jobs of several workflows can have one name. */
function keyOf(check: Addressed & Pick<CheckRun, 'app' | 'name'>): string {
  return `${check.app?.id ?? ''} ${runOf(check) ?? ''} ${check.name}`;
}

/** Whether a check is that of the event, or a newer one has replaced it. */
function isOwnCheck(check: CheckRun, own: CommitTrigger | null): boolean {
  if (own?.kind !== 'check_run') return false;
  const { id, name, url, app } = own;
  const key = keyOf({ id, name, html_url: url, app: app === null ? null : { id: app } });
  return check.id === id || keyOf(check) === key;
}

/** The ID of the run of which a check is a job. Other checks of the app of GitHub Actions have no such address. */
function runOf({ id, html_url, details_url }: Addressed): number | null {
  for (const url of [html_url, details_url]) {
    const [, run, job] = /\/actions\/runs\/(\d+)\/jobs?\/(\d+)/.exec(url ?? '') ?? [];
    if (Number(job) === id) return Number(run);
  }
  return null;
}
