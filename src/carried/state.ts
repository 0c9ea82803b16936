import { untilAborted } from '../clock.ts';
import { checkPermission } from '../github/authorize.ts';
import { whyOf } from '../github/errors.ts';
import { type CommentTrigger, FAILURES } from '../github/event.ts';
import type { PullState, WorkflowRun } from '../github/pull-state.ts';
import type { Inputs } from '../inputs.ts';
import type { Redact } from '../runner/log.ts';
import type { Start } from '../start.ts';
import { listing, plural, quote } from '../text.ts';
import type { Carried, Late } from './content.ts';
import { explain, type FailedRun, firstOf, readFailedRuns } from './failure.ts';
import { beginsWith, peopleIn, quoteThreads, readable, type Threads } from './threads.ts';

// The state of a pull request, for a command on it: what fails there now, the open threads, and a conflict. A command that
// replies to a comment has its thread in any case. What cannot be read is missing: it never stops a message.

/** Where a command was written. */
export interface About {
  readonly asked: CommentTrigger;
  /** The number of the pull request. */
  readonly pull: number;
  /** Whether it is the one of the job, and the message goes to that job alone. */
  readonly isOwn: boolean;
}

/** Milliseconds for all that is read. */
const ALL_MS = 60_000;
/** Failed runs whose jobs are read, the newest ones. */
const MOST_RUNS = 10;
/** Characters of all logs together. */
const LOGS_ROOM = 8000;
/** People whose permission is asked for. The one who asks has it. */
const MOST_PEOPLE = 5;

type Who = Pick<Inputs, 'minimumPermission' | 'allowedBots'>;

/** The start of a run, and a signal that is aborted when the time is over. */
interface Reading extends Start {
  readonly signal: AbortSignal;
}

/** Null if there is nothing to tell. It ends by `until`, a time of the clock, and never rejects. */
export async function readState(
  start: Start,
  about: About,
  inputs: Who,
  until: number,
): Promise<Late | null> {
  const { clock, signal: cancelled, redact } = start.runtime;
  const ms = Math.min(ALL_MS, until - clock.now());
  const endsAt = clock.now() + ms;
  const reading = { ...start, signal: AbortSignal.any([clock.timeout(ms), cancelled]) };
  const { pull, isOwn } = about;
  const what = `The state of #${pull} could not be read, so the message does not have it`;
  const state = await attempt(reading, what, whyOf, () => start.github.pullState(pull));
  if (state === undefined) return null;
  const sha = state.headRefOid;
  const threads = threadsOf(reading, state, about);
  const [runs, people] = await Promise.all([
    isOwn ? readRuns(reading, sha) : [],
    askPeople(reading, threads, about, inputs),
  ]);
  const quoted = await quoteThreads(threads, { ...inputs, people }, redact);
  const failed = await readFailures(reading, runs, endsAt);
  const isConflict = isOwn && state.mergeable === 'CONFLICTING';
  const told = [
    ...failed.parts,
    ...tellOpenRuns(runs, redact),
    ...(isConflict ? ['The pull request conflicts with its base branch.'] : []),
    ...quoted.parts,
  ];
  const page = `${start.info.repositoryUrl}/pull/${pull}`;
  const head =
    `For reference, this is the state of the pull request ${page} at the commit ${sha.slice(0, 7)}. ` +
    'Use it as far as the request above needs it.';
  // The thread belongs to the request.
  const parts = [...quoted.reply, ...(isOwn && told.length > 0 ? [head] : []), ...told];
  if (parts.length === 0) return null;
  const comments = plural(quoted.count, isOwn ? 'open comment' : 'comment');
  const attached = quoted.count === 0 ? [] : [`+ ${comments}`];
  const carried = { ...failed, parts, attached: [...attached, ...failed.attached] };
  if (failed.outputs.length === 0) return { carried };
  const withoutLogs = [...parts, 'The logs are left out, because there are newer commits.'];
  return {
    carried,
    ifNewer: { pull, sha, carried: { parts: withoutLogs, outputs: [], attached } },
  };
}

/** Undefined if it fails: then, one line in the log says so. A cancelled run reports that alone. */
async function attempt<T>(
  { runtime, signal }: Reading,
  problem: string,
  explain: (error: unknown) => string,
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await untilAborted(read(), signal);
  } catch (error) {
    const why = signal.aborted ? 'GitHub did not answer in time' : explain(error);
    if (!runtime.signal.aborted) runtime.log.info(`${problem}: ${why}.`);
    return undefined;
  }
}

