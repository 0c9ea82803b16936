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

type Partly<T> = T extends readonly (infer E)[]
  ? readonly Partly<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: Partly<T[K]> | null }
    : T;

interface WithId {
  readonly id: number;
}

/** The fields that are read: https://docs.github.com/en/webhooks/webhook-events-and-payloads. */
type Payload = Partly<
  {
    action: string;
    /** A full name on a push, otherwise the name of a branch or tag. */
    ref: string;
    ref_type: string;
    sender: Account;
    repository: WithId & { default_branch: string; private: boolean };
  } & Record<
    'issue' | 'pull_request',
    {
      number: number;
      state: string;
      title: string;
      body: string;
      user: Account;
      merged_at: string;
      /** Of an issue. */
      pull_request: { merged_at: string };
      head: { repo: WithId };
    }
  > &
    Record<
      'review' | 'comment',
      WithId & {
        node_id: string;
        body: string;
        user: WithId;
        state: string;
        performed_via_github_app: object;
        in_reply_to_id: number;
        path: string;
        subject_type: string;
        line: number;
        start_line: number;
        diff_hunk: string;
      }
    > &
    Record<
      'workflow_run' | 'check_run',
      WithId & {
        head_sha: string;
        conclusion: string;
        name: string;
        html_url: string;
        pull_requests: readonly {
          number: number;
          head: { sha: string; ref: string; repo: WithId };
          base: { repo: WithId };
        }[];
        head_branch: string;
        head_repository: WithId;
        path: string;
        app: WithId;
        check_suite: { head_branch: string };
      }
    >
>;

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
  { comment, review, issue, pull_request }: Payload,
  { event, conversation, sender }: ReturnType<typeof parseFacts>,
): CommentTrigger | null {
  const kind = COMMENT_EVENTS.get(event);
  const written = kind === 'review' ? review : comment;
  if (kind === undefined || !written?.id || sender === null || conversation === null) return null;
  const on = issue ?? pull_request;
  return {
    kind,
    conversation,
    id: written.id,
    nodeId: written.node_id ?? '',
    body: written.body ?? '',
    approves: kind === 'review' && review?.state?.toLowerCase() === 'approved',
    authorId: written.user?.id ?? null,
    sender,
    viaApp: kind !== 'review' && Boolean(comment?.performed_via_github_app),
    context:
      kind === 'review-comment'
        ? {
            path: comment?.path ?? '',
            line: comment?.subject_type === 'file' ? null : (comment?.line ?? null),
            startLine: comment?.start_line ?? null,
            diffHunk: comment?.diff_hunk ?? '',
            isOutdated: false,
          }
        : null,
    replyTo: comment?.in_reply_to_id ?? null,
    topic: { title: on?.title ?? '', body: on?.body ?? '', author: parseAccount(on?.user) },
  };
}

/** On other actions, such as `rerequested`, a check still has its conclusion from before. */
const HAS_ENDED: ReadonlySet<string | null | undefined> = new Set(['completed', 'created']);

function parseCheck(kind: CommitTrigger['kind'], payload: Payload): CommitTrigger | null {
  const { workflow_run: run, check_run: checkRun, repository } = payload;
  const isRun = kind === 'workflow_run';
  const about = isRun ? run : checkRun;
  if (!about?.id || !about.head_sha) return null;
  const branch = (isRun ? run?.head_branch : checkRun?.check_suite?.head_branch) ?? null;
  const conclusion = (HAS_ENDED.has(payload.action) && about.conclusion) || '';
  const pulls = pullsIn(about, repository?.id);
  const found = {
    kind,
    id: about.id,
    sha: about.head_sha,
    branch,
    // GitHub can add a ref.
    workflow: (isRun && run?.path?.split('@')[0]) || '',
    // Only a run names the repository of its commit. A check of a fork has no branch.
    isElsewhere: isRun
      ? run?.head_repository?.id !== repository?.id
      : branch === null && pulls.length === 0,
    conclusion,
    failure: FAILURES.get(conclusion) ?? null,
    name: about.name ?? '',
    url: about.html_url ?? '',
    app: checkRun?.app?.id ?? null,
    pulls,
  };
  return { ...found, head: choosePull(pulls, found)?.sha ?? null };
}

function pullsIn(
  { pull_requests }: NonNullable<Payload['check_run']>,
  here: number | null | undefined,
): readonly PullRequestHead[] {
  return (pull_requests ?? []).flatMap(({ number, head, base }) => {
    const isHere = [head, base].every((side) => side?.repo?.id === (here ?? ''));
    return isHere && number && head?.sha
      ? [{ number, sha: head.sha, ref: head.ref ?? '', state: 'open' as const }]
      : [];
  });
}
