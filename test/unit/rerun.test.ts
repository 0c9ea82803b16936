import { describe, expect, it } from 'vitest';
import { type Job, newJob } from '../../src/job.ts';
import type { Run } from '../../src/jobs/context.ts';
import { JobLog } from '../../src/jobs/log.ts';
import { followEarlierAttempts } from '../../src/jobs/rerun.ts';
import type { FoundNote, NoteData, NoteJob } from '../../src/note/data.ts';
import { type Claim, judge, type MessageId, namedJobs, promptOf } from '../../src/note/rerun.ts';
import { ok, problem } from '../../src/text.ts';
import { found, INFO, NOTE, START } from './record.ts';
import { recordingRuntime } from './recording-runtime.ts';

type Delivery = NoteJob['delivery'];

function about(delivery: Delivery, parts: Partial<NoteData> = {}): FoundNote {
  return found({ jobs: [{ id: 'job-1', delivery, sentAt: 0 }], ...parts });
}

function sent(sentAt: number, parts: Partial<NoteJob> = {}): NoteJob {
  return { id: 'job-1', delivery: 'sent', sentAt, ...parts };
}

describe('judge: what attempt 3 of a step, or of a command that is already taken, does', () => {
  const other = (delivery: Delivery): FoundNote => about(delivery, { run: '2' });
  const first = (delivery: Delivery): FoundNote => about(delivery);
  const second = (delivery: Delivery): FoundNote => about(delivery, { attempt: 2 });
  const unclear = 'the comment of attempt 2 does not say whether it was sent';
  const unknown = 'attempt 2 does not know whether it was delivered';
  const claimed = 'has its 🚀';

  it.each<[string, readonly FoundNote[], step: string, command: string]>([
    ['no note', [], 'send', claimed],
    ['not sent', [first('not-sent')], 'send', claimed],
    ['sent', [first('sent')], 'resume', 'resume'],
    ['unknown', [second('unknown')], unknown, unknown],
    ['being sent', [second('sending')], unclear, unclear],
    ['sent, then not', [first('sent'), second('not-sent')], 'resume', 'resume'],
    ['unknown, then sent', [first('unknown'), second('sent')], 'resume', 'resume'],
    ['being sent, then unknown', [first('sending'), second('unknown')], unknown, unknown],
    ['not sent, then being sent', [first('not-sent'), second('sending')], unclear, unclear],
    ['twice in an attempt', [first('not-sent'), first('not-sent')], 'send', claimed],
    ['twice in an attempt, once sent', [first('not-sent'), first('sent')], 'resume', 'resume'],
    ['twice, once in doubt', [second('not-sent'), second('unknown')], unknown, unknown],
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
      const message: MessageId = { ...NOTE, attempt: 3, command: key };
      const verdict = judge(ofKind, message, 'job-1', claim);
      return verdict.kind === 'refuse' ? verdict.why : verdict.kind;
    };
    expect(resultOf('', 'none')).toContain(step);
    expect(resultOf('review:7', 'none')).toContain(step);
    expect(resultOf('comment:7', { why: claimed })).toContain(command);
  });

  const own: MessageId = { ...NOTE, attempt: 4 };

  it('continues with the latest of the attempts that sent it', () => {
    const at = (attempt: number) => about('sent', { attempt, jobs: [sent(attempt)] });
    expect(judge([at(1), at(3), at(2)], own, 'job-1', 'none')).toEqual({
      ...{ kind: 'resume', job: sent(3), isOutdone: false },
    });
  });

  it.each<[string, Partial<NoteData>, boolean]>([
    ['a later message of another run', { run: '2', jobs: [sent(6)] }, true],
    ['a later message of another step', { step: 'ee', jobs: [sent(6)] }, true],
    [
      'a message that may have arrived',
      { run: '2', jobs: [sent(0, { delivery: 'unknown' })] },
      true,
    ],
    [
      'a message that may still be sent',
      { run: '2', jobs: [sent(0, { delivery: 'sending' })] },
      true,
    ],
    ['a message that was not sent', { run: '2', jobs: [sent(0, { delivery: 'not-sent' })] }, false],
    ['a later message to another job', { run: '2', jobs: [sent(6, { id: 'job-2' })] }, false],
    ['the same message in a later attempt', { attempt: 2, jobs: [sent(5)] }, false],
  ])('knows whether %s makes its end uncertain', (_, parts, isOutdone) => {
    const notes = [about('sent', { jobs: [sent(5)] }), found(parts)];
    expect(judge(notes, own, 'job-1', 'none')).toMatchObject({ kind: 'resume', isOutdone });
  });

  it.each([
    [4, false],
    [6, true],
  ])('goes by the time if the comment is above: %i, %s', (sentAt, isOutdone) => {
    const above = found({ run: '2', jobs: [sent(sentAt)] });
    const notes = [above, about('sent', { jobs: [sent(5)] })];
    expect(judge(notes, own, 'job-1', 'none')).toMatchObject({ kind: 'resume', isOutdone });
  });

  it('names all notes of the message that name the job, if it refuses', () => {
    const notes = [first('unknown'), second('sending'), other('unknown')];
    expect(judge(notes, own, 'job-1', 'none')).toMatchObject({
      ...{ kind: 'refuse', notes: [first('unknown'), second('sending')] },
    });
    expect(judge([], own, 'job-1', { why: claimed })).toMatchObject({ notes: [] });
  });

  it.each<[readonly FoundNote[], string]>([
    [[], 'send'],
    [[first('not-sent')], 'send'],
    [[first('sending'), second('unknown')], 'send'],
    [[other('sent')], 'send'],
    [[first('sent')], 'resume'],
    [[first('sent'), first('sent')], 'resume'],
  ])('claims a command, unless an earlier attempt has sent it: %#', (notes, kind) => {
    expect(judge(notes, { ...NOTE, attempt: 3 }, 'job-1', 'pending')).toMatchObject({ kind });
  });
});

