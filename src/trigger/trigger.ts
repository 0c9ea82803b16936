import { type PullRequestHead, parseState } from '../pull-request.ts';
import { parseJson } from '../text.ts';
import { ok, problem, type Result } from '../value-or-problem.ts';

// Fields have the types that GitHub documents; simulators of runners leave out many.

/**
 * A payload, or an object in it, with the fields that are read:
 * https://docs.github.com/en/webhooks/webhook-events-and-payloads.
 */
type Payload = {
  readonly [Field in
    | ('sender' | 'user' | 'issue' | 'pull_request' | 'review' | 'comment')
    | ('repository' | 'repo' | 'head' | 'base' | 'head_repository' | 'performed_via_github_app')
    | ('workflow_run' | 'check_run' | 'check_suite' | 'app')]?: Payload | null;
} & {
  readonly [Field in
    | ('action' | 'login' | 'type' | 'node_id' | 'state' | 'title' | 'body' | 'merged_at')
    // On a push, “ref” is a full name, otherwise that of a branch or tag.
    | ('ref' | 'ref_type' | 'default_branch' | 'head_branch' | 'sha' | 'head_sha')
    | ('conclusion' | 'name' | 'html_url' | 'path' | 'subject_type' | 'diff_hunk')]?: string | null;
} & {
  readonly [Field in 'id' | 'number' | 'in_reply_to_id' | 'line' | 'start_line']?: number | null;
} & {
  readonly private?: boolean | null;
  readonly pull_requests?: readonly Payload[] | null;
};

export interface Account {
  readonly login: string;
  /** Null if only the login is known, as for the actor who re-ran a workflow. */
  readonly id: number | null;
  readonly type: string;
}

export type Trigger = Readonly<ReturnType<typeof parseFacts>> &
  (
    | { readonly kind: 'comment'; readonly comment: CommentTrigger }
    | { readonly kind: 'check'; readonly check: CommitTrigger }
    | { readonly kind: 'workflow' }
  );
export type CommentTrigger = Readonly<NonNullable<ReturnType<typeof parseComment>>>;
export type CommitTrigger = Readonly<NonNullable<ReturnType<typeof parseCheck>>>;

/** A job past its time limit ends as cancelled, and its run, too. */
export const FAILURES: ReadonlyMap<string | null, string> = new Map([
  ['failure', 'failed'],
  ['timed_out', 'timed out'],
  ['startup_failure', 'could not start'],
]);

export const COMMENT_EVENTS: ReadonlyMap<string, 'comment' | 'review-comment' | 'review'> = new Map(
  [
    ['issue_comment', 'comment'],
    ['pull_request_review', 'review'],
    ['pull_request_review_comment', 'review-comment'],
  ],
);

const CHECK_EVENTS = ['workflow_run', 'check_run'] as const;

export function parseTrigger(event: string, file: Uint8Array | null): Result<Trigger> {
  if (file === null) return problem('the event file cannot be read');
  const payload = parseJson(new TextDecoder().decode(file)) as Payload | null | undefined;
  if (typeof payload !== 'object' || payload === null) {
    return problem('the event file does not contain a JSON object');
  }
  const facts = parseFacts(event, payload);
  if (COMMENT_EVENTS.has(event)) {
    const comment = parseComment(payload, facts);
    return comment === null
      ? problem('the event file does not say who wrote the comment, and where')
      : ok({ ...facts, kind: 'comment', comment });
  }
  const kind = CHECK_EVENTS.find((name) => name === event);
  if (kind === undefined) return ok({ ...facts, kind: 'workflow' });
  const check = parseCheck(kind, payload);
  if (check === null) return problem('the event file does not say which commit it is about');
  const conversation = choosePull(check.pulls, check)?.number ?? null;
  return ok({ ...facts, conversation, isPullRequest: conversation !== null, kind: 'check', check });
}

function parseFacts(event: string, payload: Payload) {
  const { issue, pull_request: pull, repository } = payload;
  const onPull = pull ?? (issue?.pull_request && { ...issue, ...issue.pull_request });
  const headRepository = pull?.head?.repo?.id;
  return {
    event,
    action: payload.action ?? '',
    conversation: issue?.number ?? pull?.number ?? null,
    isPullRequest: Boolean(onPull),
    /** Of that pull request; `open` also if the event does not say it. */
    state: parseState(onPull?.state ?? '', onPull?.merged_at),
    sender: parseAccount(payload.sender),
    isHeadHere: headRepository !== undefined && headRepository === repository?.id,
    /** Whether a branch other than the default one was created or pushed to. */
    isOtherBranch: isOtherBranch(event, payload),
    isPrivate: repository?.private === true,
  };
}

function isOtherBranch(event: string, { ref, ref_type, repository }: Payload): boolean {
  const branch = repository?.default_branch ?? '';
  if (event === 'push') return /^refs\/heads\//.test(ref ?? '') && ref !== `refs/heads/${branch}`;
  return event === 'create' && ref_type === 'branch' && ref !== branch;
}

/** Null without a whole one: permissions depend on it. */
function parseAccount(account: Payload['sender']): Account | null {
  const { login, id, type } = account ?? {};
  return login && typeof id === 'number' && type ? { login, id, type } : null;
}

