import { describe, expect, it } from 'vitest';
import { type Claim, Reactions } from '../../src/github/reactions.ts';
import { TimeLimit } from '../../src/github/time-limit.ts';
import type { Memory } from '../../src/memory/announcements.ts';
import type { MemoryContext } from '../../src/memory/context.ts';
import { type Ledger, unite } from '../../src/memory/ledger.ts';
import { commentText, composeText, readText } from '../../src/memory/text.ts';
import { Updates } from '../../src/memory/updates.ts';
import { ours, reasonToText } from '../../src/reason.ts';
import { ok, problem } from '../../src/result.ts';
import type { Log } from '../../src/runner/log.ts';
import type { JobState, Turn } from '../../src/turn.ts';
import { randomFrom } from '../model/interleavings/random-round.ts';
import type { Call } from '../sim/github/call-log.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { ACTIONS, type GitHubSimulation, NUMBER, simulateGitHub } from './github-simulation.ts';
import { job as jobOf, ledger, record, START, state, turn } from './record.ts';

const PROJECT = 'proj-1';
const CREATE = 'POST issues/#/comments';
const PATCH = 'PATCH issues/comments/#';
const SILENT = (): void => {};
const LOG: Log = {
  ...{ info: SILENT, debug: SILENT, notice: SILENT, warning: SILENT, error: SILENT },
  ...{ group: SILENT, endGroup: SILENT },
};

interface Run {
  readonly updates: Updates;
  readonly warnings: readonly string[];
  /** A job of this run whose message is not out yet. */
  job(jobId: string, parts?: Partial<Turn>): JobState;
  delivered(jobId: string, parts?: Partial<Turn>): JobState;
  ended(jobId: string, parts?: Partial<Turn>): JobState;
}

/** A run that waits, unless the test says otherwise. Its turns bear its name. */
function open(
  sim: Pick<GitHubSimulation, 'clock' | 'connect'>,
  more: Partial<MemoryContext> = {},
  parts: Partial<Turn> = {},
): Run {
  const warnings: string[] = [];
  const log: Log = { ...LOG, warning: (text) => warnings.push(text) };
  const clock = sim.clock.seen;
  const { owner = 'me', attempt = 1 } = more;
  const updates = new Updates({
    ...{ comment: true, owner, attempt, wait: true },
    text: commentText(PROJECT, render, String),
    ...{ review: (same) => same, claim: async () => 'ours' },
    ...{ connect: () => sim.connect(), log, clock },
    ...{ random: () => 0.5, signal: new AbortController().signal },
    timeLimit: new TimeLimit(clock, 30_000),
    ...more,
  });

  function job(jobId: string, now: Partial<Turn> = {}): JobState {
    const fresh = { delivery: 'not-sent', result: 'error', endedAt: null } as const;
    return state({ jobId }, { mark: owner, owner, attempt, ...fresh, ...parts, ...now });
  }
  const delivered: Run['job'] = (jobId, now) =>
    job(jobId, { delivery: 'sent', result: 'sent', sentAt: START, ...now });
  const ended: Run['job'] = (jobId, now) => delivered(jobId, { endedAt: START, ...now });
  return { updates, warnings, job, delivered, ended };
}

function render({ jobs }: Ledger): string {
  return jobs.map(({ id, turns }) => `${id}: ${turns.map(told).join(', ')}`).join('; ');
}

function told({ delivery, result, endedAt }: Turn): string {
  return endedAt === null ? delivery : `${delivery}/${result}`;
}

/** What all comments on a conversation say together of each job. */
function remembered({ github }: GitHubSimulation, number = NUMBER): readonly string[] {
  const ledgers = github.comments(number).map(({ body }) => {
    const text = readText(body, PROJECT);
    return typeof text === 'string' ? ledger() : text;
  });
  return unite(ledgers)
    .jobs.map(({ id, turns }) => [id, ...turns.map((one) => `${one.mark} ${told(one)}`)].join(': '))
    .sort();
}

/** The comment that runs have left which said this of job a. */
function withComment(...turns: readonly Turn[]): GitHubOptions {
  const body = composeText(PROJECT, ledger(jobOf('a', ...turns)), render);
  const comments = [{ author: ACTIONS, body }];
  return { issues: [{ number: NUMBER, pullRequest: true, comments }] };
}

/** The turn of another run for the same command. */
function other(delivery: Turn['delivery'], parts: Partial<Turn> = {}): Turn {
  return turn({ mark: 'you', owner: 'you', delivery, endedAt: null, ...COMMAND, ...parts });
}

const COMMAND = { origin: 'comment:12' };
const COMMENT = { kind: 'comment', id: 0, nodeId: '' } as const;

function withIssues(...numbers: readonly number[]): GitHubOptions {
  return { issues: numbers.map((number) => ({ number, pullRequest: true })) };
}

/** The IDs of more jobs than one comment has room for. */
function moreThanFit(): readonly string[] {
  const random = randomFrom(1);
  const idOf = () => Array.from({ length: 64 }, () => random().toString(36).slice(2, 6)).join('');
  return Array.from({ length: 300 }, idOf);
}

/** Registers jobs on a conversation, and announces them. */
function announce({ updates }: Run, ...states: readonly JobState[]) {
  for (const one of states) updates.update(one, NUMBER);
  return Promise.all(updates.announce(states).values());
}

