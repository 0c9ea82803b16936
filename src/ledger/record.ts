import { createHash, randomBytes } from 'node:crypto';
import * as z from 'zod/mini';
import {
  DELIVERIES,
  deliveryOf,
  isCreated,
  isId,
  type Job,
  mayBeSent,
  NEW_JOB,
  sentAtOf,
  statusBefore,
} from '../job/job.ts';
import { RESULT_NAMES, statusWith } from '../job/outcome.ts';
import { isKnownStatus } from '../service.ts';
import { MARKER, OPENING } from '../text.ts';

// The last line of a comment of this action: what other runs and later attempts must know, as JSON. docs/delivery.md
// explains it.

const NOTE_VERSION = 1;
const hash = z.string().check(z.regex(/^[0-9a-f]{16}$/));
const number = z.int().check(z.positive());
/** In milliseconds since 1970. */
const time = z.int().check(z.gte(0));

/** What a note says of a job. What is left out is not known, or false. */
const noteJob = z.object({
  /** Empty while it is being created. */
  id: z.string().check(z.refine((id) => id === NEW_JOB || isId(id))),
  /** `sending`: the message may still be sent, or its result could not be written. The others never change. */
  delivery: z.enum(['sending', ...DELIVERIES]),
  /** When the API accepted the message. */
  sentAt: z.optional(time),
  /** The status just before the message. Without it, the end of the message cannot be confirmed. */
  base: z.optional(z.string()),
  /** Whether the agent was seen at work on the message. */
  isOurs: z.optional(z.boolean()),
  /** How and when the process was done with the job. */
  ended: z.optional(z.object({ result: z.enum(RESULT_NAMES), confirmed: z.boolean(), at: time })),
  /** Whether the limit of messages has stopped it. */
  limited: z.optional(z.boolean()),
  /** The number of its pull request, if that is in this repository. */
  prNumber: z.optional(number),
  /** The newest commit of a pull request that the process saw there, just before the message. */
  head: z.optional(z.object({ number, sha: z.string().check(z.regex(/^[0-9a-f]{40,64}$/)) })),
});
export type NoteJob = Readonly<z.infer<typeof noteJob>>;

/** Of a person. What a comment mentions can be nothing else. */
const LOGIN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$/;

const note = z.object({
  version: z.literal(NOTE_VERSION),
  /** Both are hashes, because the comment is public. */
  project: hash,
  step: hash,
  /** The ID of the workflow run. */
  run: z.string(),
  attempt: z.int().check(z.gte(1)),
  /** The kind and ID of the comment with the command; empty if the message is that of a step. */
  command: z.string(),
  /** The commit that the event is about; empty if it is about none. */
  commit: z.string().check(z.regex(/^[0-9a-f]{0,64}$/)),
  /** Whether a bot triggered the message. */
  byBot: z.boolean(),
  /** The login of the person who asked for it. */
  askedBy: z.catch(z.optional(z.string().check(z.regex(LOGIN))), undefined),
  /** A random word, by which a process knows the comments that it has created. */
  process: hash,
  jobs: z.readonly(z.array(noteJob)),
});
export type NoteData = Readonly<Omit<z.infer<typeof note>, 'version'>>;

/** What the notes of a process have in common: which message it sends. */
export type MessageId = Omit<NoteData, 'jobs'>;

/** A note in a comment that was found. */
export interface FoundNote extends NoteData {
  readonly url: string;
  /** Its ID in GraphQL. */
  readonly nodeId: string;
  /** When GitHub created it: ISO 8601, in whole seconds. */
  readonly createdAt: string;
}

/** Undefined if a note or a mention cannot have the login. */
export function loginOf(text: string): string | undefined {
  return LOGIN.test(text) ? text : undefined;
}

/** Random, of 16 hex digits. */
export function newWord(): string {
  return randomBytes(8).toString('hex');
}

/** A hash that tells two texts apart, and nothing about them. */
export function hashOf(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16);
}

/** Whether both are about the same message: that of a step or, for a command, also the command. */
export function isSameMessage(one: MessageId, other: MessageId): boolean {
  return one.run === other.run && one.step === other.step && one.command === other.command;
}

export function toNoteJob(job: Job): NoteJob {
  const { id, after, record, end, head } = job;
  const sentAt = sentAtOf(job);
  return {
    id,
    delivery: noteDelivery(job),
    sentAt: sentAt && Math.round(sentAt),
    base: baseOf(job),
    isOurs: after.work === 'our message' || undefined,
    ended: endedOf(job),
    limited: end?.label === 'limited' || undefined,
    prNumber: record?.prNumber ?? undefined,
    head: head && { number: head.number, sha: head.sha },
  };
}

/** Of a status that is not known, only that there was one: its text may be long. */
function baseOf(job: Job): string | undefined {
  const before = statusBefore(job);
  if (before === undefined || isKnownStatus(before) || isCreated(job)) return before;
  return 'unknown';
}

