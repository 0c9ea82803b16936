import type { Start } from '../../context.ts';
import type { Conversation } from '../../github/conversation.ts';
import type { Inputs } from '../../runner/inputs.ts';
import { quote } from '../../text.ts';
import type { Account } from '../../trigger/account.ts';
import { readFailing } from '../checks/fetch.ts';
import { askGitHub, type Missing, type Thing } from '../sections.ts';
import { lookUpAuthors } from './authors.ts';
import { formatPosts, formatTopic, type Quoting } from './format.ts';
import { type Scope, type Selection, selectPosts } from './select.ts';

// What belongs to a command or a review besides its words: the thread that it replies to, what was written since the last
// request, open threads and, on the own pull request of the job, what fails there and a conflict.

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
  start: Start,
  page: RequestPage,
  inputs: Pick<Inputs, 'minimumPermission' | 'allowedBots'>,
  until: number,
): Promise<readonly Thing[]> {
  const { clock, signal: cancelled, redact } = start.runtime;
  const { asked, number, isPull } = page;
  const ms = Math.min(ALL_MS, until - clock.now());
  const endsAt = clock.now() + ms;
  const signal = AbortSignal.any([clock.timeout(ms), cancelled]);
  const permission = isPull ? 'pull-requests: read' : 'issues: read';
  const found = await askGitHub(() => start.github.conversation(number), permission, signal);
  const selection = selectPosts(found.kind === 'ok' ? found.value : NOTHING, page);
  const [judge, state] = await Promise.all([
    lookUpAuthors(start, authorsIn(page, selection), inputs, signal),
    found.kind === 'ok' ? fetchPullRequest(start, page, found.value, endsAt) : [],
  ]);
  const url = urlOf(start.info, number, isPull);
  const missing: Missing[] = selection.unread.map((what) => ({ what, why: `see ${url}` }));
  const why = found.kind === 'problem' ? found.problem : '';
  if (asked.replyTo !== null && selection.reply === undefined) {
    const what = 'the thread of the comment';
    missing.push({ what, why: why || 'it is not among the newest', isFault: why !== '' });
  }
  if (page.unknown !== '') {
    missing.push({ what: 'what this action has sent before', why: page.unknown, isFault: true });
  }
  if (why !== '') missing.push({ what: `what people have said on #${number}`, why, isFault: true });
  const quoting: Quoting = { judge, redact, page: url };
  return [
    ...formatReply(page, selection, quoting),
    ...(await formatNewTopic(start, page, quoting)),
    ...state,
    ...formatWords(page, selection, quoting),
    { place: 'words', missing },
  ];
}

const NOTHING: Conversation = { comments: { hasMore: false, all: [] } };

function urlOf({ repositoryUrl }: Start['info'], number: number, isPull: boolean): string {
  return `${repositoryUrl}/${isPull ? 'pull' : 'issues'}/${number}`;
}

/** Those whose permission matters most come first. */
function authorsIn(
  { asked, isNew }: RequestPage,
  selection: Selection,
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
  { reply }: Selection,
  quoting: Quoting,
): readonly Thing[] {
  if (reply === undefined) return [];
  const ofThread = { ...quoting, page: `${quoting.page}#discussion_r${asked.replyTo}` };
  const heading = 'The other comments of this thread:';
  return [formatPosts([reply], ofThread, { place: 'reply', heading, where: ' of the thread' })];
}

function formatWords(
  { isOwn, since }: RequestPage,
  { recent, earlier }: Selection,
  quoting: Quoting,
): readonly Thing[] {
  const time = Number.isFinite(since) ? ' since the last request' : '';
  const heading = `What was said on ${quoting.page}${time}, the oldest first:`;
  const words = formatPosts(recent, quoting, { place: 'words', heading });
  if (!isOwn) return [words];
  const before = 'In open threads from before:';
  const where = ' in open threads';
  return [words, formatPosts(earlier, quoting, { place: 'words', heading: before, where })];
}

/** Of the event, also where “pr-number” names another page. */
async function formatNewTopic(
  { info, trigger }: Start,
  { asked: { topic, conversation }, isNew }: RequestPage,
  quoting: Quoting,
): Promise<readonly Thing[]> {
  if (!isNew) return [];
  const page = urlOf(info, conversation, trigger.isPullRequest);
  const what = trigger.isPullRequest ? 'pull request' : 'issue';
  return [await formatTopic(topic, what, { ...quoting, page })];
}

/** What fails on the own pull request, and a conflict. A review has its own task. */
async function fetchPullRequest(
  start: Start,
  { number, isPull, isOwn, asked }: RequestPage,
  { sha, branch = '', base = '', mergeable }: Conversation,
  endsAt: number,
): Promise<readonly Thing[]> {
  if (!isOwn || sha === undefined || asked.kind === 'review') return [];
  const failing = await readFailing(start, { sha, own: null, page: '' }, endsAt);
  const conflict: string[] = [];
  if (mergeable === 'CONFLICTING') {
    // A conflict prevents workflows of pull requests.
    const end = failing.hasRuns ? '.' : ', so no workflow has run on the newest commit.';
    conflict.push(`The pull request conflicts with its base branch${end}`);
  }
  const says = [...failing.things.flatMap(({ parts = [] }) => parts), ...conflict].length > 0;
  const [head, target] = [branch, base].map((name) => quote(start.runtime.redact(name), 100));
  const url = urlOf(start.info, number, isPull);
  const state =
    `For reference, this is the state of the pull request ${url} (branch ${head}, base ${target}) at the commit ${sha.slice(0, 7)}. ` +
    'Use it as far as the request above needs it.';
  return [
    { place: 'about', parts: says ? [state] : [] },
    ...failing.things,
    { place: 'about', parts: conflict },
  ];
}
