import type { CheckRun, WorkflowRun } from '../../github/checks.ts';
import { blocks } from '../../markdown.ts';
import type { Result } from '../../result.ts';
import type { RunInfo } from '../../runner/environment.ts';
import { type CommitTrigger, FAILURES } from '../../trigger/trigger.ts';

/** What GitHub lists of a commit. */
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
  readonly kind: 'check' | 'job';
  /** Of a job; null if that run is not known. */
  readonly run: FailedRun | null;
  /** The title, summary and text of its output; empty for none. */
  readonly output: string;
  /** How many it has. */
  readonly annotations: number;
  /** Otherwise it was cancelled, perhaps because GitHub never started it. */
  readonly hasFailed: boolean;
}

export interface Failures {
  /** That of the event first. */
  readonly runs: readonly FailedRun[];
  readonly checks: readonly FailedCheck[];
  /** Names. */
  readonly unfinished: readonly string[];
}

/** `own`: the run or check of the event, if that failed. */
export function selectFailures(
  { runs, checks }: Lists,
  own: CommitTrigger | null,
  info: Pick<RunInfo, 'repository' | 'workflow' | 'runId'>,
): Failures {
  const newest = runs.kind === 'ok' ? newestRuns(runs.value, info) : [];
  const failed: FailedRun[] = [];
  if (own?.kind === 'workflow_run') failed.push({ ...atEvent(own), kind: 'workflow' });
  for (const run of newest) {
    const failure = FAILURES.get(run.conclusion);
    if (failure === undefined || run.id === own?.id) continue;
    const { id, html_url: url } = run;
    failed.push({ kind: 'workflow', id, name: run.name || run.path, url, failure, isOwn: false });
  }
  const byId = new Map(failed.map((run) => [run.id, run]));
  // Without the list, only jobs of this very run are known not to count.
  const isLeftOut = (id: number): boolean =>
    runs.kind === 'ok' ? !byId.has(id) : String(id) === info.runId;
  const listed = checks.kind === 'ok' ? newestChecks(checks.value) : [];
  const others = listed.filter((check) => {
    const runId = parseRunId(check);
    return !isOwnCheck(check, own) && (runId === null || !isLeftOut(runId));
  });
  return {
    runs: failed,
    checks: [...ownCheck(own, listed), ...others.flatMap((one) => toFailedCheck(one, byId))],
    unfinished: [
      ...newest.filter(isUnfinished).map(({ name, path }) => name || path),
      ...others.flatMap((one) => (isUnfinished(one) && parseRunId(one) === null ? [one.name] : [])),
    ],
  };
}

function isUnfinished({ status }: WorkflowRun | CheckRun): boolean {
  return (status ?? 'completed') !== 'completed';
}

/** Whether the run or check of the event has not failed any more, as far as the lists tell. */
export function isOutdated(own: CommitTrigger, { runs, checks }: Lists): boolean {
  const now =
    own.kind === 'workflow_run'
      ? runs.kind === 'ok' && latestLike(runs.value, own.id)
      : checks.kind === 'ok' && newestChecks(checks.value).find((one) => isOwnCheck(one, own));
  return now ? !FAILURES.has(now.conclusion) : false;
}

/** A newer run for the same event stands for it: to edit a title checks that anew. */
function latestLike(all: readonly WorkflowRun[], ownId: number): WorkflowRun | undefined {
  const own = all.find(({ id }) => id === ownId);
  const isLike = ({ path, event }: WorkflowRun) => path === own?.path && event === own.event;
  return all.find((run) => run.id > ownId && isLike(run) && hasResult(run)) ?? own;
}

/** Otherwise it says nothing about an older one. */
function hasResult({ conclusion }: WorkflowRun): boolean {
  return conclusion !== 'skipped' && conclusion !== 'cancelled';
}

/** Of each workflow and event the newest, without those of this workflow and of forks. */
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
    return hasResult(run) && !seen.has(key) && Boolean(seen.add(key));
  });
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** Of each app and name, in the order of their IDs. Jobs of several workflows can have one name. */
export function newestChecks(all: readonly CheckRun[]): readonly CheckRun[] {
  const newest = new Map<string, CheckRun>();
  for (const check of all.toSorted((one, other) => one.id - other.id)) {
    newest.set(`${check.app?.id ?? ''} ${parseRunId(check) ?? ''} ${check.name}`, check);
  }
  return [...newest.values()];
}

/** The ID of the run that a check is a job of. Other checks of GitHub Actions have no such URL. */
function parseRunId({ id, html_url, details_url }: CheckRun): number | null {
  for (const url of [html_url, details_url]) {
    const [, run, job] = /\/actions\/runs\/(\d+)\/jobs?\/(\d+)/.exec(url ?? '') ?? [];
    if (Number(job) === id) return Number(run);
  }
  return null;
}

/** Whether a check is that of the event, or a newer one has replaced it. */
export function isOwnCheck({ id, name, app }: CheckRun, own: CommitTrigger | null): boolean {
  if (own?.kind !== 'check_run') return false;
  return id === own.id || (name === own.name && app?.id === (own.app ?? undefined));
}

/** As it is listed or, without that, as the event has it. */
function ownCheck(own: CommitTrigger | null, listed: readonly CheckRun[]): FailedCheck[] {
  if (own?.kind !== 'check_run') return [];
  const now = listed.find((one) => isOwnCheck(one, own));
  const [check] = now === undefined ? [] : toFailedCheck(now, new Map());
  const withoutAny = { kind: 'check', run: null, output: '', annotations: 0 } as const;
  return [{ ...(check ?? { ...atEvent(own), ...withoutAny, hasFailed: true }), isOwn: true }];
}

function atEvent({ id, name, url, failure }: CommitTrigger) {
  return { id, name, url, failure: failure ?? 'failed', isOwn: true };
}

function toFailedCheck(check: CheckRun, runs: ReadonlyMap<number, FailedRun>): FailedCheck[] {
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
      output: blocks([output.title, output.summary, output.text]),
      annotations: output.annotations_count,
    },
  ];
}
