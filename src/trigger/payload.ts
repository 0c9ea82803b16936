import * as z from 'zod/mini';
import { blocks } from '../markdown.ts';
import { type PullRequestHead, type PullRequestState, parseState } from '../pull-request.ts';
import { anyText, commitSha, lenient, listOf } from '../schema.ts';
import { ok, parseJson, problem, type Result } from '../text.ts';
import type { Account } from './account.ts';

/** What has started the run: a comment or review, a run or check of a commit, or any other event. */
export type Trigger = EventFacts &
  (
    | { readonly kind: 'comment'; readonly comment: CommentTrigger }
    | { readonly kind: 'check'; readonly check: CommitTrigger }
    | { readonly kind: 'workflow' }
  );

interface EventFacts {
  readonly event: string;
  /** What happened, such as `opened`; empty for events without it. */
  readonly action: string;
  /** The number of the pull request or issue of the event, if there is one. */
  readonly conversation: number | null;
  readonly isPullRequest: boolean;
  /** Of that pull request, as the event says; `open` also if it does not say it. */
  readonly state: PullRequestState;
  /** Who triggered the event; null if the payload does not say so in a valid form. */
  readonly sender: Account | null;
  /** On pull requests: whether the head branch is certainly in this repository. */
  readonly isHeadHere: boolean;
  /** Whether it is a push to, or the creation of, a branch other than the default one. */
  readonly isOtherBranch: boolean;
}

/** A run of a workflow, or a check. */
export interface CommitTrigger {
  readonly kind: (typeof COMMIT_EVENTS)[number];
  readonly id: number;
  /** Of the run. */
  readonly attempt: number;
  readonly sha: string;
  /** Null if GitHub names none. */
  readonly branch: string | null;
  /** The file of the workflow, such as `.github/workflows/ci.yml`; empty for a check. */
  readonly workflow: string;
  /** Whether it may be in another repository: a fork, or one that was deleted. */
  readonly isElsewhere: boolean;
  /** How it failed, or perhaps did; null if it did not. */
  readonly failure: HowFailed | null;
  /** As GitHub calls it; empty if the event does not tell the end. */
  readonly conclusion: string;
  /** Of the workflow or the check. */
  readonly name: string;
  /** The page for people; empty if the payload has none. */
  readonly url: string;
  /** The title and summary of a check; empty for none. */
  readonly said: string;
  /** The text of its output; empty for none. */
  readonly text: string;
  /** How many annotations a check has. */
  readonly annotations: number;
  /** The ID of the app of a check, if it is known. */
  readonly app: number | null;
  /** The pull requests of this repository that the event names. */
  readonly pulls: readonly PullRequestHead[];
  /** The newest commit of that which it is about, at that time; null if that is not clear. */
  readonly head: string | null;
}

export interface CommentTrigger {
  readonly kind: 'comment' | 'review-comment' | 'review';
  readonly id: number;
  readonly nodeId: string;
  /** What happened, such as `created`. */
  readonly action: string;
  /** The number of the pull request or issue that it belongs to. */
  readonly conversation: number;
  readonly body: string;
  readonly approves: boolean;
  /** Null if the account was deleted. */
  readonly authorId: number | null;
  readonly sender: Account;
  /** Whether a GitHub App wrote it on behalf of the author. Of reviews, GitHub does not tell. */
  readonly viaApp: boolean;
  /** The code that a review comment refers to. */
  readonly context: CodeContext | null;
  /** The ID of the first comment of the thread, if this is a reply in it. */
  readonly replyTo: number | null;
  /** What it is written on; null if the payload does not say so. */
  readonly topic: Topic | null;
}

/** Which comment or review it is, as notes have it. */
export function keyOfComment({ kind, id }: Pick<CommentTrigger, 'kind' | 'id'>): string {
  return `${kind}:${id}`;
}

/** An issue or pull request. */
export interface Topic {
  readonly title: string;
  /** Empty for none. */
  readonly body: string;
  /** Null if the account was deleted. */
  readonly author: Account | null;
}

