import type { GitHub } from '../github/client.ts';
import { describeError, hintFor, mayPassLater } from '../github/errors.ts';
import { BEFORE_CREATION } from '../job/job.ts';
import { ok, problem, type Result } from '../value-or-problem.ts';
import { parseRecord } from './marker.ts';
import type { CommentRecord, RecordedJob } from './record.ts';

export interface LedgerEntry extends CommentRecord {
  readonly url: string;
  readonly nodeId: string;
  /** ISO 8601, in whole seconds. */
  readonly createdAt: string;
}

/** The records of the project on a pull request or issue, the oldest first. */
export type Ledger = readonly LedgerEntry[];

export async function fetchLedger(
  github: GitHub,
  conversation: number,
  project: string,
  until: number,
): Promise<Result<Ledger>> {
  try {
    const comments = await github.ownComments(conversation, until);
    const entries: LedgerEntry[] = [];
    for (const { id, body, url, createdAt, isEdited } of comments) {
      const record = parseRecord(body, project, isEdited);
      if (record === 'unreadable') {
        const remedy = 'delete it if it is not needed';
        return problem(`a comment of this action cannot be read, ${url}; ${remedy}`);
      }
      if (record !== 'none') entries.push({ ...record, url, nodeId: id, createdAt });
    }
    return ok(entries);
  } catch (error) {
    const why = `the comments of the conversation cannot be read: ${describeError(error)}`;
    const hint = hintFor(error).replace(/\.$/, '');
    return problem(hint === '' ? why : `${why}. ${hint}`, mayPassLater(error));
  }
}

export function knownRecords(ledger: Result<Ledger>): Ledger {
  return ledger.kind === 'ok' ? ledger.value : [];
}

/** The ID of a comment: later ones have higher IDs. NaN if the URL has none. */
export function commentId(url: string): number {
  return Number(/#issuecomment-([1-9]\d*)$/.exec(url)?.[1]);
}

/** `isOwn`: whether the page is the pull request of the only job, whose text it has written. */
export function summarizeRequests(ledger: Ledger, jobIds: readonly string[], isOwn: boolean) {
  const commands = ledger.filter(({ command }) => command !== '');
  const tried = commands.filter(({ jobs }) => jobs.some(({ delivery }) => delivery !== 'not-sent'));
  const times = jobIds.map((id) => {
    // The record of a creation tells what was asked elsewhere.
    const last = commands.findLast((entry) => {
      const job = sentTo(entry, id);
      return job !== undefined && !(isOwn && job.base === BEFORE_CREATION);
    });
    return last === undefined ? -Infinity : Date.parse(last.createdAt);
  });
  return {
    /** When the last message that a person asked for went to all jobs; -Infinity for none. */
    since: Math.min(...times),
    /** Whether it may be that a job has got no message here. */
    isNew: !isOwn && !jobIds.every((id) => ledger.some((entry) => sentTo(entry, id) !== undefined)),
    /** The kinds and IDs of comments and reviews that have been sent, or may have been. */
    sent: new Set(tried.map(({ command }) => command)),
  };
}

function sentTo({ jobs }: LedgerEntry, jobId: string): RecordedJob | undefined {
  return jobs.find(({ id, delivery }) => id === jobId && delivery === 'sent');
}