describe('promptOf: the prompt of a re-run is that of the earlier attempt', () => {
  const note = (prompt: string, ...jobs: readonly NoteJob[]) => found({ prompt, jobs });
  const other = sent(3, { id: 'job-2' });
  it.each<[string, readonly FoundNote[], readonly string[], string]>([
    ['if it sent the message', [note('old', sent(3))], ['job-1'], 'old'],
    ['if it sent all', [note('old', sent(3), other)], ['job-1', 'job-2'], 'old'],
    ['but not if one is still to be sent', [note('old', sent(3))], ['job-1', 'job-2'], 'own'],
    [
      'but not if it is in doubt',
      [note('old', sent(0, { delivery: 'unknown' }))],
      ['job-1'],
      'own',
    ],
    ['but not if it sent nothing', [], ['job-1'], 'own'],
    ['but not of another step', [{ ...note('old', sent(3)), step: 'ee' }], ['job-1'], 'own'],
    ['and the latest', [note('a', sent(3)), { ...note('b', sent(3)), attempt: 2 }], ['job-1'], 'b'],
  ])('%s', (_, notes, jobIds, expected) => {
    expect(promptOf(notes, { ...NOTE, attempt: 3 }, jobIds, 'own')).toBe(expected);
  });
});

describe('a re-run', () => {
  /** What attempt 2 of a step does with a job, one hour later. */
  async function followed(notes: Run['notes']) {
    const { runtime, logged } = recordingRuntime();
    const clock = { ...runtime.clock, now: () => START + 3_600_000 };
    const [one, ...others] = [newJob('job-1', false), newJob('job-2', false)];
    const jobs = [one as Job, ...others];
    const run = {
      ...{
        jobs,
        notes,
        info: INFO,
        plan: { claims: false },
        inputs: { wait: true, settleMs: 60_000 },
      },
      ...{ runtime: { ...runtime, clock }, about: { ...NOTE, attempt: 2 } },
      log: new JobLog({ ...runtime, clock, jobs, deadline: START }),
    } as unknown as Run;
    await followEarlierAttempts(run);
    return { logged, job: one as Job };
  }

  it.each([
    ['completed', true, ''],
    ['completed', false, 'The status was completed before the message and still is'],
    ['failed', true, 'The agent gave no reason.'],
    ['archived', true, 'now the job is archived'],
  ] as const)(
    'reports that the job %s (confirmed: %s), as its note says',
    async (result, confirmed, words) => {
      const end = { result, confirmed, at: START + 90_000 };
      const known = sent(START, { base: 'completed', isOurs: confirmed, ended: end, prNumber: 7 });
      const later = found({ run: '2', jobs: [sent(START + 95_000)] });
      const { job } = await followed(ok([found({ jobs: [known] }), later]));
      expect(job).toMatchObject({
        ...{ polls: 0, message: { kind: 'sent', at: START }, endedAt: START + 90_000 },
        record: { status: result, prNumber: 7, prLink: 'https://github.com/octo/agents/pull/7' },
        end: { result, confirmed, reason: expect.stringContaining(words) },
      });
    },
  );

  it('goes on with a message, whose end is uncertain if another one was sent since', async () => {
    const known = found({ jobs: [sent(START, { base: 'failed', isOurs: true })] });
    const later = found({ run: '2', jobs: [sent(START + 95_000)] });
    expect((await followed(ok([known]))).job).toMatchObject({
      ...{ end: null, base: { status: 'failed' }, after: { work: 'our message' } },
    });
    expect((await followed(ok([known, later]))).job).toMatchObject({
      ...{ end: null, base: null, after: { work: 'earlier work' } },
    });
  });

  it('takes no time of the earlier runner that is in the future', async () => {
    const end = { result: 'completed', confirmed: true, at: START + 8e6 } as const;
    const known = found({ jobs: [sent(START + 7e6, { ended: end })] });
    expect((await followed(ok([known]))).job).toMatchObject({
      ...{ message: { at: START + 3_600_000 }, endedAt: START + 3_600_000 },
    });
  });

  const [one, two] = [about('unknown'), about('sending', { attempt: 3 })];
  const all = 'To send the message all the same, ';
  it.each<[string, Run['notes'], string]>([
    ['the comment', ok([one]), `${all}delete ${one.url} and re-run the workflow.`],
    ['all comments', ok([one, two]), `${all}delete ${one.url} and ${two.url} and re-run`],
    [
      'none that says of another job that its message was sent',
      ok([{ ...one, jobs: [...one.jobs, sent(3, { id: 'job-2' })] }]),
      `${all}start a new run with this job alone.`,
    ],
    ['none that cannot be read', problem('so'), `because so. Check the job in the dashboard`],
    ['none, as none is known', problem('so'), `${all}start a new run.`],
  ])('that is refused says which comment to delete: %s', async (_, notes, words) => {
    const { job } = await followed(notes);
    expect(job).toMatchObject({ message: { kind: 'unknown' }, end: { result: 'error' } });
    expect(job.end?.reason).toContain(words);
  });
});

it('namedJobs names only jobs that exist for certain, each with the first note that does', () => {
  const named = (id: string, delivery: Delivery, known?: boolean, run = '1'): FoundNote =>
    about(delivery, { run, jobs: [{ id, delivery, sentAt: 0, known }] });
  const doubtful = [named('a', 'sending'), named('b', 'not-sent'), named('c', 'sending')];
  const certain = [named('c', 'unknown'), named('d', 'not-sent', true), named('e', 'sent')];
  const again = named('c', 'sent', true, '2');
  expect([...namedJobs([...doubtful, ...certain, again])]).toEqual(
    certain.map((note) => [note.jobs[0]?.id, note]),
  );
});
