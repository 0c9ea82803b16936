import * as z from 'zod/mini';

export interface Trigger {
  readonly event: string;
  /** What happened, such as `opened`; empty if the payload does not say so. */
  readonly action: string;
  /** The number of the pull request or issue of the event, if there is one. */
  readonly conversation: number | null;
  /** Who triggered the event; null if the payload does not say so in a valid form. */
  readonly sender: Account | null;
  /** On `pull_request` and `workflow_run`: whether the head branch is certainly in this repository. */
  readonly isHeadHere: boolean;
  /** On `workflow_run`: the event that triggered the first workflow; otherwise empty. */
  readonly causedBy: string;
  /** On the three comment events: the comment or review. */
  readonly comment: CommentTrigger | null;
  /** Why the payload cannot be used, a phrase; null if it can. */
  readonly problem: string | null;
}

export interface Reactable {
  readonly kind: 'comment' | 'review-comment' | 'review';
  readonly id: number;
  readonly nodeId: string;
}

export interface CommentTrigger extends Reactable {
  readonly action: string;
  /** The number of the pull request or issue that it belongs to. */
  readonly conversation: number;
  readonly body: string;
  readonly author: Account;
  readonly sender: Account;
  /** Whether a GitHub App wrote it on behalf of the author. */
  readonly viaApp: boolean;
  /** The code that a review comment refers to. */
  readonly context: CodeContext | null;
}

export interface Account {
  readonly login: string;
  /** Null if only the login is known, as for the actor who re-ran a workflow. */
  readonly id: number | null;
  /** `User`, `Bot` or another kind of account. */
  readonly type: string;
}

export interface CodeContext {
  readonly path: string;
  /** Null if the line no longer exists in the file. */
  readonly line: number | null;
  readonly diffHunk: string;
}

const COMMENT_EVENTS: Readonly<Record<string, CommentTrigger['kind']>> = {
  issue_comment: 'comment',
  pull_request_review: 'review',
  pull_request_review_comment: 'review-comment',
};

/**
 * Events on which people send follow-ups to jobs that have pull requests of their own. Others without a pull
 * request or issue, such as `release`, get no comment, so that their runs make no further request.
 */
const EVENTS_ABOUT_JOBS: ReadonlySet<string> = new Set([
  'schedule',
  'workflow_dispatch',
  'push',
  'repository_dispatch',
]);

/** Whether the comment belongs on the pull request of the job, because the event has none. */
export function takesConversationFromJob({ event, conversation }: Trigger): boolean {
  return conversation === null && EVENTS_ABOUT_JOBS.has(event);
}

/** No person's login can end with this. If login and type disagree, neither is trusted. */
export const BOT_SUFFIX = '[bot]';

export function isPerson({ login, type }: Account): boolean {
  return type === 'User' && !login.endsWith(BOT_SUFFIX);
}

export function isBot({ login, type }: Account): boolean {
  return type === 'Bot' && login.endsWith(BOT_SUFFIX);
}

/** Whether the workflow names this bot. GitHub's API has no permissions of bots. */
export function isAllowedBot({ login, type }: Account, allowedBots: ReadonlySet<string>): boolean {
  return type === 'Bot' && allowedBots.has(login);
}

/** An invalid value counts as absent. */
function lenient<T extends z.core.SomeType>(schema: T) {
  return z.catch(z.optional(schema), undefined);
}

const positive = z.int().check(z.positive());
const text = z.catch(z.string(), '');
/** Pull requests from forks are not in this list; pull requests of other repositories may be. */
const pull_requests = z.catch(
  z.array(z.object({ number: positive, base: z.object({ repo: z.object({ id: positive }) }) })),
  [],
);
/** Null if the repository is a fork that was deleted. */
const repository = lenient(z.nullable(z.object({ id: positive })));

const account = z.object({ login: z.string(), id: positive, type: z.string() });
const comment = lenient(
  z.object({
    id: positive,
    node_id: text,
    body: text,
    user: account,
    performed_via_github_app: z.catch(z.nullish(z.object({})), {}),
    path: text,
    line: z.catch(z.nullable(positive), null),
    diff_hunk: text,
  }),
);

