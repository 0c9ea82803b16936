import { describe, expect, it } from 'vitest';
import {
  type Located,
  planJob,
  planLook,
  rememberedJob,
  stateOf,
  turnKey,
} from '../../src/job/plan.ts';
import { findJob, type Ledger, merge } from '../../src/memory/ledger.ts';
import type { Memory } from '../../src/memory/updates.ts';
import { newTurn, type Turn } from '../../src/turn.ts';

const NOON = Date.UTC(2026, 10, 21, 12);
const START = { key: 'comment:1:aa', by: 'alice', prompt: 'Go.', startedAt: NOON };

/** A turn under way; with a result, one that has ended. */
function turn(parts: Partial<Turn>): Turn {
  return {
    ...newTurn({ ...START, runId: '1', attempt: 1 }),
    delivery: 'sent',
    sentAt: NOON + 5000,
    endedAt: parts.result === undefined ? null : NOON + 9000,
    ...parts,
  };
}
function ledger(...jobs: readonly (readonly [string, ...Turn[]])[]): Ledger {
  const record = { status: 'active', model: null, source: null, prLink: null };
  return { projectId: 'p', jobs: jobs.map(([id, ...turns]) => ({ id, record, turns })) };
}
const read = (of: Ledger | null): Memory => ({ kind: 'read', ledger: of });
const unreadable: Memory = { kind: 'unreadable', why: 'GitHub answered 500', isCancelled: false };