/** What this attempt did: of a doubt about an earlier one, the note of that one tells. */
function noteDelivery(job: Job): NoteJob['delivery'] {
  if (mayBeSent(job)) return 'sending';
  return job.message.kind === 'unknown' && job.message.isEarlier ? 'not-sent' : deliveryOf(job);
}

function endedOf({ end, endedAt }: Job): NoteJob['ended'] {
  if (end === undefined || endedAt === undefined) return undefined;
  return { result: end.result, confirmed: end.confirmed === true, at: Math.round(endedAt) };
}

/** The end of the work on the message, if the process saw it: a re-run reports just that. */
export function endOfWork({ delivery, ended }: NoteJob) {
  const status = ended && statusWith(ended.result);
  return delivery === 'sent' && status !== undefined ? { ...ended, status } : undefined;
}

/** Whether a job is being created there, or may have been, of which the ID is not known. */
export function isCreating({ id, delivery }: NoteJob): boolean {
  return id === NEW_JOB && delivery !== 'not-sent';
}

/** Characters; GitHub takes 65,536. */
const BODY_LIMIT = 60_000;

/** The body of a comment. `render` renders what people see, in at most so many characters. */
export function composeNote(data: NoteData, render: (limit: number) => string): string {
  // `-->` would end the line in HTML.
  const json = JSON.stringify({ version: NOTE_VERSION, ...data }).replaceAll('>', '\\u003e');
  const line = `${OPENING} ${json} -->`;
  return `${composeMarked(render(BODY_LIMIT - line.length - MARKER.length - 3))}\n\n${line}`;
}

/** What a comment is about that is no note. */
export interface ReplyId {
  readonly step: string;
  /** A hash of the message. */
  readonly message: string;
  /** Who asked for the message: a person, or a check or another program. */
  readonly by: Asker;
}
type Asker = 'person' | 'check';

export function replyIdOf(
  message: Pick<MessageId, 'run' | 'step' | 'command' | 'askedBy'>,
): ReplyId {
  const { run, step, command, askedBy } = message;
  const isAsked = command !== '' || askedBy !== undefined;
  return { step, message: hashOf(run, step, command), by: isAsked ? 'person' : 'check' };
}

/** A comment that is no note, such as the usage. It is never taken for a note, nor for a command. */
export function composeReply({ step, message, by }: ReplyId, visible: string): string {
  return composeMarked(`${OPENING} reply ${step} ${message} ${by} -->\n${visible}`);
}

function composeMarked(text: string): string {
  // Else a text that quotes it would make the comment a note, which is unreadable.
  return `${MARKER}\n${text.replaceAll('"project":', '"project" :')}`;
}

const HASH = '[0-9a-f]{16}';
const REPLY = new RegExp(
  `^${MARKER}\\r?\\n${OPENING} reply (${HASH}) (${HASH}) (person|check) -->(?=\\r?\\n|$)`,
);

/** What a comment of our own identity is about that is no note, whoever has edited it since; undefined for others. */
export function readReply(body: string): ReplyId | undefined {
  const found = REPLY.exec(body.trimStart());
  if (found === null || body.match(DATA_LINE) !== null) return undefined;
  const [, step = '', message = '', by] = found;
  return { step, message, by: by as Asker };
}

/** Editing a comment in the browser changes the line ends; `^` and `$` match at them all. JSON may have U+2028. */
const DATA_LINE = /^<!-- agent-follow-up (\{[^\r\n]*\}) -->$/gm;

/** What each note has, and no other comment of this action. */
const ANY_PROJECT = /"project":"[0-9a-f]{16}"/;

/**
 * The note in a comment of our own identity. `none`: there is none, or one of another project. `unreadable`: written by a
 * later version of this action, or edited by hand. A comment that only ends with the line is none, as another workflow with
 * the same identity may quote a stranger who has copied a note; it was one if somebody else has edited it (`isEdited`), and
 * has put something above the marker, or deleted that or the line.
 */
export function readNote(
  body: string,
  project: string,
  isEdited = false,
): NoteData | 'none' | 'unreadable' {
  const text = body.trimStart();
  if (readReply(text) !== undefined) return 'none';
  // Text by others has the hash of the project only if they copied it.
  if (!text.includes(`"project":"${project}"`)) {
    return isEdited && text.startsWith(MARKER) && !ANY_PROJECT.test(text) ? 'unreadable' : 'none';
  }
  if (!text.startsWith(MARKER)) return isEdited ? 'unreadable' : 'none';
  const [line, ...others] = text.matchAll(DATA_LINE);
  try {
    if (line === undefined || others.length > 0) return 'unreadable';
    const { version: _, ...data } = z.parse(note, JSON.parse(line[1] ?? ''));
    return data.project === project ? data : 'none';
  } catch {
    return 'unreadable';
  }
}
