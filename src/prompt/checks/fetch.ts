import type { Start } from '../../context.ts';
import type { RunJob } from '../../github/checks.ts';
import { lacking } from '../../github/errors.ts';
import type { Redact } from '../../runner/logger.ts';
import { ok, plural, quote } from '../../text.ts';
import type { CommitTrigger } from '../../trigger/trigger.ts';
import { ACTIONS, readJobLogs } from '../logs/fetch.ts';
import { askGitHub, type Missing, type Thing } from '../sections.ts';
import { isPastTimeLimit } from './annotations.ts';
import {
  type Failures,
  hasFailed,
  type ListedCheck,
  type ListedRun,
  listFirst,
  quoteName,
  quoteNameShort,
  type Read,
  type Source,
  sourcesOf,
  tellFailures,
  whyNothingRan,
  withoutReason,
} from './format.ts';
import {
  type ChosenChecks,
  type ChosenRuns,
  chooseChecks,
  chooseRuns,
  type FailedCheck,
  type FailedRun,
  type Lists,
  type OwnNow,
  ownNow,
} from './select.ts';

// Reads all that fails on a commit: of runs of workflows their jobs, with annotations and logs, and checks of apps.

/** What a message about a failure asks for if there is no prompt. */
export const FIX_IT =
  'Find out why, and fix it. If nothing in the repository is at fault, such as a network, an outage or a secret, change nothing and ' +
  'say so. If only some failures are of that kind, fix the others. Do not weaken the check.';
/** Runs whose jobs are read, the newest ones. */
const MOST_RUNS = 10;
/** What checks and annotations need, in private repositories. */
const CHECKS = 'checks: read';

/** A commit, and the run or check of the event on it, if that failed. */
interface CommitToRead {
  readonly sha: string;
  readonly own: CommitTrigger | null;
  /** The page of its pull request, if the message does not say that elsewhere; or empty. */
  readonly page: string;
}

/** What fails on a commit. */
export interface Failing {
  readonly things: readonly Thing[];
  /** Whether a workflow may have run there. */
  readonly hasRuns: boolean;
  /** What became of the run or check of the event. */
  readonly own: OwnNow;
  /** The names of what else fails, if that of the event has passed since. */
  readonly others: readonly string[];
  /** Why there is nothing to fix in the run of the event, as a sentence; or empty. */
  readonly nothing: string;
}

/** Limits the time: by a time of the clock, and by a signal. */
interface Time {
  readonly until: number;
  readonly signal: AbortSignal;
}

/** `until`: a time of the clock. */
export async function readFailing(
  start: Start,
  commit: CommitToRead,
  until: number,
): Promise<Failing> {
  const { clock, signal: cancelled, redact } = start.runtime;
  const signal = AbortSignal.any([clock.timeout(until - clock.now()), cancelled]);
  const lists = await readLists(start, commit.sha, signal);
  const own = ownNow(commit.own, lists);
  const runs = chooseRunsOf(start, commit, lists);
  const hasRuns = lists.runs.kind === 'problem' || lists.runs.value.all.length > 0;
  const known = { own, hasRuns, others: [] };
  if (own.kind === 'passed') {
    const failed = runs.failed.filter(({ failure }) => failure !== 'was cancelled');
    const checks = chooseChecksOf(start, commit.own, lists, []).failed;
    const others = [...failed, ...checks].map(({ name }) => name);
    return { ...known, things: [], others, nothing: '' };
  }
  const ownRun = commit.own?.kind === 'workflow_run' ? runNow(commit.own, own) : null;
  const toRead = [...(ownRun === null ? [] : [ownRun]), ...runs.failed.slice(0, MOST_RUNS)];
  const listed = await Promise.all(
    toRead.map((run) => listRun(start, run, run === ownRun, { until, signal })),
  );
  const nothing = listed.map((one) => (one.isOwn ? whyNothingRan(one, redact) : '')).join('');
  if (nothing !== '') return { ...known, things: [], nothing };
  const checks = chooseChecksOf(start, commit.own, lists, listed);
  const failures: Failures = {
    all: [...ownCheckOf(commit.own, own), ...listed, ...checks.listed],
    further: runs.failed.slice(MOST_RUNS).map(({ name }) => quoteName(name, redact)),
  };
  const sources = sourcesOf(failures, redact);
  const read = await readSources(start, lists, sources.chosen, { until, signal });
  const telling = {
    ...commit,
    redact,
    where: whereOf(commit, redact),
    since: SINCE[own.kind] ?? '',
  };
  const things = [
    ...tellFailures(failures, sources, read, telling),
    tellOthers(runs, checks, redact),
    tellLists(start, commit, lists, failures),
  ];
  return { ...known, things, nothing: '' };
}

