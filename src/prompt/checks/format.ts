import { type Annotation, neverStarted, type RunJob } from '../../github/checks.ts';
import type { Redact } from '../../runner/logger.ts';
import { listing, quote, type Result } from '../../text.ts';
import { FAILURES } from '../../trigger/trigger.ts';
import { clean, type Output, tailOf, toOutput } from '../logs/clean.ts';
import type { KeptLog } from '../logs/failed-steps.ts';
import type { LogRead } from '../logs/fetch.ts';
import { withoutRepetition } from '../logs/repeated-lines.ts';
import type { Missing, Thing } from '../sections.ts';
import { isPastTimeLimit, quoteAnnotations } from './annotations.ts';
import type { FailedCheck, FailedRun } from './select.ts';

// What a message says of the runs and checks that fail on a commit. Those of the event come first.

const ALSO_FAILS =
  'Also fails on this commit; fix it only if the cause is the same, or the documentation is at fault:';
/** Failed jobs, runs or checks that are named. */
const MOST_NAMES = 20;
/** Names that are shown of jobs in the comment, and of steps without a log. */
const MOST_SHOWN = 8;
/** Jobs and checks whose annotations, and logs or outputs, a message has. */
const MOST_SOURCES = 8;
/** Characters of the title and summary of a check. */
const LONGEST_SUMMARY = 3000;

/** A run, and its jobs. */
export interface ListedRun {
  readonly kind: 'run';
  readonly run: FailedRun;
  readonly isOwn: boolean;
  readonly jobs: Result<readonly RunJob[]>;
}

export interface ListedCheck {
  readonly kind: 'check';
  readonly check: FailedCheck;
  readonly isOwn: boolean;
}

/** What failed, before annotations and logs are read. */
export interface Failures {
  /** Those of the event first, then runs, then checks. */
  readonly all: readonly (ListedRun | ListedCheck)[];
  /** Between “ and ”: what failed, too, but is only named. */
  readonly further: readonly string[];
}

/** A job or a check of which a message has annotations, and a log or an output. The ID of a job is that of its check. */
export type Source = { readonly id: number; readonly name: string } & (
  | { readonly of: ListedRun; readonly job: RunJob }
  | { readonly of: ListedCheck; readonly job: null }
);

/** By the IDs of jobs and checks. */
export interface Read {
  readonly annotations: ReadonlyMap<number, Result<readonly Annotation[]>>;
  /** How many there are, as far as that is known. */
  readonly counts: ReadonlyMap<number, number>;
  readonly logs: ReadonlyMap<number, LogRead>;
}

/**
 * In the order in which they count: those of the event, also cancelled ones if its run was cancelled, which may be past their time
 * limits; checks with annotations; others; and other jobs that were cancelled. A job that never started has nothing.
 */
export function sourcesOf({ all }: Failures, redact: Redact) {
  const runs = all.filter(({ kind }) => kind === 'run').length;
  const sources = all.flatMap((one) => sourcesIn(one, runs > 1, redact));
  const ranked = sources.toSorted((one, other) => rankOfSource(one) - rankOfSource(other));
  return { chosen: ranked.slice(0, MOST_SOURCES), left: ranked.slice(MOST_SOURCES) };
}

function sourcesIn(
  one: ListedRun | ListedCheck,
  isOneOfMany: boolean,
  redact: Redact,
): readonly Source[] {
  if (one.kind === 'check') {
    const { id, name } = one.check;
    return [{ id, name: quoteName(name, redact), of: one, job: null }];
  }
  if (one.jobs.kind === 'problem') return [];
  const of = isOneOfMany ? ` of ${quoteName(one.run.name, redact)}` : '';
  return one.jobs.value
    .filter((job) => (hasFailed(job) || wasCancelled(job)) && !neverStarted(job))
    .map((job) => ({ id: job.id, name: `${quoteName(job.name, redact)}${of}`, of: one, job }));
}

function rankOfSource(source: Source): number {
  const { of, job } = source;
  if (isBeside(source)) return 4;
  if (of.isOwn) return job !== null && wasCancelled(job) ? 1 : 0;
  return of.kind === 'check' && of.check.annotations > 0 ? 2 : 3;
}

/** A job that was cancelled, perhaps because another one failed. */
function isBeside({ of, job }: Source): boolean {
  const isCancelled = job !== null && wasCancelled(job);
  return isCancelled && !(of.isOwn && of.run.failure === 'was cancelled');
}

