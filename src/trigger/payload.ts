import { type PullRequestHead, parseState } from '../pull-request.ts';
import { ok, problem, type Result } from '../result.ts';
import { parseJson } from '../text.ts';
import {
  type Account,
  CHECK_EVENTS,
  COMMENT_EVENTS,
  type CommentTrigger,
  type CommitTrigger,
  choosePull,
  FAILURES,
  type Trigger,
} from './trigger.ts';

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
    state: parseState(onPull?.state ?? '', onPull?.merged_at),
    sender: parseAccount(payload.sender),
    isHeadHere: headRepository !== undefined && headRepository === repository?.id,
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
): CommentTrigger | null {
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
    authorId: written.user?.id ?? null,
    sender,
    viaApp: Boolean(written.performed_via_github_app),
    context:
      kind === 'review-comment'
        ? {
            ...{ path: path ?? '', diffHunk: diffHunk ?? '', isOutdated: false },
            line: written.subject_type === 'file' ? null : (line ?? null),
            startLine: startLine ?? null,
          }
        : null,
    replyTo: written.in_reply_to_id ?? null,
    topic: { title: on?.title ?? '', body: on?.body ?? '', author: parseAccount(on?.user) },
  };
}

/** On other actions, such as `rerequested`, a check still has its conclusion from before. */
const HAS_ENDED: ReadonlySet<string | null | undefined> = new Set(['completed', 'created']);

function parseCheck(kind: CommitTrigger['kind'], payload: Payload): CommitTrigger | null {
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
    // Only a run names the repository of its commit. A check of a fork has no branch.
    isElsewhere: isRun ? about.head_repository?.id !== here : branch === null && pulls.length === 0,
    conclusion,
    failure: FAILURES.get(conclusion) ?? null,
    name: about.name ?? '',
    url: about.html_url ?? '',
    app: about.app?.id ?? null,
    pulls,
  };
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
