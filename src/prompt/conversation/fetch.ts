import type { Start } from '../../context.ts';
import type {
  Conversation,
  PostedReview,
  ReviewThread,
  ThreadPage,
} from '../../github/conversation.ts';
import type { Redact } from '../../runner/logger.ts';
import { ok, plural, problem, quote, type Result } from '../../text.ts';
import { type Account, isPerson } from '../../trigger/account.ts';
import { keyOfComment } from '../../trigger/trigger.ts';
import { type Failing, readFailing } from '../checks/fetch.ts';
import { askGitHub, type Missing, type Thing } from '../sections.ts';
import { lookUp, peopleOf, type Speakers, tellLeftOut, type Who } from './authors.ts';
import { type Overheard, overhear, quoteTalks } from './format.ts';
import { quoteTopic } from './issue-text.ts';
import { chooseSince, type SaidSince, type Scope, timeOf, withoutTask } from './select.ts';
import { headOf, isFirst, isThreadOf, nameThreads, tellFirst } from './threads.ts';

// What belongs to a command or a review besides its words: the thread that it replies to, what people have said since they last
// asked and, on the own pull request of the job, what fails there and a conflict.

/** Where it was written. */
export interface About extends Scope {
  /** The number of the issue or pull request. */
  readonly number: number;
  readonly isPull: boolean;
  /** Whether it is the pull request of the job, and the message goes to that job alone. */
  readonly isOwn: boolean;
  /** Whether the job has not heard of it yet, so that the message has its title and text. */
  readonly isNew: boolean;
  /** Why it is not known what has been sent, as a phrase; or empty. */
  readonly unknown: string;
}

/** Milliseconds for all that is read. */
const ALL_MS = 60_000;
/** Of threads, until that of a reply is found. */
const MOST_PAGES = 5;

/** The start of a run, and a signal that is aborted when the time is over. */
interface Reading extends Start {
  readonly signal: AbortSignal;
}

/** It ends by `until`, a time of the clock. The problem is a sentence: a reply means nothing if GitHub does not show its thread. */
export async function readState(
  start: Start,
  about: About,
  who: Who,
  until: number,
): Promise<Result<readonly Thing[]>> {
  const { clock, signal: cancelled } = start.runtime;
  const ms = Math.min(ALL_MS, until - clock.now());
  const endsAt = clock.now() + ms;
  const reading = { ...start, signal: AbortSignal.any([clock.timeout(ms), cancelled]) };
  const { number } = about;
  const { signal } = reading;
  const read = await askGitHub(
    () => start.github.conversation(number),
    permissionFor(about),
    signal,
  );
  const reply = await findReply(reading, about, read);
  if (reply.kind === 'problem') return reply;
  const thread = reply.value?.thread;
  const said = chooseSince(read.kind === 'ok' ? read.value : NOTHING_SAID, about, thread);
  const people = peopleIn(about, said, thread);
  const [speakers, failing] = await Promise.all([
    lookUp(start, people, who, signal),
    read.kind === 'ok' ? readPull(reading, about, read.value, endsAt) : [],
  ]);
  const missing: Missing[] = [];
  if (about.unknown !== '') {
    missing.push({ what: 'what this action has sent before', why: about.unknown, isFault: true });
  }
  if (read.kind === 'problem') {
    const what = `what people have said on #${number}`;
    missing.push({ what, why: read.problem, isFault: true });
  }
  return ok([
    ...(await tellReply(reading, about, reply.value, speakers)),
    ...(await tellTopic(reading, about, speakers)),
    ...failing,
    ...(await tellSaid(reading, about, said, speakers)),
    { place: 'words', missing },
  ]);
}

const NONE = { pageInfo: { hasPreviousPage: false }, nodes: [] };
const NOTHING_SAID: Conversation = { comments: NONE };

function permissionFor({ isPull }: About): string {
  return isPull ? 'pull-requests: read' : 'issues: read';
}

