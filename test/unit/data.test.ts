import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  composeAnswer,
  composeNote,
  hashOf,
  type NoteData,
  type NoteJob,
  noteOf,
  readNote,
} from '../../src/note/data.ts';
import { OPENING } from '../../src/text.ts';
import { base, ended, job, NOT_SENT, NOTE, record, SENDING, START } from './record.ts';

const SENT: NoteJob = {
  ...{ id: 'job-1', delivery: 'sent', sentAt: START, base: 'completed' },
  ...{ isOurs: true, ended: { result: 'failed', confirmed: true, at: START + 5 }, known: true },
};
const FULL: NoteData = { ...NOTE, leg: 'ee', command: 'comment:7', over: true, jobs: [SENT] };
const BODY = composeNote(FULL, () => 'What people see.');
const [LINE = ''] = BODY.split('\n');

describe('readNote', () => {
  it.each<[string, string]>([
    ['as it was written', BODY],
    ['with the line ends of a browser', BODY.replaceAll('\n', '\r\n')],
    ['with white space around it', `\n ${BODY}\n \n`],
    ['with other visible text', `${LINE}\nx\n\n<!-- y -->\n`],
    ['without visible text', LINE],
    ['above another one', `${BODY}\n${LINE.replace('"sent"', '"unknown"')}`],
    ['with fields of a later version', BODY.replace('"over":true', '"over":true,"more":[1]')],
  ])('reads a note %s', (_, body) => {
    expect(readNote(body, NOTE.project)).toEqual(FULL);
  });

  it.each<[string, string]>([
    ['empty', ''],
    ['by other means', 'Hello.'],
    ['of another project', BODY.replace('"project":"aa"', '"project":"ab"')],
    ['that quotes a part of a note', `> ${OPENING}x -->\n\nI agree.`],
    ['with the usage', composeAnswer('Write what the agent should do.')],
    ['of another tool', BODY.replace('agent-follow-up', 'agent-follow-upper')],
  ])('finds no note in a comment %s', (_, body) => {
    expect(readNote(body, NOTE.project)).toBe('none');
  });

  const changed = (from: string, to: string): string => BODY.replace(from, to);
  it.each<[string, string]>([
    ['with text above it', `Note:\n${BODY}`],
    ['with text before it', `Note: x\n\n${BODY}`],
    ['with text behind it', changed(LINE, `${LINE} x`)],
    ['that is cut', changed(LINE, LINE.slice(0, -9))],
    ['over two lines', changed('"over"', '\n"over"')],
    ['that is not JSON', changed('{', '[')],
    ['of a later version', changed('"version":1', '"version":2')],
    ['without a version', changed('"version":1,', '')],
    ['with a word for the delivery', changed('"sent"', '"maybe"')],
    ['with a text for a time', changed(`"sentAt":${START}`, '"sentAt":"now"')],
    ['with a negative time', changed(`"sentAt":${START}`, '"sentAt":-1')],
    ['with attempt 0', changed('"attempt":1', '"attempt":0')],
    ['with something else as a hash', changed('"leg":"ee"', '"leg":"linux"')],
    ['without a name', changed('"id":"random"', '"id":""')],
    ['without jobs', changed('"jobs"', '"job"')],
    ['with a job that has no ID', changed('"id":"job-1"', '"id":"../x"')],
    ['that is only quoted', BODY.replaceAll(/^/gm, '> ')],
  ])('cannot read a note %s', (_, body) => {
    expect(readNote(body, NOTE.project)).toBe('unreadable');
  });

  it('finds no note in a comment of another project that names ours below', () => {
    const other = BODY.replace('"project":"aa"', '"project":"ab"');
    expect(readNote(`${other}\n> "project":"aa"`, NOTE.project)).toBe('none');
  });

  it('never throws, and returns nothing that was not written', () => {
    const pieces = fc.constantFrom(LINE, BODY, OPENING, '-->', '{', '"', '\n', '\r\n', 'x', '> ');
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 6 }), (all) => {
        const read = readNote(all.join(''), NOTE.project);
        if (typeof read !== 'string') expect(read).toEqual(FULL);
      }),
    );
  });
});

describe('composeNote', () => {
  it('writes what is read again, in one line that nothing can end', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(text, fc.constantFrom('-->', '--!>', '\n', '\u2028', ''), (base, end) => {
        const data = { ...FULL, run: base + end, jobs: [{ ...SENT, base: end + base }] };
        const body = composeNote(data, () => 'Visible.');
        expect(body).toMatch(/^<!-- agent-follow-up \{[^\n>]*\} -->\nVisible\.$/u);
        expect(readNote(body, NOTE.project)).toEqual(data);
      }),
    );
    expect(composeNote({ ...NOTE, run: '-->' }, () => '')).toContain('"run":"--\\u003e"');
  });

  it('has room for 100 jobs with the longest IDs, and gives the rest of 60,000 characters to the visible text', () => {
    const longest = { ...SENT, base: 'x'.repeat(64), prNumber: 2_147_483_647 };
    const jobs = Array.from({ length: 100 }, (_, n) => ({
      ...{ ...longest, id: `${n}`.padStart(256, 'x') },
    }));
    const limits: number[] = [];
    const body = composeNote({ ...FULL, jobs }, (limit) => {
      limits.push(limit);
      return 'x'.repeat(limit);
    });
    expect(body).toHaveLength(60_000);
    expect(limits[0]).toBeGreaterThan(5000);
    expect(readNote(body, NOTE.project)).toEqual({ ...FULL, jobs });
  });
});

it.each<[string, Parameters<typeof noteOf>[1][number], object]>([
  ['a new job', job(), { delivery: 'sending', sentAt: 0 }],
  ['during the request', job(SENDING), { delivery: 'sending', sentAt: 0 }],
  [
    'a job that was polled',
    job({ record: record() }),
    { delivery: 'sending', sentAt: 0, known: true },
  ],
  [
    'a message that the agent works on',
    job({
      message: { kind: 'sent', at: 1.6 },
      after: { work: 'our message', finalSince: null, seenAt: 3 },
      base: base('queued'),
    }),
    { delivery: 'sent', sentAt: 2, isOurs: true, base: 'queued' },
  ],
  [
    'a job whose end was seen',
    ended({ result: 'failed', confirmed: true }, { endedAt: START + 1.6 }),
    {
      ...{ delivery: 'sent', sentAt: START },
      ended: { result: 'failed', confirmed: true, at: START + 2 },
    },
  ],
  [
    'a job whose end is not certain',
    ended({ confirmed: false }),
    {
      ...{ delivery: 'sent', sentAt: START },
      ended: { result: 'completed', confirmed: false, at: START },
    },
  ],
  [
    'a job that has ended, but got no message',
    ended({}, NOT_SENT),
    { delivery: 'not-sent', sentAt: 0 },
  ],
  [
    'a job that was waited for too long',
    ended({ result: 'timed-out' }),
    { delivery: 'sent', sentAt: START },
  ],
])('noteOf %s', (_, one, expected) => {
  const { jobs, over } = noteOf(NOTE, [one]);
  expect(over).toBe(one.end !== null);
  expect(JSON.parse(JSON.stringify(jobs))).toEqual([{ id: 'job-1', ...expected }]);
});

it('composeAnswer has the marker, so that it is never taken for a command', () => {
  expect(composeAnswer('x')).toBe(`${OPENING}answer -->\nx`);
});

it('hashOf tells its parts apart', () => {
  expect(hashOf('a', 'bc')).not.toBe(hashOf('ab', 'c'));
  expect(hashOf('a')).toMatch(/^[0-9a-f]{16}$/);
});