export interface CodeContext {
  readonly path: string;
  /** Null if the lines no longer exist in the file. */
  readonly line: number | null;
  /** The first of several lines; null for one line. */
  readonly startLine: number | null;
  readonly diffHunk: string;
}

const COMMENT_EVENTS: ReadonlyMap<string, CommentTrigger['kind']> = new Map([
  ['issue_comment', 'comment'],
  ['pull_request_review', 'review'],
  ['pull_request_review_comment', 'review-comment'],
]);

/** Whether the event is a comment or review, whose text may contain a command. */
export function isCommentEvent(event: string): boolean {
  return COMMENT_EVENTS.has(event);
}

const COMMIT_EVENTS = ['workflow_run', 'check_run'] as const;

function isCommitEvent(event: string): boolean {
  return COMMIT_EVENTS.some((one) => one === event);
}

/** Whether a message may carry something of the event even without a command, so that it needs no prompt. */
export function mayCarry(event: string): boolean {
  return event === 'pull_request_review' || isCommitEvent(event);
}

/** Events by programs, in the name of whoever has pushed the commit or given them a token. */
export const BY_PROGRAMS: ReadonlySet<string> = new Set([
  ...COMMIT_EVENTS,
  'check_suite',
  'deployment',
  'deployment_status',
  'page_build',
  'status',
]);

/** Why GitHub withholds the secrets of the repository from the run, and what to do; null if it does not. */
export function whyNoSecrets({ event, isHeadHere, sender }: Trigger): string | null {
  const isOfPullRequest = /^pull_request(_review(_comment)?)?$/.test(event);
  if (!isOfPullRequest && event !== 'push') return null;
  if (sender?.type === 'Bot' && sender.login === 'dependabot[bot]') {
    return (
      'GitHub passes only the Dependabot secrets to runs by Dependabot. Save the key as one of them, too, with the ' +
      'same name, in the settings of the repository.'
    );
  }
  if (!isOfPullRequest || isHeadHere) return null;
  return 'GitHub passes no secrets to runs for pull requests from forks. Use a branch of this repository or, once it is merged, the event push.';
}

const positive = z.int().check(z.positive());
const account = z.object({ login: z.string(), id: positive, type: z.string() });
const topic = z.object({ title: anyText, body: anyText, user: z.catch(z.nullish(account), null) });
const comment = lenient(
  z.object({
    id: positive,
    node_id: anyText,
    body: anyText,
    state: anyText,
    user: z.catch(z.nullish(z.object({ id: positive })), null),
    performed_via_github_app: z.catch(z.nullish(z.object({})), {}),
    path: anyText,
    line: z.catch(z.nullable(positive), null),
    start_line: z.catch(z.nullable(positive), null),
    diff_hunk: anyText,
    in_reply_to_id: z.catch(z.nullish(positive), null),
  }),
);

/** The repository of the head is null if it was deleted. */
const pullOfCommit = z.object({
  number: positive,
  head: z.object({ sha: commitSha, ref: anyText, repo: z.object({ id: positive }) }),
  base: z.object({ repo: z.object({ id: positive }) }),
});
const output = z.object({
  title: anyText,
  summary: anyText,
  text: anyText,
  annotations_count: z.catch(positive, 0),
});
const NO_OUTPUT: z.infer<typeof output> = {
  title: '',
  summary: '',
  text: '',
  annotations_count: 0,
};
const aboutCommit = lenient(
  z.object({
    id: positive,
    run_attempt: z.catch(positive, 1),
    head_sha: commitSha,
    conclusion: anyText,
    name: anyText,
    html_url: z.catch(z.url(), ''),
    output: z.catch(output, NO_OUTPUT),
    head_branch: z.catch(z.nullish(z.string()), null),
    path: anyText,
    head_repository: z.catch(z.nullish(z.object({ id: positive })), null),
    app: z.catch(z.nullish(z.object({ id: positive })), null),
    check_suite: z.catch(z.object({ head_branch: z.nullable(z.string()) }), { head_branch: null }),
    pull_requests: z.catch(listOf(pullOfCommit), []),
  }),
);

