import { untilAborted } from '../clock.ts';
import type { CommentTrigger } from '../github/event.ts';
import { checkPermission } from '../github/permission.ts';
import type { PullState } from '../github/pull-state.ts';
import type { Inputs } from '../inputs.ts';
import type { Start } from '../start.ts';
import { listing, plural, quote } from '../text.ts';
import { type Failing, readFailing } from './failing.ts';
import { ask, type Missing, type Thing } from './things.ts';
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
/** People whose permission is asked for. The one who asks has it. */
const MOST_PEOPLE = 5;

type Who = Pick<Inputs, 'minimumPermission' | 'allowedBots'>;

/** The start of a run, and a signal that is aborted when the time is over. */
interface Reading extends Start {
  readonly signal: AbortSignal;
}

/** It ends by `until`, a time of the clock. */
export async function readState(
  start: Start,
  about: About,
  inputs: Who,
  until: number,
): Promise<readonly Thing[]> {
  const { clock, signal: cancelled, redact } = start.runtime;
  const ms = Math.min(ALL_MS, until - clock.now());
  const endsAt = clock.now() + ms;
  const signal = AbortSignal.any([clock.timeout(ms), cancelled]);
  const { pull, isOwn } = about;
  const state = await ask(() => start.github.pullState(pull), 'pull-requests: read', signal);
  if (state.kind === 'problem') {
    const missing = { what: `the state of #${pull}`, why: state.problem, isFault: true };
    return [{ place: 'about', missing: [missing] }];
  }
  const sha = state.value.headRefOid;
  const threads = threadsOf(start, state.value, about);
  const [fails, [people, unknown]] = await Promise.all([
    isOwn ? readFailing(start, { sha, own: null, page: '' }, endsAt) : null,
    askPeople({ ...start, signal }, threads, about, inputs),
  ]);
  const quoted = await quoteThreads(threads, { ...inputs, people }, redact);
  const failing = fails?.things ?? [];
  const conflict = state.value.mergeable === 'CONFLICTING' && fails ? tellConflict(fails) : [];
  const told = [...failing.flatMap(({ parts = [] }) => parts), ...conflict, ...quoted.parts];
  const page = `${start.info.repositoryUrl}/pull/${pull}`;
  const head =
    `For reference, this is the state of the pull request ${page} at the commit ${sha.slice(0, 7)}. ` +
    'Use it as far as the request above needs it.';
  const comments = plural(quoted.count, isOwn ? 'open comment' : 'comment');
  const isLost = about.asked.replyTo !== null && threads.reply === undefined;
  const lost = { what: 'the thread of the comment', why: 'it is not among the newest' };
  return [
    { place: 'reply', parts: quoted.reply, missing: isLost ? [lost] : [] },
    { place: 'about', parts: isOwn && told.length > 0 ? [head] : [] },
    ...failing,
    { place: 'about', parts: conflict },
    {
      place: 'words',
      parts: quoted.parts,
      shown: quoted.count === 0 ? '' : comments,
      missing: unknown,
    },
  ];
}

/** A conflict prevents workflows of pull requests. */
function tellConflict({ hasRuns }: Failing): readonly string[] {
  const conflict = 'The pull request conflicts with its base branch';
  return [hasRuns ? `${conflict}.` : `${conflict}, so no workflow has run on the newest commit.`];
}

/** Of another pull request than that of the job, only the thread that the command replies to. */
function threadsOf(
  { info }: Start,
  { reviewThreads: { nodes, pageInfo } }: PullState,
  { asked, pull, isOwn }: About,
): Threads {
  const { id, replyTo } = asked;
  const threads = nodes.map((thread) => readable(thread, id));
  const reply = threads.find((thread) => replyTo !== null && beginsWith(thread, replyTo));
  return {
    open: isOwn ? threads.filter((thread) => !thread.isResolved && thread !== reply) : [],
    reply,
    hasOlder: isOwn && pageInfo.hasPreviousPage,
    url: `${info.repositoryUrl}/pull/${pull}`,
  };
}

/**
 * The IDs of people whose comments are carried: the one who asks, and those with the permission; and who is left out. With “minimum-permission: none”,
 * anyone may ask, but a comment that nobody has asked to send needs the permission that is needed by default.
 */
async function askPeople(
  { github, signal }: Reading,
  threads: Threads,
  { asked }: About,
  { minimumPermission }: Who,
): Promise<readonly [people: ReadonlySet<number>, unknown: readonly Missing[]]> {
  const minimum = minimumPermission === 'none' ? 'write' : minimumPermission;
  const others = peopleIn(threads).filter(({ id }) => id !== asked.sender.id);
  const people = others.slice(0, MOST_PEOPLE);
  const answers = await Promise.all(
    people.map(async (person) => {
      const asking = checkPermission(person, minimum, github);
      // A cancelled run, or one whose time is over, carries none of it.
      const answer = await untilAborted(asking, signal).catch((error) => {
        if (signal.aborted) return null;
        throw error;
      });
      return { ...person, kind: answer?.kind ?? 'not known' };
    }),
  );
  const unknown = answers.filter(({ kind }) => kind === 'not known');
  const names = listing(unknown.map(({ login }) => quote(login, 100)));
  const missing = { what: `comments by ${names}`, why: 'the permission could not be checked' };
  const allowed = answers.filter(({ kind }) => kind === 'enough');
  const heard = new Set([asked.sender, ...allowed].flatMap(({ id }) => id ?? []));
  return [heard, unknown.length > 0 ? [{ ...missing, isFault: true }] : []];
}
