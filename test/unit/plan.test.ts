import { describe, expect, it } from 'vitest';
import type { GiveUp } from '../../src/agent/client.ts';
import type { RunContext } from '../../src/context.ts';
import {
  type JobMemory,
  type Plan,
  planJob,
  planReadOnly,
  stateOf,
  unplannedState,
} from '../../src/job/plan.ts';
import type { Memory } from '../../src/memory/announcements.ts';
import type { Ledger } from '../../src/memory/ledger.ts';
import { ours } from '../../src/reason.ts';
import { ok, problem } from '../../src/result.ts';
import type { Turn } from '../../src/turn.ts';
import { turn as endedTurn, job, ledger, readable, START } from './record.ts';

const RECORD = { status: 'active', model: null, source: null, prLink: null };
const BASE = { status: 'completed', prLink: null, archivedAt: null };

/** A turn of an earlier attempt that is under way; with a result, one that has ended. */
function turn(parts: Partial<Turn> = {}): Turn {
  const endedAt = parts.result === undefined ? null : START + 9000;
  return endedTurn({ sentAt: START + 5000, endedAt, runId: '8', ...parts });
}

/** The turn as a run would begin it. */
function own(parts: Partial<Turn> = {}): Turn {
  const fresh = {
    mark: 'own',
    owner: 'own',
    delivery: 'not-sent',
    startedAt: START + 60_000,
  } as const;
  return endedTurn({ ...fresh, runId: '8', attempt: 2, endedAt: null, ...parts });
}

const read = (of: Ledger, isWhole = true): Memory => ok({ ledger: of, isWhole });
const remembered = (...turns: readonly Turn[]): Memory => read(ledger(job('j', ...turns)));
const NOTHING = read(ledger());
const UNREADABLE: Memory = problem(ours('GitHub answered 500'));
const NONE: Memory = null;

interface Case {
  readonly attempt?: number;
  readonly wait?: boolean;
  readonly isNamed?: boolean;
  readonly resendOnRerun?: boolean;
  readonly own?: Partial<Turn>;
}

function plan(
  memory: JobMemory,
  { attempt = 2, own: parts = {}, isNamed = true, wait = true, resendOnRerun = false }: Case = {},
): Plan {
  const inputs = { wait, resendOnRerun } as RunContext['inputs'];
  const context = { inputs, conversation: isNamed ? 7 : null };
  return planJob(context, memory, 'j', own({ attempt, ...parts }));
}

const SEND: Plan = { kind: 'send', warning: '', earlier: null };
const ANYTHING: readonly (readonly [string, JobMemory])[] = [
  ['nowhere', NONE],
  ['a comment that cannot be read', UNREADABLE],
  ['a comment of which a part cannot be read', read(ledger(), false)],
  ['a comment that had no room', read({ jobs: [], trimmed: '9' })],
  ['nothing', NOTHING],
  ['what was sent', remembered(turn())],
  ['a job that cannot be read', { kind: 'cancelled', why: [] }],
];

describe('in the first attempt', () => {
  it.each(ANYTHING)('the message is sent, whatever is remembered: %s', (_, memory) => {
    expect(plan(memory, { attempt: 1 })).toEqual(SEND);
    expect(plan(memory, { attempt: 1, isNamed: false, resendOnRerun: true })).toEqual(SEND);
  });
});