export function hasFailed({ conclusion }: Pick<RunJob, 'conclusion'>): boolean {
  return FAILURES.has(conclusion);
}

function wasCancelled({ conclusion }: RunJob): boolean {
  return conclusion === 'cancelled';
}

/** Whether a job failed after all, because of its `timeout-minutes`. */
function isPastLimit({ id }: { readonly id: number }, { annotations }: Read): boolean {
  const read = annotations.get(id);
  return read?.kind === 'ok' && isPastTimeLimit(read.value);
}

/** The jobs that were cancelled and whose logs may say more: past their limits, or if no job that failed says why. */
export function withoutReason(
  sources: readonly Source[],
  read: Read,
  redact: Redact,
): readonly RunJob[] {
  const cancelled: RunJob[] = [];
  for (const { of, job } of sources) {
    if (job === null || !wasCancelled(job)) continue;
    const failed = sources.filter((one) => one.of === of && one.job && hasFailed(one.job));
    const isSilent = failed.length > 0 && failed.every((one) => !saysWhy(one, read, redact));
    if (isSilent || isPastLimit(job, read)) cancelled.push(job);
  }
  return cancelled;
}

const EXIT_CODE_LINE = /##\[error\]Process completed with exit code \d+\.?$/;
/** Of a script, which the runner shows before it runs it. */
const SCRIPT_LINE = /##\[|\x1b\[36;1m/;

/** Whether there is more than that it has failed. */
function saysWhy(source: Source, read: Read, redact: Redact): boolean {
  if (annotationsOf(source, read, redact) !== undefined) return true;
  const log = read.logs.get(source.id);
  if (log?.kind !== 'ok') return true;
  return log.value.parts.some(({ tail }) =>
    tail.text.split('\n').some((line) => {
      const text = line.replace(/^\S+Z /, '').trim();
      return text !== '' && !EXIT_CODE_LINE.test(text) && !SCRIPT_LINE.test(text);
    }),
  );
}

/** What the failures are told with. */
interface Telling {
  /** The commit, and where it is: ` on the commit 311411a of the pull request https://…`. */
  readonly sha: string;
  readonly where: string;
  /** What became of the run or check of the event since, as a sentence; or empty. */
  readonly since: string;
  readonly redact: Redact;
}

export function tellFailures(
  failures: Failures,
  { chosen, left }: ReturnType<typeof sourcesOf>,
  read: Read,
  telling: Telling,
): readonly Thing[] {
  const { redact } = telling;
  const shown = chosen.filter((source) => isShown(source, read));
  const annotations = new Map<Source, Output>();
  const said: Output[] = [];
  const logs: (readonly Output[])[] = [];
  for (const source of shown) {
    const { id, name, of } = source;
    const quoted = annotationsOf(source, read, redact);
    if (quoted !== undefined) annotations.set(source, quoted);
    if (of.kind === 'check') said.push(...outputsOfCheck(name, of.check, redact));
    const log = read.logs.get(id);
    if (log?.kind === 'ok') logs.push(outputsOf(name, log.value, redact));
  }
  return [
    { place: 'about', parts: describeAll(failures, read, telling) },
    { place: 'logs', outputs: [...annotations.values(), ...said, ...withoutRepetition(logs)] },
    ...failures.all.map((one) => showTo(one, shown, annotations, read, telling)),
    { place: 'logs', missing: [...missingLogs(shown, read, redact), ...leftOut(left)] },
    ...failures.all.map((one) => missingJobs(one, redact)),
  ];
}

/** A job that was cancelled says nothing of a failure, unless it was asked for its log. */
function isShown({ id, job }: Source, { logs }: Read): boolean {
  return job === null || !wasCancelled(job) || logs.has(id);
}

function annotationsOf({ id, name, of }: Source, read: Read, redact: Redact): Output | undefined {
  const answer = read.annotations.get(id);
  if (answer?.kind !== 'ok') return undefined;
  const count = of.kind === 'check' ? of.check.annotations : (read.counts.get(id) ?? 0);
  return quoteAnnotations(
    `the ${of.kind === 'check' ? whatIs(of) : 'job'} ${name}`,
    answer.value,
    count,
    redact,
  );
}

// What the agent gets.