describe('planJob', () => {
  const asked = { jobId: 'j', key: 'comment:1:aa', runId: '8', attempt: 1, wait: true };
  const plan = (memory: Located, more = {}) => planJob({ ...asked, memory, ...more });

  it.each([
    ['no memory', { kind: 'none' }, {}, 'send'],
    ['no memory, re-run', { kind: 'none' }, { attempt: 2 }, 'send'],
    ['unreadable', unreadable, {}, 'send'],
    ['unreadable, re-run', unreadable, { attempt: 2 }, 'refuse'],
    ['no comment yet', read(null), {}, 'send'],
    ['another job', read(ledger(['k', turn({})])), {}, 'send'],
    ['another turn', read(ledger(['j', turn({ key: 'comment:2:bb' })])), {}, 'send'],
    ['not sent', read(ledger(['j', turn({ delivery: 'not-sent' })])), { attempt: 2 }, 'send'],
    ['sending', read(ledger(['j', turn({ delivery: 'sending' })])), {}, 'resume'],
    ['unknown', read(ledger(['j', turn({ delivery: 'unknown' })])), {}, 'resume'],
    ['sent', read(ledger(['j', turn({})])), {}, 'resume'],
    ['timed out', read(ledger(['j', turn({ result: 'timed-out' })])), {}, 'resume'],
    ['completed', read(ledger(['j', turn({ result: 'completed' })])), {}, 'ended'],
    [
      'completed, no wait',
      read(ledger(['j', turn({ result: 'completed' })])),
      { wait: false },
      'resume',
    ],
  ] as const)('%s', (_, memory, more, kind) => {
    expect(plan(memory, more).kind).toBe(kind);
  });

  it('warns where a re-run sends without knowing what was sent before', () => {
    expect(plan({ kind: 'none' }, { attempt: 2 })).toMatchObject({
      warning: expect.stringMatching(/without a memory .* to job j is sent again\./),
    });
    expect(plan(read(null), { attempt: 2 })).toMatchObject({
      warning: expect.stringMatching(/remembers no message of an earlier attempt to job j;/),
    });
    expect(plan(read(null))).toEqual({ kind: 'send', warning: '' });
  });

  it.each<[Extract<Located, { kind: 'not-found' }>['ending'], string, string]>([
    [
      { kind: 'refused', why: 'It is gone.' },
      'error',
      'cannot tell whether it was sent before. It is gone.',
    ],
    [{ kind: 'stopped', why: 'Too many.' }, 'skipped', 'took no more messages. Too many.'],
    [{ kind: 'timed-out', why: 'So.' }, 'timed-out', 'within timeout-minutes, .* before. So.$'],
    [{ kind: 'timed-out', why: '' }, 'timed-out', 'within timeout-minutes, .* before.$'],
    [{ kind: 'cancelled' }, 'cancelled', 'before the run was cancelled'],
  ])('sends nothing where the job does not show the place: %j', (ending, result, words) => {
    expect(plan({ kind: 'not-found', ending }, { attempt: 2 })).toEqual({
      kind: 'refuse',
      end: {
        result,
        reason: expect.stringMatching(`^Nothing was sent to job j in this re-run: .*${words}`),
      },
    });
  });

  const start = newTurn({ ...START, startedAt: NOON + 60_000, runId: '1', attempt: 2 });
  const begin = (memory: Ledger, wait = true) =>
    stateOf('j', plan(read(memory), { attempt: 2, wait }), start, { wait, polls: 0 });

  it('gives the end that an earlier attempt saw as it is remembered', () => {
    const base = { status: 'completed', prLink: null, archivedAt: null };
    const seen = { confirmed: true, base, evidence: true, reason: 'So.' };
    for (const result of ['completed', 'failed', 'archived'] as const) {
      const ended = turn({ ...seen, result });
      expect(begin(ledger(['j', ended]))).toMatchObject({
        ...{ jobId: 'j', isLook: false, record: { id: 'j', status: 'active' } },
        turn: ended,
      });
    }
  });

  it('goes on with what is remembered of the message, under this attempt', () => {
    const base = { status: 'completed', prLink: null, archivedAt: null };
    const seen = { base, evidence: true, by: 'bob', result: 'timed-out' } as const;
    expect(begin(ledger(['j', turn(seen)]))).toMatchObject({
      isLook: false,
      turn: {
        ...{ by: 'bob', attempt: 2, startedAt: NOON, sentAt: NOON + 5000, base, evidence: true },
        ...{ delivery: 'sent', result: 'sent', endedAt: null, confirmed: null },
        reason: 'The run ended before the agent was done.',
      },
    });
  });

  it('does not settle a turn by what came after it', () => {
    const base = { status: 'completed', prLink: null, archivedAt: null };
    const mine = turn({ delivery: 'sending', base, sentAt: null });
    const later = turn({ key: 'comment:2:bb', startedAt: NOON + 3_600_000 });
    expect(plan(read(ledger(['j', mine])))).toMatchObject({ isOvertaken: false });
    expect(begin(ledger(['j', mine])).turn).toMatchObject({
      ...{ delivery: 'unknown', base, sentAt: null },
    });
    expect(plan(read(ledger(['j', later, mine])))).toMatchObject({ isOvertaken: true });
    expect(begin(ledger(['j', later, mine])).turn.base).toBeNull();
  });
});

describe('a turn that is not remembered, where the comment had no room for all', () => {
  const plan = (memory: Ledger, attempt: number) =>
    planJob({
      ...{ jobId: 'j', key: 'comment:1:aa', runId: '8', wait: true },
      ...{ memory: read(memory), attempt },
    });
  const refused = {
    kind: 'refuse',
    end: {
      result: 'error',
      reason: expect.stringContaining('the comment had no room left to remember all messages'),
    },
  };
  const sent = { kind: 'send', warning: expect.stringContaining('remembers no message') };

  it.each([
    ['of this run', '8', 2, refused],
    ['of a later run', '10', 2, refused],
    ['of a run before', '7', 2, sent],
    ['of none', undefined, 2, sent],
    ['in the first attempt', '8', 1, { kind: 'send', warning: '' }],
  ])('%s', (_, forgotten, attempt, expected) => {
    const another = ledger(['k', turn({})], ['j', turn({ key: 'comment:2:bb' })]);
    expect(plan({ ...another, forgotten }, attempt)).toEqual(expected);
    expect(plan({ projectId: 'p', jobs: [], forgotten }, attempt)).toEqual(expected);
  });

  it('does not count where it is remembered', () => {
    const known = { ...ledger(['j', turn({})]), forgotten: '8' };
    expect(plan(known, 2).kind).toBe('resume');
  });
});

