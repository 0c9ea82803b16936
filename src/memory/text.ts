import { createHash } from 'node:crypto';
import { OPENING } from '../github/command.ts';
import type { Redact } from '../runner/secrets.ts';
import { decode, encode } from './data.ts';
import type { Ledger } from './ledger.ts';

// The body of our comments: a first line that identifies them, what people see, and the data.

const FIRST_LINE = /^<!-- agent-follow-up ([0-9a-f]{16}) -->\n/;
const DATA_LINE = /\n<!-- agent-follow-up data (\d+) ([0-9a-f]{16}) ([A-Za-z0-9+/]+={0,2}) -->$/;
const VERSION = '1';

/** Characters; GitHub takes 65,536. */
const BODY_LIMIT = 60_000;
/** Characters that the data may take, so that there is room for what people see. */
const DATA_LIMIT = 42_000;

/**
 * The data that a comment holds for a project. `unreadable`: written by a later version of this action, or
 * edited by hand, so it is not changed. `none`: not a comment for this project, or one without data.
 */
export type CommentData = Ledger | 'unreadable' | 'none';

/** Reads and writes the comments of one project. */
export interface CommentText {
  read(body: string): CommentData;
  compose(ledger: Ledger): string;
  /** Whether the data of a ledger leaves room for what people see. */
  fits(ledger: Ledger): boolean;
  /** What people see of a ledger, without a limit. */
  visible(ledger: Ledger): string;
}

/** `render` renders the visible part of a ledger, in at most so many characters. */
export function commentText(
  projectId: string,
  render: (ledger: Ledger, limit: number) => string,
  redact: Redact,
): CommentText {
  return {
    read: (body) => readText(body, projectId, redact),
    compose: (ledger) => composeText(projectId, ledger, render),
    fits,
    visible: (ledger) => render(ledger, Infinity),
  };
}

/** If `projectId` is null, the comment may be for any project. */
export function readText(body: string, projectId: string | null, redact?: Redact): CommentData {
  // Editing a comment in the browser changes the line ends.
  const text = body.replaceAll('\r\n', '\n').trimEnd();
  const [, first] = FIRST_LINE.exec(text) ?? [];
  const [, version, last, data = ''] = DATA_LINE.exec(text) ?? [];
  const hash = projectId === null ? (first ?? last) : hashOf(projectId);
  if (hash === undefined || (first !== hash && last !== hash)) return 'none';
  if (first !== last || version !== VERSION) return 'unreadable';
  try {
    return decode(data, redact);
  } catch {
    return 'unreadable';
  }
}

export function fits(ledger: Ledger): boolean {
  return encode(ledger).length <= DATA_LIMIT;
}

export function composeText(
  projectId: string,
  ledger: Ledger,
  render: (ledger: Ledger, limit: number) => string,
): string {
  const hash = hashOf(projectId);
  const first = `${OPENING}${hash} -->`;
  const data = `${OPENING}data ${VERSION} ${hash} ${encode(ledger)} -->`;
  const visible = render(ledger, BODY_LIMIT - first.length - data.length);
  return `${first}\n${visible}\n\n${data}`;
}

/** A comment without data, such as the usage. */
export function composeNotice(kind: string, visible: string): string {
  return `${OPENING}${kind} -->\n${visible}`;
}

function hashOf(projectId: string): string {
  return createHash('sha256').update(projectId).digest('hex').slice(0, 16);
}
