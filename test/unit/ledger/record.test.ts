import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  composeComment,
  composeReply,
  parseRecord,
  parseReply,
  toReplyId,
} from '../../../src/ledger/marker.ts';
import {
  type CommentRecord,
  type RecordedJob,
  recordedEnd,
  toRecordedJob,
  validLogin,
} from '../../../src/ledger/record.ts';
import { MARKER } from '../../../src/text.ts';
import { ended, job, NOT_SENT, NOTE, record, START } from '../record.ts';

const HEAD = { number: 7, sha: 'd'.repeat(40) };
const SENT: RecordedJob = {
  ...{ id: 'job-1', delivery: 'sent', sentAt: START, base: 'completed', prNumber: 7 },
  head: HEAD,
  ...{ isOurs: true, ended: { result: 'failed', confirmed: true, at: START + 5 } },
};
const UNKNOWN_BEFORE = { message: { kind: 'unknown', isEarlier: true } } as const;
const FULL: CommentRecord = {
  ...{ ...NOTE, command: 'comment:7', commit: 'c'.repeat(40), byBot: true, askedBy: 'mona' },
  jobs: [SENT, { id: '', delivery: 'sending' }],
};
const BODY = composeComment(FULL, () => 'What people see.');
const REPLY = toReplyId(FULL);
const LINE = BODY.split('\n').at(-1) ?? '';
const OTHER_PROJECT = BODY.replace(NOTE.project, 'ab'.repeat(8));

it.each<[string, string]>([
  ['as it was written', BODY],
  ['with the line ends of a browser', BODY.replaceAll('\n', '\r\n')],
  ['with text that somebody has added below', `${BODY}\n\nMerged.`],
  ['that quotes another one', `${MARKER}\n> ${LINE}\n\n${LINE}`],
  ['with fields of a later version', BODY.replace('"byBot":true', '"byBot":true,"more":[1]')],
])('parseRecord reads a record %s', (_, body) => {
  expect(parseRecord(body, NOTE.project)).toEqual(FULL);
});

it.each<[string, string]>([
  ['of another project', OTHER_PROJECT],
  ['of another project that names ours', `${OTHER_PROJECT}\n> "project":"${NOTE.project}"`],
  ['that only ends like a record, as a bot that quotes a stranger writes it', `So:\n\n${LINE}`],
  ['with an answer that quotes a record', composeReply(REPLY, `"project":"${NOTE.project}"`)],
])('parseRecord finds no record in a comment %s', (_, body) => {
  expect(parseRecord(body, NOTE.project)).toBe('none');
});

it('a record that somebody else has edited is unreadable if it has the data without the marker first, or no data', () => {
  const above = `Note: ${BODY}`;
  const without = BODY.replace(LINE, '');
  const all = [above, without, BODY, OTHER_PROJECT, 'Hello.'];
  const read = all.map((body) => parseRecord(body, NOTE.project, true));
  expect(read).toEqual(['unreadable', 'unreadable', FULL, 'none', 'none']);
  expect(parseRecord(without, NOTE.project)).toBe('none');
});

it.each<[string, (reply: string) => string, boolean]>([
  ['as it was written', (reply) => reply, true],
  ['with the line ends of a browser', (reply) => reply.replaceAll('\n', '\r\n'), true],
  ['with text below', (reply) => `${reply}\n\nDone by hand in #44.`, true],
  ['with text above', (reply) => `So:\n\n${reply}`, false],
  ['that is quoted', (reply) => reply.replaceAll(/^/gm, '> '), false],
])('parseRecord finds no record in an answer %s, whoever has edited it', (_, change, isReply) => {
  const body = change(composeReply(REPLY, 'Usage.'));
  expect(parseReply(body)).toEqual(isReply ? REPLY : undefined);
  for (const isEdited of [true, false]) {
    expect(parseRecord(body, NOTE.project, isEdited)).toBe('none');
  }
});

it('parseReply takes a comment with data for no answer', () => {
  const [marker = '', line = ''] = composeReply(REPLY, '').split('\n');
  const body = BODY.replace(marker, `${marker}\n${line}`);
  expect([parseReply(body), parseRecord(body, NOTE.project)]).toEqual([undefined, FULL]);
});

const changed = (from: string, to: string): string => BODY.replace(from, to);
it.each<[string, string]>([
  ['with text before its line', changed(LINE, `x ${LINE}`)],
  ['with two lines', `${BODY}\n${LINE.replace('"sent"', '"unknown"')}`],
  ['that is not JSON', changed('{', '{[')],
  ['of a later version', changed('"version":1', '"version":2')],
  ['with a word for the delivery', changed('"sent"', '"maybe"')],
  ['with something else as a hash', changed(NOTE.step, 'linux')],
])('parseRecord cannot read a record %s', (_, body) => {
  expect(body).not.toBe(BODY);
  expect(parseRecord(body, NOTE.project)).toBe('unreadable');
});