function describeAll({ all, further }: Failures, read: Read, telling: Telling): readonly string[] {
  const { where, since, redact } = telling;
  const own: string[] = [];
  const others: string[] = [];
  for (const one of all) {
    const jobs = one.kind === 'run' ? describeJobs(one, read, redact) : [];
    // Checks stand for the jobs of the run of the event that could not be read.
    const isFirst = one.isOwn && own.length === 0;
    const said = isFirst ? [sayFailed(one, where, redact), since] : [sayFailed(one, '', redact)];
    (one.isOwn ? own : others).push(...said, ...jobs);
  }
  if (further.length > 0) others.push(`Also failed: ${listFirst(further)}.`);
  return own.length > 0 && others.length > 0
    ? [...own, ALSO_FAILS, ...others]
    : [...own, ...others];
}

function sayFailed(one: ListedRun | ListedCheck, where: string, redact: Redact): string {
  const { name, failure, url } = one.kind === 'run' ? one.run : one.check;
  const said = `The ${whatIs(one)} ${quoteName(name, redact)} ${failure}${where}`;
  return url === '' ? said : `${said}: ${url}`;
}

function whatIs(one: ListedRun | ListedCheck): string {
  if (one.kind === 'run') return 'workflow';
  return one.check.runId === null ? 'check' : 'job';
}

function describeJobs({ run, jobs }: ListedRun, read: Read, redact: Redact): readonly string[] {
  if (run.failure === 'could not start') {
    return [
      'None of its jobs has run, so there is no log. Its page says why; often the file of the workflow has an error.',
    ];
  }
  if (jobs.kind === 'problem') return [];
  const cancelled = jobs.value.filter(wasCancelled);
  const late = cancelled.filter((job) => isPastLimit(job, read));
  const told = [
    tellJobs(
      ['Failed job', 'Failed jobs'],
      jobs.value.filter((job) => hasFailed(job) && !neverStarted(job)),
      redact,
    ),
    tellJobs(['Job stopped at its time limit', 'Jobs stopped at their time limits'], late, redact),
    tellJobs(
      ['Cancelled job', 'Cancelled jobs'],
      cancelled.filter((job) => !late.includes(job)),
      redact,
    ),
  ].filter((sentence) => sentence !== '');
  const never = whyNeverStarted(jobs.value, redact);
  if (never === '' && told.length === 0 && run.failure !== 'was cancelled') {
    return ['GitHub lists no failed job of it. Its page may say more.'];
  }
  return [...told, never];
}

function tellJobs(
  [one, many]: readonly [one: string, many: string],
  jobs: readonly RunJob[],
  redact: Redact,
): string {
  if (jobs.length === 0) return '';
  const names = jobs.map(({ name }) => quoteName(name, redact));
  return `${names.length === 1 ? one : many}: ${listFirst(names)}.`;
}

/** Because of a payment, for want of a runner, or because nobody approved it. Empty if GitHub ran all jobs. */
function whyNeverStarted(jobs: readonly RunJob[], redact: Redact): string {
  const never = jobs.filter((job) => hasFailed(job) && neverStarted(job));
  if (never.length === 0) return '';
  const names = listFirst(never.map(({ name }) => quoteName(name, redact)));
  return never.length === 1
    ? `GitHub did not run the job ${names}; its page says why.`
    : `GitHub did not run the jobs ${names}; their pages say why.`;
}

/** Why nobody can fix what failed in a run, as a sentence: GitHub ran none of the jobs. Empty if a job failed by itself. */
export function whyNothingRan({ jobs }: ListedRun, redact: Redact): string {
  if (jobs.kind === 'problem') return '';
  const started = jobs.value.filter((job) => !neverStarted(job));
  const mayHaveFailed = started.some((job) => hasFailed(job) || wasCancelled(job));
  return mayHaveFailed ? '' : whyNeverStarted(jobs.value, redact);
}

/** The title and the summary explain the text, of which only a part may be shown. Of a long summary, the beginning has the result. */
function outputsOfCheck(
  name: string,
  { said, text }: FailedCheck,
  redact: Redact,
): readonly Output[] {
  const output = `output of the check ${name}`;
  const outputs: Output[] = [];
  const begin = redact(clean(said)).slice(0, LONGEST_SUMMARY);
  if (begin.length < LONGEST_SUMMARY) {
    if (said !== '') outputs.push(toOutput(`The ${output}`, tailOf(Buffer.from(said)), redact));
  } else {
    const lines = begin.slice(0, Math.max(begin.lastIndexOf('\n'), LONGEST_SUMMARY / 2));
    outputs.push(toOutput(`The beginning of the ${output}`, tailOf(Buffer.from(lines)), redact));
  }
  if (text !== '') {
    outputs.push(toOutput(`The text of the ${output}`, tailOf(Buffer.from(text)), redact));
  }
  return outputs;
}