describe('in a re-run', () => {
  describe('an earlier attempt’s turn decides', () => {
    it.each<[string, Partial<Turn>, Plan['kind'], Case]>([
      ['not sent', { delivery: 'not-sent', result: 'error' }, 'send', {}],
      ['held back', { delivery: 'not-sent', result: 'skipped', reason: ['Too many.'] }, 'send', {}],
      ['being sent', { delivery: 'sending' }, 'resume', {}],
      ['of unknown fate', { delivery: 'unknown', result: 'error' }, 'resume', {}],
      ['sent', {}, 'resume', {}],
      ['timed out', { result: 'timed-out' }, 'resume', {}],
      ['cancelled', { result: 'cancelled' }, 'resume', {}],
      ['completed', { result: 'completed' }, 'ended', {}],
      ['failed', { result: 'failed' }, 'ended', {}],
      ['archived', { result: 'archived' }, 'ended', {}],
      ['completed, without a wait', { result: 'completed' }, 'resume', { wait: false }],
      ['of another prompt', { prompt: 'Stop.' }, 'resume', {}],
      ['of another leg', { leg: 'another' }, 'resume', {}],
      ['of an attempt in between', { attempt: 2 }, 'resume', { attempt: 3 }],
    ])('%s', (_, parts, kind, more) => {
      for (const isNamed of [true, false]) {
        for (const resendOnRerun of [true, false]) {
          const given = { ...more, isNamed, resendOnRerun };
          expect(plan(remembered(turn(parts)), given).kind).toBe(kind);
          // What is missing elsewhere is of no concern where the turn is there.
          const partly = { ...ledger(job('j', turn(parts))), trimmed: '9' };
          expect(plan(read(partly, false), given).kind).toBe(kind);
        }
      }
    });

    it('that was not sent goes on as that turn, unless it is another run’s', () => {
      const unsent = turn({ delivery: 'not-sent' });
      expect(plan(remembered(unsent))).toEqual({ ...SEND, earlier: unsent });
      const command = { origin: 'comment:1' };
      const theirs = turn({ ...command, delivery: 'not-sent', runId: '7' });
      expect(plan(remembered(theirs), { own: command })).toEqual(SEND);
    });

    it.each<[string, Partial<Turn>]>([
      ['another leg', { leg: 'another' }],
      ['another use of the step', { prompt: 'Stop.' }],
      ['what was left to another run', { result: 'skipped' }],
      ['another run', { runId: '7' }],
    ])('that was not sent tells nothing where others may be missing: %s', (_, parts) => {
      const unsent = job('j', turn({ origin: 'comment:1', delivery: 'not-sent', ...parts }));
      const command = { own: { origin: 'comment:1' } };
      expect(plan(read(ledger(unsent)), command).kind).toBe('send');
      expect(plan(read(ledger(unsent), false), command).kind).toBe('refuse');
      expect(plan(read({ jobs: [unsent], trimmed: '8' }), command).kind).toBe('refuse');
    });

    it('that was left to another run does not go on: that run may have sent it', () => {
      const left = turn({ delivery: 'not-sent', result: 'skipped' });
      expect(plan(remembered(left))).toEqual(SEND);
    });

    it('is the one that this attempt has not taken yet', () => {
      const taken = turn({ mark: 'first', attempt: 2 });
      const free = turn({ mark: 'second' });
      expect(plan(remembered(taken, free))).toMatchObject({ turn: { mark: 'second' } });
      expect(plan(remembered(taken))).toEqual(SEND);
    });

    it('does not settle it by what came after it', () => {
      const mine = turn({ delivery: 'sending', sentAt: null });
      const later = turn({ mark: 'later', origin: 'comment:2', sentAt: START + 7_200_000 });
      expect(plan(remembered(mine))).toMatchObject({ isOvertaken: false });
      expect(plan(remembered(later, mine))).toMatchObject({ isOvertaken: true });
    });
  });

  describe('without any, the message was never begun where all can be read', () => {
    const others = read(
      ledger(
        job('k', turn()),
        job('j', turn({ origin: 'comment:2' }), turn({ origin: 'run:7:job:step' })),
      ),
    );

    it.each<[string, Memory, Case]>([
      ['there is no comment yet', NOTHING, {}],
      ['there are turns of others', others, {}],
      ['of an older run something was dropped', read({ jobs: [], trimmed: '7' }), {}],
      [
        'by a number of many digits',
        read({ jobs: [], trimmed: '999' }),
        { own: { runId: '1000' } },
      ],
    ])('%s', (_, memory, more) => {
      expect(plan(memory, more)).toEqual(SEND);
      expect(plan(memory, { ...more, resendOnRerun: true })).toEqual(SEND);
    });
  });

  describe('without any, nothing is sent where the memory tells too little', () => {
    it.each<[string, JobMemory, Case, string]>([
      ['no comments', NONE, {}, 'comment is false'],
      ['no conversation', NONE, { isNamed: false }, 'there is no pull request or issue'],
      ['unreadable', UNREADABLE, {}, 'the comment cannot be read: GitHub answered 500'],
      ['unreadable in part', read(ledger(), false), {}, 'a comment of this action cannot be read'],
      ['dropped, of this run', read({ jobs: [], trimmed: '8' }), {}, 'the comment has no room'],
      ['dropped, of a later run', read({ jobs: [], trimmed: '10' }), {}, 'the comment has no room'],
      [
        'dropped, of an older run, which may have handled the same command',
        read({ jobs: [], trimmed: '7' }),
        { own: { origin: 'review:1' } },
        'the comment has no room',
      ],
      [
        'only the job names the place',
        NOTHING,
        { isNamed: false },
        'may have had another pull request',
      ],
    ])('%s', (_, memory, more, why) => {
      expect(readable(plan(memory, more))).toEqual({
        kind: 'refuse',
        isUnknown: true,
        end: {
          result: 'error',
          reason: expect.stringMatching(
            `^Nothing was sent to job j: this re-run cannot tell whether an earlier attempt sent it, because .*${why}.*\\. To send it, start a new run, write a new comment, or set "resend-on-rerun: true"\\.$`,
          ),
        },
      });
      expect(plan(memory, { ...more, resendOnRerun: true })).toEqual({
        kind: 'send',
        earlier: null,
        warning: expect.stringMatching(
          `^The message to job j is sent, although this re-run cannot tell .*${why}.* \\(resend-on-rerun\\)\\.$`,
        ),
      });
    });
  });

  describe('a job that does not show where it is remembered gets nothing', () => {
    it.each<[GiveUp, string, string]>([
      [
        { kind: 'refused', why: ['It is gone.'] },
        'error',
        'so the action cannot tell .* It is gone.',
      ],
      [{ kind: 'timed-out', why: ['So.'] }, 'timed-out', 'within timeout-minutes, .* sent it. So.'],
      [{ kind: 'timed-out', why: [] }, 'timed-out', 'within timeout-minutes, .* sent it.'],
      [
        { kind: 'cancelled', why: [] },
        'cancelled',
        'before it was known what .* had sent to job j; nothing was sent now.',
      ],
    ])('%j', (giveUp, result, words) => {
      for (const resendOnRerun of [true, false]) {
        expect(readable(plan(giveUp, { resendOnRerun, isNamed: false }))).toEqual({
          kind: 'refuse',
          isUnknown: false,
          end: {
            result,
            reason: expect.stringMatching(`^(Nothing was sent|The run was cancelled) .*${words}$`),
          },
        });
      }
    });
  });
});