it('composeComment writes what is read again, in one line that nothing can end', () => {
  const text = fc.string({ unit: 'binary' });
  fc.assert(
    fc.property(text, fc.constantFrom('-->', '--!>', '\n', '\u2028', ''), (base, end) => {
      const data = { ...FULL, run: base + end, jobs: [{ ...SENT, base: end + base }] };
      const body = composeComment(data, () => 'Visible.');
      expect(body).toMatch(/^<!-- .* -->\nVisible\.\n\n<!-- agent-follow-up \{[^\n>]*\} -->$/u);
      expect(parseRecord(body, NOTE.project)).toEqual(data);
    }),
  );
  expect(composeComment({ ...NOTE, run: '-->' }, () => '')).toContain('"run":"--\\u003e"');
});

it('composeComment has room for 100 jobs with the longest IDs, and gives the rest of 60,000 characters to the visible text', () => {
  const longest = { ...SENT, head: undefined, base: 'x'.repeat(64), prNumber: 2_147_483_647 };
  const jobOf = (n: number) => ({ ...longest, id: `${n}`.padStart(256, 'x') });
  const jobs = Array.from({ length: 100 }, (_, n) => jobOf(n));
  const limits: number[] = [];
  const body = composeComment({ ...FULL, jobs }, (limit) => {
    limits.push(limit);
    return 'x'.repeat(limit);
  });
  expect(body).toHaveLength(60_000);
  expect(limits[0]).toBeGreaterThan(5000);
  expect(parseRecord(body, NOTE.project)).toEqual({ ...FULL, jobs });
});

const SENT_NOW = { delivery: 'sent', sentAt: START };
const LIMITED = { delivery: 'not-sent', limited: true };
it.each<[string, Parameters<typeof toRecordedJob>[0], object]>([
  ['a job that is being created', job({ id: '' }), { id: '', delivery: 'sending' }],
  ['a refused re-run', job(UNKNOWN_BEFORE), { delivery: 'not-sent' }],
  [
    'a message that the agent works on',
    job({
      message: { kind: 'sent', at: 1.6, isEarlier: false },
      after: { since: 1.6, work: 'our message' },
      base: { status: 'odd' },
      record: record({ prNumber: 7 }),
      head: { ...HEAD, commits: 2 },
    }),
    { delivery: 'sent', sentAt: 2, isOurs: true, base: 'unknown', prNumber: 7, head: SENT.head },
  ],
  [
    'a job whose end was seen',
    ended({ result: 'failed', confirmed: true }, { endedAt: START + 1.6 }),
    { ...SENT_NOW, ended: { result: 'failed', confirmed: true, at: START + 2 } },
  ],
  [
    'a job that the limit has stopped',
    ended({ result: 'skipped', label: 'limited' }, NOT_SENT),
    { ...LIMITED, ended: { result: 'skipped', confirmed: false, at: START } },
  ],
])('toRecordedJob: %s', (_, one, expected) => {
  expect(JSON.parse(JSON.stringify(toRecordedJob(one)))).toEqual({ id: 'job-1', ...expected });
});

it('recordedEnd is the end of a message that was sent, and whose end was seen', () => {
  const timedOut = { result: 'timed-out', confirmed: false, at: START } as const;
  const unseen: Partial<RecordedJob>[] = [{ ended: timedOut }, { delivery: 'not-sent' }];
  expect(recordedEnd(SENT)).toEqual({ ...SENT.ended, status: 'failed' });
  for (const parts of unseen) expect(recordedEnd({ ...SENT, ...parts })).toBe(undefined);
});

it.each<[string, Partial<CommentRecord>, string]>([
  ['a command', { command: 'comment:7' }, 'person'],
  ['an event that a person triggered', { askedBy: 'mona' }, 'person'],
  ['a check', {}, 'check'],
])('an answer says who asked for %s, and is about one message', (_, parts, by) => {
  const about = toReplyId({ ...NOTE, ...parts });
  expect(about).toMatchObject({ step: NOTE.step, by });
  const others = [{ run: '2' }, { command: 'comment:8' }];
  for (const other of others) {
    expect(toReplyId({ ...NOTE, ...parts, ...other }).message).not.toBe(about.message);
  }
  expect(toReplyId({ ...NOTE, ...parts, attempt: 2 } as CommentRecord)).toEqual(about);
});

it('a login is a name that can be mentioned, or none', () => {
  const logins = ['mona', 'o_corp', 'mintlify[bot]', '-a', '@all', 'a'.repeat(40), 'a b', ''];
  expect(logins.map(validLogin)).toEqual(['mona', 'o_corp', ...Array(6).fill(undefined)]);
});