const payloadSchema = z.object({
  action: text,
  issue: lenient(z.object({ number: positive })),
  pull_request: lenient(
    z.object({ number: positive, head: lenient(z.object({ repo: repository })) }),
  ),
  workflow_run: lenient(z.object({ pull_requests, event: text, head_repository: repository })),
  check_run: lenient(z.object({ pull_requests })),
  check_suite: lenient(z.object({ pull_requests })),
  merge_group: lenient(z.object({ head_ref: z.string() })),
  comment,
  review: comment,
  sender: lenient(account),
  repository,
});
type Payload = z.infer<typeof payloadSchema>;

/**
 * Where each event has its pull request or issue (GitHub docs, "Webhook events and payloads"). A new event
 * needs its field in `payloadSchema`; whether it is checked, TRUSTED_EVENTS in authorize.ts says.
 */
const CONVERSATION: Readonly<Record<string, (payload: Payload) => number | undefined>> = {
  issues: ({ issue }) => issue?.number,
  issue_comment: ({ issue }) => issue?.number,
  pull_request: ({ pull_request }) => pull_request?.number,
  pull_request_target: ({ pull_request }) => pull_request?.number,
  pull_request_review: ({ pull_request }) => pull_request?.number,
  pull_request_review_comment: ({ pull_request }) => pull_request?.number,
  workflow_run: (payload) => pullRequestOf(payload, payload.workflow_run),
  check_run: (payload) => pullRequestOf(payload, payload.check_run),
  check_suite: (payload) => pullRequestOf(payload, payload.check_suite),
  merge_group: ({ merge_group }) => queuedPullRequest(merge_group?.head_ref),
};

/** Whether the event is a comment or review, whose text may contain a command. */
export function isCommentEvent(event: string): boolean {
  return Object.hasOwn(COMMENT_EVENTS, event);
}

/** Of an unknown event, only the sender is used; of a broken file, nothing. */
export function readTrigger(event: string, file: Uint8Array | null): Trigger {
  const broken = (problem: string): Trigger => ({
    event,
    action: '',
    conversation: null,
    sender: null,
    isHeadHere: false,
    causedBy: '',
    comment: null,
    problem,
  });
  if (file === null) return broken('the event file cannot be read');
  try {
    const { data } = payloadSchema.safeParse(JSON.parse(new TextDecoder().decode(file)));
    if (data === undefined) return broken('the event file does not contain a JSON object');
    const conversation = own(CONVERSATION, event)?.(data) ?? null;
    const comment = readComment(event, data, conversation);
    if (isCommentEvent(event) && comment === null) {
      return broken('the event file does not say who wrote the comment, and where');
    }
    const { action, sender = null, repository: here } = data;
    const run = event === 'workflow_run' ? data.workflow_run : null;
    const head = run === null ? data.pull_request?.head?.repo : run?.head_repository;
    const isHeadHere = head?.id !== undefined && head.id === here?.id;
    const causedBy = run?.event ?? '';
    return { event, action, conversation, sender, isHeadHere, causedBy, comment, problem: null };
  } catch {
    return broken('the event file is not valid JSON');
  }
}

/** The event may have the name of something that every object has, such as `toString`. */
function own<T>(table: Readonly<Record<string, T>>, event: string): T | undefined {
  return Object.hasOwn(table, event) ? table[event] : undefined;
}

function readComment(
  event: string,
  payload: Payload,
  conversation: number | null,
): CommentTrigger | null {
  const kind = own(COMMENT_EVENTS, event);
  const { sender } = payload;
  const written = kind === 'review' ? payload.review : payload.comment;
  if (kind === undefined || written === undefined || sender === undefined) return null;
  if (conversation === null) return null;
  return {
    kind,
    action: payload.action,
    conversation,
    id: written.id,
    nodeId: written.node_id,
    body: written.body,
    author: written.user,
    sender,
    // Any value except null counts as an app.
    viaApp: (written.performed_via_github_app ?? null) !== null,
    context:
      kind === 'review-comment'
        ? { path: written.path, line: written.line, diffHunk: written.diff_hunk }
        : null,
  };
}

/** The first of the pull requests that belongs to this repository. */
function pullRequestOf({ repository }: Payload, run: Payload['check_run']): number | undefined {
  return run?.pull_requests.find(({ base }) => base.repo.id === repository?.id)?.number;
}

/** The branch of a merge group contains the number of its last pull request. */
function queuedPullRequest(headRef = ''): number | undefined {
  const number = /^refs\/heads\/gh-readonly-queue\/.+\/pr-([1-9]\d{0,9})-[0-9a-f]+$/.exec(headRef);
  return number === null ? undefined : Number(number[1]);
}