function outputsOf(name: string, { parts }: KeptLog, redact: Redact): readonly Output[] {
  return parts.map(({ step, tail, isOptional }) => {
    const of = step === null ? '' : `the step ${quoteNameShort(step, redact)} of `;
    const mayFail = isOptional ? ', which failed although the workflow went on' : '';
    return toOutput(`The log of ${of}the job ${name}${mayFail}`, tail, redact, isOptional);
  });
}

// What people see of it, and what is missing.

/** `log of “links” and “build”, annotations of “links” (“CI”, c356495)` */
function showTo(
  one: ListedRun | ListedCheck,
  shown: readonly Source[],
  annotations: ReadonlyMap<Source, Output>,
  read: Read,
  { sha, redact }: Telling,
): Thing {
  const here = shown.filter(({ of }) => of === one);
  const kinds = new Map<string, string[]>();
  for (const source of here) {
    const { id, of, job } = source;
    const has = [
      annotations.has(source) ? 'annotations' : '',
      read.logs.get(id)?.kind === 'ok' ? 'log' : '',
      of.kind === 'check' && hasOutput(of.check) ? 'output' : '',
    ].filter((what) => what !== '');
    const name = quoteNameShort(job?.name ?? (of.kind === 'check' ? of.check.name : ''), redact);
    const kind = listing(has);
    if (kind !== '') kinds.set(kind, [...(kinds.get(kind) ?? []), name]);
  }
  const phrases = [...kinds].map(([what, names]) => `${what} of ${listFirst(names, MOST_SHOWN)}`);
  if (phrases.length === 0) return { place: 'about' };
  const run = one.kind === 'run' ? `${quoteNameShort(one.run.name, redact)}, ` : '';
  return { place: 'about', shown: `${listing(phrases)} (${run}${sha.slice(0, 7)})` };
}

function hasOutput({ said, text }: FailedCheck): boolean {
  return said !== '' || text !== '';
}

function missingJobs(one: ListedRun | ListedCheck, redact: Redact): Thing {
  if (one.kind === 'check' || one.jobs.kind === 'ok') return { place: 'about' };
  const what = `the failed jobs of ${quoteNameShort(one.run.name, redact)}`;
  return { place: 'about', missing: [{ what, why: one.jobs.problem, isFault: true }] };
}

function missingLogs(shown: readonly Source[], { annotations, logs }: Read, redact: Redact) {
  const missing: Missing[] = [];
  for (const [what, read] of [
    ['annotations', annotations],
    ['log', logs],
  ] as const) {
    const problemOf = ({ id }: Source): string => {
      const answer = read.get(id);
      return answer?.kind === 'problem' ? answer.problem : '';
    };
    const byReason = Map.groupBy(shown, problemOf);
    byReason.delete('');
    for (const [why, some] of byReason) {
      const names = some.map(({ name }) => name);
      missing.push({ what: `the ${what} of ${listFirst(names)}`, why, isFault: true });
    }
  }
  for (const { id, name } of shown) {
    const log = logs.get(id);
    const without = log?.kind === 'ok' ? log.value.without : [];
    const steps = listFirst(
      without.map((step) => quoteNameShort(step, redact)),
      MOST_SHOWN,
    );
    if (without.length > 0)
      missing.push({ what: `the log of the step ${steps} of ${name}`, why: '' });
  }
  return missing;
}

function leftOut(left: readonly Source[]): readonly Missing[] {
  const names = left.filter((source) => !isBeside(source)).map(({ name }) => name);
  if (names.length === 0) return [];
  const why = `a message has the logs and annotations of ${MOST_SOURCES} jobs and checks at most`;
  return [{ what: `what ${listFirst(names)} say`, why }];
}

/** A name by others in a message, in one line. */
export function quoteName(name: string, redact: Redact): string {
  return quote(redact(name), 100);
}

/** The same for people. */
export function quoteNameShort(name: string, redact: Redact): string {
  return quote(redact(name), 60);
}

/** `a, b and 12 more` */
export function listFirst(names: readonly string[], most = MOST_NAMES): string {
  const more = names.length - most;
  return listing(more > 0 ? [...names.slice(0, most), `${more} more`] : names);
}