async function readLists({ github }: Start, sha: string, signal: AbortSignal): Promise<Lists> {
  const [runs, checks] = await Promise.all([
    askGitHub(() => github.runsOn(sha), ACTIONS, signal),
    askGitHub(() => github.checksOn(sha), CHECKS, signal),
  ]);
  return { runs, checks };
}

function chooseRunsOf({ info }: Start, { sha, own }: CommitToRead, { runs }: Lists): ChosenRuns {
  const { repository, workflow } = info;
  const all = runs.kind === 'ok' ? runs.value.all : [];
  return chooseRuns(all, { repository, workflow, sha, ownId: own?.id ?? null });
}

/** If it failed again, its newest attempt. */
function runNow({ id, attempt, name, url, failure }: CommitTrigger, now: OwnNow): FailedRun {
  return now.kind === 'failed' ? now.run : { id, attempt, name, url, failure: failure ?? 'failed' };
}

function ownCheckOf(own: CommitTrigger | null, now: OwnNow): readonly ListedCheck[] {
  if (own?.kind !== 'check_run') return [];
  const atEvent = { ...own, failure: own.failure ?? 'failed', runId: null };
  const check = now.kind === 'failed check' ? now.check : atEvent;
  return [{ kind: 'check', check, isOwn: true }];
}

/** One that could not start has no jobs. */
async function listRun(
  { github }: Start,
  run: FailedRun,
  isOwn: boolean,
  { until, signal }: Time,
): Promise<ListedRun> {
  const read = () => github.jobsOf(run.id, run.attempt, until);
  const jobs = run.failure === 'could not start' ? ok([]) : await askGitHub(read, ACTIONS, signal);
  return { kind: 'run', run, isOwn, jobs };
}

/** If the jobs of a run could not be read, their checks stand for them. */
function chooseChecksOf(
  { info }: Start,
  own: CommitTrigger | null,
  lists: Lists,
  listed: readonly ListedRun[],
): ChosenChecks & { readonly listed: readonly ListedCheck[] } {
  const runs = new Set(lists.runs.kind === 'ok' ? lists.runs.value.all.map(({ id }) => id) : []);
  runs.add(Number(info.runId));
  const jobs = new Set<number>();
  for (const { run, jobs: read } of listed) {
    if (read.kind === 'problem') runs.delete(run.id);
    else for (const { id } of read.value) jobs.add(id);
  }
  const all = lists.checks.kind === 'ok' ? lists.checks.value.all : [];
  const chosen = chooseChecks(all, own, { runs, jobs });
  const toListed = (check: FailedCheck): ListedCheck => {
    const isOwn = own?.kind === 'workflow_run' && check.runId === own.id;
    return { kind: 'check', check, isOwn };
  };
  return { ...chosen, listed: chosen.failed.map(toListed) };
}

/** Annotations and logs at once. The logs of jobs that were cancelled follow, if they may say more. */
async function readSources(
  start: Start,
  { checks }: Lists,
  sources: readonly Source[],
  { until, signal }: Time,
): Promise<Read> {
  const mayRead = checks.kind === 'ok' || checks.problem !== lacking(CHECKS);
  const failed: RunJob[] = [];
  for (const { job } of sources) if (job !== null && hasFailed(job)) failed.push(job);
  const asked = sources.filter(
    ({ of }) => mayRead && (of.kind === 'run' || of.check.annotations > 0),
  );
  const [annotations, logs] = await Promise.all([
    Promise.all(
      asked.map(async ({ id }) => {
        const answer = await askGitHub(() => start.github.annotations(id), CHECKS, signal);
        return [id, answer] as const;
      }),
    ),
    readJobLogs(start, failed, until),
  ]);
  const listed = checks.kind === 'ok' ? checks.value.all : [];
  const counts = new Map(listed.map(({ id, output }) => [id, output.annotations_count]));
  const read = { annotations: new Map(annotations), counts, logs };
  const further = withoutReason(sources, read, start.runtime.redact);
  if (further.length === 0) return read;
  return { ...read, logs: new Map([...logs, ...(await readJobLogs(start, further, until))]) };
}

// What is said besides.

