import { describe, expect, it } from 'vitest';
import type { FoundNote, NoteData, NoteJob } from '../../src/note/data.ts';
import { inARow, isAboutSameCommit, isLimitTold } from '../../src/note/limit.ts';
import { found, NOTE } from './record.ts';

type Delivery = NoteJob['delivery'];

const JOB = 'job-1';
/** Run 9, which looks at the notes of the others. */
const OWN = { ...NOTE, run: '9', commit: 'c1' };

function note(run: string, delivery: Delivery = 'sent', parts: Partial<NoteData> = {}): FoundNote {
  return found({ run, jobs: [{ id: JOB, delivery, sentAt: 0 }], ...parts });
}

/** A command of a person, in a run of its own. */
function command(delivery: Delivery = 'sent', parts: Partial<NoteData> = {}): FoundNote {
  return note('7', delivery, { command: 'issue:7', ...parts });
}

/** The comment of a run that the limit has stopped. */
function told(parts: Partial<NoteData> = {}): FoundNote {
  const jobs: NoteData['jobs'] = [{ id: JOB, delivery: 'not-sent', sentAt: 0, limited: true }];
  return note('8', 'not-sent', { jobs, ...parts });
}

const sentAgain = (run: string): FoundNote => note(run, 'sent', { attempt: 2 });
const ofOtherJob = (delivery: Delivery): Partial<NoteData> => ({
  jobs: [{ id: 'job-2', delivery, sentAt: 0 }],
});
const OTHER_STEP = { step: 'ee' };
const OTHER_LEG = { leg: 'ee' };

describe('inARow counts the runs whose message was sent, or may be', () => {
  it.each<[string, readonly FoundNote[], string]>([
    ['nothing', [], ''],
    ['sent', [note('1'), note('2')], '1 2'],
    ['in doubt', [note('1', 'unknown'), note('2', 'sending')], '1 2'],
    ['not sent', [note('1', 'not-sent'), told()], ''],
    ['whoever triggered it', [note('1', 'sent', { byBot: true }), note('2')], '1 2'],
    ['this run', [note('9'), note('1')], '1'],
    ['another job', [note('1', 'sent', ofOtherJob('sent'))], ''],
    ['another step', [note('1', 'sent', OTHER_STEP)], ''],
    ['another leg', [note('1', 'sent', OTHER_LEG)], ''],
    ['a step without a leg', [note('1', 'sent', { leg: '' })], '1'],
    ['attempts of a run, once', [note('1'), sentAgain('1'), note('2')], '1 2'],
    ['an attempt that sent after another', [note('1', 'not-sent'), sentAgain('1')], '1'],
  ])('%s', (_, notes, expected) => {
    expect([...inARow(notes, OWN, JOB)].join(' ')).toBe(expected);
  });

  it.each<[string, readonly FoundNote[], string]>([
    ['below it', [note('1'), command(), note('2')], '2'],
    ['below the newest', [command(), note('1'), command('sent', { run: '6' })], ''],
    ['without it', [command()], ''],
    ['of another step', [note('1'), command('sent', OTHER_STEP), note('2')], '2'],
    ['of another leg', [note('1'), command('sent', OTHER_LEG)], ''],
    ['not that to another job', [note('1'), command('sent', ofOtherJob('sent'))], '1'],
    ['not one that is still to be sent', [note('1'), command('sending')], '1 7'],
    ['not one in doubt', [note('1'), command('unknown')], '1 7'],
    ['not one that was not sent', [note('1'), command('not-sent')], '1'],
    ['not one of a bot', [note('1'), command('sent', { byBot: true })], '1 7'],
    ['its re-run does not', [command(), note('1'), command('sent', { attempt: 2 })], '1'],
    [
      'its re-run by a bot does not count',
      [command(), note('1'), command('sent', { attempt: 2, byBot: true })],
      '1',
    ],
    [
      'its re-run does, if only that has sent it',
      [command('unknown'), note('1'), command('sent', { attempt: 2 })],
      '',
    ],
    [
      'a message above it stays there when it is re-run',
      [note('1'), command(), sentAgain('1')],
      '',
    ],
    [
      'a message that only the re-run has sent',
      [note('1', 'not-sent'), command(), sentAgain('1')],
      '1',
    ],
  ])('since a command of a person was sent: %s', (_, notes, expected) => {
    expect([...inARow(notes, OWN, JOB)].join(' ')).toBe(expected);
  });
});

describe('isAboutSameCommit', () => {
  const about = (delivery: Delivery, parts: Partial<NoteData> = {}): FoundNote =>
    note('1', delivery, { commit: 'c1', ...parts });
  it.each<[string, FoundNote, boolean]>([
    ['sent', about('sent'), true],
    ['still to be sent', about('sending'), true],
    ['in doubt', about('unknown'), true],
    ['not sent', about('not-sent'), false],
    ['another commit', about('sent', { commit: 'c2' }), false],
    ['no commit', about('sent', { commit: '' }), false],
    ['this run', about('sent', { run: '9' }), false],
    ['another job', about('sent', ofOtherJob('sent')), false],
    ['another step', about('sent', OTHER_STEP), false],
    ['another leg', about('sent', OTHER_LEG), false],
  ])('%s: %#', (_, found, expected) => {
    // A command in between changes nothing.
    expect(isAboutSameCommit([note('2'), found, command()], OWN, JOB)).toBe(expected);
  });

  it('is false for an event about no commit', () => {
    const notes = [about('sent', { commit: '' })];
    expect(isAboutSameCommit(notes, { ...OWN, commit: '' }, JOB)).toBe(false);
  });
});

describe('isLimitTold', () => {
  it.each<[string, readonly FoundNote[], boolean]>([
    ['nowhere', [note('1')], false],
    ['below the newest message', [note('1'), told()], true],
    ['by an earlier attempt', [note('1'), told({ run: '9' })], true],
    ['above it', [told(), note('1')], false],
    ['above one that may be sent', [note('1'), told(), note('2', 'sending')], false],
    ['above one that was not sent', [note('1'), told(), note('2', 'not-sent')], true],
    ['above one of another step', [note('1'), told(), note('2', 'sent', OTHER_STEP)], true],
    ['above the re-run of one', [note('1'), told(), sentAgain('1')], true],
    ['to another job', [note('1'), note('8', 'not-sent', ofOtherJob('not-sent'))], false],
    ['by another step', [note('1'), told(OTHER_STEP)], false],
    ['by another leg', [note('1'), told(OTHER_LEG)], false],
  ])('%s', (_, notes, expected) => {
    expect(isLimitTold(notes, OWN, JOB)).toBe(expected);
  });
});
