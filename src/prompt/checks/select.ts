import type { CheckRun, WorkflowRun } from '../../github/checks.ts';
import { blocks } from '../../markdown.ts';
import type { RunInfo } from '../../runner/environment.ts';
import { type CommitTrigger, FAILURES, sameLogin } from '../../trigger/trigger.ts';
import type { Result } from '../../value-or-problem.ts';

/** What GitHub lists of a commit, the newest runs first. */
export interface Lists {
  readonly runs: Result<readonly WorkflowRun[]>;
  readonly checks: Result<readonly CheckRun[]>;
}

export interface FailedRun {
  readonly kind: 'workflow' | 'check' | 'job';
  readonly id: number;
  readonly name: string;
  readonly url: string;
  readonly failure: string;
  readonly isOwn: boolean;
}

export interface FailedCheck extends FailedRun {
  /** Of a job; null if that run is not known. */
  readonly run: FailedRun | null;
  readonly output: string;
  readonly annotations: number;
  /** Otherwise it was cancelled, perhaps because GitHub never started it. */
  readonly hasFailed: boolean;
}

export type Failures = ReturnType<typeof selectFailures>;

/** `own`: the run or check of the event, if that failed; it comes first. */
export function selectFailures(
  { runs, checks }: Lists,
  own: CommitTrigger | null,
  info: Pick<RunInfo, 'repository' | 'workflow' | 'runId'>,
) {
  const all = runs.kind === 'ok' ? runs.value : [];
  const newest = newestRuns(all, info);
  const inEvent = own?.kind === 'workflow_run' && { ...own, html_url: own.url, path: '' };
  const ownRun = inEvent ? (latestLike(all, inEvent.id) ?? inEvent) : undefined;
  const others = newest.filter(({ id }) => id !== ownRun?.id);
  const failed = [...(ownRun ? [ownRun] : []), ...others].flatMap((run): readonly FailedRun[] => {
    const { id, name, path, html_url: url } = run;
    const failure = FAILURES.get(run.conclusion);
    const one = { kind: 'workflow', id, name: name || path, url, isOwn: run === ownRun } as const;
    return failure === undefined ? [] : [{ ...one, failure }];
  });
  const byId = new Map(failed.map((run) => [run.id, run]));
  // Without the list, only jobs of this very run are known not to count.
  const isLeftOut = (id: number): boolean =>
    runs.kind === 'ok' ? !byId.has(id) : String(id) === info.runId;
  const listed = checks.kind === 'ok' ? newestChecks(checks.value) : [];
  const apart = listed.filter((check) => {
    const runId = parseRunId(check);
    return !isOwnCheck(check, own) && (runId === null || !isLeftOut(runId));
  });
  const unfinished = apart.filter((one) => isUnfinished(one) && parseRunId(one) === null);
  return {
    runs: failed,
    checks: [...findOwnCheck(own, listed), ...apart.flatMap((one) => toFailedCheck(one, byId))],
    unfinished: [
      ...newest.filter(isUnfinished).map(({ name, path }) => name || path),
      ...unfinished.map(({ name }) => name),
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
  const homeIn = (run?: WorkflowRun): string => run?.head_repository?.full_name ?? '';
  // A fork can have the same commit, and strangers control what its runs say.
  const isLike = (run: WorkflowRun): boolean =>
    run.path === own?.path && run.event === own.event && homeIn(run) === homeIn(own);
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
    if (!sameLogin(home, repository) || sameLogin(`${home}/${file}`, workflow)) return false;
    return hasResult(run) && !seen.has(key) && Boolean(seen.add(key));
  });
}

/** Of each app and name, in the order of their IDs. Jobs of several workflows can have one name. */
function newestChecks(all: readonly CheckRun[]): readonly CheckRun[] {
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

function findOwnCheck(own: CommitTrigger | null, listed: readonly CheckRun[]): FailedCheck[] {
  if (own?.kind !== 'check_run') return [];
  const output = { title: '', summary: '', text: '', annotations_count: 0 };
  const inEvent = { ...own, app: null, html_url: own.url, details_url: null, output };
  const now = listed.find((one) => isOwnCheck(one, own)) ?? inEvent;
  return toFailedCheck(now, new Map()).map((check) => ({ ...check, isOwn: true }));
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
