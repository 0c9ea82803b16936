import { expect, it } from 'vitest';
import { isSuperseded } from '../../../src/comment/collapse-superseded.ts';
import { composeComment, composeReply, toReplyId } from '../../../src/ledger/marker.ts';
import type { CommentRecord, RecordedJob } from '../../../src/ledger/record.ts';
import { NOTE, START } from '../record.ts';

const OTHER = 'dd'.repeat(8);
const JOB = { id: 'job-1', delivery: 'sent' } as const;
const ended = (result: 'completed' | 'failed' | 'timed-out' | 'cancelled' | 'skipped') =>
  ({ ended: { result, confirmed: true, at: START } }) as const;
const DONE: RecordedJob = { ...JOB, ...ended('completed') };
const FAILED: RecordedJob = { ...JOB, ...ended('failed') };
const UNSENT = { id: 'job-1', delivery: 'not-sent' } as const;
const LIMITED: RecordedJob = { ...UNSENT, limited: true, ...ended('skipped') };

const OWN: CommentRecord = { ...NOTE, run: '9', process: OTHER, jobs: [JOB] };
const COMMAND = { command: 'comment:7', askedBy: 'mona' };

// Each row is an older comment, and whether a newer one of the same step, a command and another step stand for it.
it.each<[string, Partial<CommentRecord>, string]>([
  ['an end', { jobs: [DONE] }, 'step'],
  ['the end of a command', { ...COMMAND, jobs: [DONE] }, ''],
  ['the end of another job', { jobs: [{ ...DONE, id: 'job-2' }] }, ''],
  ['the end of more jobs', { jobs: [DONE, { ...DONE, id: 'job-2' }] }, ''],
  ['a message that is not sent yet', { jobs: [{ ...JOB, delivery: 'sending' }] }, ''],
  ['a process that was killed', { jobs: [JOB] }, ''],
  ['a doubt', { jobs: [{ ...FAILED, delivery: 'unknown' }] }, ''],
  ['a failure', { jobs: [FAILED] }, 'step command other'],
  ['a failure of a command', { ...COMMAND, jobs: [FAILED] }, 'step command other'],
  ['a failure of another job', { jobs: [{ ...FAILED, id: 'job-2' }] }, 'step'],
  ['a cancelled run', { jobs: [{ ...JOB, ...ended('cancelled') }] }, 'step command other'],
  ['a limit', { jobs: [LIMITED] }, 'step command'],
  ['another project', { project: OTHER, jobs: [FAILED] }, ''],
  ['its own process', { process: OTHER, jobs: [FAILED] }, ''],
])('%s is collapsed below', (_, parts, expected) => {
  const body = composeComment({ ...NOTE, ...parts }, () => 'x');
  const newer = { step: OWN, command: { ...OWN, ...COMMAND }, other: { ...OWN, step: OTHER } };
  const standing = Object.entries(newer).filter(([, own]) => isSuperseded(body, own, [body]));
  expect(standing.map(([name]) => name).join(' ')).toBe(expected);
});

it.each<[string, Partial<CommentRecord>, CommentRecord, boolean]>([
  ['the same message', { run: '9', jobs: [DONE] }, OWN, true],
  ['an older check, by a check', { jobs: [DONE] }, OWN, true],
  ['a person, by a check', { ...COMMAND, jobs: [DONE] }, OWN, false],
  ['a check, by a person', { jobs: [DONE] }, { ...OWN, ...COMMAND }, false],
  ['a limit, by a person', { jobs: [LIMITED] }, { ...OWN, ...COMMAND }, true],
  ['a failure, by another step', { jobs: [FAILED] }, { ...OWN, step: OTHER }, true],
  ['a doubt', { jobs: [{ ...FAILED, delivery: 'unknown' }] }, OWN, false],
])('a reply about %s is collapsed: %s', (_, parts, own, expected) => {
  const record = { ...NOTE, ...parts };
  const reply = composeReply(toReplyId(record), 'x');
  const bodies = [composeComment(record, () => 'x'), reply];
  expect(isSuperseded(reply, own, bodies)).toBe(expected);
});

it('a reply to a message without a record is collapsed by the next one, and other text never', () => {
  expect(isSuperseded(composeReply(toReplyId(NOTE), 'x'), OWN, [])).toBe(true);
  const damaged = composeComment({ ...NOTE, jobs: [FAILED] }, () => 'x').slice(0, -20);
  for (const body of [damaged, 'x']) expect(isSuperseded(body, OWN, [body])).toBe(false);
});
