import { createHash, randomBytes } from 'node:crypto';
import * as z from 'zod/mini';
import type { Context } from '../context.ts';
import {
  DELIVERIES,
  isCreated,
  isId,
  type JobState,
  mayBeSent,
  NEW_JOB,
  toDelivery,
  toLabel,
} from '../job/job.ts';
import { RESULT_NAMES } from '../job/stop-reasons.ts';
import { isFinal, isKnownStatus } from '../mintlify-api.ts';
import { keyOfComment } from '../trigger/trigger.ts';

// What the last line of a comment says: all that other runs and later attempts must know.

const hash = z.string().check(z.regex(/^[0-9a-f]{16}$/));
const number = z.int().check(z.positive());
const time = z.int().check(z.gte(0));

/** What is left out is not known, or false. */
const recordedJob = z.object({
  id: z.string().check(z.refine((id) => id === NEW_JOB || isId(id))),
  /** `sending`: it may still be sent, or its result could not be written. The others are final. */
  delivery: z.enum(['sending', ...DELIVERIES]),
  sentAt: z.optional(time),
  /** The status just before the message. Without it, the end of the message cannot be confirmed. */
  base: z.optional(z.string()),
  isOurs: z.optional(z.boolean()),
  ended: z.optional(z.object({ result: z.enum(RESULT_NAMES), confirmed: z.boolean(), at: time })),
  limited: z.optional(z.boolean()),
  /** Whether the failed check that it was about still failed at the end. */
  isRed: z.optional(z.boolean()),
  prNumber: z.optional(number),
  /** The newest commit of its pull request, just before the message. */
  head: z.optional(z.object({ number, sha: z.string().check(z.regex(/^[0-9a-f]{40,64}$/)) })),
});
export type RecordedJob = Readonly<z.infer<typeof recordedJob>>;

const LOGIN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$/;
const login = z.catch(z.optional(z.string().check(z.regex(LOGIN))), undefined);

export const commentRecord = z.object({
  project: hash,
  step: hash,
  run: z.string(),
  attempt: z.int().check(z.gte(1)),
  /** The kind and ID of the comment with the command; empty if the message is that of a step. */
  command: z.string(),
  /** The commit that the event is about; empty if it is about none. */
  commit: z.string().check(z.regex(/^[0-9a-f]{0,64}$/)),
  byBot: z.boolean(),
  askedBy: login,
  /** When the run is over at the latest, in milliseconds since 1970. */
  deadline: z.optional(time),
  /** The person who has started the run, also by a push. */
  startedBy: login,
  /** A random word, by which a process knows its comments. */
  process: hash,
  jobs: z.readonly(z.array(recordedJob)),
});
export type CommentRecord = Readonly<z.infer<typeof commentRecord>>;

export type MessageId = Omit<CommentRecord, 'jobs'>;

export function validLogin(text: string): string | undefined {
  return LOGIN.test(text) ? text : undefined;
}

export function randomWord(): string {
  return randomBytes(8).toString('hex');
}

export function shortHash(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16);
}

export function identifyMessage({ info, source }: Pick<Context, 'info' | 'source'>) {
  const command = source === null ? '' : keyOfComment(source);
  return { run: info.runId, step: shortHash(info.workflow, info.step), command };
}

export function isSameMessage(one: MessageId, other: MessageId): boolean {
  return one.run === other.run && one.step === other.step && one.command === other.command;
}

export function toRecordedJob(job: JobState): RecordedJob {
  const { id, message, base, after, record, end, endedAt = 0, head } = job;
  // Of a doubt about an earlier attempt, the record of that one tells.
  const isOfEarlier = message.kind === 'unknown' && message.isEarlier;
  const delivery = isOfEarlier ? 'not-sent' : toDelivery(job);
  const before = base?.status;
  return {
    id,
    delivery: mayBeSent(job) ? 'sending' : delivery,
    sentAt: message.kind === 'sent' ? Math.round(message.at) : undefined,
    // The text of an unknown status may be long.
    base: before === undefined || isKnownStatus(before) || isCreated(job) ? before : 'unknown',
    isOurs: after.work === 'our message' || undefined,
    ended: end && {
      ...{ result: end.result, confirmed: end.confirmed === true, at: Math.round(endedAt) },
    },
    limited: end?.label === 'limited' || undefined,
    isRed: toLabel(job) === 'still failing' || undefined,
    prNumber: record?.prNumber ?? undefined,
    head: head && { number: head.number, sha: head.sha },
  };
}

/** The end of the work on the message, if the process saw it: a re-run reports just that. */
export function recordedEnd({ delivery, ended }: RecordedJob) {
  if (delivery !== 'sent' || ended === undefined || !isFinal(ended.result)) return undefined;
  return { ...ended, status: ended.result };
}
