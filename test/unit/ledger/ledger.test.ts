import { expect, it } from 'vitest';
import { BEFORE_CREATION } from '../../../src/job/job.ts';
import { type LedgerEntry, summarizeRequests } from '../../../src/ledger/ledger.ts';
import type { CommentRecord } from '../../../src/ledger/record.ts';
import { found } from '../record.ts';

const SENT = { id: 'job-1', delivery: 'sent' } as const;
const COMMAND: Partial<CommentRecord> = { command: 'comment:1', jobs: [SENT] };
const IN_DOUBT = { ...COMMAND, jobs: [{ ...SENT, delivery: 'sending' }] } as const;
const CREATION = { ...COMMAND, jobs: [{ ...SENT, base: BEFORE_CREATION }] };
const NEVER = -Infinity;

/** A record of a minute, counted from 1970. */
function at(minute: number, parts: Partial<CommentRecord>): LedgerEntry {
  return { ...found(parts), createdAt: new Date(minute * 60_000).toISOString() };
}

it.each<[string, readonly LedgerEntry[], number, boolean, readonly string[], string?]>([
  ['nothing without records', [], NEVER, true, []],
  ['that a check told the job of the issue', [at(1, { jobs: [SENT] })], NEVER, false, []],
  ['a command that may have been sent', [at(1, IN_DOUBT)], NEVER, true, ['comment:1']],
  ['no message to another job', [at(1, COMMAND)], NEVER, true, ['comment:1'], 'job-2'],
  ['the creation of the job', [at(1, CREATION)], 1, false, ['comment:1']],
])('of records, a run knows %s', (_, records, minute, isNew, sent, id = 'job-1') => {
  const known = summarizeRequests(records, [id], false);
  expect(known).toEqual({ since: minute * 60_000, isNew, sent: new Set(sent) });
});

it('on the own pull request, its creation elsewhere was no request there', () => {
  const created = at(1, CREATION);
  const known = { since: NEVER, isNew: false };
  expect(summarizeRequests([created], ['job-1'], true)).toMatchObject(known);
});

it('of several jobs, the one that has heard least counts', () => {
  const both = at(1, { ...COMMAND, jobs: [SENT, { ...SENT, id: 'job-2' }] });
  const known = summarizeRequests([both, at(2, COMMAND)], ['job-1', 'job-2'], false);
  expect(known).toMatchObject({ since: 60_000, isNew: false });
});
