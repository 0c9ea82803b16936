import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import { isId } from '../inputs.ts';
import {
  DELIVERIES,
  deliveryOf,
  FINAL_STATUSES,
  isFinal,
  type Job,
  mayBeSent,
  sentAtOf,
} from '../job.ts';
import { OPENING } from '../text.ts';

// The first line of every comment of this action: what a later attempt must know, as JSON.

const VERSION = 1;
const hash = z.string().check(z.regex(/^[0-9a-f]{0,16}$/));
/** In milliseconds since 1970. */
const time = z.int().check(z.gte(0));

/** What a note says of a job. What is left out is not known, or false. */
const noteJob = z.object({
  id: z.string().check(z.refine(isId)),
  /** `sending`: the message may still be sent, or its result could not be written. */
  delivery: z.enum(['sending', ...DELIVERIES]),
  /** When the API accepted the message; 0 if it has not. */
  sentAt: z._default(time, 0),
  /** The status just before the message. Without it, the end of the message cannot be confirmed. */
  base: z.optional(z.string()),
  /** Whether the agent was seen at work on the message. */
  isOurs: z.optional(z.boolean()),
  /** How the work on the message ended. */
  ended: z.optional(z.object({ result: z.enum(FINAL_STATUSES), confirmed: z.boolean(), at: time })),
  /** Whether the API has returned the job, so that its ID is not just mistyped. */
  known: z.optional(z.boolean()),
  /** Whether the limit of messages has stopped it. */
  limited: z.optional(z.boolean()),
  /** The number of its pull request, if that is in this repository. */
  prNumber: z.optional(z.int().check(z.positive())),
});
export type NoteJob = Readonly<z.infer<typeof noteJob>>;

const note = z.object({
  version: z.literal(VERSION),
  /** Hashes, because the comment is public. The leg is the values of the matrix. */
  project: hash,
  step: hash,
  leg: hash,
  prompt: hash,
  /** The ID of the workflow run. */
  run: z.string(),
  /** The kind and ID of the comment with the command; empty if the message is that of a step. */
  command: z.string(),
  /** The commit that the event is about; empty if it is about none. */
  commit: z.string().check(z.regex(/^[0-9a-f]{0,64}$/)),
  /** Whether a bot triggered the message. */
  byBot: z.boolean(),
  /** The same for all comments of which only the newest matters; empty if all do. */
  series: hash,
  attempt: z.int().check(z.gte(1)),
  /** Random: the name of the process, which finds its comment by it. */
  id: z.string().check(z.minLength(1)),
  /** When its messages and its wait end. */
  deadline: time,
  /** Whether the process is done with its jobs. */
  over: z.boolean(),
  jobs: z.readonly(z.array(noteJob)),
});
export type NoteData = Readonly<Omit<z.infer<typeof note>, 'version'>>;

/** A note in a comment that was found. */
export interface FoundNote extends NoteData {
  readonly url: string;
}

/** What all comments of a process have in common. */
export type AboutNote = Omit<NoteData, 'over' | 'jobs'>;

/** A hash that tells two texts apart, and nothing about them. */
export function hashOf(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16);
}

export function noteOf(about: AboutNote, jobs: readonly Job[]): NoteData {
  const over = jobs.every(({ end }) => end !== null);
  return { ...about, over, jobs: jobs.map(toNoteJob) };
}

function toNoteJob(job: Job): NoteJob {
  const { id, base, after, record } = job;
  return {
    id,
    delivery: mayBeSent(job) ? 'sending' : deliveryOf(job),
    sentAt: Math.round(sentAtOf(job) ?? 0),
    base: base?.status ?? undefined,
    isOurs: after.work === 'our message' || undefined,
    ended: endedOf(job),
    known: record !== null || undefined,
    limited: job.end?.limit !== undefined || undefined,
    prNumber: record?.prNumber ?? undefined,
  };
}

/** The end of the work on the message: a re-run reports just that. */
function endedOf({ end, endedAt, message }: Job): NoteJob['ended'] {
  const result = end?.result ?? null;
  if (message.kind !== 'sent' || !isFinal(result) || end === null || endedAt === null) {
    return undefined;
  }
  return { result, confirmed: end.confirmed === true, at: Math.round(endedAt) };
}

/** Characters; GitHub takes 65,536. */
const BODY_LIMIT = 60_000;

/** The body of a comment. `render` renders what people see, in at most so many characters. */
export function composeNote(data: NoteData, render: (limit: number) => string): string {
  // `-->` would end the line in HTML.
  const json = JSON.stringify({ version: VERSION, ...data }).replaceAll('>', '\\u003e');
  const line = `${OPENING}${json} -->`;
  return `${line}\n${render(BODY_LIMIT - line.length - 1)}`;
}

/** A comment that is no note, such as the usage. It is never taken for a command either. */
export function composeAnswer(visible: string): string {
  return `${OPENING}answer -->\n${visible}`;
}

/** Editing a comment in the browser changes the line ends; `$` matches before them all. JSON may have U+2028. */
const FIRST_LINE = /^<!-- agent-follow-up ([^\r\n]*) -->$/m;

/**
 * The note in a comment of our own identity. `none`: there is none, or one of another project. `unreadable`:
 * written by a later version of this action, or edited by hand.
 */
export function readNote(body: string, project: string): NoteData | 'none' | 'unreadable' {
  const text = body.trimStart();
  // Text by others, which another workflow may quote, has the hash of the project only if they copied it.
  if (!text.includes(OPENING) || !text.includes(`"project":"${project}"`)) return 'none';
  const [, json = ''] = text.startsWith(OPENING) ? (FIRST_LINE.exec(text) ?? []) : [];
  try {
    const { version: _, ...data } = z.parse(note, JSON.parse(json));
    return data.project === project ? data : 'none';
  } catch {
    return 'unreadable';
  }
}
