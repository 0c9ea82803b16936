import { createRequire } from 'node:module';
import type { CommentTrigger, CommitTrigger, Trigger } from '../../src/trigger/trigger.ts';
import { parseTrigger } from '../../src/trigger/trigger.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface WebhookEvent {
  /** As in `GITHUB_EVENT_NAME`. */
  readonly name: string;
  readonly payload: Json;
}

export interface Person {
  readonly login: string;
  readonly id: number;
  readonly type: 'User' | 'Bot' | 'Organization';
}

interface Common {
  readonly action?: string;
  /** `owner/name`. */
  readonly repository?: string;
  readonly sender?: Person;
}

interface Written extends Common {
  readonly number: number;
  readonly author?: Person;
  /** How the pull request has ended. Default: it is open. */
  readonly over?: 'merged' | 'closed';
  /** Of the comment or review. */
  readonly id?: number;
}

const REPOSITORY = 'octo/agents';
/** Some examples use both. */
const EXAMPLE_REPOSITORIES = /Codertocat\/Hello-World|octo-org\/octo-repo/g;
const SERVER = 'https://github.com';
const API = 'https://api.github.com';
/** The newest commit of the simulated pull requests, unless a test has others. */
export const SHA = 'a'.repeat(40);
const ZERO_SHA = '0'.repeat(40);

/** That of the simulated pull requests. */
const BRANCH = 'changes';

const DIFF = '@@ -10,3 +10,3 @@\n context\n-old line\n+new line';
/** The repository of all events. */
const HERE = 1;

export const ALICE: Person = { login: 'alice', id: 1001, type: 'User' };
export const RENOVATE: Person = { login: 'renovate[bot]', id: 29_139_614, type: 'Bot' };
/** Not all bots have a suffix. */
export const COPILOT: Person = { login: 'Copilot', id: 198_982_749, type: 'Bot' };
export const DEPENDABOT: Person = { login: 'dependabot[bot]', id: 49699333, type: 'Bot' };

/** What the action reads from the event. Throws if it cannot be read. */
export function triggerOf({ name, payload }: WebhookEvent): Trigger {
  const read = parseTrigger(name, Buffer.from(JSON.stringify(payload)));
  if (read.kind === 'problem') throw new Error(read.problem);
  return read.value;
}

/** What it reads of the comment or review. */
export function commentOf(given: WebhookEvent): CommentTrigger {
  const trigger = triggerOf(given);
  if (trigger.kind !== 'comment') throw new Error('The event has no comment.');
  return trigger.comment;
}

/** What it reads of the run or check. */
export function checkOf(given: WebhookEvent): CommitTrigger {
  const trigger = triggerOf(given);
  if (trigger.kind !== 'check') throw new Error('The event is about no commit.');
  return trigger.check;
}

/**
 * A real payload, changed to our repository and deeply merged with `overrides`. An action without an
 * example gets the first example of the event.
 */
export function event(name: string, action?: string, overrides: Json = {}, home = REPOSITORY) {
  const examples = loadExamples().find((definition) => definition.name === name)?.examples ?? [];
  const example = examples.find((one) => one.action === action) ?? examples[0];
  if (example === undefined) throw new Error(`The event ${name} has no example.`);
  const own = action === undefined ? {} : { action };
  return { name, payload: merge(merge(move(example, home), own), overrides) };
}

type Definition = { readonly name: string; readonly examples: readonly Json[] };

/** The examples are 4 MB, so they are loaded only if needed. `require` caches them. */
function loadExamples(): readonly Definition[] {
  return createRequire(import.meta.url)('@octokit/webhooks-examples');
}

function move(example: Json, repository: string): Json {
  const [login, name] = repository.split('/');
  const text = JSON.stringify(example).replaceAll(EXAMPLE_REPOSITORIES, repository);
  return JSON.parse(text, (_key, value) =>
    value?.full_name === repository
      ? { ...value, name, owner: { ...value.owner, login, html_url: `${SERVER}/${login}` } }
      : value,
  );
}

