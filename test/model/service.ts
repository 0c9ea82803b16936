import type { JobRecord } from '../../src/job/job.ts';
import type { FinalStatus } from '../../src/mintlify-api.ts';

// A simulated job of the API: what the agent does, and what a record shows of that.

const LINK = 'https://github.com/octo/agents/pull/7';

/** How a job changes. All times are in milliseconds of the clock. */
export interface JobScript {
  readonly id: string;
  /** The work before the message: active until `endsAt`, then in the status `ends`. */
  readonly earlier: { readonly endsAt: number; readonly ends: FinalStatus; readonly link: boolean };
  /** From the message, or the end of the work before it, until the work on it begins. */
  readonly queueMs: number;
  /** Whether the status is one that is not documented while a message is queued. */
  readonly showsQueue: boolean;
  /** Whether our message becomes part of work that is active. */
  readonly joins: boolean;
  readonly workMs: number;
  readonly ends: FinalStatus;
  /** When someone else sends a message to the job; null if nobody does. */
  readonly otherAt: number | null;
}

/** All work on the job, one after the other, if our message was accepted at that time. */
export function workOn(job: JobScript, sentAt: number | null) {
  const { earlier, otherAt, joins, queueMs, workMs } = job;
  const first = { at: -Infinity, begin: -Infinity, end: earlier.endsAt, ends: earlier.ends };
  const works = [{ ...first, isOurs: false }];
  const messages = [
    { at: otherAt, ends: 'completed', isOurs: false } as const,
    { at: sentAt, ends: job.ends, isOurs: true } as const,
  ];
  if ((sentAt ?? 0) < (otherAt ?? 0)) messages.reverse();
  for (const { at, ends, isOurs } of messages) {
    if (at === null) continue;
    const freeAt = works.at(-1)?.end ?? 0;
    const isJoined = isOurs && joins && at < freeAt;
    const begin = isJoined ? at : Math.max(at, freeAt) + queueMs;
    works.push({ at, begin, end: Math.max(begin + workMs, freeAt), ends, isOurs });
  }
  return works;
}

/** The record at a time. */
export function show(job: JobScript, sentAt: number | null, now: number): Partial<JobRecord> {
  const works = workOn(job, sentAt).filter(({ at }) => at <= now);
  const isActive = works.some(({ begin, end }) => begin <= now && now < end);
  const isQueued = job.showsQueue && works.some(({ begin }) => begin > now);
  const ended = works.findLast(({ end }) => end <= now);
  return {
    id: job.id,
    status: isActive ? 'active' : isQueued ? 'odd' : (ended?.ends ?? 'active'),
    prLink: job.earlier.link || works.some(({ isOurs, end }) => isOurs && end <= now) ? LINK : null,
  };
}
