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
import { ok, problem } from '../../src/text.ts';
import type { Turn } from '../../src/turn.ts';
import { turn as endedTurn, job, ledger, readable, START } from './record.ts';

const RECORD = { status: 'active', model: null, source: null, prLink: null };
const BASE = { status: 'completed', prLink: null, archivedAt: null };

/** A turn of an earlier attempt. It has ended if it has a result. */
function turn(parts: Partial<Turn> = {}): Turn {
  const endedAt = parts.result === undefined ? null : START + 9000;
  return endedTurn({ sentAt: START + 5000, endedAt, runId: '8', ...parts });
}

/** The turn that this run would start. */
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
const NO_TURNS = read(ledger());
const UNREADABLE: Memory = problem(ours('GitHub answered 500'));
const NO_MEMORY: Memory = null;

interface Case {
  readonly attempt?: number;
  readonly wait?: boolean;
  readonly hasConversation?: boolean;
  readonly resendOnRerun?: boolean;
  readonly own?: Partial<Turn>;
}

function plan(
  memory: JobMemory,
  {
    attempt = 2,
    own: parts = {},
    hasConversation = true,
    wait = true,
    resendOnRerun = false,
  }: Case = {},
): Plan {
  const inputs = { wait, resendOnRerun } as RunContext['inputs'];
  const context = { inputs, conversation: hasConversation ? 7 : null };
  return planJob(context, memory, 'j', own({ attempt, ...parts }));
}

const SEND: Plan = { kind: 'send', warning: '', earlier: null };
const MEMORIES: readonly (readonly [string, JobMemory])[] = [
  ['no memory', NO_MEMORY],
  ['a comment that cannot be read', UNREADABLE],
  ['a comment that cannot be read completely', read(ledger(), false)],
  ['a comment that had no room', read({ jobs: [], trimmed: '9' })],
  ['no turns', NO_TURNS],
  ['a sent message', remembered(turn())],
  ['a job that cannot be polled', { kind: 'cancelled', why: [] }],
];

describe('in the first attempt', () => {
  it.each(MEMORIES)('planJob sends whatever the memory says: %s', (_, memory) => {
    expect(plan(memory, { attempt: 1 })).toEqual(SEND);
    expect(plan(memory, { attempt: 1, hasConversation: false, resendOnRerun: true })).toEqual(SEND);
  });
});

