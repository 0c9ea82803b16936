import type { Context } from '../../context.ts';
import type { Conversation } from '../../github/conversation.ts';
import { fetchOrExplain } from '../../github/errors.ts';
import { quote } from '../../text.ts';
import type { CommentTrigger } from '../../trigger/trigger.ts';
import { fetchFailures, limitTime, nameFailures } from '../checks/fetch.ts';
import { type Omission, omitProblem, type Section } from '../sections.ts';
import { lookUpAuthors } from './authors.ts';
import { formatPosts, formatTopic, type Quoting } from './format.ts';
import { type RequestPage, selectPosts } from './select.ts';

const CHANGES_GO = 'Your changes go to your own pull request.';

/** The thread that it replies to, what was said since the last request, and open threads. */
export async function fetchConversation(
  context: Context,
  page: RequestPage,
  until: number,
): Promise<readonly Section[]> {
  const { runtime, info, trigger, github } = context;
  const { source, number, isPull, isOwn, isNew } = page;
  const signal = limitTime(runtime, until);
  const permission = isPull ? 'pull-requests: read' : 'issues: read';
  const found = await fetchOrExplain(() => github.conversation(number), permission, signal);
  const conversation: Conversation =
    found.kind === 'ok' ? found.value : { comments: { hasMore: false, all: [] } };
  const { reply, recent, earlier, unread } = selectPosts(conversation, page);
  // Those whose permission matters most come first.
  const posts = [...earlier, ...recent, ...reply].flatMap((group) => group.posts).toReversed();
  const authors = [isNew ? source.topic.author : null, ...posts.map(({ author }) => author)];
  const formatUrl = (isOfPull: boolean, of: number): string =>
    `${info.repositoryUrl}/${isOfPull ? 'pull' : 'issues'}/${of}`;
  const url = formatUrl(isPull, number);
  const [judge, state] = await Promise.all([
    lookUpAuthors(context, authors, signal),
    fetchPullRequest(context, { ...conversation, ...{ source, url, until } }),
  ]);
  const quoting: Quoting = { judge, redact: runtime.redact, url };
  const ofThread = { ...quoting, url: `${url}#discussion_r${source.replyTo}` };
  // Of the event, also where “pr-number” names another page.
  const ofTopic = { ...quoting, url: formatUrl(trigger.isPullRequest, source.conversation) };
  const topic = trigger.isPullRequest ? 'pull request' : 'issue';
  const time = Number.isFinite(page.since) ? ' since the last request' : '';
  const replies = { heading: 'The other comments of this thread:', where: ' of the thread' };
  const news = { heading: `What was said on ${url}${time}, the oldest first:` };
  const open = { heading: 'In open threads from before:', where: ' in open threads' };
  const why = found.kind === 'problem' ? found.problem : 'it is not among the newest';
  const thread = { what: 'the thread of the comment', why, isFault: found.kind === 'problem' };
  const omissions: readonly Omission[] = [
    ...unread.map((what) => ({ what, why: `see ${url}` })),
    ...(source.replyTo !== null && reply.length === 0 ? [thread] : []),
    ...omitProblem('what this action has sent before', page.ledger),
    ...omitProblem(`what people have said on #${number}`, found),
  ];
  return [
    formatPosts(reply, ofThread, { slot: 'reply', ...replies }),
    { slot: 'about', parts: isPull && !isOwn ? [CHANGES_GO] : [] },
    ...(isNew ? [await formatTopic(source.topic, topic, ofTopic)] : []),
    ...state,
    formatPosts(recent, quoting, { slot: 'words', ...news }),
    formatPosts(earlier, quoting, { slot: 'words', ...open }),
    { slot: 'words', omissions },
  ];
}

/** What fails on a pull request, and a conflict. A review has its own task. */
async function fetchPullRequest(
  context: Context,
  page: Conversation & { source: CommentTrigger; url: string; until: number },
): Promise<readonly Section[]> {
  const { sha, branch = '', base = '', mergeable, isElsewhere, source, url, until } = page;
  if (sha === undefined || source.kind === 'review') return [];
  const { sections, hasRuns } = isElsewhere
    ? await nameFailures(context, sha, until)
    : await fetchFailures(context, { sha, own: null }, until);
  // A conflict prevents workflows of pull requests.
  const end = hasRuns ? '.' : ', so no workflow has run on the newest commit.';
  const conflict =
    mergeable === 'CONFLICTING' ? [`The pull request conflicts with its base branch${end}`] : [];
  const hasAny = conflict.length > 0 || sections.some(({ parts = [] }) => parts.length > 0);
  const [head, target] = [branch, base].map((name) => quote(context.runtime.redact(name), 100));
  const state =
    `For reference, this is the state of the pull request ${url} (branch ${head}, base ` +
    `${target}) at the commit ${sha.slice(0, 7)}. Use it as far as the request above needs it.`;
  return [
    { slot: 'about', parts: hasAny ? [state] : [] },
    ...sections,
    { slot: 'about', parts: conflict },
  ];
}
