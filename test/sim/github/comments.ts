// Comments on issues, pull requests and lines of a diff, by REST.

import type { Answer, JournalEntry } from '../agent.ts';
import type { Comment, Found, Issue } from './issues.ts';
import { type Repository, readJson, refusal } from './repository.ts';

const MAX_BODY = 65_536;

function restComment({ account }: Repository, comment: Comment): object {
  const { id, node_id, author, body, html_url, created_at, updated_at } = comment;
  return { id, node_id, body, html_url, created_at, updated_at, user: account(author) };
}

export function createComment(repository: Repository, issue: Issue, request: JournalEntry): Answer {
  if (issue.locked) return refusal(403, 'Unable to create comment because issue is locked.');
  const body = readBody(request);
  if (typeof body !== 'string') return body;
  const comment = repository.actions.addComment(issue.number, repository.viewer.login, body);
  return { status: 201, body: restComment(repository, comment) };
}

export function updateComment(repository: Repository, found: Found, request: JournalEntry): Answer {
  const body = readBody(request);
  if (typeof body !== 'string') return body;
  return { body: restComment(repository, repository.actions.editComment(found.comment.id, body)) };
}

function readBody(request: JournalEntry): string | Answer {
  const { body } = readJson(request);
  if (typeof body !== 'string' || body.trim() === '') return refusal(422, 'Validation Failed');
  if (body.length <= MAX_BODY) return body;
  return refusal(422, `Validation Failed: body is too long (maximum is ${MAX_BODY} characters)`);
}