const SINCE: Readonly<Partial<Record<OwnNow['kind'], string>>> = {
  'at work': 'It is being run again.',
  cancelled: 'It was run again since, but that was cancelled.',
};

function whereOf({ sha, own, page }: CommitToRead, redact: Redact): string {
  const pull = page === '' ? '' : ` of the pull request ${page}`;
  const branch = own?.branch ? ` (branch ${quoteName(own.branch, redact)})` : '';
  return ` on the commit ${sha.slice(0, 7)}${pull}${branch}`;
}

function tellOthers(runs: ChosenRuns, checks: ChosenChecks, redact: Redact): Thing {
  const list = (what: string, names: readonly string[]): readonly string[] =>
    names.length === 0
      ? []
      : [`${what}: ${listFirst(names.map((name) => quoteName(name, redact)))}.`];
  const waiting = [...runs.waiting, ...checks.waiting];
  const parts = [
    ...list('Not finished yet', [...runs.open, ...checks.open]),
    ...list('Waits for an approval', waiting),
  ];
  return { place: 'about', parts };
}

/** What could not be listed. Only where something fails, a missing permission for checks is worth more than a line in the log. */
function tellLists(
  { runtime }: Start,
  { own }: CommitToRead,
  { runs, checks }: Lists,
  { all }: Failures,
): Thing {
  const parts: string[] = [];
  const missing: Missing[] = [];
  if (runs.kind === 'problem') {
    const what = own === null ? 'what fails there' : 'what else fails there';
    missing.push({ what, why: runs.problem, isFault: true });
  }
  if (checks.kind === 'problem') {
    const what = 'checks of apps and annotations';
    const isQuiet = all.length === 0 && checks.problem === lacking(CHECKS);
    if (isQuiet) runtime.log.info(`The message goes without ${what}: ${checks.problem}.`);
    else missing.push({ what, why: checks.problem, isFault: true });
  }
  for (const [what, list] of [
    ['run', runs],
    ['check', checks],
  ] as const) {
    if (list.kind === 'problem' || list.value.total <= list.value.all.length) continue;
    const { total, all } = list.value;
    const newest = plural(all.length, what);
    parts.push(`The commit has ${plural(total, what)}. This is the state of the newest ${newest}.`);
    missing.push({ what: plural(total - all.length, `older ${what}`), why: '', isTold: true });
  }
  return { place: 'about', parts, missing };
}

/** Why there is nothing to fix, as a sentence, if the run or check of the event has passed since; or empty. */
export function whyPassed(
  { name }: CommitTrigger,
  { own, others }: Failing,
  command: string | null,
  redact: Redact,
): string {
  if (own.kind !== 'passed') return '';
  const passed = `${quoteNameShort(name, redact)} has passed since.`;
  if (others.length === 0) return passed;
  const fail = `${listFirst(others.map((other) => quoteNameShort(other, redact)))} ${others.length === 1 ? 'fails' : 'fail'} on this commit`;
  return `${passed} ${fail}${command === null ? '' : `; comment ${quote(command)} to send that`}.`;
}

/** Why a run that was cancelled is nothing to fix, as a sentence; empty if jobs failed before that, or reached their time limits. */
export async function whyOnlyCancelled(
  start: Start,
  own: CommitTrigger,
  until: number,
): Promise<string> {
  const { clock, signal: cancelled, redact } = start.runtime;
  const signal = AbortSignal.any([clock.timeout(until - clock.now()), cancelled]);
  const run = runNow(own, { kind: 'as at the event' });
  const listed = await listRun(start, run, true, { until, signal });
  const said = 'The run was cancelled.';
  if (listed.jobs.kind === 'problem') {
    return `${said} Whether a job failed before is not known: ${listed.jobs.problem}.`;
  }
  const nothing = whyNothingRan(listed, redact);
  if (nothing !== '' || listed.jobs.value.some(hasFailed)) return nothing;
  const { chosen, left } = sourcesOf({ all: [listed], further: [] }, redact);
  const read = await Promise.all(
    chosen.map(({ id }) => askGitHub(() => start.github.annotations(id), CHECKS, signal)),
  );
  if (read.some((answer) => answer.kind === 'ok' && isPastTimeLimit(answer.value))) return '';
  const unread = read.find((answer) => answer.kind === 'problem');
  if (unread === undefined && left.length === 0) return said;
  const all = chosen.length + left.length;
  const why = unread?.problem ?? `only ${chosen.length} of ${all} jobs were looked at`;
  return `${said} Whether a job reached its time limit is not known: ${why}.`;
}
