import type { CheckRun, WorkflowRun } from '../../github/checks.ts';
import { blocks } from '../../markdown.ts';
import type { Result } from '../../result.ts';
import type { RunInfo } from '../../runner/environment.ts';
import { type CommitTrigger, FAILURES } from '../../trigger/trigger.ts';

// Which runs of workflows and which checks fail on a commit, by the lists that GitHub has of them.

export interface Lists {
  /** The newest first. */
  readonly runs: Result<readonly WorkflowRun[]>;
  readonly checks: Result<readonly CheckRun[]>;
}

export interface FailedRun {
  readonly kind: 'workflow';
  readonly id: number;
  readonly name: string;
  readonly url: string;
  /** Such as `failed`. */
  readonly failure: string;
  /** Whether it is that of the event. */
  readonly isOwn: boolean;
}

export interface FailedCheck extends Omit<FailedRun, 'kind'> {
  /** A job of a workflow is a check run with the same ID. */
  readonly kind: 'check' | 'job';
  /** Of a job; null if that run is not known. */
  readonly run: FailedRun | null;
  /** The title, summary and text of its output; empty for none. */
  readonly said: string;
  /** How many annotations it has. */
  readonly annotations: number;
  /** Whether it failed; otherwise it was cancelled, perhaps because GitHub never started it. */
  readonly hasFailed: boolean;
}

export interface Failures {
  /** That of the event first. */
  readonly runs: readonly FailedRun[];
  readonly checks: readonly FailedCheck[];
  /** The names of what has not ended. */
  readonly unfinished: readonly string[];
}

/** `own`: the run or check of the event, if that failed. */
export function selectFailures(
  { runs, checks }: Lists,
  own: CommitTrigger | null,
  info: Pick<RunInfo, 'repository' | 'workflow' | 'runId'>,
): Failures {
  const newest = runs.kind === 'ok' ? newestRuns(runs.value, info) : [];
  const failed = [...ownRun(own), ...newest.filter(({ id }) => id !== own?.id).flatMap(toFailed)];
  const byId = new Map(failed.map((run) => [run.id, run]));
  // Without the list, only jobs of this very run are known not to count.
  const isLeftOut = (id: number): boolean =>
    runs.kind === 'ok' ? !byId.has(id) : String(id) === info.runId;
  const listed = checks.kind === 'ok' ? newestChecks(checks.value) : [];
  const others = listed.filter((check) => {
    const runId = parseRunId(check);
    return !isOwnCheck(check, own) && (runId === null || !isLeftOut(runId));
  });
  const open = (one: { readonly status?: string | null | undefined }): boolean =>
    (one.status ?? 'completed') !== 'completed';
  return {
    runs: failed,
    checks: [...ownCheck(own, listed), ...others.flatMap((one) => toFailedCheck(one, byId))],
    unfinished: [
      ...newest.filter(open).map(runName),
      ...others.filter((one) => open(one) && parseRunId(one) === null).map(({ name }) => name),
    ],
  };
}

/** Whether the run or check of the event is no longer one that failed, as far as the lists tell. */
export function isOutdated(own: CommitTrigger | null, { runs, checks }: Lists): boolean {
  const isRun = own?.kind === 'workflow_run';
  const now = isRun
    ? runs.kind === 'ok' && latestLike(runs.value, own.id)
    : checks.kind === 'ok' && newestChecks(checks.value).find((one) => isOwnCheck(one, own));
  return now ? !FAILURES.has(now.conclusion) : false;
}

/** A newer run of the workflow for the same event stands for it: to edit a title checks that anew. */
function latestLike(all: readonly WorkflowRun[], ownId: number): WorkflowRun | undefined {
  const own = all.find(({ id }) => id === ownId);
  const isLike = ({ path, event }: WorkflowRun) => path === own?.path && event === own.event;
  return all.find((run) => run.id > ownId && isLike(run) && saysMore(run)) ?? own;
}

function saysMore({ conclusion }: WorkflowRun): boolean {
  return conclusion !== 'skipped' && conclusion !== 'cancelled';
}