function parseComment(
  payload: Payload,
  { event, conversation, sender }: ReturnType<typeof parseFacts>,
) {
  const kind = COMMENT_EVENTS.get(event);
  const written = kind === 'review' ? payload.review : payload.comment;
  if (kind === undefined || !written?.id || sender === null || conversation === null) return null;
  const { path, line, start_line: startLine, diff_hunk: diffHunk } = written;
  const on = payload.issue ?? payload.pull_request;
  return {
    kind,
    conversation,
    id: written.id,
    nodeId: written.node_id ?? '',
    body: written.body ?? '',
    approves: written.state?.toLowerCase() === 'approved',
    /** Null if the account was deleted, as in the topic. */
    authorId: written.user?.id ?? null,
    sender,
    viaApp: Boolean(written.performed_via_github_app),
    /** Of an inline comment; without a line if that no longer exists in the file. */
    context:
      kind === 'review-comment'
        ? {
            ...{ path: path ?? '', diffHunk: diffHunk ?? '', isOutdated: false },
            line: written.subject_type === 'file' ? null : (line ?? null),
            startLine: startLine ?? null,
          }
        : null,
    /** The ID of the first comment of its thread. */
    replyTo: written.in_reply_to_id ?? null,
    topic: { title: on?.title ?? '', body: on?.body ?? '', author: parseAccount(on?.user) },
  };
}

/** On other actions, such as `rerequested`, a check still has its conclusion from before. */
const HAS_ENDED: ReadonlySet<string | null | undefined> = new Set(['completed', 'created']);

function parseCheck(kind: (typeof CHECK_EVENTS)[number], payload: Payload) {
  const about = payload[kind];
  if (!about?.id || !about.head_sha) return null;
  const isRun = kind === 'workflow_run';
  const here = payload.repository?.id;
  const branch = (isRun ? about : about.check_suite)?.head_branch ?? null;
  const conclusion = (HAS_ENDED.has(payload.action) && about.conclusion) || '';
  const pulls = pullsIn(about, here);
  const found = {
    kind,
    id: about.id,
    sha: about.head_sha,
    branch,
    // GitHub can add a ref.
    workflow: about.path?.split('@')[0] ?? '',
    /** Whether it may be in a fork, of which a run names the repository, and a check no branch. */
    isElsewhere: isRun ? about.head_repository?.id !== here : branch === null && pulls.length === 0,
    conclusion,
    failure: FAILURES.get(conclusion) ?? null,
    name: about.name ?? '',
    url: about.html_url ?? '',
    app: about.app?.id ?? null,
    pulls,
  };
  /** The newest commit of its pull request at that time; null if that is not clear. */
  return { ...found, head: choosePull(pulls, found)?.sha ?? null };
}

function pullsIn(
  { pull_requests }: Payload,
  here: number | null | undefined,
): readonly PullRequestHead[] {
  return (pull_requests ?? []).flatMap(({ number, head, base }) => {
    const isHere = [head, base].every((side) => side?.repo?.id === (here ?? ''));
    return isHere && number && head?.sha
      ? [{ number, sha: head.sha, ref: head.ref ?? '', state: 'open' as const }]
      : [];
  });
}

/** The only one or, of several, the only one that the commit is the newest of. */
export function choosePull(
  pulls: readonly PullRequestHead[],
  { sha, branch }: { readonly sha: string; readonly branch: string | null },
): PullRequestHead | undefined {
  const newest = pulls.length === 1 ? pulls : pulls.filter((pull) => pull.sha === sha);
  // Two branches can have the same newest commit.
  const own = newest.length === 1 ? newest : newest.filter(({ ref }) => ref === branch);
  return own.length === 1 ? own[0] : undefined;
}

/** By programs in the name of whoever has pushed the commit or given them a token. */
export const BY_PROGRAMS: ReadonlySet<string> = new Set([
  ...CHECK_EVENTS,
  ...['check_suite', 'deployment', 'deployment_status', 'page_build', 'status'],
]);

export function mayCarry(event: string): boolean {
  return event === 'pull_request_review' || CHECK_EVENTS.some((name) => name === event);
}

export function keyOfComment({ kind, id }: Pick<CommentTrigger, 'kind' | 'id'>): string {
  return `${kind}:${id}`;
}

export function whyNoSecrets({ event, isHeadHere, sender }: Trigger): string | null {
  const isOfPullRequest = /^pull_request(_review(_comment)?)?$/.test(event);
  if (!isOfPullRequest && !/^(push|create|deployment(_status)?)$/.test(event)) return null;
  if (sender?.type === 'Bot' && sender.login === 'dependabot[bot]') {
    return (
      'GitHub passes only the Dependabot secrets to runs by Dependabot. Save the key as one of ' +
      'them, too, with the same name, in the settings of the repository.'
    );
  }
  if (!isOfPullRequest || isHeadHere) return null;
  return (
    'GitHub passes no secrets to runs for pull requests from forks. Use a branch of this ' +
    'repository or, once it is merged, the event push.'
  );
}

/** No person's login can end with this. If login and type disagree, neither is trusted. */
export const BOT_SUFFIX = '[bot]';

export function isPerson({ login, type }: Account): boolean {
  return type === 'User' && !login.endsWith(BOT_SUFFIX);
}

export function isBot({ login, type }: Account): boolean {
  return type === 'Bot' || login.endsWith(BOT_SUFFIX);
}

/** With or without the suffix: not all bots have one. GitHub's API has no permissions of bots. */
export function isAllowedBot({ login, type }: Account, allowedBots: ReadonlySet<string>): boolean {
  const name = login.toLowerCase();
  const bare = name.endsWith(BOT_SUFFIX) ? name.slice(0, -BOT_SUFFIX.length) : name;
  return type === 'Bot' && (allowedBots.has(bare) || allowedBots.has(`${bare}${BOT_SUFFIX}`));
}

export function sameLogin(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
