import { describe, expect, it } from 'vitest';
import type { NoteData, NoteJob } from '../../src/note/data.ts';
import { type Claim, judge, type Message, namedJobs, unfinished } from '../../src/note/rerun.ts';
import { NOTE } from './record.ts';

type Delivery = NoteJob['delivery'];

function about(delivery: Delivery, parts: Partial<NoteData> = {}): NoteData {
  return { ...NOTE, jobs: [{ id: 'job-1', delivery, sentAt: 0 }], ...parts };
}

function sent(sentAt: number, ended = false): NoteJob {
  return { id: 'job-1', delivery: 'sent', sentAt, ended };
}

describe('judge: what attempt 3 of a step, or of a command that is already taken, does', () => {
  const other = (delivery: Delivery): NoteData => about(delivery, { run: '2' });
  const first = (delivery: Delivery): NoteData => about(delivery);
  const second = (delivery: Delivery): NoteData => about(delivery, { attempt: 2 });
  const unclear = 'the comment of attempt 2 does not say whether it was sent';
  const unknown = 'attempt 2 does not know whether it was delivered';
  const twice = 'ran this step twice';
  const claimed = 'has its 🚀';

  it.each<[string, readonly NoteData[], step: string, command: string]>([
    ['no note', [], 'send', claimed],
    ['not sent', [first('not-sent')], 'send', claimed],
    ['sent', [first('sent')], 'resume', 'resume'],
    ['unknown', [second('unknown')], unknown, unknown],
    ['being sent', [second('sending')], unclear, unclear],
    ['sent, then not', [first('sent'), second('not-sent')], 'resume', 'resume'],
    ['unknown, then sent', [first('unknown'), second('sent')], 'resume', 'resume'],
    ['being sent, then unknown', [first('sending'), second('unknown')], unknown, unknown],
    ['not sent, then being sent', [first('not-sent'), second('sending')], unclear, unclear],
    ['twice in an attempt', [first('not-sent'), first('not-sent')], twice, twice],
    ['twice in an attempt, once sent', [first('sent'), first('not-sent')], twice, twice],
    ['a note of this attempt', [about('sent', { attempt: 3 })], 'send', claimed],
    ['another job', [about('sent', { jobs: [{ ...sent(3), id: 'job-2' }] })], 'send', claimed],
    ['another leg', [about('sent', { leg: 'ee' })], 'send', 'taken'],
    ['another step', [about('unknown', { step: 'ee' })], 'send', 'taken'],
    ['another run', [other('sending')], 'send', 'taken'],
    ['another run, not sent', [other('not-sent')], 'send', claimed],
    ['another run, later sent by this one', [other('sent'), first('sent')], 'resume', 'resume'],
    ['another command', [about('sent', { command: 'comment:8', run: '2' })], 'send', claimed],
  ])('%s', (_, notes, step, command) => {
    const resultOf = (key: string, claim: Claim): string => {
      // The message of a command is the same with its comment as a part of the key.
      const ofKind = notes.map((note) => ({ ...note, command: note.command || key }));
      const message: Message = { ...NOTE, attempt: 3, command: key };
      const verdict = judge(ofKind, message, 'job-1', claim);
      return verdict.kind === 'refuse' ? verdict.why : verdict.kind;
    };
    expect(resultOf('', 'none')).toContain(step);
    expect(resultOf('review:7', 'none')).toContain(step);
    expect(resultOf('comment:7', { why: claimed })).toContain(command);
  });

  it('continues with the latest of the attempts that sent it, and says if the prompt was another one', () => {
    const sentAt = (attempt: number, prompt: string): NoteData =>
      about('sent', {
        attempt,
        prompt,
        jobs: [{ id: 'job-1', delivery: 'sent', sentAt: attempt }],
      });
    const resume = (...notes: readonly NoteData[]) =>
      judge(notes, { ...NOTE, attempt: 4 }, 'job-1', 'none');
    expect(resume(sentAt(1, 'cc'), sentAt(3, 'ff'), sentAt(2, 'cc'))).toMatchObject({
      ...{ kind: 'resume', isOtherPrompt: true, job: { sentAt: 3 } },
    });
    expect(resume(sentAt(1, 'cc'))).toMatchObject({ kind: 'resume', isOtherPrompt: false });
  });

  it.each<[readonly NoteData[], string]>([
    [[], 'send'],
    [[first('not-sent')], 'send'],
    [[first('sending'), second('unknown')], 'send'],
    [[first('sent'), first('sent')], 'send'],
    [[other('sent')], 'send'],
    [[first('sent')], 'resume'],
  ])('claims a command, unless an earlier attempt has sent it: %#', (notes, kind) => {
    expect(judge(notes, { ...NOTE, attempt: 3 }, 'job-1', 'pending')).toMatchObject({ kind });
  });
});

it.each<[string, readonly NoteJob[], number | null]>([
  ['none was sent', [{ id: 'job-1', delivery: 'unknown', sentAt: 3 }], null],
  ['one is open', [sent(3)], 3],
  ['only without a time', [sent(0), sent(0)], null],
  ['the newest is open', [sent(2), sent(5), sent(3, true)], 5],
  ['the newest has ended', [sent(2), sent(5, true), sent(3)], null],
  ['its end was seen by another run', [sent(5), { ...sent(5, true), delivery: 'not-sent' }], null],
  ['another job', [{ ...sent(3), id: 'job-2' }], null],
])('unfinished: %s', (_, jobs, sentAt) => {
  const notes = jobs.map((job) => ({ ...NOTE, jobs: [job] }));
  expect(unfinished(notes, 'job-1')?.sentAt ?? null).toBe(sentAt);
});

it('namedJobs names only jobs that exist for certain', () => {
  const named = (id: string, delivery: Delivery, known?: boolean): NoteData =>
    about(delivery, { jobs: [{ id, delivery, sentAt: 0, known }] });
  const doubtful = [named('a', 'sending'), named('b', 'not-sent')];
  const certain = [named('c', 'unknown'), named('d', 'not-sent', true), named('e', 'sent')];
  expect(namedJobs([...doubtful, ...certain, ...certain])).toEqual(['c', 'd', 'e']);
});