/**
 * Of each workflow and event the newest, without those of this workflow and of forks. One that was skipped or cancelled says nothing
 * about an older one.
 */
function newestRuns(
  all: readonly WorkflowRun[],
  { repository, workflow }: Pick<RunInfo, 'repository' | 'workflow'>,
): readonly WorkflowRun[] {
  const seen = new Set<string>();
  return all.filter((run) => {
    const home = run.head_repository?.full_name ?? '';
    // GitHub can add a ref.
    const file = run.path.replace(/@.*$/, '');
    const key = `${run.workflow_id ?? file} ${run.event}`;
    if (!isSame(home, repository) || isSame(`${home}/${file}`, workflow)) return false;
    return saysMore(run) && !seen.has(key) && Boolean(seen.add(key));
  });
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function runName({ name, path }: WorkflowRun): string {
  return name || path;
}

function ownRun(own: CommitTrigger | null): readonly FailedRun[] {
  if (own?.kind !== 'workflow_run') return [];
  const { id, name, url, failure } = own;
  return [{ kind: 'workflow', id, name, url, failure: failure ?? 'failed', isOwn: true }];
}

function toFailed(run: WorkflowRun): readonly FailedRun[] {
  const failure = FAILURES.get(run.conclusion);
  if (failure === undefined) return [];
  const { id, html_url: url } = run;
  return [{ kind: 'workflow', id, name: runName(run), url, failure, isOwn: false }];
}

/** Of each app and name, in the order of their IDs. Jobs of several workflows can have one name. */
export function newestChecks(all: readonly CheckRun[]): readonly CheckRun[] {
  const newest = new Map<string, CheckRun>();
  for (const check of all.toSorted((one, other) => one.id - other.id)) {
    newest.set(checkKey(check), check);
  }
  return [...newest.values()];
}

function checkKey(check: CheckRun): string {
  return `${check.app?.id ?? ''} ${parseRunId(check) ?? ''} ${check.name}`;
}

/** The ID of the run of which a check is a job. Other checks of the app of GitHub Actions have no such address. */
function parseRunId({ id, html_url, details_url }: CheckRun): number | null {
  for (const url of [html_url, details_url]) {
    const [, run, job] = /\/actions\/runs\/(\d+)\/jobs?\/(\d+)/.exec(url ?? '') ?? [];
    if (Number(job) === id) return Number(run);
  }
  return null;
}

/** Whether a check is that of the event, or a newer one has replaced it. */
function isOwnCheck({ id, name, app }: CheckRun, own: CommitTrigger | null): boolean {
  if (own?.kind !== 'check_run') return false;
  return id === own.id || (name === own.name && app?.id === (own.app ?? undefined));
}

/** As it is listed or, without that, as the event has it. */
function ownCheck(own: CommitTrigger | null, listed: readonly CheckRun[]): readonly FailedCheck[] {
  if (own?.kind !== 'check_run') return [];
  const now = listed.filter((one) => isOwnCheck(one, own)).flatMap((one) => toFailedCheck(one));
  const { id, name, url, failure } = own;
  const atEvent = { id, name, url, failure: failure ?? 'failed', said: '', annotations: 0 };
  const [check = { ...atEvent, kind: 'check', run: null, hasFailed: true } as const] = now;
  return [{ ...check, isOwn: true }];
}

function toFailedCheck(
  check: CheckRun,
  runs: ReadonlyMap<number, FailedRun> = new Map(),
): readonly FailedCheck[] {
  const failure = FAILURES.get(check.conclusion);
  const { id, name, html_url: url, output } = check;
  const runId = parseRunId(check);
  const run = runs.get(runId ?? 0) ?? null;
  const mayBeUnstarted = check.conclusion === 'cancelled' && run !== null;
  if (failure === undefined && !mayBeUnstarted) return [];
  return [
    {
      ...{ id, name, run, url: url ?? '', isOwn: run?.isOwn ?? false },
      ...{ failure: failure ?? 'was cancelled', hasFailed: failure !== undefined },
      kind: runId === null ? 'check' : 'job',
      said: blocks([output.title, output.summary, output.text]),
      annotations: output.annotations_count,
    },
  ];
}
