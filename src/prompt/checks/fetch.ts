import type { Context } from '../../context.ts';
import { lacking } from '../../github/errors.ts';
import type { Redact } from '../../runner/logger.ts';
import { quote } from '../../text.ts';
import { type CommitTrigger, FAILURES } from '../../trigger/trigger.ts';
import { fetchOrExplain, type Omission, type Section } from '../sections.ts';
import { whyNeverStarted } from './annotations.ts';
import { formatFailures, listFirst, quoteName, type Source } from './format.ts';
import {
  type FailedCheck,
  isOutdated,
  type Lists,
  newestChecks,
  selectFailures,
} from './select.ts';

// Fetches all that fails on a commit: runs of workflows, jobs and checks of apps, with their annotations and logs.

/** Jobs and checks whose annotations, and logs or outputs, a message has. */
const MOST_SOURCES = 8;
/** Milliseconds for all that is read. */
const MOST_READING_MS = 60_000;
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

/** What fails on a commit. */
export interface Failing {
  readonly sections: readonly Section[];
  /** Whether a workflow may have run there. */
  readonly hasRuns: boolean;
  /** Why there is nothing to fix, as a sentence; or empty. */
  readonly nothing: string;
  /** Why nothing but links could be read of a failure that nobody has asked about, as a sentence; or empty. */
  readonly problem: string;
}

/** `until`: a time of the clock. */
export async function fetchFailures(
  start: Context,
  commit: CommitToRead,
  until: number,
): Promise<Failing> {
  const { github, info } = start;
  const { clock, signal: cancelled, redact } = start.runtime;
  const leftMs = Math.min(MOST_READING_MS, until - clock.now());
  const signal = AbortSignal.any([clock.timeout(leftMs), cancelled]);
  const { sha, own } = commit;
  const [runs, checks] = await Promise.all([
    fetchOrExplain(() => github.runsOn(sha, until), ACTIONS, signal),
    fetchOrExplain(() => github.checksOn(sha, until), CHECKS, signal),
  ]);
  const hasRuns = runs.kind === 'problem' || runs.value.length > 0;
  if (own !== null && isOutdated(own, { runs, checks })) {
    const nothing = `${quoteName(own.name, redact)} has passed since, was cancelled, or runs again.`;
    return { sections: [], hasRuns, nothing, problem: '' };
  }
  const failures = selectFailures({ runs, checks }, own, info);
  const ranked = failures.checks.toSorted((one, other) => rankCheck(one) - rankCheck(other));
  const read = await Promise.all(
    ranked.slice(0, MOST_SOURCES).map((check) => readSource(start, check, signal)),
  );
  const sources = read.filter(({ check, neverStarted }) => check.hasFailed || neverStarted);
  const left = ranked.slice(MOST_SOURCES).filter(({ hasFailed }) => hasFailed);
  const where = formatWhere(commit, redact);
  const isQuiet = failures.runs.length === 0 && failures.checks.length === 0;
  const sections = [
    ...formatFailures(failures, sources, { sha, where, left, redact }),
    { place: 'about', omissions: omitLists(start, { runs, checks }, own, isQuiet) } as const,
  ];
  const nothing = own === null ? '' : whyNothingRan(sources, redact);
  const problem = own === null ? '' : whyOnlyLinks(sections);
  return { sections, hasRuns, nothing, problem };
}

/** Of a branch in another repository only the names: strangers control what its checks say. */
export async function nameFailures(
  { github, runtime }: Context,
  sha: string,
  until: number,
): Promise<Pick<Failing, 'sections' | 'hasRuns'>> {
  const { clock, signal: cancelled, redact } = runtime;
  const leftMs = Math.min(MOST_READING_MS, until - clock.now());
  const signal = AbortSignal.any([clock.timeout(leftMs), cancelled]);
  const checks = await fetchOrExplain(() => github.checksOn(sha, until), CHECKS, signal);
  if (checks.kind === 'problem') {
    const omission = { what: 'what fails there', why: checks.problem, isFault: true };
    return { sections: [{ place: 'about', omissions: [omission] }], hasRuns: true };
  }
  const names = newestChecks(checks.value)
    .filter(({ conclusion }) => FAILURES.has(conclusion))
    .map(({ name }) => quoteName(name, redact));
  const why = 'The branch is in another repository, so what they say is not shown.';
  const parts = names.length === 0 ? [] : [`Failed checks: ${listFirst(names)}. ${why}`];
  return { sections: [{ place: 'about', parts }], hasRuns: checks.value.length > 0 };
}

/** Those of the event first, then checks of apps, then other jobs. What was cancelled may have been started. */
function rankCheck({ isOwn, kind, hasFailed }: FailedCheck): number {
  if (!hasFailed) return 3;
  if (isOwn) return 0;
  return kind === 'check' ? 1 : 2;
}

/** If GitHub started none of the jobs of the run of the event that failed, nobody can fix that. */
function whyNothingRan(sources: readonly Source[], redact: Redact): string {
  const own = sources.filter(({ check }) => check.isOwn);
  const [first] = own;
  if (first?.neverStarted === undefined || !own.every(({ neverStarted }) => neverStarted))
    return '';
  return `GitHub did not run the job ${quoteName(first.check.name, redact)}: ${quote(redact(first.neverStarted))}.`;
}

/** A permission is all that keeps each log and annotation away. What is too large, or late, is worth a message. */
function whyOnlyLinks(sections: readonly Section[]): string {
  if (sections.some(({ outputs = [] }) => outputs.length > 0)) return '';
  const reasons = new Set(
    sections.flatMap(({ omissions = [] }) => omissions.map(({ why }) => why)),
  );
  const isRefused = [...reasons].every(
    (why) => why === lacking(CHECKS) || why === lacking(ACTIONS),
  );
  if (reasons.size === 0 || !isRefused) return '';
  return `The message would have no more than links: ${[...reasons].join(', and ')}.`;
}

async function readSource(
  { github }: Context,
  check: FailedCheck,
  signal: AbortSignal,
): Promise<Source> {
  const { id, kind, annotations: count, hasFailed } = check;
  const [annotations, log] = await Promise.all([
    count > 0 ? fetchOrExplain(() => github.annotations(id), CHECKS, signal) : null,
    kind === 'job' && hasFailed
      ? fetchOrExplain(() => github.jobLog(id, signal), ACTIONS, signal)
      : null,
  ]);
  const neverStarted = annotations?.kind === 'ok' ? whyNeverStarted(annotations.value) : undefined;
  // It has no log.
  return { check, annotations, neverStarted, log: neverStarted === undefined ? log : null };
}

function formatWhere({ sha, own, page }: CommitToRead, redact: Redact): string {
  const pull = page === '' ? '' : ` of the pull request ${page}`;
  const branch = own?.branch ? ` (branch ${quoteName(own.branch, redact)})` : '';
  return ` on the commit ${sha.slice(0, 7)}${pull}${branch}`;
}

/** `isQuiet`: nothing fails, as far as that is known. Then a omissions permission is worth no more than a line in the log. */
function omitLists(
  { runtime }: Context,
  { runs, checks }: Lists,
  own: CommitTrigger | null,
  isQuiet: boolean,
): readonly Omission[] {
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
  return omissions;
}
