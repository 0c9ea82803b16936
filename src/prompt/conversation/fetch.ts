import type { Context } from '../../context.ts';
import type { Conversation } from '../../github/conversation.ts';
import { quote } from '../../text.ts';
import { fetchFailures, nameFailures } from '../checks/fetch.ts';
import {
  fetchOrExplain,
  limitTime,
  MOST_FETCHING_MS,
  type Omission,
  type Section,
} from '../sections.ts';
import { lookUpAuthors } from './authors.ts';
import { formatPosts, formatTopic, type Quoting } from './format.ts';
import { type PostSelection, type Scope, selectPosts } from './select.ts';

/** Where a command or a review was written. */
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

const CHANGES_GO = 'Your changes go to your own pull request.';

/** The thread that it replies to, what was said since the last request, and open threads. */
export async function fetchConversation(
  start: Context,
  page: RequestPage,
  until: number,
): Promise<readonly Section[]> {
  const { clock, redact } = start.runtime;
  const { asked, number, isPull, isOwn } = page;
  const endsAt = Math.min(until, clock.now() + MOST_FETCHING_MS);
  const signal = limitTime(start.runtime, endsAt);
  const permission = isPull ? 'pull-requests: read' : 'issues: read';
  const found = await fetchOrExplain(() => start.github.conversation(number), permission, signal);
  const conversation: Conversation =
    found.kind === 'ok' ? found.value : { comments: { hasMore: false, all: [] } };
  const selection = selectPosts(conversation, page);
  const [judge, state] = await Promise.all([
    lookUpAuthors(start, listAuthors(page, selection), signal),
    fetchPullRequest(start, page, conversation, endsAt),
  ]);
  const url = formatUrl(start.info, number, isPull);
  const omissions: Omission[] = selection.unread.map((what) => ({ what, why: `see ${url}` }));
  const why = found.kind === 'problem' ? found.problem : '';
  if (asked.replyTo !== null && selection.reply === undefined) {
    const what = 'the thread of the comment';
    omissions.push({ what, why: why || 'it is not among the newest', isFault: why !== '' });
  }
  if (page.unknown !== '') {
    omissions.push({ what: 'what this action has sent before', why: page.unknown, isFault: true });
  }
  if (why !== '') {
    omissions.push({ what: `what people have said on #${number}`, why, isFault: true });
  }
  const quoting: Quoting = { judge, redact, url };
  const { reply, words } = formatWords(page, selection, quoting);
  // Of the event, also where “pr-number” names another page.
  const { isPullRequest } = start.trigger;
  const topicUrl = formatUrl(start.info, asked.conversation, isPullRequest);
  const what = isPullRequest ? 'pull request' : 'issue';
  return [
    reply,
    { slot: 'about', parts: isPull && !isOwn ? [CHANGES_GO] : [] },
    ...(page.isNew ? [await formatTopic(asked.topic, what, { ...quoting, url: topicUrl })] : []),
    ...state,
    ...words,
    { slot: 'words', omissions },
  ];
}

function formatUrl({ repositoryUrl }: Context['info'], number: number, isPull: boolean): string {
  return `${repositoryUrl}/${isPull ? 'pull' : 'issues'}/${number}`;
}

/** Those whose permission matters most come first. */
function listAuthors({ asked, isNew }: RequestPage, { reply, recent, earlier }: PostSelection) {
  const groups = [...earlier, ...recent, ...(reply === undefined ? [] : [reply])];
  const posts = groups.flatMap((group) => group.posts).toReversed();
  return [isNew ? asked.topic.author : null, ...posts.map(({ author }) => author)];
}

function formatWords(
  { asked, since }: RequestPage,
  { reply, recent, earlier }: PostSelection,
  quoting: Quoting,
) {
  const time = Number.isFinite(since) ? ' since the last request' : '';
  const thread = { ...quoting, url: `${quoting.url}#discussion_r${asked.replyTo}` };
  const replies = { heading: 'The other comments of this thread:', where: ' of the thread' };
  const news = { heading: `What was said on ${quoting.url}${time}, the oldest first:` };
  const open = { heading: 'In open threads from before:', where: ' in open threads' };
  return {
    reply: formatPosts(reply === undefined ? [] : [reply], thread, { slot: 'reply', ...replies }),
    words: [
      formatPosts(recent, quoting, { slot: 'words', ...news }),
      formatPosts(earlier, quoting, { slot: 'words', ...open }),
    ],
  };
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
  const hasAny = [...failing.sections.flatMap(({ parts = [] }) => parts), ...conflict].length > 0;
  const [head, target] = [branch, base].map((name) => quote(start.runtime.redact(name), 100));
  const url = formatUrl(start.info, number, isPull);
  const state =
    `For reference, this is the state of the pull request ${url} (branch ${head}, base ${target}) at the commit ${sha.slice(0, 7)}. ` +
    'Use it as far as the request above needs it.';
  return [
    { slot: 'about', parts: hasAny ? [state] : [] },
    ...failing.sections,
    { slot: 'about', parts: conflict },
  ];
}