describe('a planned job begins', () => {
  const begin = (memory: JobMemory, { wait = true, ...more }: Case = {}) => {
    const start = own({ writes: 4 });
    const unplanned = { ...unplannedState('j', start, false), polls: 3 };
    return stateOf(unplanned, plan(memory, { wait, ...more }), start, wait);
  };

  it('with a turn of this run, where nothing was sent before', () => {
    expect(begin(NOTHING)).toEqual({
      ...{ jobId: 'j', isReadOnly: false, record: null, polls: 3, firstSeenAt: null },
      turn: {
        ...own({ writes: 4 }),
        ...{ result: 'error', reason: ['The run ended before the message was sent.'] },
      },
    });
  });

  it('with the turn that an earlier attempt has not sent, as this one would begin it', () => {
    const unsent = turn({ delivery: 'not-sent', result: 'error', prompt: 'Stop.', by: 'bob' });
    expect(begin(remembered(unsent)).turn).toMatchObject({
      ...{ mark: 'mark-1', owner: 'own', attempt: 2, startedAt: START + 60_000 },
      ...{ prompt: 'Go.', by: null, delivery: 'not-sent', endedAt: null },
    });
  });

  it.each(['completed', 'failed', 'archived'] as const)(
    'at its end, where an earlier attempt saw that it is %s',
    (result) => {
      const ended = turn({ result, confirmed: true, base: BASE, evidence: true, reason: ['So.'] });
      const memory = read(ledger({ ...job('j', ended), record: RECORD }));
      expect(begin(memory)).toEqual({
        ...{ jobId: 'j', isReadOnly: false, polls: 3, firstSeenAt: null },
        record: { ...RECORD, id: 'j', linkProblem: null, createdAt: null, archivedAt: null },
        turn: { ...ended, owner: 'own', attempt: 2, writes: 0 },
      });
      expect(begin(remembered(ended)).record).toBeNull();
    },
  );

  it('with what is remembered of the message, under this attempt', () => {
    const seen = { base: BASE, evidence: true, by: 'bob', result: 'timed-out' } as const;
    expect(begin(remembered(turn(seen))).turn).toMatchObject({
      ...{ mark: 'mark-1', owner: 'own', attempt: 2, writes: 0 },
      ...{ by: 'bob', startedAt: START, sentAt: START + 5000, base: BASE, evidence: true },
      ...{ delivery: 'sent', result: 'sent', endedAt: null, confirmed: null },
      reason: ['The run ended before the agent was done.'],
    });
  });

  it.each(['sending', 'unknown'] as const)('in doubt, where it was left as %s', (delivery) => {
    const mine = turn({ delivery, base: BASE, sentAt: null });
    const later = turn({ mark: 'later', origin: 'comment:2', sentAt: START + 7_200_000 });
    expect(begin(remembered(mine)).turn).toMatchObject({
      ...{ delivery: 'unknown', result: 'error', base: BASE, sentAt: null, endedAt: null },
    });
    // What changed since may be that one's doing.
    expect(begin(remembered(later, mine)).turn.base).toBeNull();
  });

  it('with nothing that it could do, where it is refused', () => {
    expect(begin(UNREADABLE).turn).toMatchObject({ mark: 'own', delivery: 'not-sent' });
  });

  it.each([
    ['gets a message', false, 'unknown', /before it was known what an earlier attempt had sent/],
    ['is looked at', true, 'not-sent', /while the job was being polled/],
  ])('before it is planned: one that %s', (_, isReadOnly, delivery, reason) => {
    expect(readable(unplannedState('j', own(), isReadOnly))).toMatchObject({
      ...{ jobId: 'j', isReadOnly, record: null, polls: 0 },
      turn: { delivery, result: 'error', reason: expect.stringMatching(reason), endedAt: null },
    });
  });
});

