// The newest comments of an issue or pull request, and reactions to a review, by GraphQL.

import type { Answer, JournalEntry } from '../agent.ts';
import { type Reaction, reactToReview } from './reactions.ts';
import { type Comment, type Repository, readJson } from './repository.ts';

interface Question {
  readonly query?: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

const MAX_INT = 2 ** 31 - 1;

/** Understands only the newest comments of an issue or pull request, and reactions to a review. */
export function graphql(
  repository: Repository,
  reactions: Reaction[],
  request: JournalEntry,
): Answer {
  const { query = '', variables = {} } = readJson(request) as Question;
  if (query.includes('addReaction(')) return reactToReview(repository, reactions, variables);
  const asked = /comments\(\s*last:\s*(\d+)(?:[\s,]*before:\s*\$(\w+))?\s*\)/.exec(query);
  if (!query.includes('issueOrPullRequest') || asked === null || Number(asked[1]) > 100) {
    return { body: { errors: [{ message: 'The simulator does not know this query.' }] } };
  }
  const { owner, name = variables.repo, number } = variables;
  const isHere = `${owner}/${name}`.toLowerCase() === repository.name.toLowerCase();
  if (!isHere) return missing(null, ['repository']);
  const issue = repository.issues.get(Number(number));
  if (issue === undefined) {
    return missing({ issueOrPullRequest: null }, ['repository', 'issueOrPullRequest']);
  }
  const before = asked[2] === undefined ? null : (variables[asked[2]] ?? null);
  const older = issue.comments.filter(({ id }) => before === null || id < fromCursor(before));
  const page = older.slice(-Number(asked[1]));
  const comments = {
    nodes: page.map((one) => graphqlComment(repository, one)),
    pageInfo: {
      hasPreviousPage: page.length < older.length,
      startCursor: toCursor(page[0]),
      hasNextPage: older.length < issue.comments.length,
      endCursor: toCursor(page.at(-1)),
    },
  };
  const __typename = issue.pullRequest === true ? 'PullRequest' : 'Issue';
  const issueOrPullRequest = { __typename, locked: issue.locked ?? false, comments };
  return { body: { data: { repository: { issueOrPullRequest } } } };
}

function graphqlComment({ viewer }: Repository, comment: Comment): object {
  const { id, author, body, html_url: url, created_at: createdAt } = comment;
  return {
    id: `IC_${id}`,
    // The schema's Int ends here; `fullDatabaseId` took its place.
    databaseId: id > MAX_INT ? null : id,
    fullDatabaseId: String(id),
    body,
    url,
    createdAt,
    updatedAt: comment.updated_at,
    viewerDidAuthor: author === viewer.login,
    // Unlike REST, GraphQL names bots without the suffix.
    author: { login: author.replace(/\[bot\]$/, '') },
  };
}

function toCursor(comment: Comment | undefined): string | null {
  return comment === undefined ? null : Buffer.from(`cursor:${comment.id}`).toString('base64');
}

function fromCursor(cursor: unknown): number {
  return Number(Buffer.from(String(cursor), 'base64').toString().replace('cursor:', ''));
}

function missing(repository: object | null, path: readonly string[]): Answer {
  const message = 'Could not resolve to what was asked for.';
  return { body: { data: { repository }, errors: [{ type: 'NOT_FOUND', path, message }] } };
}
