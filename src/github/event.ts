import * as z from 'zod/mini';

/** What the event that started the run says. */
export interface Trigger {
  readonly event: string;
  /** The pull request or issue that the event belongs to, if it belongs to one. */
  readonly conversation: number | null;
  /** Who caused the event, as the payload says; null if it does not say so properly. */
  readonly sender: Account | null;
  /** On `pull_request` and `workflow_run`: whether the head branch surely is in this repository. */
  readonly isHeadHere: boolean;
  /** On `workflow_run`: the event that started the workflow that ran; else empty. */
  readonly causedBy: string;
  /** On the three comment events: what was written, and by whom. */
  readonly comment: CommentTrigger | null;
}

export interface CommentTrigger {
  readonly kind: 'comment' | 'review-comment' | 'review';
  readonly action: string;
  /** The number of the pull request or issue that it stands on. */
  readonly conversation: number;
  readonly id: number;
  readonly nodeId: string;
  readonly body: string;
  readonly author: Account;
  readonly sender: Account;
  /** Written by a GitHub App on the author's behalf. */
  readonly viaApp: boolean;
  /** Where in the code a review comment hangs. */
  readonly context: CodeContext | null;
}

export interface Account {
  readonly login: string;
  readonly id: number;
  readonly type: string;
}

export interface CodeContext {
  readonly path: string;
  /** Null where the line is gone from the file. */
  readonly line: number | null;
  readonly diffHunk: string;
}

export type TriggerRead =
  | { readonly kind: 'valid'; readonly trigger: Trigger }
  /** The event says less than it should; `why` is a phrase. */
  | { readonly kind: 'broken'; readonly why: string; readonly trigger: Trigger };

const COMMENT_EVENTS: Readonly<Record<string, CommentTrigger['kind']>> = {
  issue_comment: 'comment',
  pull_request_review: 'review',
  pull_request_review_comment: 'review-comment',
};

/** Events that nobody's text starts, and that name no conversation. */
const PLACELESS: ReadonlySet<string> = new Set([
  'schedule',
  'workflow_dispatch',
  'push',
  'repository_dispatch',
]);

/** Whether the job's own pull request may stand in for the conversation that no event names. */
export function takesPlaceFromJob({ event, conversation }: Trigger): boolean {
  return conversation === null && PLACELESS.has(event);
}

const positive = z.int().check(z.positive());
const place = z.object({ number: positive });
const optionalPlace = z.catch(z.optional(place), undefined);
const placeOfRun = z.object({
  number: positive,
  base: z.object({ repo: z.object({ id: positive }) }),
});
/** Pull requests from forks are not listed here by GitHub; those of other repositories may be. */
const pull_requests = z.catch(z.array(placeOfRun), []);
const places = z.catch(z.optional(z.object({ pull_requests })), undefined);
/** Null where the repository, a fork, was deleted. */
const repository = z.catch(z.nullish(z.object({ id: positive })), undefined);

const account = z.object({ login: z.string(), id: positive, type: z.string() });
const written = z.object({
  id: positive,
  node_id: z.catch(z.string(), ''),
  body: z.catch(z.string(), ''),
  user: account,
  performed_via_github_app: z.catch(z.nullish(z.object({})), {}),
  path: z.catch(z.string(), ''),
  line: z.catch(z.nullable(positive), null),
  diff_hunk: z.catch(z.string(), ''),
});

const payloadSchema = z.object({
  action: z.catch(z.string(), ''),
  issue: optionalPlace,
  pull_request: z.catch(
    z.optional(
      z.object({
        number: positive,
        head: z.catch(z.optional(z.object({ repo: repository })), undefined),
      }),
    ),
    undefined,
  ),
  workflow_run: z.catch(
    z.optional(
      z.object({ pull_requests, event: z.catch(z.string(), ''), head_repository: repository }),
    ),
    undefined,
  ),
  check_run: places,
  check_suite: places,
  merge_group: z.catch(z.optional(z.object({ head_ref: z.string() })), undefined),
  comment: z.catch(z.optional(written), undefined),
  review: z.catch(z.optional(written), undefined),
  sender: z.catch(z.optional(account), undefined),
  repository,
});
type Payload = z.infer<typeof payloadSchema>;