/** Of another pull request than that of the job, only the thread that the command replies to. */
function threadsOf(
  { info, runtime }: Reading,
  { reviewThreads: { nodes, pageInfo } }: PullState,
  { asked, pull, isOwn }: About,
): Threads {
  const { id, replyTo } = asked;
  const threads = nodes.map((thread) => readable(thread, id));
  const reply = threads.find((thread) => replyTo !== null && beginsWith(thread, replyTo));
  if (replyTo !== null && reply === undefined) {
    runtime.log.info(
      'The message does not have the thread of the comment, which is not among the newest.',
    );
  }
  return {
    open: isOwn ? threads.filter((thread) => !thread.isResolved && thread !== reply) : [],
    reply,
    hasOlder: isOwn && pageInfo.hasPreviousPage,
    url: `${info.repositoryUrl}/pull/${pull}`,
  };
}

/**
 * The IDs of people whose comments are carried: the one who asks, and those with the permission. With “minimum-permission: none”,
 * anyone may ask, but a comment that nobody has asked to send needs the permission that is needed by default.
 */
async function askPeople(
  { runtime, trigger, github, signal }: Reading,
  threads: Threads,
  { asked }: About,
  { minimumPermission }: Who,
): Promise<ReadonlySet<number>> {
  const minimum = minimumPermission === 'none' ? 'write' : minimumPermission;
  const others = peopleIn(threads).filter(({ id }) => id !== asked.sender.id);
  const people = others.slice(0, MOST_PEOPLE);
  const answers = await Promise.all(
    people.map(async (person) => {
      const asking = checkPermission(trigger, person, minimum, github);
      const answer = await untilAborted(asking, signal).catch(() => null);
      return { ...person, kind: answer?.kind ?? 'failed' };
    }),
  );
  const unknown = answers.filter(({ kind }) => kind === 'failed');
  if (unknown.length > 0 && !runtime.signal.aborted) {
    const names = listing(unknown.map(({ login }) => quote(login, 100)));
    runtime.log.info(
      `The permission of ${names} could not be checked, so their comments are left out.`,
    );
  }
  const allowed = answers.filter(({ kind }) => kind === 'allowed');
  return new Set([asked.sender, ...allowed].flatMap(({ id }) => id ?? []));
}

/** The newest run of each workflow and event on a commit, without those of this workflow and of forks. */
async function readRuns(reading: Reading, sha: string): Promise<readonly WorkflowRun[]> {
  const { github, info } = reading;
  const what = `The runs on ${sha.slice(0, 7)} could not be read, so the message does not say what fails there`;
  const all = (await attempt(reading, what, whyNoRuns, () => github.runsOn(sha))) ?? [];
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

function whyNoRuns(error: unknown): string {
  return explain(error).problem;
}

/** GitHub can add a ref. */
function fileOf({ path }: WorkflowRun): string {
  return path.replace(/@.*$/, '');
}

function isSame(one: string | undefined, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}

/** What fails, with the jobs and their logs. */
async function readFailures(
  reading: Reading,
  runs: readonly WorkflowRun[],
  until: number,
): Promise<Carried> {
  const failed = runs.flatMap((run) => {
    const failure = FAILURES.get(run.conclusion);
    return failure === undefined ? [] : toFailedRun(run, failure);
  });
  const options = { until, room: LOGS_ROOM, level: 'info' } as const;
  const read = await readFailedRuns(reading, failed.slice(0, MOST_RUNS), options);
  const more = failed.slice(MOST_RUNS).map(({ name }) => quote(reading.runtime.redact(name), 100));
  const parts = more.length === 0 ? [] : [`Also failed: ${firstOf(more)}.`];
  return { ...read, parts: [...read.parts, ...parts] };
}

function toFailedRun(run: WorkflowRun, failure: FailedRun['failure']): FailedRun {
  const { id, run_attempt: attempt = 1, head_sha: sha, html_url: url } = run;
  return { ...{ id, attempt, sha, url, failure }, name: nameOf(run) };
}

function nameOf({ name, path }: WorkflowRun): string {
  return name || path;
}

function tellOpenRuns(runs: readonly WorkflowRun[], redact: Redact): readonly string[] {
  const open = runs.filter(({ status }) => status !== 'completed');
  if (open.length === 0) return [];
  const names = open.map((run) => quote(redact(nameOf(run)), 100));
  return [`Not finished yet: ${firstOf(names)}.`];
}