function pageOf({ info }: Start, { number, isPull }: Pick<About, 'number' | 'isPull'>): string {
  return `${info.repositoryUrl}/${isPull ? 'pull' : 'issues'}/${number}`;
}

/** The thread of a reply, or why the message goes without it. */
interface Reply {
  readonly thread?: ReviewThread;
  readonly why: string;
  readonly isFault: boolean;
}

/** Null if it is no reply. */
async function findReply(
  reading: Reading,
  about: About,
  read: Result<Conversation>,
): Promise<Result<Reply | null>> {
  const { github, signal } = reading;
  const { asked, number } = about;
  const { replyTo } = asked;
  if (replyTo === null) return ok(null);
  const key = keyOfComment(asked);
  let page: Result<ThreadPage | undefined> =
    read.kind === 'ok' ? ok(read.value.reviewThreads) : read;
  for (let pages = 1; page.kind === 'ok'; pages += 1) {
    const { nodes = [], pageInfo } = page.value ?? {};
    const thread = nodes.find((one) => isThreadOf(one, key, replyTo));
    if (thread !== undefined) return ok({ thread, why: '', isFault: false });
    const before = pageInfo?.startCursor;
    if (pageInfo?.hasPreviousPage !== true || !before || pages === MOST_PAGES) {
      return ok({ why: 'it is not among the newest', isFault: false });
    }
    page = await askGitHub(() => github.olderThreads(number, before), permissionFor(about), signal);
  }
  if (!page.mayPass) return ok({ why: page.problem, isFault: true });
  const url = `${pageOf(reading, about)}#discussion_r${replyTo}`;
  return problem(`The thread of the comment, ${url}, cannot be read: ${page.problem}.`);
}

/** Those whose permission matters most come first. */
function peopleIn(
  { asked, isNew }: About,
  { comments, reviews, threads }: SaidSince,
  reply: ReviewThread | undefined,
): readonly Account[] {
  const since = [...comments, ...reviews, ...threads.flatMap((one) => one.comments.nodes)];
  const newest = since.toReversed().toSorted((one, other) => timeOf(other) - timeOf(one));
  const replied = reply?.comments.nodes.toReversed() ?? [];
  const author = (isNew && asked.topic?.author) || null;
  return [
    ...(author !== null && isPerson(author) ? [author] : []),
    ...peopleOf([...replied, ...(reply?.first.nodes ?? []), ...newest]),
  ];
}

async function tellReply(
  start: Start,
  about: About,
  reply: Reply | null,
  speakers: Speakers,
): Promise<readonly Thing[]> {
  if (reply === null) return [];
  const { thread, why, isFault } = reply;
  if (thread === undefined) {
    const missing = { what: 'the thread of the comment', why, isFault };
    return [{ place: 'reply', missing: [missing] }];
  }
  const replyTo = about.asked.replyTo ?? 0;
  const first = tellFirst(thread, replyTo, speakers);
  const head = 'The other comments of this thread:';
  const { nodes, totalCount } = withoutTask(thread, about).comments;
  // What is said of a first one that is missing is enough.
  const others = first === null ? nodes : nodes.filter((one) => !isFirst(one, replyTo));
  const { talk, leftOut } = overhear(others, totalCount - nodes.length, head, '', speakers);
  const url = `${pageOf(start, about)}#discussion_r${replyTo}`;
  const { parts, count, missing } = await quoteTalks([talk], start.runtime.redact, url);
  const shown = count === 0 ? '' : `${plural(count, 'comment')} of the thread`;
  const all: Thing = {
    place: 'reply',
    parts,
    shown,
    missing: [...missing, ...tellLeftOut(leftOut)],
  };
  return first === null ? [all] : [first, all];
}

/** Where the job has not heard of it: on the own pull request, it has written the text itself. */
async function tellTopic(
  start: Start,
  about: About,
  speakers: Speakers,
): Promise<readonly Thing[]> {
  const { topic, conversation: number } = about.asked;
  if (!about.isNew || topic === null) return [];
  // Of the event, also where “pr-number” names another one.
  const isPull = start.trigger.isPullRequest;
  const page = pageOf(start, { number, isPull });
  const what = isPull ? 'pull request' : 'issue';
  return [await quoteTopic(topic, what, page, speakers, start.runtime.redact)];
}