describe('in a re-run', () => {
  describe('planJob, for the turn of an earlier attempt', () => {
    it.each<[string, Partial<Turn>, Plan['kind'], Case]>([
      ['not sent', { delivery: 'not-sent', result: 'error' }, 'send', {}],
      ['skipped', { delivery: 'not-sent', result: 'skipped', reason: ['Too many.'] }, 'send', {}],
      ['being sent', { delivery: 'sending' }, 'resume', {}],
      ['of unknown delivery', { delivery: 'unknown', result: 'error' }, 'resume', {}],
      ['sent', {}, 'resume', {}],
      ['timed out', { result: 'timed-out' }, 'resume', {}],
      ['cancelled', { result: 'cancelled' }, 'resume', {}],
      ['completed', { result: 'completed' }, 'ended', {}],
      ['failed', { result: 'failed' }, 'ended', {}],
      ['archived', { result: 'archived' }, 'ended', {}],
      ['completed, without a wait', { result: 'completed' }, 'resume', { wait: false }],
      ['of another prompt', { prompt: 'Stop.' }, 'resume', {}],
      ['of another job of the matrix', { leg: 'another' }, 'resume', {}],
      ['of an attempt in between', { attempt: 2 }, 'resume', { attempt: 3 }],
    ])('decides by a turn that is %s', (_, parts, kind, more) => {
      for (const hasConversation of [true, false]) {
        for (const resendOnRerun of [true, false]) {
          const given = { ...more, hasConversation, resendOnRerun };
          expect(plan(remembered(turn(parts)), given).kind).toBe(kind);
          // If the turn is found, it does not matter what else is missing.
          const partly = { ...ledger(job('j', turn(parts))), trimmed: '9' };
          expect(plan(read(partly, false), given).kind).toBe(kind);
        }
      }
    });

    it('continues a turn that was not sent, unless it belongs to another run', () => {
      const unsent = turn({ delivery: 'not-sent' });
      expect(plan(remembered(unsent))).toEqual({ ...SEND, earlier: unsent });
      const command = { origin: 'comment:1' };
      const theirs = turn({ ...command, delivery: 'not-sent', runId: '7' });
      expect(plan(remembered(theirs), { own: command })).toEqual(SEND);
    });

    it.each<[string, Partial<Turn>]>([
      ['of another job of the matrix', { leg: 'another' }],
      ['of another use of the step', { prompt: 'Stop.' }],
      ['left to another run', { result: 'skipped' }],
      ['of another run', { runId: '7' }],
    ])('refuses if turns may be missing besides an unsent one %s', (_, parts) => {
      const unsent = job('j', turn({ origin: 'comment:1', delivery: 'not-sent', ...parts }));
      const command = { own: { origin: 'comment:1' } };
      expect(plan(read(ledger(unsent)), command).kind).toBe('send');
      expect(plan(read(ledger(unsent), false), command).kind).toBe('refuse');
      expect(plan(read({ jobs: [unsent], trimmed: '8' }), command).kind).toBe('refuse');
    });

    it('does not continue a turn that was left to another run, which may have sent it', () => {
      const left = turn({ delivery: 'not-sent', result: 'skipped' });
      expect(plan(remembered(left))).toEqual(SEND);
    });

    it('resumes a turn that this attempt has not resumed yet', () => {
      const taken = turn({ mark: 'first', attempt: 2 });
      const free = turn({ mark: 'second' });
      expect(plan(remembered(taken, free))).toMatchObject({ turn: { mark: 'second' } });
      expect(plan(remembered(taken))).toEqual(SEND);
    });

    it('notices a message that was sent after it', () => {
      const mine = turn({ delivery: 'sending', sentAt: null });
      const later = turn({ mark: 'later', origin: 'comment:2', sentAt: START + 7_200_000 });
      expect(plan(remembered(mine))).toMatchObject({ isOvertaken: false });
      expect(plan(remembered(later, mine))).toMatchObject({ isOvertaken: true });
    });
  });

  describe('without an earlier turn, planJob sends the message if', () => {
    const others = read(
      ledger(
        job('k', turn()),
        job('j', turn({ origin: 'comment:2' }), turn({ origin: 'run:7:job:step' })),
      ),
    );

    it.each<[string, Memory, Case]>([
      ['there is no comment yet', NO_TURNS, {}],
      ['the comment has only other turns', others, {}],
      ['only turns of an older run were dropped', read({ jobs: [], trimmed: '7' }), {}],
      [
        'only turns of a run with a shorter ID were dropped',
        read({ jobs: [], trimmed: '999' }),
        { own: { runId: '1000' } },
      ],
    ])('%s', (_, memory, more) => {
      expect(plan(memory, more)).toEqual(SEND);
      expect(plan(memory, { ...more, resendOnRerun: true })).toEqual(SEND);
    });
  });

  describe('without an earlier turn, planJob sends nothing if', () => {
    it.each<[string, JobMemory, Case, string]>([
      ['comment is false', NO_MEMORY, {}, 'comment is false'],
      [
        'the run has no conversation',
        NO_MEMORY,
        { hasConversation: false },
        'there is no pull request or issue',
      ],
      [
        'the comment cannot be read',
        UNREADABLE,
        {},
        'the comment cannot be read: GitHub answered 500',
      ],
      [
        'the comment cannot be read completely',
        read(ledger(), false),
        {},
        'a comment of this action cannot be read',
      ],
      [
        'a turn of this run was dropped',
        read({ jobs: [], trimmed: '8' }),
        {},
        'the comment has no room',
      ],
      [
        'a turn of a later run was dropped',
        read({ jobs: [], trimmed: '10' }),
        {},
        'the comment has no room',
      ],
      [
        'a turn of an older run was dropped, which may have handled the same command',
        read({ jobs: [], trimmed: '7' }),
        { own: { origin: 'review:1' } },
        'the comment has no room',
      ],
      [
        'only the job names the pull request',
        NO_TURNS,
        { hasConversation: false },
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

  describe('planJob sends nothing if the first poll fails', () => {
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
        expect(readable(plan(giveUp, { resendOnRerun, hasConversation: false }))).toEqual({
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

describe('the first state of a job', () => {
  const firstState = (memory: JobMemory, { wait = true, ...more }: Case = {}) => {
    const start = own({ writes: 4 });
    const unplanned = { ...unplannedState('j', start, false), polls: 3 };
    return stateOf(unplanned, plan(memory, { wait, ...more }), start, wait);
  };

  it('has a new turn if nothing was sent before', () => {
    expect(firstState(NO_TURNS)).toEqual({
      ...{ jobId: 'j', isReadOnly: false, record: null, polls: 3, firstSeenAt: null },
      turn: {
        ...own({ writes: 4 }),
        ...{ result: 'error', reason: ['The run ended before the message was sent.'] },
      },
    });
  });

  it('continues the turn that an earlier attempt has not sent, with the prompt of this attempt', () => {
    const unsent = turn({ delivery: 'not-sent', result: 'error', prompt: 'Stop.', by: 'bob' });
    expect(firstState(remembered(unsent)).turn).toMatchObject({
      ...{ mark: 'mark-1', owner: 'own', attempt: 2, startedAt: START + 60_000 },
      ...{ prompt: 'Go.', by: null, delivery: 'not-sent', endedAt: null },
    });
  });

  it.each(['completed', 'failed', 'archived'] as const)(
    'is final if an earlier attempt saw that the job is %s',
    (result) => {
      const ended = turn({ result, confirmed: true, base: BASE, evidence: true, reason: ['So.'] });
      const memory = read(ledger({ ...job('j', ended), record: RECORD }));
      expect(firstState(memory)).toEqual({
        ...{ jobId: 'j', isReadOnly: false, polls: 3, firstSeenAt: null },
        record: { ...RECORD, id: 'j', linkProblem: null, createdAt: null, archivedAt: null },
        turn: { ...ended, owner: 'own', attempt: 2, writes: 0 },
      });
      expect(firstState(remembered(ended)).record).toBeNull();
    },
  );

  it('continues the turn of the sent message, with this attempt as the owner', () => {
    const earlier = { base: BASE, evidence: true, by: 'bob', result: 'timed-out' } as const;
    expect(firstState(remembered(turn(earlier))).turn).toMatchObject({
      ...{ mark: 'mark-1', owner: 'own', attempt: 2, writes: 0 },
      ...{ by: 'bob', startedAt: START, sentAt: START + 5000, base: BASE, evidence: true },
      ...{ delivery: 'sent', result: 'sent', endedAt: null, confirmed: null },
      reason: ['The run ended before the agent was done.'],
    });
  });

  it.each(['sending', 'unknown'] as const)('has an unknown delivery after %s', (delivery) => {
    const mine = turn({ delivery, base: BASE, sentAt: null });
    const later = turn({ mark: 'later', origin: 'comment:2', sentAt: START + 7_200_000 });
    expect(firstState(remembered(mine)).turn).toMatchObject({
      ...{ delivery: 'unknown', result: 'error', base: BASE, sentAt: null, endedAt: null },
    });
    // The later message may have caused a change since then.
    expect(firstState(remembered(later, mine)).turn.base).toBeNull();
  });

  it('has a new turn if the plan refuses to send', () => {
    expect(firstState(UNREADABLE).turn).toMatchObject({ mark: 'own', delivery: 'not-sent' });
  });

  it.each([
    ['gets a message', false, 'unknown', /before it was known what an earlier attempt had sent/],
    ['is only polled', true, 'not-sent', /while the job was being polled/],
  ])('has a reason before the plan, if it %s', (_, isReadOnly, delivery, reason) => {
    expect(readable(unplannedState('j', own(), isReadOnly))).toMatchObject({
      ...{ jobId: 'j', isReadOnly, record: null, polls: 0 },
      turn: { delivery, result: 'error', reason: expect.stringMatching(reason), endedAt: null },
    });
  });
});

describe('planReadOnly', () => {
  const pollOnly = { kind: 'read-only', turn: null };
  const open = turn({ base: BASE, evidence: true });
  const continues = { kind: 'read-only', turn: open };

  it.each<[string, JobMemory, object]>([
    ['no memory', NO_MEMORY, pollOnly],
    ['a comment that cannot be read', UNREADABLE, pollOnly],
    ['no comment yet', NO_TURNS, pollOnly],
    ['another job', read(ledger(job('k', open))), pollOnly],
    ['a job without turns', remembered(), pollOnly],
    ['not done', read(ledger(job('k', turn()), job('j', open))), continues],
    [
      'not done, in a comment that cannot be read completely',
      read(ledger(job('j', open)), false),
      continues,
    ],
    ['not done, before a failed one', remembered(open, turn({ result: 'failed' })), continues],
    [
      'not done, after a newer one that failed',
      remembered(turn({ result: 'failed' }), open),
      pollOnly,
    ],
    [
      'not done, after a newer one that was not sent',
      remembered(turn({ delivery: 'not-sent' }), open),
      continues,
    ],
    ...(['completed', 'failed', 'archived'] as const).map((result): [string, Memory, object] => [
      result,
      remembered(turn({ result })),
      pollOnly,
    ]),
    ...(['sending', 'unknown', 'not-sent'] as const).map((delivery): [string, Memory, object] => [
      delivery,
      remembered(turn({ delivery })),
      pollOnly,
    ]),
  ])('continues the newest turn only if it is sent and not done: %s', (_, memory, expected) => {
    expect(planReadOnly(memory, 'j', true)).toEqual(expected);
  });

  it.each(['sent', 'timed-out', 'cancelled', 'error'] as const)('resumes after %s', (result) => {
    expect(planReadOnly(remembered(turn({ result })), 'j', true)).toMatchObject({
      turn: { result },
    });
  });

  it('does not continue a turn without wait', () => {
    expect(planReadOnly(remembered(turn()), 'j', false)).toEqual(pollOnly);
  });

  it('determines the turn of the first state', () => {
    const firstState = (memory: JobMemory) =>
      stateOf(unplannedState('j', own(), true), planReadOnly(memory, 'j', true), own(), true);
    expect(readable(firstState(remembered(open)))).toMatchObject({
      isReadOnly: true,
      turn: {
        ...{ ...open, owner: 'own', writes: 0, result: 'error' },
        reason: expect.stringContaining('was being polled'),
      },
    });
    expect(firstState(NO_TURNS)).toMatchObject({
      isReadOnly: true,
      turn: { mark: 'own', delivery: 'not-sent', sentAt: null },
    });
  });
});
