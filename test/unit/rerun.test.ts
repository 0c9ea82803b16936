import { describe, expect, it } from 'vitest';
import type { NoteData, NoteJob } from '../../src/note/data.ts';
import { type Claim, judge, type Message, namedJobs, unfinished } from '../../src/note/rerun.ts';
import { NOTE } from './record.ts';

type Delivery = NoteJob['delivery'];

function about(delivery: Delivery, parts: Partial<NoteData> = {}): NoteData {
  return { ...NOTE, jobs: [{ id: 'job-1', delivery }], ...parts };
}

describe('judge: what attempt 3 of a step, or of a command that is already taken, does', () => {
  const other = (delivery: Delivery): NoteData => about(delivery, { run: '2' });
  const first = (delivery: Delivery): NoteData => about(delivery);
  const second = (delivery: Delivery): NoteData => about(delivery, { attempt: 2 });
  const unclear = 'attempt 2 was about to send it';
  const twice = 'ran this step twice';
  const claimed = 'has its 🚀 already';

  it.each<[string, readonly NoteData[], step: string, command: string]>([
    ['no note', [], 'send', claimed],
    ['not sent', [first('not-sent')], 'send', claimed],
    ['sent', [first('sent')], 'resume', 'resume'],
    ['unknown', [second('unknown')], unclear, unclear],
    ['being sent', [second('sending')], unclear, unclear],
    ['sent, then not', [first('sent'), second('not-sent')], 'resume', 'resume'],
    ['unknown, then sent', [first('unknown'), second('sent')], 'resume', 'resume'],
    ['being sent, then unknown', [first('sending'), second('unknown')], unclear, unclear],
    ['not sent, then being sent', [first('not-sent'), second('sending')], unclear, unclear],
    ['twice in an attempt', [first('not-sent'), first('not-sent')], twice, twice],
    ['twice in an attempt, once sent', [first('sent'), first('not-sent')], twice, twice],
    ['a note of this attempt', [about('sent', { attempt: 3 })], 'send', claimed],
    [
      'another job',
      [about('sent', { jobs: [{ id: 'job-2', delivery: 'sent' }] })],
      'send',
      claimed,
    ],
    ['another leg', [about('sent', { leg: 'ee' })], 'send', 'taken'],
    ['another step', [about('unknown', { step: 'ee' })], 'send', 'taken'],
    ['another run', [other('sending')], 'send', 'taken'],
    ['another run, not sent', [other('not-sent')], 'send', claimed],
    ['another run, later sent by this one', [other('sent'), first('sent')], 'resume', 'resume'],
    ['another command', [about('sent', { command: 'comment:8', run: '2' })], 'send', claimed],
  ])('%s', (_, notes, step, command) => {
    const outcome = (key: string, claim: Claim): string => {
      // The message of a command is the same with its comment as a part of the key.
      const ofKind = notes.map((note) => ({ ...note, command: note.command || key }));
      const message: Message = { ...NOTE, attempt: 3, command: key };
      const verdict = judge(ofKind, message, 'job-1', claim);
      return verdict.kind === 'refuse' ? verdict.why : verdict.kind;
    };
    expect(outcome('', 'none')).toContain(step);
    expect(outcome('review:7', 'none')).toContain(step);
    expect(outcome('comment:7', 'taken')).toContain(command);
  });

  it('goes on with the latest of the attempts that sent it, and says if the prompt was another one', () => {
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
  ])(
    'sends a command whose 🚀 is its own, unless an earlier attempt has sent it: %#',
    (notes, kind) => {
      expect(judge(notes, { ...NOTE, attempt: 3 }, 'job-1', 'ours')).toMatchObject({ kind });
    },
  );
});

it('unfinished finds the newest message whose end was not seen', () => {
  const sent = (sentAt: number | undefined, ended?: boolean, id = 'job-1'): NoteData =>
    about('sent', { jobs: [{ id, delivery: 'sent', sentAt, ended }] });
  expect(
    unfinished([about('unknown'), sent(9, true), sent(8, false, 'job-2')], 'job-1'),
  ).toBeNull();
  expect(unfinished([sent(undefined)], 'job-1')).toMatchObject({ delivery: 'sent' });
  expect(unfinished([sent(2), sent(5), sent(undefined), sent(3)], 'job-1')).toMatchObject({
    sentAt: 5,
  });
});

it('namedJobs names only jobs that exist for certain', () => {
  const named = (id: string, delivery: Delivery, known?: boolean): NoteData =>
    about(delivery, { jobs: [{ id, delivery, known }] });
  const doubtful = [named('a', 'sending'), named('b', 'not-sent')];
  const certain = [named('c', 'unknown'), named('d', 'not-sent', true), named('e', 'sent')];
  expect(namedJobs([...doubtful, ...certain, ...certain])).toEqual(['c', 'd', 'e']);
});