const mergedAt = z.catch(z.nullish(z.string()), null);
const payloadSchema = z.object({
  action: anyText,
  ref: anyText,
  ref_type: anyText,
  issue: lenient(
    z.extend(topic, {
      number: positive,
      state: anyText,
      pull_request: z.catch(z.nullish(z.object({ merged_at: mergedAt })), null),
    }),
  ),
  pull_request: lenient(
    z.extend(topic, {
      number: positive,
      state: anyText,
      merged_at: mergedAt,
      /** The repository is null if it is a fork that was deleted. */
      head: lenient(z.object({ repo: lenient(z.nullable(z.object({ id: positive }))) })),
    }),
  ),
  comment,
  review: comment,
  workflow_run: aboutCommit,
  check_run: aboutCommit,
  sender: lenient(account),
  repository: lenient(z.object({ id: positive, default_branch: anyText })),
});
type Payload = z.infer<typeof payloadSchema>;

/**
 * Reads the payload, or says in a phrase why it cannot be used. No other event than those of pull requests and issues
 * has one of their fields (GitHub docs, "Webhook events and payloads"); whether an event is checked, TRUSTED_EVENTS in
 * authorize.ts says.
 */
export function readTrigger(event: string, file: Uint8Array | null): Result<Trigger> {
  if (file === null) return problem('the event file cannot be read');
  const json = parseJson(new TextDecoder().decode(file));
  if (json === undefined) return problem('the event file is not valid JSON');
  const { data } = payloadSchema.safeParse(json);
  if (data === undefined) return problem('the event file does not contain a JSON object');
  const { issue, pull_request } = data;
  const { commit, pull } = readCommit(event, data);
  const conversation = issue?.number ?? pull_request?.number ?? pull;
  const comment = readComment(event, data, conversation);
  if (isCommentEvent(event) && comment === null) {
    return problem('the event file does not say who wrote the comment, and where');
  }
  if (isCommitEvent(event) && commit === null) {
    return problem('the event file does not say which commit it is about');
  }
  const head = pull_request?.head?.repo?.id;
  const facts: EventFacts = {
    event,
    action: data.action,
    conversation,
    isPullRequest:
      conversation !== null && (issue === undefined || (issue.pull_request ?? null) !== null),
    state: pullRequestState(data),
    sender: data.sender ?? null,
    isHeadHere: head !== undefined && head === data.repository?.id,
    isOtherBranch: isOtherBranch(event, data),
  };
  if (comment !== null) return ok({ ...facts, kind: 'comment', comment });
  if (commit !== null) return ok({ ...facts, kind: 'check', check: commit });
  return ok({ ...facts, kind: 'workflow' });
}

function pullRequestState({ issue, pull_request }: Payload): PullRequestState {
  if (pull_request !== undefined) return parseState(pull_request.state, pull_request.merged_at);
  const pull = issue?.pull_request ?? null;
  return issue === undefined || pull === null ? 'open' : parseState(issue.state, pull.merged_at);
}

/** https://docs.github.com/en/webhooks/webhook-events-and-payloads: `ref` is a full name only on a push. */
function isOtherBranch(event: string, { ref, ref_type, repository }: Payload): boolean {
  const branch = repository?.default_branch ?? '';
  if (event === 'push') return ref.startsWith('refs/heads/') && ref !== `refs/heads/${branch}`;
  return event === 'create' && ref_type === 'branch' && ref !== branch;
}

/** A run that was cancelled may have jobs that failed before. */
export type HowFailed = 'failed' | 'timed out' | 'could not start' | 'was cancelled';

/** Conclusions of runs, jobs, steps and checks; a job past its time limit ends as cancelled, and its run, too. */
export const FAILURES: ReadonlyMap<string | null, HowFailed> = new Map([
  ['failure', 'failed'],
  ['timed_out', 'timed out'],
  ['startup_failure', 'could not start'],
]);

