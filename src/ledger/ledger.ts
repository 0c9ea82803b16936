import type { GitHub } from '../github/client.ts';
import { hintFor, mayPassLater, whyOf } from '../github/errors.ts';
import { BEFORE_CREATION } from '../job/job.ts';
import { ok, problem, type Result } from '../result.ts';
import { parseRecord } from './marker.ts';
import type { CommentRecord, RecordedJob } from './record.ts';

// All records of a page, and what they tell of earlier requests.

/** A record in a comment that was found. */
export interface LedgerEntry extends CommentRecord {
  readonly url: string;
  /** Its ID in GraphQL. */
  readonly nodeId: string;
  /** When GitHub created the comment: ISO 8601, in whole seconds. */
  readonly createdAt: string;
}

/** The records of the project on a pull request or issue, the oldest first. */
export type Ledger = readonly LedgerEntry[];

/** Resolves to the ledger, or why it is not known. `until`: a time of the clock. */
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
        return problem(
          `a comment of this action cannot be read, ${url}; delete it if it is not needed`,
        );
      }
      if (record !== 'none') entries.push({ ...record, url, nodeId: id, createdAt });
    }
    return ok(entries);
  } catch (error) {
    const why = `the comments of the conversation cannot be read: ${whyOf(error)}`;
    const hint = hintFor(error).replace(/\.$/, '');
    return problem(hint === '' ? why : `${why}. ${hint}`, mayPassLater(error));
  }
}

export function knownRecords(ledger: Result<Ledger>): Ledger {
  return ledger.kind === 'ok' ? ledger.value : [];
}

/** The ID of a comment in the REST API; later comments have higher ones. NaN if the URL has none. */
export function commentId(url: string): number {
  return Number(/#issuecomment-([1-9]\d*)$/.exec(url)?.[1]);
}

/** What was asked of the jobs of a run before. */
interface Requests {
  /** When the last message that a person asked for went to all jobs, in milliseconds since 1970; -Infinity for none. */
  readonly since: number;
  /** Whether it may be that a job has got no message here. */
  readonly isNew: boolean;
  /** The kinds and IDs of comments and reviews that have been sent, or may have been. */
  readonly sent: ReadonlySet<string>;
}

/** `isOwn`: whether the page is the pull request of the only job, whose text it has written itself. */
export function summarizeRequests(
  ledger: Ledger,
  jobIds: readonly string[],
  isOwn: boolean,
): Requests {
  const sent = ledger.filter(
    ({ command, jobs }) => command !== '' && jobs.some(({ delivery }) => delivery !== 'not-sent'),
  );
  return {
    since: Math.min(...jobIds.map((id) => lastRequest(ledger, id, isOwn))),
    isNew: !isOwn && !jobIds.every((id) => ledger.some((entry) => sentTo(entry, id) !== undefined)),
    sent: new Set(sent.map(({ command }) => command)),
  };
}

/** The comment on the pull request of a job that was created elsewhere tells what was asked there. */
function lastRequest(ledger: Ledger, jobId: string, isOwn: boolean): number {
  const last = ledger.findLast((entry) => {
    const job = entry.command === '' ? undefined : sentTo(entry, jobId);
    return job !== undefined && !(isOwn && job.base === BEFORE_CREATION);
  });
  return last === undefined ? -Infinity : Date.parse(last.createdAt);
}

function sentTo({ jobs }: LedgerEntry, jobId: string): RecordedJob | undefined {
  return jobs.find(({ id, delivery }) => id === jobId && delivery === 'sent');
}