describe('planLook goes on with the newest message if it is sent and not answered', () => {
  const nothing = { kind: 'read-only', turn: null };
  const open = turn({ base: BASE, evidence: true });
  const goesOn = { kind: 'read-only', turn: open };

  it.each<[string, JobMemory, object]>([
    ['no memory', NONE, nothing],
    ['an unreadable one', UNREADABLE, nothing],
    ['no comment yet', NOTHING, nothing],
    ['another job', read(ledger(job('k', open))), nothing],
    ['a job without turns', remembered(), nothing],
    ['not answered', read(ledger(job('k', turn()), job('j', open))), goesOn],
    ['not answered, in what can be read', read(ledger(job('j', open)), false), goesOn],
    ['the newest of two', remembered(open, turn({ result: 'failed' })), goesOn],
    ['an older one', remembered(turn({ result: 'failed' }), open), nothing],
    ['one below what was not sent', remembered(turn({ delivery: 'not-sent' }), open), goesOn],
    ...(['completed', 'failed', 'archived'] as const).map((result): [string, Memory, object] => [
      result,
      remembered(turn({ result })),
      nothing,
    ]),
    ...(['sending', 'unknown', 'not-sent'] as const).map((delivery): [string, Memory, object] => [
      delivery,
      remembered(turn({ delivery })),
      nothing,
    ]),
  ])('%s', (_, memory, expected) => {
    expect(planReadOnly(memory, 'j', true)).toEqual(expected);
  });

  it.each(['sent', 'timed-out', 'cancelled', 'error'] as const)('%s is not the end', (result) => {
    expect(planReadOnly(remembered(turn({ result })), 'j', true)).toMatchObject({
      turn: { result },
    });
  });

  it('but a single poll needs no earlier message', () => {
    expect(planReadOnly(remembered(turn()), 'j', false)).toEqual(nothing);
  });

  it('and begins with it, or with none', () => {
    const begin = (memory: JobMemory) =>
      stateOf(unplannedState('j', own(), true), planReadOnly(memory, 'j', true), own(), true);
    expect(readable(begin(remembered(open)))).toMatchObject({
      isReadOnly: true,
      turn: {
        ...{ ...open, owner: 'own', writes: 0, result: 'error' },
        reason: expect.stringContaining('was being polled'),
      },
    });
    expect(begin(NOTHING)).toMatchObject({
      isReadOnly: true,
      turn: { mark: 'own', delivery: 'not-sent', sentAt: null },
    });
  });
});