function merge(base: Json, overrides: Json): Json {
  const merged = Object.entries(overrides).map(([key, value]) => {
    const old = base[key];
    return [key, isJson(old) && isJson(value) ? merge(old, value) : value];
  });
  return { ...base, ...Object.fromEntries(merged) };
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `fork` is the repository of the head: null if it was deleted, missing if it is our own. */
export function pullRequest(
  options: Common & {
    readonly number: number;
    readonly author?: Person;
    readonly fork?: string | null;
    /** Makes it the event `pull_request_target`. */
    readonly target?: boolean;
  },
): WebhookEvent {
  const { number, fork, author = ALICE, repository = REPOSITORY } = options;
  const head = fork === undefined ? {} : forkedHead(fork);
  const html_url = `${SERVER}/${repository}/pull/${number}`;
  const about = { number, pull_request: { number, html_url, user: author, head } };
  const { payload } = written('pull_request', 'opened', options, about);
  return { name: options.target === true ? 'pull_request_target' : 'pull_request', payload };
}

function forkedHead(fork: string | null): Json {
  if (fork === null) return { label: 'unknown repository', user: null, repo: null };
  return { repo: { id: 900_001, full_name: fork, fork: true } };
}

export function issueComment(
  options: Written & {
    readonly body: string;
    /** Default: true. */
    readonly onPullRequest?: boolean;
    /** Whether an app wrote the comment on behalf of the author. */
    readonly viaApp?: boolean;
  },
): WebhookEvent {
  const { number, body, onPullRequest = true, id = 3_000_000_001, author: user = ALICE } = options;
  const app = { id: 77, slug: 'helper', name: 'Helper', owner: { login: 'helpers' } };
  const { state, merged_at } = pullOf(options);
  const performed_via_github_app = options.viaApp ? app : null;
  return written('issue_comment', 'created', options, {
    issue: { number, state, ...(onPullRequest && { pull_request: { merged_at } }) },
    comment: { id, user, node_id: `IC_${id}`, body, performed_via_github_app },
  });
}

export function reviewComment(
  options: Written & {
    readonly body: string;
    readonly path?: string;
    /** Null if the line no longer exists. */
    readonly line?: number | null;
    /** The first of several lines. */
    readonly startLine?: number | null;
    readonly diffHunk?: string;
    /** The ID of the first comment of the thread. Default: it is that itself. */
    readonly replyTo?: number;
  },
): WebhookEvent {
  const { body, line = 12, startLine: start_line = null, author: user = ALICE } = options;
  const { id = 3_000_000_001, path = 'docs/guide.md', diffHunk: diff_hunk = DIFF } = options;
  const { replyTo: in_reply_to_id } = options;
  const place = { path, line, start_line, diff_hunk, ...(in_reply_to_id && { in_reply_to_id }) };
  return written('pull_request_review_comment', 'created', options, {
    pull_request: pullOf(options),
    comment: { id, user, node_id: `PRRC_${id}`, body, ...place },
  });
}

export function review(
  options: Written & { readonly body: string | null; readonly state?: string },
): WebhookEvent {
  const { number, body, id = 1_000_000_001, state = 'commented', author: user = ALICE } = options;
  const page = `${SERVER}/${options.repository ?? REPOSITORY}/pull/${number}`;
  const html_url = `${page}#pullrequestreview-${id}`;
  return written('pull_request_review', 'submitted', options, {
    pull_request: pullOf(options),
    review: { id, user, node_id: `PRR_${id}`, body, state, html_url },
  });
}

/** The pull request of a comment or review. */
function pullOf({ number, over }: Written) {
  const merged_at = over === 'merged' ? '2026-11-01T10:00:00Z' : null;
  return { number, state: over === undefined ? 'open' : 'closed', merged_at };
}

/** An event of what its sender has written. */
function written(name: string, usual: string, options: Omit<Written, 'number'>, parts: Json) {
  const { action = usual, author = ALICE, sender = author, repository } = options;
  return event(name, action, { ...parts, sender }, repository);
}

export function push(options: Common & { readonly ref?: string } = {}): WebhookEvent {
  const { ref = 'refs/heads/main', sender = ALICE, repository } = options;
  return event('push', undefined, { ref, after: SHA, sender }, repository);
}

/** Not in the examples: the payload has a schedule and no sender. */
export function schedule(home = REPOSITORY): WebhookEvent {
  const { repository } = event('workflow_dispatch', undefined, {}, home).payload;
  const workflow = '.github/workflows/nudge.yml';
  return { name: 'schedule', payload: { schedule: '0 6 * * 1', repository, workflow } };
}

export function workflowDispatch(
  options: Common & { readonly inputs?: Readonly<Record<string, string>> } = {},
): WebhookEvent {
  const { inputs = {}, sender = ALICE } = options;
  return event('workflow_dispatch', undefined, { inputs, sender }, options.repository);
}

export function repositoryDispatch(payload: Json): WebhookEvent {
  const overrides = { client_payload: payload, sender: ALICE };
  return event('repository_dispatch', undefined, overrides);
}

interface AboutCommit extends Common {
  readonly pullRequests?: readonly number[];
  /** The commit, and the newest one of the pull requests at that time. */
  readonly sha?: string;
  readonly head?: string;
  /** Other fields of the run or check, which has not failed. */
  readonly fields?: Json;
}

/** The list of pull requests is empty for a pull request from a fork. */
function aboutCommit({ pullRequests = [], sha = SHA, head = sha, repository }: AboutCommit): Json {
  return {
    head_sha: sha,
    pull_requests: pullRequests.map((number) => pullOfCommit(number, head, HERE, repository)),
  };
}

/** A pull request in the list of an event about a commit. */
export function pullOfCommit(number: number, head = SHA, repositoryId = HERE, home = REPOSITORY) {
  const name = home.split('/')[1];
  const repo = { id: repositoryId, url: `${API}/repos/${home}`, name };
  return {
    id: number,
    number,
    url: `${API}/repos/${home}/pulls/${number}`,
    head: { ref: BRANCH, sha: head, repo },
    base: { ref: 'main', sha: ZERO_SHA, repo },
  };
}

/** `fork` is the repository of the head: null if it was deleted, missing if it is our own. */
export function workflowRun(options: AboutCommit & { readonly fork?: string | null } = {}) {
  const { repository = REPOSITORY, sender = ALICE, fork } = options;
  const forked = fork === null ? null : { id: 900_001, full_name: fork, fork: true };
  return event(
    'workflow_run',
    options.action ?? 'completed',
    {
      workflow_run: {
        event: 'pull_request',
        head_branch: BRANCH,
        head_repository: fork === undefined ? { id: HERE, full_name: repository } : forked,
        status: 'completed',
        name: 'CI',
        conclusion: 'success',
        ...aboutCommit(options),
        ...options.fields,
      },
      repository: { id: HERE },
      sender,
    },
    repository,
  );
}

export function checkRun(options: AboutCommit = {}): WebhookEvent {
  const { repository, sender = ALICE } = options;
  const about = { ...aboutCommit(options), ...options.fields };
  const overrides = { check_run: about, repository: { id: HERE }, sender };
  return event('check_run', options.action ?? 'completed', overrides, repository);
}

export function mergeGroup(options: Common = {}): WebhookEvent {
  const ref = `refs/heads/gh-readonly-queue/main/pr-7-${SHA}`;
  return event(
    'merge_group',
    'checks_requested',
    { merge_group: { head_ref: ref, head_sha: SHA }, sender: options.sender ?? ALICE },
    options.repository,
  );
}