function readFailure(kind: CommitTrigger['kind'], conclusion: string): HowFailed | null {
  if (kind === 'workflow_run' && conclusion === 'cancelled') return 'was cancelled';
  return FAILURES.get(conclusion) ?? null;
}

/** On other actions, such as `rerequested`, a check still has its conclusion from before. */
const HAS_ENDED: ReadonlySet<string> = new Set(['completed', 'created']);

/** The commit of an event about one, and the number of its pull request, if the event makes clear which one that is. */
function readCommit(
  event: string,
  payload: Payload,
): { readonly commit: CommitTrigger | null; readonly pull: number | null } {
  const { repository } = payload;
  const kind = COMMIT_EVENTS.find((one) => one === event);
  const about = kind && payload[kind];
  if (kind === undefined || about === undefined) return { commit: null, pull: null };
  const pulls = about.pull_requests
    .filter(({ head, base }) => base.repo.id === repository?.id && head.repo.id === repository.id)
    .map(({ number, head: { sha, ref } }) => ({ number, sha, ref, state: 'open' as const }));
  const isRun = kind === 'workflow_run';
  const branch = (isRun ? about.head_branch : about.check_suite.head_branch) ?? null;
  const pull = choosePull(pulls, { sha: about.head_sha, branch });
  const conclusion = HAS_ENDED.has(payload.action) ? about.conclusion : '';
  const { title, summary, text, annotations_count } = about.output;
  return {
    commit: {
      kind,
      id: about.id,
      attempt: about.run_attempt,
      sha: about.head_sha,
      branch,
      // GitHub can add a ref.
      workflow: isRun ? (about.path.split('@')[0] ?? '') : '',
      // Only a run names the repository of its commit. A check of a fork has no branch.
      isElsewhere: isRun
        ? about.head_repository?.id !== repository?.id
        : branch === null && pulls.length === 0,
      conclusion,
      failure: readFailure(kind, conclusion),
      name: about.name,
      url: about.html_url,
      said: blocks([title, summary]),
      text,
      annotations: annotations_count,
      app: about.app?.id ?? null,
      pulls,
      head: pull?.sha ?? null,
    },
    pull: pull?.number ?? null,
  };
}

/** Which one a commit belongs to: the only one or, of several, the only one that it is the newest commit of. */
export function choosePull(
  pulls: readonly PullRequestHead[],
  { sha, branch }: Pick<CommitTrigger, 'sha' | 'branch'>,
): PullRequestHead | undefined {
  const newest = pulls.length === 1 ? pulls : pulls.filter((pull) => pull.sha === sha);
  // Two branches can have the same newest commit.
  const own = newest.length === 1 ? newest : newest.filter(({ ref }) => ref === branch);
  return own.length === 1 ? own[0] : undefined;
}

function readComment(
  event: string,
  payload: Payload,
  conversation: number | null,
): CommentTrigger | null {
  const kind = COMMENT_EVENTS.get(event);
  const { sender } = payload;
  const written = kind === 'review' ? payload.review : payload.comment;
  if (kind === undefined || written === undefined || sender === undefined) return null;
  if (conversation === null) return null;
  const on = payload.issue ?? payload.pull_request ?? null;
  return {
    kind,
    action: payload.action,
    conversation,
    id: written.id,
    nodeId: written.node_id,
    body: written.body,
    approves: kind === 'review' && written.state.toLowerCase() === 'approved',
    authorId: written.user?.id ?? null,
    sender,
    // Any value except null counts as an app.
    viaApp: (written.performed_via_github_app ?? null) !== null,
    context:
      kind === 'review-comment'
        ? {
            path: written.path,
            line: written.line,
            startLine: written.start_line,
            diffHunk: written.diff_hunk,
          }
        : null,
    replyTo: written.in_reply_to_id ?? null,
    topic: on && { title: on.title, body: on.body, author: on.user ?? null },
  };
}
