import type { Context } from '../../context.ts';
import type { Conversation } from '../../github/conversation.ts';
import { quote } from '../../text.ts';
import type { Account } from '../../trigger/account.ts';
import { fetchFailures, nameFailures } from '../checks/fetch.ts';
import { fetchOrExplain, type Omission, type Section } from '../sections.ts';
import { lookUpAuthors } from './authors.ts';
import { formatPosts, formatTopic, type Quoting } from './format.ts';
import { type PostSelection, type Scope, selectPosts } from './select.ts';

// What belongs to a command or a review besides its words: the thread that it replies to, what was written since the last
// request and, on a pull request, open threads, what fails there and a conflict.

/** Where it was written. */
export interface RequestPage extends Scope {
  /** The number of the issue or pull request. */
  readonly number: number;
  readonly isPull: boolean;
  /** Whether it is the pull request of the job, and the message goes to that job alone. */
  readonly isOwn: boolean;
  /** Whether a job has got no message here yet, so that the message has its title and text. */
  readonly isNew: boolean;
  /** Why it is not known what has been sent, as a phrase; or empty. */
  readonly unknown: string;
}

/** Milliseconds for all that is fetched. */
const ALL_MS = 60_000;

/** It ends by `until`, a time of the clock. */
export async function fetchConversation(
  start: Context,
  page: RequestPage,
  until: number,
): Promise<readonly Section[]> {
  const { clock, signal: cancelled, redact } = start.runtime;
  const { asked, number, isPull } = page;
  const ms = Math.min(ALL_MS, until - clock.now());
  const endsAt = clock.now() + ms;
  const signal = AbortSignal.any([clock.timeout(ms), cancelled]);
  const permission = isPull ? 'pull-requests: read' : 'issues: read';
  const found = await fetchOrExplain(() => start.github.conversation(number), permission, signal);
  const selection = selectPosts(found.kind === 'ok' ? found.value : NOTHING, page);
  const [judge, state] = await Promise.all([
    lookUpAuthors(start, authorsIn(page, selection), signal),
    found.kind === 'ok' ? fetchPullRequest(start, page, found.value, endsAt) : [],
  ]);
  const url = urlOf(start.info, number, isPull);
  const omissions: Omission[] = selection.unread.map((what) => ({ what, why: `see ${url}` }));
  const why = found.kind === 'problem' ? found.problem : '';
  if (asked.replyTo !== null && selection.reply === undefined) {
    const what = 'the thread of the comment';
    omissions.push({ what, why: why || 'it is not among the newest', isFault: why !== '' });
  }
  if (page.unknown !== '') {
    omissions.push({ what: 'what this action has sent before', why: page.unknown, isFault: true });
  }
  if (why !== '')
    omissions.push({ what: `what people have said on #${number}`, why, isFault: true });
  const quoting: Quoting = { judge, redact, page: url };
  return [
    ...formatReply(page, selection, quoting),
    { place: 'about', parts: isPull && !page.isOwn ? [CHANGES_GO] : [] },
    ...(await formatNewTopic(start, page, quoting)),
    ...state,
    ...formatWords(page, selection, quoting),
    { place: 'words', omissions },
  ];
}

/** What the message says on any other pull request. */
const CHANGES_GO = 'Your changes go to your own pull request.';
const NOTHING: Conversation = { comments: { hasMore: false, all: [] } };

function urlOf({ repositoryUrl }: Context['info'], number: number, isPull: boolean): string {
  return `${repositoryUrl}/${isPull ? 'pull' : 'issues'}/${number}`;
}

/** Those whose permission matters most come first. */
function authorsIn(
  { asked, isNew }: RequestPage,
  selection: PostSelection,
): readonly (Account | null)[] {
  const { reply, recent, earlier } = selection;
  const groups = [
    ...(reply === undefined ? [] : [reply]),
    ...recent.toReversed(),
    ...earlier.toReversed(),
  ];
  const authors = groups.flatMap(({ posts }) => posts.toReversed().map(({ author }) => author));
  return [isNew ? asked.topic.author : null, ...authors];
}

function formatReply(
  { asked }: RequestPage,
  { reply }: PostSelection,
  quoting: Quoting,
): readonly Section[] {
  if (reply === undefined) return [];
  const ofThread = { ...quoting, page: `${quoting.page}#discussion_r${asked.replyTo}` };
  const heading = 'The other comments of this thread:';
  return [formatPosts([reply], ofThread, { place: 'reply', heading, where: ' of the thread' })];
}

function formatWords(
  { since }: RequestPage,
  { recent, earlier }: PostSelection,
  quoting: Quoting,
): readonly Section[] {
  const time = Number.isFinite(since) ? ' since the last request' : '';
  const heading = `What was said on ${quoting.page}${time}, the oldest first:`;
  const words = formatPosts(recent, quoting, { place: 'words', heading });
  const before = 'In open threads from before:';
  const where = ' in open threads';
  return [words, formatPosts(earlier, quoting, { place: 'words', heading: before, where })];
}

/** Of the event, also where “pr-number” names another page. */
async function formatNewTopic(
  { info, trigger }: Context,
  { asked: { topic, conversation }, isNew }: RequestPage,
  quoting: Quoting,
): Promise<readonly Section[]> {
  if (!isNew) return [];
  const page = urlOf(info, conversation, trigger.isPullRequest);
  const what = trigger.isPullRequest ? 'pull request' : 'issue';
  return [await formatTopic(topic, what, { ...quoting, page })];
}

/** What fails on a pull request, and a conflict. A review has its own task. */
async function fetchPullRequest(
  start: Context,
  { number, isPull, asked }: RequestPage,
  { sha, branch = '', base = '', mergeable, isElsewhere }: Conversation,
  endsAt: number,
): Promise<readonly Section[]> {
  if (sha === undefined || asked.kind === 'review') return [];
  const failing = isElsewhere
    ? await nameFailures(start, sha, endsAt)
    : await fetchFailures(start, { sha, own: null, page: '' }, endsAt);
  const conflict: string[] = [];
  if (mergeable === 'CONFLICTING') {
    // A conflict prevents workflows of pull requests.
    const end = failing.hasRuns ? '.' : ', so no workflow has run on the newest commit.';
    conflict.push(`The pull request conflicts with its base branch${end}`);
  }
  const says = [...failing.sections.flatMap(({ parts = [] }) => parts), ...conflict].length > 0;
  const [head, target] = [branch, base].map((name) => quote(start.runtime.redact(name), 100));
  const url = urlOf(start.info, number, isPull);
  const state =
    `For reference, this is the state of the pull request ${url} (branch ${head}, base ${target}) at the commit ${sha.slice(0, 7)}. ` +
    'Use it as far as the request above needs it.';
  return [
    { place: 'about', parts: says ? [state] : [] },
    ...failing.sections,
    { place: 'about', parts: conflict },
  ];
}