describe('what is remembered', () => {
  const load = async (
    sim: GitHubSimulation,
    more: Partial<MemoryContext> = {},
    number: number | null = NUMBER,
  ) => sim.drive(open(sim, more).updates.load(number));

  it.each<[string, Partial<MemoryContext>, number | null]>([
    ['without comments', { comment: false }, NUMBER],
    ['without a conversation', {}, null],
  ])('is nothing %s', async (_, more, number) => {
    await using sim = await simulateGitHub(withComment(turn()));
    expect(await load(sim, more, number)).toBeNull();
    expect(sim.names()).toEqual([]);
  });

  it('is what the comments hold, on all pages in a re-run', async () => {
    await using sim = await simulateGitHub(withComment(turn()));
    for (let n = 0; n < 120; n++) sim.github.addComment(NUMBER, 'bob', 'Hello.');
    sim.github.addComment(NUMBER, ACTIONS, composeText(PROJECT, ledger(jobOf('b')), render));
    const idsOf = (memory: Memory) =>
      memory?.kind === 'ok' ? memory.value.ledger.jobs.map(({ id }) => id) : memory;
    expect(idsOf(await load(sim))).toEqual(['b']);
    expect(idsOf(await load(sim, { attempt: 2 }))).toEqual(['a', 'b']);
  });

  it('is not whole where a part of it cannot be read', async () => {
    await using sim = await simulateGitHub(withComment(turn()));
    const [comment] = sim.github.comments(NUMBER);
    sim.github.editComment(comment?.id ?? 0, `${comment?.body} edited`);
    expect(await load(sim)).toMatchObject(ok({ isWhole: false, ledger: { jobs: [] } }));
  });

  it.each<[string, GitHubOptions, RegExp]>([
    ['an error', { on: () => ({ status: 500 }) }, /^GitHub answered 500$/],
    [
      'a refusal',
      { on: () => ({ status: 403, body: { message: 'Resource not accessible' } }) },
      /^GitHub answered 403: "Resource not accessible"\. The job needs `permissions:` .*[^.]$/,
    ],
    [
      'a host without GraphQL',
      { graphql: false },
      /^this host has no GraphQL API, .*comment: false$/,
    ],
  ])('cannot be read after %s, and it is said why', async (_, options, why) => {
    await using sim = await simulateGitHub(options);
    const memory = await load(sim);
    expect(memory?.kind === 'problem' && reasonToText(memory.problem)).toMatch(why);
  });

  it('is waited for no longer than 10 s', async () => {
    await using sim = await simulateGitHub({ on: () => ({ fault: 'hang' }) });
    expect(await load(sim)).toEqual(problem(ours('GitHub did not answer in time')));
    expect(sim.seconds()).toBe(10);
  });

  it('is not waited for after a cancel', async () => {
    await using sim = await simulateGitHub(withComment(turn()));
    const memory = await load(sim, { signal: AbortSignal.abort() });
    expect(memory).toEqual(problem(ours('the run was cancelled')));
  });

  it('is asked for once, and again only where that failed', async () => {
    let fails = 2;
    await using sim = await simulateGitHub({
      on: () => (fails-- > 0 ? { status: 500 } : undefined),
    });
    const { updates } = open(sim);
    expect(await sim.drive(updates.load(NUMBER))).toMatchObject({ kind: 'problem' });
    expect(await sim.drive(updates.load(NUMBER))).toMatchObject({ kind: 'ok' });
    expect(await sim.drive(updates.load(NUMBER))).toMatchObject({ kind: 'ok' });
    // A reading that fails is tried once more.
    expect(sim.names()).toEqual(['read', 'read', 'read']);
  });
});

describe('the calls of a run that is alone', () => {
  it('that only sends are six: the memory, the note, and how it ended', async () => {
    await using sim = await simulateGitHub(withComment(other('sent', { origin: 'comment:1' })));
    const run = open(sim, { wait: false });
    await sim.drive(run.updates.load(NUMBER));
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(sim.names()).toEqual(['read', PATCH, 'read']);
    expect(remembered(sim)).toEqual(['a: me sending: you sent']);
    run.updates.update(run.ended('a'), NUMBER);
    const { urls, unwritten, reviewed } = await sim.drive(run.updates.flush());
    expect(sim.names()).toEqual(['read', PATCH, 'read', 'read', PATCH, 'read']);
    expect(remembered(sim)).toEqual(['a: me sent/sent: you sent']);
    expect(urls).toEqual([sim.github.comments(NUMBER)[0]?.html_url]);
    expect([unwritten, reviewed, run.warnings]).toEqual(['', [], []]);
    // The last reading comes a second after the last write.
    expect(sim.seconds()).toBe(1);
  });

  it('that waits are eight', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    await sim.drive(run.updates.load(NUMBER));
    await sim.drive(announce(run, run.job('a')));
    await sim.pass(2000);
    run.updates.update(run.delivered('a'), NUMBER);
    await sim.pass(60_000);
    expect(remembered(sim)).toEqual(['a: me sent']);
    run.updates.update(run.ended('a', { result: 'completed' }), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: me sent/completed']);
    expect(sim.names()).toEqual([
      ...['read', CREATE, 'read'],
      ...['read', PATCH],
      ...['read', PATCH, 'read'],
    ]);
  });

  it('with a new comment end 3 s after the last write, for lists lag behind', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, { wait: false });
    await sim.drive(announce(run, run.job('a')));
    run.updates.update(run.ended('a'), NUMBER);
    await sim.drive(run.updates.flush());
    expect(sim.seconds()).toBe(3);
    expect(sim.names()).toHaveLength(6);
  });

  it('that is cancelled end without a pause', async () => {
    await using sim = await simulateGitHub();
    const cancel = new AbortController();
    const run = open(sim, { signal: cancel.signal });
    await sim.drive(announce(run, run.job('a')));
    cancel.abort();
    run.updates.update(run.ended('a', { result: 'cancelled' }), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: me sent/cancelled']);
    expect(sim.seconds()).toBe(0);
  });

  it('for 50 jobs on one conversation are as many as for one', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, { wait: false });
    const ids = Array.from({ length: 50 }, (_, n) => `job-${n}`);
    await sim.drive(announce(run, ...ids.map((id) => run.job(id))));
    for (const id of ids) run.updates.update(run.ended(id), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toHaveLength(50);
    expect(sim.names()).toHaveLength(6);
  });

  it('are none where comment is false', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, { comment: false });
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    run.updates.update(run.ended('a'), NUMBER);
    expect(await sim.drive(run.updates.flush())).toEqual({
      urls: [],
      unwritten: '',
      reviewed: [],
    });
    expect(sim.names()).toEqual([]);
  });
});

