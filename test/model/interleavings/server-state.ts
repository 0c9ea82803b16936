import type { Exchange } from '../../../src/agent/http.ts';
import type { OwnComment, Reaction } from '../../../src/github/api.ts';
import { GitHubError } from '../../../src/github/errors.ts';
import { EMPTY, type Ledger, unite } from '../../../src/memory/ledger.ts';
import type { CommentText } from '../../../src/memory/text.ts';
import { namedText } from './named-text.ts';

// The state of GitHub and the API, in memory. Everything happens at once here: the execution decides when
// a call takes effect, and when its response arrives.

export const PROJECT = 'proj-1';
export const SERVER_URL = 'https://github.com';
export const REPOSITORY = 'octo/agents';

/** A comment by the account that all runs share. */
export interface StoredComment {
  readonly id: number;
  readonly conversation: number;
  /** The oldest first; the last one is the current one. */
  readonly versions: string[];
  updatedAt: number;
  /** The run that created it; empty if it existed before. */
  readonly by: string;
}

/** A message that the API accepted. */
export interface Post {
  readonly jobId: string;
  readonly by: string;
}

export interface Query {
  readonly conversation: number;
  readonly nodeIds: readonly string[];
  readonly withVersions: boolean;
}

/** How the API responds to a message. */
export type Reply = 'accepts' | 'refuses';

export class ServerState {
  readonly text: CommentText;
  keepsHistory = true;
  readonly comments: StoredComment[] = [];
  /** The ID of the rocket reaction, by its target. */
  readonly rockets = new Map<string, number>();
  readonly posts: Post[] = [];
  /** All texts that comments ever had. */
  readonly bodies: string[] = [];
  /** The runs whose reaction was new, and was not removed. */
  claims: readonly string[] = [];
  /** Polls of a job by a run since the last message to it. */
  readonly #polls = new Map<string, number>();
  /** The number of the pull request of each job that has one. */
  readonly #pullRequests: ReadonlyMap<string, number>;
  /** The conversation of each comment by its ID, including deleted comments. */
  readonly #conversations = new Map<number, number>();
  #lastId = 0;

  constructor(pullRequests: ReadonlyMap<string, number>, text: CommentText = namedText()) {
    this.#pullRequests = pullRequests;
    this.text = text;
  }

  ledgerOf(body: string): Ledger {
    const text = this.text.read(body);
    return typeof text === 'string' ? EMPTY : text;
  }

  /** The response to a query: the comments that are listed, and those that are queried by ID. */
  read(
    { conversation, nodeIds, withVersions }: Query,
    isListed: (comment: StoredComment) => boolean,
  ): readonly OwnComment[] {
    return this.comments
      .filter(
        (comment) =>
          nodeIds.includes(nodeIdOf(comment)) ||
          (comment.conversation === conversation && isListed(comment)),
      )
      .map((comment) => toOwn(comment, withVersions && this.keepsHistory));
  }

  /** The comments that the response contains only if the list shows them. */
  unknownTo({ conversation, nodeIds }: Query): readonly StoredComment[] {
    return this.comments.filter(
      (comment) => comment.conversation === conversation && !nodeIds.includes(nodeIdOf(comment)),
    );
  }

  create(conversation: number, body: string, by: string, at: number): OwnComment {
    this.#lastId += 1;
    const comment = {
      id: this.#lastId,
      conversation,
      versions: [body],
      updatedAt: seconds(at),
      by,
    };
    this.comments.push(comment);
    this.bodies.push(body);
    this.#conversations.set(comment.id, conversation);
    return toOwn(comment);
  }

  conversationOf(id: number): number | undefined {
    return this.#conversations.get(id);
  }

  update(id: number, body: string, at: number): OwnComment | null {
    const comment = this.comments.find((one) => one.id === id);
    if (comment === undefined) return null;
    if (comment.versions.at(-1) !== body) comment.versions.push(body);
    this.bodies.push(body);
    // Each run has its own clock here, but the time of a comment never goes back.
    comment.updatedAt = Math.max(comment.updatedAt, seconds(at));
    return toOwn(comment);
  }

  remove(id: number): void {
    const index = this.comments.findIndex((one) => one.id === id);
    if (index < 0) throw new GitHubError(404, 'GitHub answered 404');
    this.comments.splice(index, 1);
  }

  /** Like 201 for the first reaction of the account, and 200 for later ones. */
  react(target: string, by: string): Reaction {
    const known = this.rockets.get(target);
    if (known !== undefined) return { id: known, isNew: false };
    this.#lastId += 1;
    this.rockets.set(target, this.#lastId);
    this.claims = [...this.claims, by];
    return { id: this.#lastId, isNew: true };
  }

  unreact(target: string, by: string): void {
    this.rockets.delete(target);
    this.claims = this.claims.filter((name) => name !== by);
  }

  post(jobId: string, by: string, reply: Reply): Exchange {
    if (reply === 'refuses') return answer(401, { error: 'no key', details: [] });
    this.posts.push({ jobId, by });
    this.#polls.clear();
    return answer(202, this.#record(jobId, 'active'));
  }

  /** The job is completed; a message makes it active for one poll of each run. */
  poll(jobId: string, by: string): Exchange {
    const name = `${by} ${jobId}`;
    const polls = this.#polls.get(name) ?? 0;
    this.#polls.set(name, polls + 1);
    const isSent = this.posts.some((post) => post.jobId === jobId);
    return answer(200, this.#record(jobId, isSent && polls === 0 ? 'active' : 'completed'));
  }

  /** The united data of all comments of a conversation. */
  remembered(conversation?: number): Ledger {
    const bodies = this.comments
      .filter((comment) => conversation === undefined || comment.conversation === conversation)
      .map(({ versions }) => versions.at(-1) ?? '');
    return unite(bodies.map((body) => this.ledgerOf(body)));
  }

  #record(id: string, status: string): Readonly<Record<string, unknown>> {
    const number = this.#pullRequests.get(id);
    const prLink = number === undefined ? null : pullRequest(number);
    return { id, status, source: null, model: null, prLink };
  }
}

function toOwn(comment: StoredComment, withVersions = false): OwnComment {
  const { id, conversation, versions, updatedAt } = comment;
  const body = versions.at(-1) ?? '';
  return {
    id,
    nodeId: nodeIdOf(comment),
    body,
    url: `${pullRequest(conversation)}#issuecomment-${id}`,
    updatedAt,
    versions: withVersions ? [...versions] : [body],
  };
}

function pullRequest(number: number): string {
  return `${SERVER_URL}/${REPOSITORY}/pull/${number}`;
}

function nodeIdOf({ id }: StoredComment): string {
  return `IC_${id}`;
}

/** GitHub returns whole seconds. */
function seconds(at: number): number {
  return Math.floor(at / 1000) * 1000;
}

function answer(status: number, json: unknown): Exchange {
  return {
    kind: 'answer',
    status,
    contentType: 'application/json',
    retryAfter: [],
    date: '',
    locationHost: '',
    requestId: '',
    body: { kind: 'ok', value: JSON.stringify(json) },
  };
}
