import type { Context } from '../../context.ts';
import { lacking } from '../../github/errors.ts';
import { type Stop, stop } from '../../job/stop-reasons.ts';
import type { Redact } from '../../runner/logger.ts';
import { quote } from '../../text.ts';
import { type CommitTrigger, FAILURES } from '../../trigger/trigger.ts';
import { fetchOrExplain, limitTime, type Omission, type Section } from '../sections.ts';
import { whyNeverStarted } from './annotations.ts';
import { formatFailures, listNames, quoteName, type Source } from './format.ts';
import {
  type FailedCheck,
  isOutdated,
  type Lists,
  newestChecks,
  selectFailures,
} from './select.ts';

/** Jobs and checks whose annotations, and logs or outputs, a message has. */
const MOST_SOURCES = 8;
/** What jobs, checks and annotations need, in private repositories. */
const CHECKS = 'checks: read';
/** What runs and logs need. */
const ACTIONS = 'actions: read';

/** A commit, and the run or check of the event on it, if that failed. */
interface CommitToRead {
  readonly sha: string;
  readonly own: CommitTrigger | null;
  /** The page of its pull request, if the message does not say that elsewhere; or empty. */
  readonly page: string;
}

interface Failing {
  readonly sections: readonly Section[];
  /** Whether a workflow may have run there. */
  readonly hasRuns: boolean;
  /** Why the message about the run or check of the event is not sent. */
  readonly end?: Stop | undefined;
}

/** What fails on a commit: runs of workflows, jobs and checks of apps. `until`: of the clock. */
export async function fetchFailures(
  start: Context,
  { sha, own, page }: CommitToRead,
  until: number,
): Promise<Failing> {
  const { github, info, runtime } = start;
  const { redact } = runtime;
  const signal = limitTime(runtime, until);
  const [runs, checks] = await Promise.all([
    fetchOrExplain(() => github.runsOn(sha, until), ACTIONS, signal),
    fetchOrExplain(() => github.checksOn(sha, until), CHECKS, signal),
  ]);
  const hasRuns = runs.kind === 'problem' || runs.value.length > 0;
  if (own !== null && isOutdated(own, { runs, checks })) {
    const why = `${quoteName(own.name, redact)} has passed since, was cancelled, or runs again.`;
    return { sections: [], hasRuns, end: stop('nothing-to-send', { why }) };
  }
  const failures = selectFailures({ runs, checks }, own, info);
  const ranked = failures.checks.toSorted((one, other) => rankCheck(one) - rankCheck(other));
  const read = await Promise.all(
    ranked.slice(0, MOST_SOURCES).map((check) => readSource(start, check, signal)),
  );
  const sources = read.filter(({ check, neverStarted }) => check.hasFailed || neverStarted);
  const left = ranked.slice(MOST_SOURCES).filter(({ hasFailed }) => hasFailed);
  const pull = page === '' ? '' : ` of the pull request ${page}`;
  const branch = own?.branch ? ` (branch ${quoteName(own.branch, redact)})` : '';
  const where = ` on the commit ${sha.slice(0, 7)}${pull}${branch}`;
  const isQuiet = failures.runs.length === 0 && failures.checks.length === 0;
  const sections = [
    ...formatFailures(failures, sources, { sha, where, left, redact }),
    omitLists(start, { runs, checks }, own, isQuiet),
  ];
  const end = own === null ? undefined : (endUnstarted(sources, redact) ?? endRefused(sections));
  return { sections, hasRuns, end };
}

/** Of a branch in another repository only the names: strangers control what its checks say. */
export async function nameFailures(
  { github, runtime }: Context,
  sha: string,
  until: number,
): Promise<Failing> {
  const signal = limitTime(runtime, until);
  const checks = await fetchOrExplain(() => github.checksOn(sha, until), CHECKS, signal);
  if (checks.kind === 'problem') {
    const omission = { what: 'what fails there', why: checks.problem, isFault: true };
    return { sections: [{ slot: 'about', omissions: [omission] }], hasRuns: true };
  }
  const names = newestChecks(checks.value)
    .filter(({ conclusion }) => FAILURES.has(conclusion))
    .map(({ name }) => quoteName(name, runtime.redact));
  const why = 'The branch is in another repository, so what they say is not shown.';
  const parts = names.length === 0 ? [] : [`Failed checks: ${listNames(names)}. ${why}`];
  return { sections: [{ slot: 'about', parts }], hasRuns: checks.value.length > 0 };
}

/** Those of the event, checks of apps, other jobs, and what was cancelled or never started. */
function rankCheck({ isOwn, kind, hasFailed }: FailedCheck): number {
  if (!hasFailed) return 3;
  if (isOwn) return 0;
  return kind === 'check' ? 1 : 2;
}

/** Nobody can fix it if GitHub started none of the jobs of the event. */
function endUnstarted(sources: readonly Source[], redact: Redact): Stop | undefined {
  const own = sources.filter(({ check }) => check.isOwn);
  const [{ check, neverStarted } = {}] = own;
  if (!check || !neverStarted || own.some((one) => !one.neverStarted)) return undefined;
  const job = quoteName(check.name, redact);
  const why = `GitHub did not run the job ${job}: ${quote(redact(neverStarted))}.`;
  return stop('nothing-to-send', { why });
}

/** If permissions alone keep each log and annotation away. What is too large is worth a message. */
function endRefused(sections: readonly Section[]): Stop | undefined {
  if (sections.some(({ outputs = [] }) => outputs.length > 0)) return undefined;
  const omissions = sections.flatMap(({ omissions: some = [] }) => some);
  const reasons = [...new Set(omissions.map(({ why }) => why))];
  const refusals = [lacking(CHECKS), lacking(ACTIONS)];
  if (reasons.length === 0 || !reasons.every((why) => refusals.includes(why))) return undefined;
  const why = `The message would have no more than links: ${reasons.join(', and ')}.`;
  return stop('no-content', { why }, 'when fixed');
}

async function readSource({ github }: Context, check: FailedCheck, signal: AbortSignal) {
  const { id, kind, annotations: count, hasFailed } = check;
  const [annotations, log] = await Promise.all([
    count > 0 ? fetchOrExplain(() => github.annotations(id), CHECKS, signal) : null,
    kind === 'job' && hasFailed
      ? fetchOrExplain(() => github.jobLog(id, signal), ACTIONS, signal)
      : null,
  ]);
  // It has no log; what has one may print anything.
  const hasLog = log?.kind === 'ok' && log.value.trim() !== '';
  const all = annotations?.kind === 'ok' && !hasLog ? annotations.value : [];
  const neverStarted = whyNeverStarted(all);
  return { check, annotations, neverStarted, log: neverStarted === undefined ? log : null };
}

/** `isQuiet`: nothing fails, so that the log alone names a missing permission. */
function omitLists(
  { runtime }: Context,
  { runs, checks }: Lists,
  own: CommitTrigger | null,
  isQuiet: boolean,
): Section {
  const omissions: Omission[] = [];
  if (runs.kind === 'problem') {
    const what = own === null ? 'what fails there' : 'what else fails there';
    omissions.push({ what, why: runs.problem, isFault: true });
  }
  if (checks.kind === 'problem') {
    const what = 'failed jobs, checks of apps and annotations';
    if (isQuiet && checks.problem === lacking(CHECKS)) {
      runtime.log.info(`The message goes without ${what}: ${checks.problem}.`);
    } else omissions.push({ what, why: checks.problem, isFault: true });
  }
  return { slot: 'about', omissions };
}
