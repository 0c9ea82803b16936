import * as z from 'zod/mini';
import { MARKER, OPENING, parseJson } from '../text.ts';
import { type CommentRecord, commentRecord, type MessageId, shortHash } from './record.ts';

// The hidden lines of our comments: the marker at the beginning, and the record in the last line.

const RECORD_VERSION = 1;
const versionedRecord = z.extend(commentRecord, { version: z.literal(RECORD_VERSION) });

/** Characters; GitHub takes 65,536. */
const BODY_LIMIT = 60_000;

/** `render` renders what people see, in at most so many characters. */
export function composeComment(record: CommentRecord, render: (limit: number) => string): string {
  // `-->` would end the line in HTML.
  const json = JSON.stringify({ version: RECORD_VERSION, ...record }).replaceAll('>', '\\u003e');
  const line = `${OPENING} ${json} -->`;
  return `${composeMarked(render(BODY_LIMIT - line.length - MARKER.length - 3))}\n\n${line}`;
}

/** What a comment without a record is about: a hash of the message, and who asked for that. */
export type ReplyId = Readonly<ReturnType<typeof toReplyId>>;

export function toReplyId(message: Pick<MessageId, 'run' | 'step' | 'command' | 'askedBy'>) {
  const { run, step, command, askedBy } = message;
  const by = command === '' && askedBy === undefined ? 'check' : 'person';
  return { step, message: shortHash(run, step, command), by } as const;
}

/** A comment without a record, such as the usage. It is never taken for a command. */
export function composeReply({ step, message, by }: ReplyId, visible: string): string {
  return composeMarked(`${OPENING} reply ${step} ${message} ${by} -->\n${visible}`);
}

function composeMarked(text: string): string {
  // Else a text that quotes a record would make the comment unreadable.
  return `${MARKER}\n${text.replaceAll('"project":', '"project" :')}`;
}

const HASH = '[0-9a-f]{16}';
const REPLY = new RegExp(
  `^${MARKER}\\r?\\n${OPENING} reply (${HASH}) (${HASH}) (person|check) -->(?=\\r?\\n|$)`,
);

export function parseReply(body: string): ReplyId | undefined {
  const found = REPLY.exec(body.trimStart());
  if (found === null || body.match(RECORD_LINE) !== null) return undefined;
  const [, step = '', message = '', by] = found;
  return { step, message, by: by as ReplyId['by'] };
}

/** Browsers change the ends of lines. JSON may have U+2028. */
const RECORD_LINE = /^<!-- agent-follow-up (\{[^\r\n]*\}) -->$/gm;

const ANY_PROJECT = new RegExp(`"project":"${HASH}"`);

// A comment of our own identity that only ends with the line has no record: another workflow with
// this identity may quote a stranger. It had one if somebody else has edited it (`isEdited`), and
// has put text above the marker, or deleted that or the line.
export function parseRecord(
  body: string,
  project: string,
  isEdited = false,
): CommentRecord | 'none' | 'unreadable' {
  const text = body.trimStart();
  if (parseReply(text) !== undefined) return 'none';
  // Text by others has the hash of the project only if they copied it.
  if (!text.includes(`"project":"${project}"`)) {
    return isEdited && text.startsWith(MARKER) && !ANY_PROJECT.test(text) ? 'unreadable' : 'none';
  }
  if (!text.startsWith(MARKER)) return isEdited ? 'unreadable' : 'none';
  const [line, ...others] = text.matchAll(RECORD_LINE);
  const { data } = versionedRecord.safeParse(parseJson(line?.[1] ?? ''));
  if (data === undefined || others.length > 0) return 'unreadable';
  const { version: _, ...record } = data;
  return record.project === project ? record : 'none';
}
