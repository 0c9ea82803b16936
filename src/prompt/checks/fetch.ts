import type { Context } from '../../context.ts';
import { fetchOrExplain, lacking } from '../../github/errors.ts';
import { type Stop, stop } from '../../job/stop-reasons.ts';
import type { Runtime } from '../../runner/environment.ts';
import type { Redact } from '../../runner/logger.ts';
import { quote } from '../../text.ts';
import type { CommitTrigger } from '../../trigger/trigger.ts';
import { problem } from '../../value-or-problem.ts';
import { omitProblem, type Section } from '../sections.ts';
import { formatFailures, listNames, quoteName, type Source, whyNeverStarted } from './format.ts';
import { type FailedCheck, isOutdated, selectFailures } from './select.ts';

/** Jobs and checks whose annotations, and logs or outputs, a message has. */
const MOST_SOURCES = 8;
const CHECKS = 'checks: read';
const ACTIONS = 'actions: read';

/**
 * What fails on a commit: runs of workflows, jobs and checks of apps. `own`: the run or check of
 * the event, if that failed. `page`: that of the pull request, if the message does not say it
 * elsewhere; or empty. `until`: a time of the clock.
 */
export async function fetchFailures(
  context: Context,
  { sha, own, page = '' }: { sha: string; own: CommitTrigger | null; page?: string },
  until: number,
) {
  const { github, info, runtime, inputs } = context;
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
    ranked.slice(0, MOST_SOURCES).map((check) => fetchSource(context, check, signal)),
  );
  const sources = read.filter(({ check, neverStarted }) => check.hasFailed || neverStarted);
  const left = ranked.slice(MOST_SOURCES).filter(({ hasFailed }) => hasFailed);
  const pull = page === '' ? '' : ` of the pull request ${page}`;
  const branch = own?.branch ? ` (branch ${quoteName(own.branch, redact)})` : '';
  const where = ` on the commit ${sha.slice(0, 7)}${pull}${branch}`;
  const unread = [
    ...omitProblem(`what ${own ? 'else ' : ''}fails there`, runs),
    ...omitProblem('failed jobs, checks of apps and annotations', checks),
  ];
  const isQuiet = runs.kind === 'ok' && failures.runs.length + failures.checks.length === 0;
  // If nothing fails, the log alone names this permission.
  const omissions = unread.filter(({ what, why }) => {
    const isLogged = isQuiet && why === lacking(CHECKS);
    if (isLogged) runtime.log.info(`The message goes without ${what}: ${why}.`);
    return !isLogged;
  });
  const sections: readonly Section[] = [
    ...formatFailures(failures, sources, { sha, where, left, redact }),
    { slot: 'about', omissions },
  ];
  const end = own
    ? (endUnstarted(sources, redact) ?? endRefused(sections, inputs.attach))
    : undefined;
  return { sections, hasRuns, end };
}

/** Of a branch in another repository only the names: strangers control what its checks say. */
export async function nameFailures({ github, info, runtime }: Context, sha: string, until: number) {
  const signal = limitTime(runtime, until);
  const checks = await fetchOrExplain(() => github.checksOn(sha, until), CHECKS, signal);
  const failures = selectFailures({ runs: problem(''), checks }, null, info);
  const names = failures.checks.map(({ name }) => quoteName(name, runtime.redact));
  const why = 'The branch is in another repository, so what they say is not shown.';
  const parts = names.length === 0 ? [] : [`Failed checks: ${listNames(names)}. ${why}`];
  const omissions = omitProblem('what fails there', checks);
  const sections: readonly Section[] = [{ slot: 'about', parts, omissions }];
  return { sections, hasRuns: checks.kind === 'problem' || checks.value.length > 0 };
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
function endRefused(sections: readonly Section[], attach: string): Stop | undefined {
  if (attach !== '' || sections.some(({ outputs = [] }) => outputs.length > 0)) return undefined;
  const omissions = sections.flatMap(({ omissions: some = [] }) => some);
  const lacks = [ACTIONS, CHECKS].filter((one) =>
    omissions.some(({ why }) => why === lacking(one)),
  );
  const isRefused = omissions.every(({ why }) => lacks.some((one) => why === lacking(one)));
  if (lacks.length === 0 || !isRefused) return undefined;
  const why = `The message would have no more than links: ${lacking(lacks.join('” and “'))}.`;
  return stop('no-content', { why }, 'in a new run');
}

async function fetchSource({ github }: Context, check: FailedCheck, signal: AbortSignal) {
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

export function limitTime({ clock, signal }: Runtime, until: number): AbortSignal {
  return AbortSignal.any([clock.timeout(until - clock.now()), signal]);
}