/** Where each event carries its conversation (GitHub docs, "Events that trigger workflows"). */
const CONVERSATION: Readonly<Record<string, (payload: Payload) => number | undefined>> = {
  issues: ({ issue }) => issue?.number,
  issue_comment: ({ issue }) => issue?.number,
  pull_request: ({ pull_request }) => pull_request?.number,
  pull_request_target: ({ pull_request }) => pull_request?.number,
  pull_request_review: ({ pull_request }) => pull_request?.number,
  pull_request_review_comment: ({ pull_request }) => pull_request?.number,
  workflow_run: (payload) => ownPlace(payload, payload.workflow_run),
  check_run: (payload) => ownPlace(payload, payload.check_run),
  check_suite: (payload) => ownPlace(payload, payload.check_suite),
  merge_group: ({ merge_group }) => queuedPullRequest(merge_group?.head_ref),
};

/** Where the two events that may come from a fork name the repository of their head. */
const HEAD: Readonly<Record<string, (payload: Payload) => Payload['repository']>> = {
  pull_request: ({ pull_request }) => pull_request?.head?.repo,
  workflow_run: ({ workflow_run }) => workflow_run?.head_repository,
};

/** Whether the event is somebody's comment or review, so that its text may hold a command. */
export function isCommentEvent(event: string): boolean {
  return Object.hasOwn(COMMENT_EVENTS, event);
}

/** Reads the event. Of one that is unknown, only the sender counts; of a broken file, nothing. */
export function readTrigger(event: string, file: Uint8Array | null): TriggerRead {
  const plain: Trigger = {
    event,
    conversation: null,
    sender: null,
    isHeadHere: false,
    causedBy: '',
    comment: null,
  };
  const broken = (why: string): TriggerRead => ({ kind: 'broken', why, trigger: plain });
  if (file === null) return broken('the event file cannot be read');
  try {
    const payload = payloadSchema.safeParse(JSON.parse(new TextDecoder().decode(file)));
    if (!payload.success) return broken('the event file does not hold a JSON object');
    const conversation = own(CONVERSATION, event)?.(payload.data) ?? null;
    const comment = readComment(event, payload.data, conversation);
    if (isCommentEvent(event) && comment === null) {
      return broken('the event file does not tell who wrote what, and where');
    }
    const { sender = null, repository: here } = payload.data;
    const head = own(HEAD, event)?.(payload.data);
    const isHeadHere = head?.id !== undefined && head.id === here?.id;
    const causedBy = event === 'workflow_run' ? (payload.data.workflow_run?.event ?? '') : '';
    const trigger = { event, conversation, sender, isHeadHere, causedBy, comment };
    return { kind: 'valid', trigger };
  } catch {
    return broken('the event file is not valid JSON');
  }
}

/** The name of an event may be that of something on every object. */
function own<T>(table: Readonly<Record<string, T>>, event: string): T | undefined {
  return Object.hasOwn(table, event) ? table[event] : undefined;
}

function readComment(
  event: string,
  payload: Payload,
  conversation: number | null,
): CommentTrigger | null {
  const kind = own(COMMENT_EVENTS, event);
  const text = kind === 'review' ? payload.review : payload.comment;
  if (kind === undefined || text === undefined || payload.sender === undefined) return null;
  if (conversation === null) return null;
  return {
    kind,
    action: payload.action,
    conversation,
    id: text.id,
    nodeId: text.node_id,
    body: text.body,
    author: text.user,
    sender: payload.sender,
    // Fail closed: whatever stands there and is not null counts as an app.
    viaApp: (text.performed_via_github_app ?? null) !== null,
    context:
      kind === 'review-comment'
        ? { path: text.path, line: text.line, diffHunk: text.diff_hunk }
        : null,
  };
}

function ownPlace({ repository }: Payload, run: Payload['check_run']): number | undefined {
  return run?.pull_requests.find(({ base }) => base.repo.id === repository?.id)?.number;
}

/** A merge group's branch names the last pull request in it. */
function queuedPullRequest(headRef = ''): number | undefined {
  const number = /^refs\/heads\/gh-readonly-queue\/.+\/pr-([1-9]\d{0,9})-[0-9a-f]+$/.exec(headRef);
  return number === null ? undefined : Number(number[1]);
}