describe('a command', () => {
  /** A claim that is answered like this, and what stood in the comment when it was asked for. */
  function claims(sim: GitHubSimulation, answer: Claim) {
    const seen: (readonly string[])[] = [];
    return {
      seen,
      claim: async (): Promise<Claim> => {
        seen.push(remembered(sim));
        return answer;
      },
    };
  }
  const taken = (delivery: Turn['delivery']) => [
    { kind: 'taken', turn: expect.objectContaining({ mark: 'you', delivery }) },
  ];

  it('is claimed once its note is written, beside the reading', async () => {
    await using sim = await simulateGitHub();
    const { claim, seen } = claims(sim, 'ours');
    const run = open(sim, { claim }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(seen).toEqual([['a: me sending']]);
    expect(sim.names()).toEqual(['read', CREATE, 'read']);
  });

  it.each(['sending', 'unknown', 'sent'] as const)(
    'that another run has, as the first reading shows, is not noted at all: %s',
    async (delivery) => {
      await using sim = await simulateGitHub(withComment(other(delivery)));
      const { claim, seen } = claims(sim, 'ours');
      const run = open(sim, { claim }, COMMAND);
      expect(await sim.drive(announce(run, run.job('a')))).toEqual(taken(delivery));
      run.updates.update(
        run.job('a', { result: 'skipped', reason: ['Run 1 has it.'], endedAt: START }),
        NUMBER,
      );
      expect(await sim.drive(run.updates.flush())).toMatchObject({ urls: [], unwritten: '' });
      expect(seen).toEqual([]);
      expect(sim.github.writes()).toEqual([]);
      expect(run.warnings).toEqual([]);
    },
  );

  it('to several jobs may be another run’s for one of them, and ours for the others', async () => {
    await using sim = await simulateGitHub(withComment(other('sent')));
    const { claim, seen } = claims(sim, 'ours');
    const run = open(sim, { claim }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a'), run.job('b')))).toEqual([
      ...taken('sent'),
      { kind: 'noted' },
    ]);
    expect(seen).toHaveLength(1);
    run.updates.update(run.job('a', { result: 'skipped', endedAt: START }), NUMBER);
    run.updates.update(run.ended('b'), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: me not-sent/skipped: you sent', 'b: me sent/sent']);
  });

  it('that another run was kept from sending is sent', async () => {
    await using sim = await simulateGitHub(withComment(other('not-sent', { endedAt: START })));
    const run = open(sim, {}, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
  });

  /** Another run writes its note over ours, just before the nth reading. */
  function rival(nth: number, delivery: Turn['delivery'], more: GitHubOptions = {}): GitHubOptions {
    const body = composeText(PROJECT, ledger(jobOf('a', other(delivery))), render);
    return {
      ...more,
      trouble: {
        meanwhile({ name, nth: n }, others) {
          if (name === 'read' && n === nth) others.addComment(NUMBER, ACTIONS, body);
        },
      },
    };
  }

  it('that two runs are about to send is sent by the one that claims it first', async () => {
    await using sim = await simulateGitHub(rival(2, 'sending'));
    const run = open(sim, {}, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(sim.seconds()).toBe(0);
  });

  it('that another run has claimed is left to it: our turn stays as one that was not sent', async () => {
    await using sim = await simulateGitHub(rival(2, 'sending'));
    const { claim } = claims(sim, 'taken');
    const run = open(sim, { claim }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual(taken('sending'));
    expect(sim.seconds()).toBe(3);
    expect(sim.names()).toEqual(['read', CREATE, 'read', 'read+history']);
    run.updates.update(run.job('a', { result: 'skipped', endedAt: START }), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: me not-sent/skipped: you sending']);
  });

  it('that another run has claimed is left to it as well where the answer to our note got lost', async () => {
    const { trouble } = rival(2, 'sending');
    const loses = ({ name, nth }: Call): boolean => name === PATCH && nth === 1;
    const past = withComment(other('not-sent', { mark: 'past', owner: 'past', endedAt: START }));
    await using sim = await simulateGitHub({ ...past, trouble: { ...trouble, loses } });
    const { claim } = claims(sim, 'taken');
    const run = open(sim, { claim }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual(taken('sending'));
    run.updates.update(run.job('a', { result: 'skipped', endedAt: START }), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual([expect.stringContaining('me not-sent/skipped')]);
  });

  it('whose note stands, although the answer to it got lost, is claimed once it is to be seen', async () => {
    const past = withComment(other('not-sent', { mark: 'past', owner: 'past', endedAt: START }));
    const loses = ({ name, nth }: Call): boolean => name === PATCH && nth === 1;
    await using sim = await simulateGitHub({ ...past, trouble: { loses } });
    const { claim, seen } = claims(sim, 'ours');
    const run = open(sim, { claim }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(seen).toHaveLength(1);
    expect(sim.names()).toEqual(['read', PATCH, 'read']);
  });

  it('is decided by the first note for jobs that are noted after the claim', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, {}, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(sim.seconds()).toBe(0);
    expect(await sim.drive(announce(run, run.job('b')))).toEqual([{ kind: 'noted' }]);
    expect(sim.seconds()).toBe(3);
    expect(sim.names().at(-1)).toBe('read+history');
  });

  it('is left to a run whose reaction has failed, even if the comment was read before its note', async () => {
    await using sim = await simulateGitHub();
    const late = open(sim, {}, COMMAND);
    await sim.drive(late.updates.load(NUMBER));
    const first = open(sim, { owner: 'you', claim: async () => 'failed' }, COMMAND);
    expect(await sim.drive(announce(first, first.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(await sim.drive(announce(late, late.job('a')))).toMatchObject(taken('sending'));
  });

  it('is decided by the first note after an earlier note of it that may be written, without a claim', async () => {
    let isDown = false;
    const theirs = composeText(PROJECT, ledger(jobOf('b', other('sending'))), render);
    await using sim = await simulateGitHub({
      on: ({ path }) => (isDown && path === '/graphql' ? { status: 502 } : undefined),
      trouble: {
        loses({ name }) {
          if (name === CREATE) isDown = true;
          return name === CREATE;
        },
        // They note b just before us.
        meanwhile: ({ name, nth }, { editComment }) => {
          const [comment] = sim.github.comments(NUMBER);
          if (name === PATCH && nth === 1) editComment(comment?.id ?? 0, theirs);
        },
      },
    });
    const run = open(sim, {}, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([{ kind: 'unclear' }]);
    isDown = false;
    expect(await sim.drive(announce(run, run.job('b')))).toMatchObject(taken('sending'));
  });

  it.each(['taken', 'none'] as const)(
    'to more jobs than there is room for is sent to each of them by one run: %s',
    async (answer) => {
      await using sim = await simulateGitHub();
      const ids = moreThanFit();
      const text = commentText(PROJECT, () => '', String);
      const isOurs = async (): Promise<Claim> => (answer === 'taken' ? 'ours' : answer);
      const first = open(sim, { text, claim: isOurs }, COMMAND);
      const second = open(sim, { text, owner: 'you', claim: async () => answer }, COMMAND);
      const noted: string[] = [];
      for (const run of [first, second]) {
        const notes = await sim.drive(announce(run, ...ids.map((id) => run.job(id))));
        noted.push(...ids.filter((_, index) => notes[index]?.kind === 'noted'));
      }
      expect(noted.length).toBeGreaterThan(0);
      expect(noted).toHaveLength(new Set(noted).size);
    },
  );

  it('is not claimed by a run that has ended while its note was written', async () => {
    const cancel = new AbortController();
    await using sim = await simulateGitHub({
      trouble: { meanwhile: ({ name }) => name === CREATE && cancel.abort() },
    });
    const { claim, seen } = claims(sim, 'ours');
    const run = open(sim, { claim, signal: cancel.signal }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([{ kind: 'missing' }]);
    run.updates.update(run.job('a', { result: 'cancelled', endedAt: START }), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: me not-sent/cancelled']);
    expect(seen).toEqual([]);
  });

  it('that another run has sent before we claimed it is left to it', async () => {
    await using sim = await simulateGitHub(rival(2, 'sent'));
    const run = open(sim, {}, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual(taken('sent'));
  });

  it('that has been claimed, of which nothing else is to be seen, was claimed by another tool', async () => {
    await using sim = await simulateGitHub();
    const { claim } = claims(sim, 'taken');
    const run = open(sim, { claim }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(sim.seconds()).toBe(3);
  });

  it.each(['failed', 'refused'] as const)(
    'whose claim is %s waits until another run that did not see it must be to be seen',
    async (answer) => {
      await using sim = await simulateGitHub();
      const { claim } = claims(sim, answer);
      const run = open(sim, { claim }, COMMAND);
      expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
      expect(sim.seconds()).toBe(6);
    },
  );

  it.each(['failed', 'refused', 'none'] as const)(
    'whose claim tells nothing is looked for in what was overwritten: %s',
    async (answer) => {
      await using sim = await simulateGitHub(withComment(other('sending')));
      const [comment] = sim.github.comments(NUMBER);
      sim.github.editComment(comment?.id ?? 0, composeText(PROJECT, ledger(), render));
      const { claim } = claims(sim, answer);
      const run = open(sim, { claim }, COMMAND);
      expect(await sim.drive(announce(run, run.job('a')))).toEqual(taken('sending'));
    },
  );

  it.each([
    [
      'in the first attempt it is another run that has claimed it',
      1,
      { kind: 'taken', turn: null },
    ],
    ['in a re-run it may be an earlier attempt', 2, { kind: 'noted' }],
  ])('is claimed where comment is false: %s', async (_, attempt, note) => {
    await using sim = await simulateGitHub();
    const { claim } = claims(sim, 'taken');
    const run = open(sim, { claim, attempt, comment: false }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([note]);
  });

  it.each<[string, Partial<MemoryContext>, GitHubOptions]>([
    ['comment is false', { comment: false }, {}],
    ['no note can be written', {}, { readOnly: true }],
  ])('whose claim failed may be sent by another run where %s', async (_, more, options) => {
    await using sim = await simulateGitHub(options);
    const run = open(sim, { ...more, claim: async () => 'failed' }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([{ kind: 'unclear' }]);
    const other = open(sim, { ...more, claim: async () => 'refused' }, COMMAND);
    const [note] = await sim.drive(announce(other, other.job('a')));
    expect(note?.kind).toBe(more.comment === false ? 'noted' : 'missing');
  });

  it.each([
    ['in the first attempt it is another run that has claimed it', 1, 'taken'],
    ['in a re-run it may be an earlier attempt', 2, 'missing'],
  ])('is claimed where no note can be written: %s', async (_, attempt, kind) => {
    await using sim = await simulateGitHub({ readOnly: true });
    const { claim } = claims(sim, 'taken');
    const run = open(sim, { claim, attempt }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([{ kind }]);
  });

  it('to several jobs that are noted one after the other is sent once to each of them', async () => {
    for (const lateMs of [0, 1500, 4500]) {
      await using sim = await simulateGitHub();
      const { id } = sim.github.addComment(NUMBER, 'alice', '/agent go');
      const runOf = (owner: string): Run => {
        const reactions = new Reactions({ ...COMMENT, id }, () => sim.connect(), LOG);
        return open(sim, { owner, claim: () => reactions.claim() }, COMMAND);
      };
      const [first, second] = [runOf('me'), runOf('you')];
      expect(await sim.drive(announce(first, first.job('a')))).toEqual([{ kind: 'noted' }]);
      const [ofSecond, ofFirst] = await sim.drive(
        Promise.all([
          announce(second, second.job('a'), second.job('b')),
          sim.clock
            .sleep(lateMs, new AbortController().signal)
            .then(() => announce(first, first.job('b'))),
        ]),
      );
      expect(ofSecond?.[0]?.kind).toBe('taken');
      // As long as the second run says nothing else, its message to b may be on its way.
      expect([ofSecond?.[1]?.kind, ofFirst[0]?.kind].toSorted()).toEqual(['noted', 'taken']);
    }
  });

  it.each([
    ['at once', 0, 0],
    ['one after the other', 0, 300],
    ['with lists that lag behind', 2500, 0],
    ['with lists that lag behind, one after the other', 2500, 700],
  ])('that two runs get %s is sent by one of them', async (_, listLagMs, apartMs) => {
    for (let round = 0; round < 5; round++) {
      await using sim = await simulateGitHub({ trouble: { listLagMs, latencyMs: [1, 8] } });
      const { id } = sim.github.addComment(NUMBER, 'alice', '/agent go');
      const notes = await sim.drive(
        Promise.all(
          ['me', 'you'].map(async (owner, index) => {
            if (index > 0 && apartMs > 0) {
              await sim.clock.sleep(apartMs, new AbortController().signal);
            }
            const reactions = new Reactions({ ...COMMENT, id }, () => sim.connect(), LOG);
            const more = { owner, claim: () => reactions.claim(), random: Math.random };
            const run = open(sim, more, COMMAND);
            await run.updates.load(NUMBER);
            const [note] = await announce(run, run.job('a'));
            const isOurs = note?.kind === 'noted';
            const end = isOurs
              ? run.ended('a')
              : run.job('a', { result: 'skipped', endedAt: START });
            run.updates.update(end, NUMBER);
            await run.updates.flush();
            return note?.kind;
          }),
        ),
      );
      expect(notes.toSorted()).toEqual(['noted', 'taken']);
      const winner = notes[0] === 'noted' ? 'me' : 'you';
      const [said = ''] = remembered(sim);
      expect(said).toContain(`${winner} sent/sent`);
      expect(said.replace(/ (me|you) not-sent\/skipped:?/, '')).not.toMatch(/sending|unknown/);
    }
  });
});

describe('a note that does not stand', () => {
  const RIGHTS = { kind: 'missing', why: expect.arrayContaining(['GitHub answered 403: ']) };

  it('because GitHub refuses it holds up nothing, and it is said at the end', async () => {
    await using sim = await simulateGitHub({ readOnly: true });
    const run = open(sim);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([RIGHTS]);
    expect(sim.seconds()).toBe(0);
    run.updates.update(run.delivered('a'), NUMBER);
    run.updates.update(run.ended('a'), NUMBER);
    const { urls, unwritten } = await sim.drive(run.updates.flush());
    expect([urls, unwritten]).toEqual([[], 'a: sent/sent']);
    expect(run.warnings).toEqual([
      expect.stringMatching(
        /^The comment on #7 could not be read or written: GitHub answered 403.* The job summary holds its text, and a re-run will not know what was sent, and may send it again\. The job needs `permissions:`/,
      ),
    ]);
  });

  it('of a message that is not sent is not said to be forgotten', async () => {
    await using sim = await simulateGitHub({ readOnly: true });
    const run = open(sim);
    await sim.drive(announce(run, run.job('a')));
    run.updates.update(run.job('a', { result: 'error', endedAt: START }), NUMBER);
    await sim.drive(run.updates.flush());
    expect(run.warnings).toEqual([expect.stringContaining('later runs may not know how it ended')]);
  });

  it('because GitHub is silent holds up the message for 10 s, and the others not at all', async () => {
    await using sim = await simulateGitHub({ on: () => ({ fault: 'hang' }) });
    const run = open(sim);
    const late = { kind: 'missing', why: ours('GitHub did not answer in time') };
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([late]);
    expect(sim.seconds()).toBe(10);
    expect(await sim.drive(announce(run, run.job('b')))).toEqual([late]);
    expect(sim.seconds()).toBe(10);
  });

  it.each<[string, number, Partial<Turn>, string]>([
    ['of a step', 1, {}, 'missing'],
    ['of a step that is re-run', 2, {}, 'missing'],
    ['of a command', 1, COMMAND, 'unclear'],
    ['of a command that is re-run', 2, COMMAND, 'missing'],
  ])('for lack of room: %s', async (_, attempt, parts, kind) => {
    await using sim = await simulateGitHub();
    const text = commentText(PROJECT, () => '', String);
    const run = open(sim, { attempt, text }, parts);
    const notes = await sim.drive(announce(run, ...moreThanFit().map((id) => run.job(id))));
    expect(new Set(notes.map((note) => note.kind))).toEqual(new Set(['noted', kind]));
  });

  it('holds up each message of a re-run, which sends nothing without it', async () => {
    await using sim = await simulateGitHub({ on: () => ({ fault: 'hang' }) });
    const run = open(sim, { attempt: 2 });
    await sim.drive(announce(run, run.job('a')));
    await sim.drive(announce(run, run.job('b')));
    expect(sim.seconds()).toBe(20);
  });

  it('is written later all the same, and then nothing is to be said', async () => {
    let isDown = true;
    await using sim = await simulateGitHub({ on: () => (isDown ? { fault: 'hang' } : undefined) });
    const run = open(sim);
    expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([{ kind: 'missing' }]);
    isDown = false;
    run.updates.update(run.delivered('a'), NUMBER);
    await sim.pass(60_000);
    expect(remembered(sim)).toEqual(['a: me sent']);
    run.updates.update(run.ended('a'), NUMBER);
    expect(await sim.drive(run.updates.flush())).toMatchObject({ unwritten: '' });
    expect(run.warnings).toEqual([]);
  });

  it('of a run that is cancelled is not waited for', async () => {
    await using sim = await simulateGitHub({ on: () => ({ fault: 'hang' }) });
    const cancel = new AbortController();
    const run = open(sim, { signal: cancel.signal });
    sim.clock.after(2000, () => cancel.abort());
    expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([{ kind: 'missing' }]);
    expect(sim.seconds()).toBe(2);
  });

  it.each(['hang', 'reset'] as const)(
    'leaves it open whether another run has the command, where GitHub does not answer: %s',
    async (fault) => {
      let isDown = true;
      await using sim = await simulateGitHub({
        on: ({ path }) => (isDown && path === '/graphql' ? { fault } : undefined),
      });
      let claimed = 0;
      const claim = async (): Promise<Claim> => {
        claimed += 1;
        return 'ours';
      };
      const run = open(sim, { claim }, COMMAND);
      expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([{ kind: 'unclear' }]);
      expect(claimed).toBe(0);
      isDown = false;
      sim.github.addComment(
        NUMBER,
        ACTIONS,
        composeText(PROJECT, ledger(jobOf('a', other('sent'))), render),
      );
      run.updates.update(run.job('a', { result: 'error', endedAt: START }), NUMBER);
      await sim.drive(run.updates.flush());
      expect(remembered(sim)).toEqual(['a: me not-sent/error: you sent']);
    },
  );

  it('because GitHub answers late is written then, and the end says what came of it', async () => {
    let silent = 1;
    await using sim = await simulateGitHub({
      ...withComment(other('sent')),
      on: ({ path }) => (path === '/graphql' && silent-- > 0 ? { fault: 'hang' } : undefined),
    });
    const run = open(sim, {}, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([{ kind: 'unclear' }]);
    await sim.pass(1000);
    expect(remembered(sim)).toEqual(['a: me sending: you sent']);
    run.updates.update(run.job('a', { result: 'error', endedAt: START }), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: me not-sent/error: you sent']);
    expect(run.warnings).toEqual([]);
  });

  it('of a job that nobody has heard of is none', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    const notes = run.updates.announce([run.job('a')]);
    expect(await sim.drive(Promise.all(notes.values()))).toEqual([{ kind: 'noted' }]);
  });
});

describe('a re-run', () => {
  const STEP = { origin: 'run:1:job:step' };
  const early = (delivery: Turn['delivery'], parts: Partial<Turn> = {}): Turn =>
    turn({ mark: 'early', owner: 'early', delivery, endedAt: null, ...STEP, ...parts });

  it('sends what no earlier attempt has begun, 3 s after its note', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, { attempt: 2 }, STEP);
    await sim.drive(run.updates.load(NUMBER));
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(sim.seconds()).toBe(3);
    expect(sim.names()).toEqual(['read', CREATE, 'read', 'read+history']);
  });

  it.each(['sending', 'unknown', 'sent'] as const)(
    'finds what an earlier attempt has written, although it was overwritten: %s',
    async (delivery) => {
      await using sim = await simulateGitHub(withComment(early(delivery)));
      const [comment] = sim.github.comments(NUMBER);
      sim.github.editComment(comment?.id ?? 0, composeText(PROJECT, ledger(), render));
      const run = open(sim, { attempt: 2 }, STEP);
      await sim.drive(run.updates.load(NUMBER));
      expect(await sim.drive(announce(run, run.job('a')))).toEqual([
        { kind: 'taken', turn: expect.objectContaining({ mark: 'early', delivery }) },
      ]);
    },
  );

  it('goes on with what it finds, beside its own turn that was not sent', async () => {
    await using sim = await simulateGitHub({ trouble: { listLagMs: 2500 } });
    const body = composeText(PROJECT, ledger(jobOf('a', early('sent'))), render);
    sim.github.addComment(NUMBER, ACTIONS, body);
    const run = open(sim, { attempt: 2 }, STEP);
    await sim.drive(run.updates.load(NUMBER));
    await sim.drive(announce(run, run.job('a')));
    const resumed = { mark: 'early', result: 'completed' } as const;
    run.updates.update(run.ended('a', resumed), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: early sent/completed: me not-sent/skipped']);
  });

  it('finds what lists show only now', async () => {
    await using sim = await simulateGitHub({ trouble: { listLagMs: 2500 } });
    const body = composeText(PROJECT, ledger(jobOf('a', early('sent'))), render);
    sim.github.addComment(NUMBER, ACTIONS, body);
    const run = open(sim, { attempt: 2 }, STEP);
    await sim.drive(run.updates.load(NUMBER));
    expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([
      { kind: 'taken', turn: { mark: 'early' } },
    ]);
  });

  it('goes on with a turn that was not sent', async () => {
    await using sim = await simulateGitHub(withComment(early('not-sent', { endedAt: START })));
    const run = open(sim, { attempt: 2 }, { ...STEP, mark: 'early' });
    await sim.drive(run.updates.load(NUMBER));
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    run.updates.update(run.ended('a'), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: early sent/sent']);
  });

  it('writes its note again, where it was overwritten in these 3 s', async () => {
    await using sim = await simulateGitHub({
      trouble: {
        meanwhile({ name }, others) {
          if (name !== 'read+history' || sim.github.calls(name).length > 1) return;
          const [comment] = sim.github.comments(NUMBER);
          others.editComment(comment?.id ?? 0, composeText(PROJECT, ledger(), render));
        },
      },
    });
    const run = open(sim, { attempt: 2 }, STEP);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(remembered(sim)).toEqual(['a: me sending']);
    expect(sim.names().slice(-3)).toEqual(['read+history', PATCH, 'read+history']);
  });

  describe('of a command that an earlier attempt has claimed, whose note was never written', () => {
    const claimed = { claim: async (): Promise<Claim> => 'taken' };
    const doubt = {
      kind: 'missing',
      why: ours('an earlier attempt may have claimed the command'),
    };

    it('sends nothing, and neither does the next one', async () => {
      await using sim = await simulateGitHub();
      const second = open(sim, { ...claimed, attempt: 2, owner: 'second' }, COMMAND);
      await sim.drive(second.updates.load(NUMBER));
      expect(await sim.drive(announce(second, second.job('a')))).toEqual([doubt]);
      const refused = { result: 'error', reason: ['No note.'], endedAt: START } as const;
      second.updates.update(second.job('a', refused), NUMBER);
      await sim.drive(second.updates.flush());

      // What stands there now must not be taken for a message that was not sent.
      const third = open(sim, { ...claimed, attempt: 3, owner: 'third' }, COMMAND);
      const memory = await sim.drive(third.updates.load(NUMBER));
      const turns =
        memory?.kind === 'ok' ? memory.value.ledger.jobs.flatMap((one) => one.turns) : [];
      expect(turns.map(({ delivery }) => delivery)).not.toContain('not-sent');
      expect(turns).toHaveLength(1);
    });

    it.each(['taken', 'failed'] as const)(
      'sends nothing without its note either, and does not say that it was not sent: %s',
      async (answer) => {
        let isDown = true;
        await using sim = await simulateGitHub({
          on: ({ path }) => (isDown && path === '/graphql' ? { fault: 'hang' } : undefined),
        });
        const run = open(sim, { claim: async () => answer, attempt: 2 }, COMMAND);
        expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([
          { kind: 'missing', why: ours('GitHub did not answer in time') },
        ]);
        isDown = false;
        run.updates.update(run.job('a', { result: 'error', endedAt: START }), NUMBER);
        await sim.drive(run.updates.flush());
        expect(remembered(sim).join()).not.toContain('not-sent');
      },
    );

    it('that sends all the same says so', async () => {
      await using sim = await simulateGitHub();
      const run = open(sim, { ...claimed, attempt: 2 }, COMMAND);
      expect(await sim.drive(announce(run, run.job('a')))).toEqual([doubt]);
      run.updates.update(run.delivered('a'), NUMBER);
      run.updates.update(run.ended('a', { result: 'completed' }), NUMBER);
      await sim.drive(run.updates.flush());
      expect(remembered(sim)).toEqual(['a: me sent/completed']);
    });

    it('sends what that attempt is known not to have sent', async () => {
      await using sim = await simulateGitHub(
        withComment(turn({ mark: 'early', owner: 'early', delivery: 'not-sent', ...COMMAND })),
      );
      const run = open(sim, { ...claimed, attempt: 2 }, { ...COMMAND, mark: 'early' });
      await sim.drive(run.updates.load(NUMBER));
      expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    });
  });
});

describe('how far the jobs are is written', () => {
  /** The writes that follow an update, of which each has time to be made. */
  async function writesAfter(sim: GitHubSimulation, update: () => void): Promise<number> {
    const before = sim.github.writes().length;
    update();
    await sim.pass(5000);
    return sim.github.writes().length - before;
  }

  it('once all messages are out, then with each tenth of them, and at the end', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    const ids = Array.from({ length: 20 }, (_, n) => `job-${n}`);
    await sim.drive(announce(run, ...ids.map((id) => run.job(id))));
    const writes: number[] = [];
    for (const id of ids)
      writes.push(await writesAfter(sim, () => run.updates.update(run.delivered(id), NUMBER)));
    expect(writes).toEqual([...Array.from({ length: 19 }, () => 0), 1]);
    writes.length = 0;
    for (const id of ids)
      writes.push(await writesAfter(sim, () => run.updates.update(run.ended(id), NUMBER)));
    expect(writes).toEqual(ids.map((_, index) => index % 2));
    await sim.drive(run.updates.flush());
    expect(remembered(sim).every((line) => line.endsWith(': me sent/sent'))).toBe(true);
  });

  it('only with the notes of further jobs, as long as there are more to come', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    const writes: number[] = [];
    const count = async (act: () => void): Promise<void> => {
      writes.push(await writesAfter(sim, act));
    };
    run.updates.expectMore(true);
    await sim.drive(announce(run, run.job('a'), run.job('b')));
    await count(() => run.updates.update(run.delivered('a'), NUMBER));
    await count(() => run.updates.update(run.ended('b'), NUMBER));
    await sim.drive(announce(run, run.job('c')));
    expect(remembered(sim)).toEqual(['a: me sent', 'b: me sent/sent', 'c: me sending']);
    await count(() => run.updates.update(run.delivered('c'), NUMBER));
    await count(() => run.updates.expectMore(false));
    expect(writes).toEqual([0, 0, 0, 1]);
  });

  it('once for few jobs, and at the end', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    await sim.drive(announce(run, run.job('a'), run.job('b')));
    const updates = [run.delivered('a'), run.delivered('b'), run.ended('a'), run.ended('b')];
    const writes: number[] = [];
    for (const one of updates)
      writes.push(await writesAfter(sim, () => run.updates.update(one, NUMBER)));
    expect(writes).toEqual([0, 1, 0, 1]);
  });

  it('once, although there is more news before it is written', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    const ids = Array.from({ length: 20 }, (_, n) => `job-${n}`);
    await sim.drive(announce(run, ...ids.map((id) => run.job(id))));
    const writes = await writesAfter(sim, () => {
      for (const id of ids) run.updates.update(run.delivered(id), NUMBER);
      for (const id of ids.slice(0, 10)) run.updates.update(run.ended(id), NUMBER);
    });
    expect(writes).toBe(1);
    expect(remembered(sim).filter((line) => line.endsWith('sent/sent'))).toHaveLength(10);
  });

  it('only at the end without a wait', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, { wait: false });
    await sim.drive(announce(run, run.job('a'), run.job('b')));
    expect(await writesAfter(sim, () => run.updates.update(run.delivered('a'), NUMBER))).toBe(0);
    expect(await writesAfter(sim, () => run.updates.update(run.delivered('b'), NUMBER))).toBe(0);
    expect(await writesAfter(sim, () => run.updates.update(run.ended('a'), NUMBER))).toBe(0);
    expect(await writesAfter(sim, () => run.updates.update(run.ended('b'), NUMBER))).toBe(1);
  });

  it('also of what was held up or refused: a re-run sends it', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    await sim.drive(announce(run, run.job('a')));
    run.updates.update(run.job('b'), NUMBER);
    const over = { endedAt: START, reason: ['So.'] };
    run.updates.update(run.job('a', { ...over, result: 'error' }), NUMBER);
    run.updates.update(run.job('b', { ...over, result: 'skipped' }), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: me not-sent/error', 'b: me not-sent/skipped']);
  });

  it('not of a message that was unwanted before it was announced', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    run.updates.update(run.job('a'), NUMBER);
    run.updates.withdraw('a');
    run.updates.update(run.job('a', { result: 'skipped', endedAt: START }), NUMBER);
    expect(await sim.drive(run.updates.flush())).toMatchObject({ urls: [], unwritten: '' });
    expect(sim.names()).toEqual([]);
    run.updates.withdraw('nobody');
  });

  it('as not sent of one that was unwanted only after that', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    await sim.drive(announce(run, run.job('a')));
    run.updates.withdraw('a');
    run.updates.update(run.job('a', { result: 'skipped', endedAt: START }), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: me not-sent/skipped']);
  });

  it('not of a job that was only planned, and not of one that is announced somewhere else', async () => {
    await using sim = await simulateGitHub(withIssues(NUMBER, 8));
    const run = open(sim);
    run.updates.update(run.job('b'), 8);
    run.updates.update(run.job('c'), NUMBER);
    await sim.drive(announce(run, run.job('a')));
    expect(remembered(sim)).toEqual(['a: me sending']);
    expect(sim.github.comments(8)).toEqual([]);
  });

  it('where the job shows another pull request, on both', async () => {
    await using sim = await simulateGitHub(withIssues(NUMBER, 8));
    const run = open(sim);
    await sim.drive(announce(run, run.job('a')));
    run.updates.update(run.delivered('a'), NUMBER);
    run.updates.update(run.ended('a', { result: 'completed' }), 8);
    const { urls } = await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: me sent/completed']);
    expect(remembered(sim, 8)).toEqual(['a: me sent/completed']);
    expect(urls).toHaveLength(2);
  });

  it('with the record of the job in short lines', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    await sim.drive(announce(run, run.job('a')));
    const seen = record({
      ...{ model: 'a\nb', status: 'active', prLink: 'https://github.com/octo/agents/pull/7' },
      source: { repository: 'x'.repeat(300), ref: null },
    });
    run.updates.update({ ...run.ended('a'), record: seen }, NUMBER);
    await sim.drive(run.updates.flush());
    const text = readText(sim.github.comments(NUMBER)[0]?.body ?? '', PROJECT);
    expect(text).toMatchObject({
      jobs: [
        {
          record: {
            ...{ model: 'a b', status: 'active', prLink: seen.prLink },
            source: { repository: `${'x'.repeat(199)}…`, ref: null },
          },
        },
      ],
    });
  });

  describe('of a job that is only looked at', () => {
    const look = (run: Run, status: string): JobState => ({
      ...run.job('a', { result: 'active', endedAt: START }),
      ...{ isReadOnly: true, record: record({ status }) },
    });
    async function lookAt(sim: GitHubSimulation, status: string): Promise<void> {
      const run = open(sim, { wait: false });
      run.updates.update({ ...run.job('a'), isReadOnly: true }, NUMBER);
      run.updates.update(look(run, status), NUMBER);
      await sim.drive(run.updates.flush());
    }

    it('its name, so that later commands need not name it', async () => {
      await using sim = await simulateGitHub();
      await lookAt(sim, 'active');
      expect(remembered(sim)).toEqual(['a']);
    });

    it('nothing that the comment says already', async () => {
      await using sim = await simulateGitHub();
      await lookAt(sim, 'active');
      await lookAt(sim, 'active');
      expect(sim.github.writes()).toHaveLength(1);
      await lookAt(sim, 'failed');
      expect(sim.github.writes()).toHaveLength(2);
    });

    it('the turn of an earlier run that is waited for', async () => {
      await using sim = await simulateGitHub(withComment(other('sent')));
      const run = open(sim);
      const now = { ...other('sent'), owner: 'me', writes: 0 };
      run.updates.update(state({ jobId: 'a', isReadOnly: true }, now), NUMBER);
      const end = { ...now, result: 'completed', endedAt: START } as const;
      run.updates.update(state({ jobId: 'a', isReadOnly: true, record: record() }, end), NUMBER);
      await sim.drive(run.updates.flush());
      expect(remembered(sim)).toEqual(['a: you sent/completed']);
    });
  });
});

describe('many conversations', () => {
  it('are written one a second, and a note has its 10 s from then on', async () => {
    const numbers = Array.from({ length: 30 }, (_, n) => n + 1);
    await using sim = await simulateGitHub(withIssues(...numbers));
    const run = open(sim, { wait: false });
    const states = numbers.map((n) => run.job(`job-${n}`));
    for (const [index, one] of states.entries()) run.updates.update(one, numbers[index] ?? null);
    const notes = [...run.updates.announce(states).values()];
    const times = await sim.drive(
      Promise.all(
        notes.map(async (note) => {
          expect(await note).toEqual({ kind: 'noted' });
          return sim.seconds();
        }),
      ),
    );
    expect(times).toEqual(numbers.map((n) => n - 1));
  });

  it('take turns: what became of a message is written before the notes of later ones', async () => {
    const numbers = Array.from({ length: 30 }, (_, n) => n + 1);
    await using sim = await simulateGitHub(withIssues(...numbers));
    const run = open(sim, { wait: false });
    const states = numbers.map((n) => run.job(`job-${n}`));
    for (const [index, one] of states.entries()) run.updates.update(one, numbers[index] ?? null);
    const notes = run.updates.announce(states);
    const sending = numbers.map(async (n) => {
      await notes.get(`job-${n}`);
      run.updates.update(run.ended(`job-${n}`), n);
    });
    await sim.drive(Promise.all(sending));
    const unwritten = numbers.filter((n) => !remembered(sim, n)[0]?.includes('sent/sent'));
    expect(unwritten.length).toBeLessThan(3);
    await sim.drive(run.updates.flush());
    for (const n of numbers) expect(remembered(sim, n)).toEqual([`job-${n}: me sent/sent`]);
    expect(sim.github.writes()).toHaveLength(2 * numbers.length);
  });

  it.each(['a cancel', 'the deadline'])(
    'are written once each after %s, for the messages that were still to come',
    async (end) => {
      const numbers = Array.from({ length: 20 }, (_, n) => n + 1);
      await using sim = await simulateGitHub(withIssues(...numbers));
      const cancel = new AbortController();
      const claims: string[] = [];
      const claim = async (): Promise<Claim> => {
        claims.push('claim');
        return 'ours';
      };
      const run = open(sim, { wait: false, signal: cancel.signal, claim });
      const states = numbers.map((n) => run.job(`job-${n}`));
      for (const [index, one] of states.entries()) run.updates.update(one, numbers[index] ?? null);
      const notes = run.updates.announce(states);
      await sim.pass(4500);
      if (end === 'a cancel') cancel.abort();
      const held = { delivery: 'not-sent', result: 'timed-out', sentAt: null } as const;
      for (const n of numbers) run.updates.update(run.ended(`job-${n}`, held), n);
      await sim.drive(run.updates.flush());
      expect(await notes.get('job-20')).toEqual({ kind: 'missing', why: ['the run was ending'] });
      for (const n of numbers) {
        expect(remembered(sim, n)).toEqual([`job-${n}: me not-sent/timed-out`]);
      }
      expect(sim.github.writes().length - numbers.length).toBeLessThanOrEqual(6);
      expect(claims.length).toBeLessThanOrEqual(6);
    },
  );

  it('beyond 200 get no note, which is said once', async () => {
    const numbers = Array.from({ length: 203 }, (_, n) => n + 1);
    await using sim = await simulateGitHub(withIssues(...numbers));
    const run = open(sim, { wait: false });
    const states = numbers.map((n) => run.job(`job-${n}`));
    for (const [index, one] of states.entries()) run.updates.update(one, numbers[index] ?? null);
    const notes = run.updates.announce(states);
    const kinds = await sim.drive(
      Promise.all(states.map(async ({ jobId }) => (await notes.get(jobId))?.kind)),
    );
    expect(kinds.map((kind) => kind === 'noted')).toEqual(numbers.map((n) => n <= 200));
    const why = ours('one run comments on 200 pull requests and issues at most');
    expect(await notes.get('job-203')).toEqual({ kind: 'missing', why });
    expect(await sim.drive(run.updates.load(203))).toEqual(problem(why));
    await sim.pass(3_600_000);
    for (const n of numbers) run.updates.update(run.ended(`job-${n}`), n);
    await sim.drive(run.updates.flush());
    expect(run.warnings).toContain(
      '3 more pull requests have no comment: one run comments on 200 pull requests and issues at most. A re-run will not send to their jobs again.',
    );
  }, 120_000);
});

describe('at the end', () => {
  it('a job changes that another message was sent to since', async () => {
    const later = other('sent', { mark: 'later', owner: 'later', sentAt: START + 5000 });
    await using sim = await simulateGitHub();
    const run = open(sim, {
      review: (seen, { turns }) =>
        turns.some(({ mark }) => mark === 'later')
          ? { ...seen, turn: { ...seen.turn, confirmed: false, reason: ['Another one.'] } }
          : seen,
    });
    await sim.drive(announce(run, run.job('a'), run.job('b')));
    const [comment] = sim.github.comments(NUMBER);
    sim.github.editComment(
      comment?.id ?? 0,
      composeText(PROJECT, ledger(jobOf('a', later)), render),
    );
    run.updates.update(run.ended('b', { result: 'completed', confirmed: true }), NUMBER);
    run.updates.update(run.ended('a', { result: 'completed', confirmed: true }), NUMBER);
    const { reviewed } = await sim.drive(run.updates.flush());
    expect(reviewed).toMatchObject([{ jobId: 'a', turn: { confirmed: false } }]);
    const text = readText(sim.github.comments(NUMBER)[0]?.body ?? '', PROJECT);
    const turns = typeof text === 'string' ? [] : text.jobs.flatMap((one) => one.turns);
    expect(
      turns
        .filter(({ mark }) => mark === 'me')
        .map(({ confirmed }) => confirmed)
        .sort(),
    ).toEqual([false, true]);
  });

  it('what was overwritten is written again', async () => {
    await using sim = await simulateGitHub();
    let overwritten = 0;
    const run = open(sim, { wait: false });
    await sim.drive(announce(run, run.job('a')));
    run.updates.update(run.ended('a'), NUMBER);
    const flushing = run.updates.flush();
    const [comment] = sim.github.comments(NUMBER);
    sim.clock.after(2500, () => {
      overwritten += 1;
      sim.github.editComment(comment?.id ?? 0, composeText(PROJECT, ledger(), render));
    });
    await sim.drive(flushing);
    expect(overwritten).toBe(1);
    expect(remembered(sim)).toEqual(['a: me sent/sent']);
  });

  it('one comment too many is deleted', async () => {
    await using sim = await simulateGitHub({ trouble: { listLagMs: 2500 } });
    const runs = ['me', 'you'].map((owner) => open(sim, { owner, wait: false }));
    await sim.drive(Promise.all(runs.map((run) => announce(run, run.job('a')))));
    expect(sim.github.comments(NUMBER)).toHaveLength(2);
    await sim.pass(3000);
    for (const run of runs) {
      run.updates.update(run.ended('a'), NUMBER);
      await sim.drive(run.updates.flush());
    }
    expect(sim.github.comments(NUMBER)).toHaveLength(1);
    expect(remembered(sim)).toEqual(['a: me sent/sent: you sent/sent']);
  });

  it('it takes no longer than 30 s, and what is not written by then is told', async () => {
    await using sim = await simulateGitHub(withIssues(1, 2, 3));
    const run = open({ ...sim, connect: () => new Promise(() => {}) });
    for (const [id, number] of [
      ['a', 1],
      ['b', 1],
      ['c', 2],
      ['d', 3],
    ] as const) {
      run.updates.update(run.job(id), number);
      run.updates.update(run.ended(id), number);
    }
    const { urls, unwritten } = await sim.drive(run.updates.flush());
    expect(sim.seconds()).toBe(30);
    expect(run.warnings).toEqual([
      expect.stringMatching(
        /^The comment on #1, and those on 2 others, could not be .*: the run has at most 30 s for it\./,
      ),
    ]);
    expect(unwritten.match(/[a-d]: sent\/sent/g)).toEqual([
      ...['a: sent/sent', 'b: sent/sent'],
      ...['c: sent/sent', 'd: sent/sent'],
    ]);
    expect(urls).toEqual([]);
  });

  it('it is said what comments lack that are there, where only their end could not be written', async () => {
    let isDown = false;
    await using sim = await simulateGitHub({
      ...withIssues(NUMBER, 8),
      on: () => (isDown ? { status: 500 } : undefined),
    });
    const run = open(sim, { wait: false });
    run.updates.update(run.job('a'), NUMBER);
    run.updates.update(run.job('b'), 8);
    await sim.drive(Promise.all(run.updates.announce([run.job('a'), run.job('b')]).values()));
    isDown = true;
    run.updates.update(run.ended('a'), NUMBER);
    run.updates.update(run.ended('b'), 8);
    const { urls } = await sim.drive(run.updates.flush());
    expect(urls).toHaveLength(2);
    expect(run.warnings).toEqual([
      expect.stringMatching(
        /^The comment on #7, and that on 1 other, could not be .*: GitHub answered 500\. .* and later runs may not know how it ended\.$/,
      ),
    ]);
  });

  it('a write that fails is tried once more', async () => {
    let fails = 0;
    await using sim = await simulateGitHub({
      on: ({ method }) => (method === 'PATCH' && fails-- > 0 ? { status: 403 } : undefined),
    });
    const run = open(sim);
    await sim.drive(announce(run, run.job('a')));
    fails = 1;
    run.updates.update(run.delivered('a'), NUMBER);
    run.updates.update(run.ended('a'), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: me sent/sent']);
    expect(run.warnings).toEqual([]);
  });
});