describe('planLook goes on with the newest message if it is sent and not answered', () => {
  const nothing = { kind: 'look', turn: null };
  const base = { status: 'failed', prLink: null, archivedAt: null };
  const open = turn({ base, evidence: true });
  const goesOn = { kind: 'look', turn: open };

  it.each<[string, Memory, object]>([
    ['no memory', { kind: 'none' }, nothing],
    ['an unreadable one', unreadable, nothing],
    ['no comment yet', read(null), nothing],
    ['another job', read(ledger(['k', open])), nothing],
    ['a job without turns', read(ledger(['j'])), nothing],
    ['not answered', read(ledger(['k', turn({})], ['j', open])), goesOn],
    ['the newest of two', read(ledger(['j', open, turn({ result: 'failed' })])), goesOn],
    ['an older one', read(ledger(['j', turn({ result: 'failed' }), open])), nothing],
    [
      'one below what was not sent',
      read(ledger(['j', turn({ delivery: 'not-sent' }), open])),
      goesOn,
    ],
    ...(['completed', 'failed', 'archived'] as const).map((result): [string, Memory, object] => [
      result,
      read(ledger(['j', turn({ result })])),
      nothing,
    ]),
    ...(['sending', 'unknown', 'not-sent'] as const).map((delivery): [string, Memory, object] => [
      delivery,
      read(ledger(['j', turn({ delivery })])),
      nothing,
    ]),
  ])('%s', (_, memory, plan) => {
    expect(planLook(memory, 'j', true)).toEqual(plan);
  });

  it.each(['sent', 'timed-out', 'cancelled', 'error'] as const)('%s is not the end', (result) => {
    expect(planLook(read(ledger(['j', turn({ result })])), 'j', true)).toMatchObject({
      turn: { result },
    });
  });
});

it('a single poll needs no earlier message', () => {
  expect(planLook(read(ledger(['j', turn({})])), 'j', false)).toEqual({ kind: 'look', turn: null });
});

describe('rememberedJob', () => {
  it.each([
    [unreadable, /cannot be read: GitHub answered 500/],
    [read(null), /remembers no job yet/],
    [{ kind: 'none' } as const, /remembers no job yet/],
    [read(ledger(['a', turn({})], ['b', turn({})])), /2 jobs: a, b/],
  ])('is unclear: %#', (memory, problem) => {
    expect(rememberedJob(memory)).toEqual({
      kind: 'unclear',
      problem: expect.stringMatching(problem),
    });
  });
  it('is the only one', () => {
    expect(rememberedJob(read(ledger(['a', turn({})])))).toEqual({ kind: 'job', jobId: 'a' });
  });
});

it('a key differs by origin, job and prompt', () => {
  const keys = [
    turnKey('comment:1', ['p', 'j', 'x']),
    turnKey('comment:2', ['p', 'j', 'x']),
    turnKey('comment:1', ['p', 'jx', '']),
    turnKey('comment:1', ['p', 'j', 'y']),
  ];
  expect(new Set(keys).size).toBe(4);
  expect(turnKey('comment:1', ['p', 'j', 'x'])).toBe(keys[0]);
});

describe('merge never forgets a message that may be out', () => {
  it.each([
    ['sent', 1, 'not-sent', 2, 'sent'],
    ['unknown', 1, 'not-sent', 2, 'unknown'],
    ['sending', 1, 'not-sent', 2, 'sending'],
    ['sending', 1, 'not-sent', 1, 'not-sent'],
    ['sending', 1, 'sent', 2, 'sent'],
    ['not-sent', 1, 'sending', 2, 'sending'],
  ] as const)(
    '%s of attempt %s, then %s of attempt %s: %s',
    (before, first, after, second, kept) => {
      const standing = ledger(['j', turn({ delivery: before, attempt: first })]);
      const own = ledger(['j', turn({ delivery: after, attempt: second })]);
      expect(findJob(merge(standing, own), 'j')?.turns.map(({ delivery }) => delivery)).toEqual([
        kept,
      ]);
    },
  );
});