/** What fails on the own pull request, and a conflict. A review has its own task. */
async function readPull(
  reading: Reading,
  about: About,
  { headRefOid: sha, headRefName = '', baseRefName = '', mergeable }: Conversation,
  endsAt: number,
): Promise<readonly Thing[]> {
  if (!about.isOwn || sha === undefined || about.asked.kind === 'review') return [];
  const fails = await readFailing(reading, { sha, own: null, page: '' }, endsAt);
  const conflict = mergeable === 'CONFLICTING' ? [tellConflict(fails)] : [];
  const told = [...fails.things.flatMap(({ parts = [] }) => parts), ...conflict];
  const [branch, base] = [headRefName, baseRefName].map((name) =>
    quote(reading.runtime.redact(name), 100),
  );
  const head =
    `For reference, this is the state of the pull request ${pageOf(reading, about)} (branch ${branch}, base ${base}) at the commit ${sha.slice(0, 7)}. ` +
    'Use it as far as the request above needs it.';
  return [
    { place: 'about', parts: told.length > 0 ? [head] : [] },
    ...fails.things,
    { place: 'about', parts: conflict },
  ];
}

/** A conflict prevents workflows of pull requests. */
function tellConflict({ hasRuns }: Failing): string {
  const conflict = 'The pull request conflicts with its base branch';
  return hasRuns ? `${conflict}.` : `${conflict}, so no workflow has run on the newest commit.`;
}

async function tellSaid(
  start: Start,
  about: About,
  said: SaidSince,
  speakers: Speakers,
): Promise<readonly Thing[]> {
  const { redact } = start.runtime;
  const page = pageOf(start, about);
  const { talks, leftOut } = listen(said, speakers, redact);
  const { parts, count, missing } = await quoteTalks(talks, redact, page);
  const since = Number.isFinite(about.since) ? ' since the last request' : '';
  const words: Thing = {
    place: 'words',
    parts:
      parts.length === 0 ? [] : [`What was said on ${page}${since}, the oldest first:`, ...parts],
    shown: count === 0 ? '' : plural(count, 'comment'),
    missing: [
      ...missing,
      ...tellLeftOut(leftOut),
      ...said.unread.map((what) => ({ what, why: `see ${page}` })),
    ],
  };
  return about.isOwn ? [words, await nameThreads(said.quiet, speakers, redact, page)] : [words];
}

/** What is carried of all that was said, the newest first, and what is not. */
function listen({ comments, reviews, threads }: SaidSince, speakers: Speakers, redact: Redact) {
  const heard: { readonly at: number; readonly one: Overheard }[] = [];
  for (const text of comments) {
    heard.push({ at: timeOf(text), one: overhear([text], 0, '', '', speakers) });
  }
  for (const text of reviews) {
    heard.push({ at: timeOf(text), one: overhear([text], 0, '', whichReview(text), speakers) });
  }
  for (const thread of threads) {
    const { nodes, totalCount } = thread.comments;
    const [head, older] = [headOf(thread, redact), totalCount - nodes.length];
    const at = Math.max(...nodes.map(timeOf));
    heard.push({ at, one: overhear(nodes, older, head, ' in this thread', speakers) });
  }
  // Of those of one second, such as the threads of a review, the later ones are the newer ones.
  const newestFirst = heard.toReversed().toSorted((one, other) => other.at - one.at);
  return {
    talks: newestFirst.map(({ one }) => one.talk),
    leftOut: heard.flatMap(({ one }) => one.leftOut),
  };
}

function whichReview({ state }: PostedReview): string {
  if (state === 'CHANGES_REQUESTED') return ' in a review that requests changes';
  return state === 'APPROVED' ? ' in a review that approves' : ' in a review';
}
