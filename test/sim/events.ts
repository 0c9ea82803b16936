import { createRequire } from 'node:module';
import type { CommentTrigger, CommitTrigger, Trigger } from '../../src/trigger/trigger.ts';
import { parseTrigger } from '../../src/trigger/trigger.ts';

export type Json = Readonly<Record<string, unknown>>;

/** `name`: as in `GITHUB_EVENT_NAME`. */
export type WebhookEvent = { readonly name: string; readonly payload: Json };

export interface Person {
  readonly login: string;
  readonly id: number;
  readonly type: 'User' | 'Bot' | 'Organization';
}

interface Common {
  readonly action?: string;
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
/** The newest commit of the simulated pull requests, unless a test has others. */
export const SHA = 'a'.repeat(40);
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

/** The examples are 4 MB, so they are loaded only if needed. `require` caches them. */
function loadExamples(): readonly { readonly name: string; readonly examples: readonly Json[] }[] {
  return createRequire(import.meta.url)('@octokit/webhooks-examples');
}

function move(example: Json, repository: string): Json {
  const [login, name] = repository.split('/');
  const text = JSON.stringify(example).replaceAll(EXAMPLE_REPOSITORIES, repository);
  const owner = { login, html_url: `${SERVER}/${login}` };
  return JSON.parse(text, (_key, value) => {
    const isOurs = value?.full_name === repository;
    return isOurs ? { ...value, name, owner: { ...value.owner, ...owner } } : value;
  });
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
export function pullRequest(options: Written & { readonly fork?: string | null }): WebhookEvent {
  const { number, fork, author: user = ALICE, repository = REPOSITORY } = options;
  const html_url = `${SERVER}/${repository}/pull/${number}`;
  const head = fork === undefined ? {} : { repo: forkNamed(fork) };
  const pull_request = { number, html_url, user, head };
  return written('pull_request', 'opened', options, { number, pull_request });
}

function forkNamed(full_name: string | null): Json | null {
  return full_name === null ? null : { id: 900_001, full_name, fork: true };
}

/** `fields`: others of the comment. */
export function issueComment(
  options: Written & {
    readonly body: string;
    readonly onPullRequest?: boolean;
    readonly fields?: Json;
  },
): WebhookEvent {
  const { number, body, onPullRequest = true, id = 3_000_000_001, author: user = ALICE } = options;
  const { state, merged_at } = pullOf(options);
  return written('issue_comment', 'created', options, {
    issue: { number, state, ...(onPullRequest && { pull_request: { merged_at } }) },
    comment: { id, user, node_id: `IC_${id}`, body, ...options.fields },
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
function written(name: string, usual: string, options: Written, parts: Json): WebhookEvent {
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

export function workflowDispatch(options: Common & { readonly inputs?: Json } = {}): WebhookEvent {
  const { inputs = {}, sender = ALICE, repository } = options;
  return event('workflow_dispatch', undefined, { inputs, sender }, repository);
}

export function repositoryDispatch(client_payload: Json): WebhookEvent {
  return event('repository_dispatch', undefined, { client_payload, sender: ALICE });
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
function aboutCommit({
  pullRequests = [],
  sha = SHA,
  head = sha,
  repository,
  fields,
}: AboutCommit) {
  const pull_requests = pullRequests.map((number) => pullOfCommit(number, head, HERE, repository));
  return { head_sha: sha, pull_requests, ...fields };
}

/** A pull request in the list of an event about a commit. */
export function pullOfCommit(number: number, sha = SHA, id = HERE, home = REPOSITORY) {
  const url = `https://api.github.com/repos/${home}`;
  const repo = { id, url, name: home.split('/')[1] };
  const [head, base] = [
    { ref: BRANCH, sha, repo },
    { ref: 'main', sha: '0'.repeat(40), repo },
  ];
  return { id: number, number, url: `${url}/pulls/${number}`, head, base };
}

/** `fork` is the repository of the head: null if it was deleted, missing if it is our own. */
export function workflowRun(options: AboutCommit & { readonly fork?: string | null } = {}) {
  const { repository: full_name = REPOSITORY, fork } = options;
  return ended('workflow_run', options, {
    ...{ event: 'pull_request', status: 'completed', name: 'CI', conclusion: 'success' },
    head_branch: BRANCH,
    head_repository: fork === undefined ? { id: HERE, full_name } : forkNamed(fork),
    ...aboutCommit(options),
  });
}

export function checkRun(options: AboutCommit = {}): WebhookEvent {
  return ended('check_run', options, aboutCommit(options));
}

function ended(name: string, options: AboutCommit, about: Json): WebhookEvent {
  const { action = 'completed', sender = ALICE, repository } = options;
  const overrides = { [name]: about, repository: { id: HERE }, sender };
  return event(name, action, overrides, repository);
}

export function mergeGroup({ sender = ALICE, repository }: Common = {}): WebhookEvent {
  const head_ref = `refs/heads/gh-readonly-queue/main/pr-7-${SHA}`;
  const overrides = { merge_group: { head_ref, head_sha: SHA }, sender };
  return event('merge_group', 'checks_requested', overrides, repository);
}
