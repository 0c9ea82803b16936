import { describe, expect, it } from 'vitest';
import { type Claim, Reactions } from '../../src/github/reactions.ts';
import { TimeLimit } from '../../src/github/time-limit.ts';
import type { Memory } from '../../src/memory/announcements.ts';
import type { MemoryContext } from '../../src/memory/context.ts';
import { type Ledger, unite } from '../../src/memory/ledger.ts';
import { commentText, composeText, readText } from '../../src/memory/text.ts';
import { Updates } from '../../src/memory/updates.ts';
import { ours, reasonToText } from '../../src/reason.ts';
import { ok, problem } from '../../src/text.ts';
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
  /** A job of this run before its message is sent. */
  job(jobId: string, parts?: Partial<Turn>): JobState;
  delivered(jobId: string, parts?: Partial<Turn>): JobState;
  ended(jobId: string, parts?: Partial<Turn>): JobState;
}

/** A run with `wait` by default. Its name is the mark and the owner of its turns. */
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
  return jobs.map(({ id, turns }) => `${id}: ${turns.map(textOf).join(', ')}`).join('; ');
}

function textOf({ delivery, result, endedAt }: Turn): string {
  return endedAt === null ? delivery : `${delivery}/${result}`;
}

/** What all comments on a conversation together say about each job. */
function remembered({ github }: GitHubSimulation, number = NUMBER): readonly string[] {
  const ledgers = github.comments(number).map(({ body }) => {
    const text = readText(body, PROJECT);
    return typeof text === 'string' ? ledger() : text;
  });
  return unite(ledgers)
    .jobs.map(({ id, turns }) =>
      [id, ...turns.map((one) => `${one.mark} ${textOf(one)}`)].join(': '),
    )
    .sort();
}

/** A conversation with a comment that remembers these turns of job a. */
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

describe('load', () => {
  const load = async (
    sim: GitHubSimulation,
    more: Partial<MemoryContext> = {},
    number: number | null = NUMBER,
  ) => sim.drive(open(sim, more).updates.load(number));

  it.each<[string, Partial<MemoryContext>, number | null]>([
    ['if comment is false', { comment: false }, NUMBER],
    ['without a conversation', {}, null],
  ])('reads nothing %s', async (_, more, number) => {
    await using sim = await simulateGitHub(withComment(turn()));
    expect(await load(sim, more, number)).toBeNull();
    expect(sim.names()).toEqual([]);
  });

  it('reads the last page of the comments, and all pages in a re-run', async () => {
    await using sim = await simulateGitHub(withComment(turn()));
    for (let n = 0; n < 120; n++) sim.github.addComment(NUMBER, 'bob', 'Hello.');
    sim.github.addComment(NUMBER, ACTIONS, composeText(PROJECT, ledger(jobOf('b')), render));
    const idsOf = (memory: Memory) =>
      memory?.kind === 'ok' ? memory.value.ledger.jobs.map(({ id }) => id) : memory;
    expect(idsOf(await load(sim))).toEqual(['b']);
    expect(idsOf(await load(sim, { attempt: 2 }))).toEqual(['a', 'b']);
  });

  it('reports that something is missing if a comment cannot be read', async () => {
    await using sim = await simulateGitHub(withComment(turn()));
    const [comment] = sim.github.comments(NUMBER);
    sim.github.editComment(comment?.id ?? 0, `${comment?.body} edited`);
    expect(await load(sim)).toMatchObject(ok({ isWhole: false, ledger: { jobs: [] } }));
  });

  it.each<[string, GitHubOptions, RegExp]>([
    ['an HTTP error', { on: () => ({ status: 500 }) }, /^GitHub answered 500$/],
    [
      'a refusal',
      { on: () => ({ status: 403, body: { message: 'Resource not accessible' } }) },
      /^GitHub answered 403: "Resource not accessible"\. The job needs `permissions:` .*[^.]$/,
    ],
    [
      'a call to a host without GraphQL',
      { graphql: false },
      /^this host has no GraphQL API, .*comment: false$/,
    ],
  ])('fails with the reason after %s', async (_, options, why) => {
    await using sim = await simulateGitHub(options);
    const memory = await load(sim);
    expect(memory?.kind === 'problem' && reasonToText(memory.problem)).toMatch(why);
  });

  it('gives up after 10 s', async () => {
    await using sim = await simulateGitHub({ on: () => ({ fault: 'hang' }) });
    expect(await load(sim)).toEqual(problem(ours('GitHub did not answer in time')));
    expect(sim.seconds()).toBe(10);
  });

  it('does not wait after a cancellation', async () => {
    await using sim = await simulateGitHub(withComment(turn()));
    const memory = await load(sim, { signal: AbortSignal.abort() });
    expect(memory).toEqual(problem(ours('the run was cancelled')));
  });

  it('reads once, and again only if that failed', async () => {
    let fails = 2;
    await using sim = await simulateGitHub({
      on: () => (fails-- > 0 ? { status: 500 } : undefined),
    });
    const { updates } = open(sim);
    expect(await sim.drive(updates.load(NUMBER))).toMatchObject({ kind: 'problem' });
    expect(await sim.drive(updates.load(NUMBER))).toMatchObject({ kind: 'ok' });
    expect(await sim.drive(updates.load(NUMBER))).toMatchObject({ kind: 'ok' });
    // A failed read is retried once.
    expect(sim.names()).toEqual(['read', 'read', 'read']);
  });
});

describe('a run without other runs', () => {
  it('makes six calls without wait: for the memory, the note and the result', async () => {
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
    // The last read comes a second after the last write.
    expect(sim.seconds()).toBe(1);
  });

  it('makes eight calls with wait', async () => {
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

  it('ends 3 s after the last write of a new comment, because lists lag behind', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, { wait: false });
    await sim.drive(announce(run, run.job('a')));
    run.updates.update(run.ended('a'), NUMBER);
    await sim.drive(run.updates.flush());
    expect(sim.seconds()).toBe(3);
    expect(sim.names()).toHaveLength(6);
  });

  it('ends without a pause if it is cancelled', async () => {
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

  it('makes as many calls for 50 jobs on one conversation as for one job', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, { wait: false });
    const ids = Array.from({ length: 50 }, (_, n) => `job-${n}`);
    await sim.drive(announce(run, ...ids.map((id) => run.job(id))));
    for (const id of ids) run.updates.update(run.ended(id), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toHaveLength(50);
    expect(sim.names()).toHaveLength(6);
  });

  it('makes no calls if comment is false', async () => {
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
  /** A claim with this result, and the turns in the comments at each call of it. */
  function claims(sim: GitHubSimulation, answer: Claim) {
    const atClaim: (readonly string[])[] = [];
    return {
      atClaim,
      claim: async (): Promise<Claim> => {
        atClaim.push(remembered(sim));
        return answer;
      },
    };
  }
  const taken = (delivery: Turn['delivery']) => [
    { kind: 'taken', turn: expect.objectContaining({ mark: 'you', delivery }) },
  ];

  it('is claimed after its note is written, while the comment is read', async () => {
    await using sim = await simulateGitHub();
    const { claim, atClaim } = claims(sim, 'ours');
    const run = open(sim, { claim }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(atClaim).toEqual([['a: me sending']]);
    expect(sim.names()).toEqual(['read', CREATE, 'read']);
  });

  it.each(['sending', 'unknown', 'sent'] as const)(
    'is not noted if the first read shows that another run has it: %s',
    async (delivery) => {
      await using sim = await simulateGitHub(withComment(other(delivery)));
      const { claim, atClaim } = claims(sim, 'ours');
      const run = open(sim, { claim }, COMMAND);
      expect(await sim.drive(announce(run, run.job('a')))).toEqual(taken(delivery));
      run.updates.update(
        run.job('a', { result: 'skipped', reason: ['Run 1 has it.'], endedAt: START }),
        NUMBER,
      );
      expect(await sim.drive(run.updates.flush())).toMatchObject({ urls: [], unwritten: '' });
      expect(atClaim).toEqual([]);
      expect(sim.github.writes()).toEqual([]);
      expect(run.warnings).toEqual([]);
    },
  );

  it('is left to another run only for the jobs that the other run has noted', async () => {
    await using sim = await simulateGitHub(withComment(other('sent')));
    const { claim, atClaim } = claims(sim, 'ours');
    const run = open(sim, { claim }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a'), run.job('b')))).toEqual([
      ...taken('sent'),
      { kind: 'noted' },
    ]);
    expect(atClaim).toHaveLength(1);
    run.updates.update(run.job('a', { result: 'skipped', endedAt: START }), NUMBER);
    run.updates.update(run.ended('b'), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: me not-sent/skipped: you sent', 'b: me sent/sent']);
  });

  it('is sent if another run has not sent it and has ended', async () => {
    await using sim = await simulateGitHub(withComment(other('not-sent', { endedAt: START })));
    const run = open(sim, {}, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
  });

  /** Another run adds a comment with its note, just before the nth read. */
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

  it('is sent by the run that claims it first if two runs are about to send it', async () => {
    await using sim = await simulateGitHub(rival(2, 'sending'));
    const run = open(sim, {}, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(sim.seconds()).toBe(0);
  });

  it('is left to the run that has claimed it, and the turn of this run remains as not sent', async () => {
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

  it('is left to the run that has claimed it even if the response to the note of this run is lost', async () => {
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

  it('is claimed after a read shows its note if the response to the note is lost', async () => {
    const past = withComment(other('not-sent', { mark: 'past', owner: 'past', endedAt: START }));
    const loses = ({ name, nth }: Call): boolean => name === PATCH && nth === 1;
    await using sim = await simulateGitHub({ ...past, trouble: { loses } });
    const { claim, atClaim } = claims(sim, 'ours');
    const run = open(sim, { claim }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(atClaim).toHaveLength(1);
    expect(sim.names()).toEqual(['read', PATCH, 'read']);
  });

  it('is sent by the run with the first note for jobs that are noted after the claim', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, {}, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(sim.seconds()).toBe(0);
    expect(await sim.drive(announce(run, run.job('b')))).toEqual([{ kind: 'noted' }]);
    expect(sim.seconds()).toBe(3);
    expect(sim.names().at(-1)).toBe('read+history');
  });

  it('is left to a run that noted it and failed to claim it, even if that note is newer than the last read', async () => {
    await using sim = await simulateGitHub();
    const late = open(sim, {}, COMMAND);
    await sim.drive(late.updates.load(NUMBER));
    const first = open(sim, { owner: 'you', claim: async () => 'failed' }, COMMAND);
    expect(await sim.drive(announce(first, first.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(await sim.drive(announce(late, late.job('a')))).toMatchObject(taken('sending'));
  });

  it('is sent by the run with the first note if an earlier note may be written without a claim', async () => {
    let isDown = false;
    const theirs = composeText(PROJECT, ledger(jobOf('b', other('sending'))), render);
    await using sim = await simulateGitHub({
      on: ({ path }) => (isDown && path === '/graphql' ? { status: 502 } : undefined),
      trouble: {
        loses({ name }) {
          if (name === CREATE) isDown = true;
          return name === CREATE;
        },
        // The other run notes b just before this run.
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
    'is sent to each job by one run only, even if the comment has no room for all jobs: %s',
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

  it('is not claimed by a run that is cancelled while it writes its note', async () => {
    const cancel = new AbortController();
    await using sim = await simulateGitHub({
      trouble: { meanwhile: ({ name }) => name === CREATE && cancel.abort() },
    });
    const { claim, atClaim } = claims(sim, 'ours');
    const run = open(sim, { claim, signal: cancel.signal }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([{ kind: 'missing' }]);
    run.updates.update(run.job('a', { result: 'cancelled', endedAt: START }), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: me not-sent/cancelled']);
    expect(atClaim).toEqual([]);
  });

  it('is left to a run that has sent it before this run claims it', async () => {
    await using sim = await simulateGitHub(rival(2, 'sent'));
    const run = open(sim, {}, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual(taken('sent'));
  });

  it('is sent if it was claimed without a note, because another tool added the reaction', async () => {
    await using sim = await simulateGitHub();
    const { claim } = claims(sim, 'taken');
    const run = open(sim, { claim }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(sim.seconds()).toBe(3);
  });

  it.each(['failed', 'refused'] as const)(
    'waits until lists show the comments of other runs if its claim is %s',
    async (answer) => {
      await using sim = await simulateGitHub();
      const { claim } = claims(sim, answer);
      const run = open(sim, { claim }, COMMAND);
      expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
      expect(sim.seconds()).toBe(6);
    },
  );

  it.each(['failed', 'refused', 'none'] as const)(
    'is searched for in the edit history if its claim decides nothing: %s',
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
    ['in the first attempt, another run has claimed it', 1, { kind: 'taken', turn: null }],
    ['in a re-run, an earlier attempt may have claimed it', 2, { kind: 'noted' }],
  ])('is claimed if comment is false: %s', async (_, attempt, note) => {
    await using sim = await simulateGitHub();
    const { claim } = claims(sim, 'taken');
    const run = open(sim, { claim, attempt, comment: false }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([note]);
  });

  it.each<[string, Partial<MemoryContext>, GitHubOptions]>([
    ['comment is false', { comment: false }, {}],
    ['no note can be written', {}, { readOnly: true }],
  ])('may be sent by another run if its claim failed and %s', async (_, more, options) => {
    await using sim = await simulateGitHub(options);
    const run = open(sim, { ...more, claim: async () => 'failed' }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([{ kind: 'unclear' }]);
    const other = open(sim, { ...more, claim: async () => 'refused' }, COMMAND);
    const [note] = await sim.drive(announce(other, other.job('a')));
    expect(note?.kind).toBe(more.comment === false ? 'noted' : 'missing');
  });

  it.each([
    ['in the first attempt, another run has claimed it', 1, 'taken'],
    ['in a re-run, an earlier attempt may have claimed it', 2, 'missing'],
  ])('is claimed if no note can be written: %s', async (_, attempt, kind) => {
    await using sim = await simulateGitHub({ readOnly: true });
    const { claim } = claims(sim, 'taken');
    const run = open(sim, { claim, attempt }, COMMAND);
    expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([{ kind }]);
  });

  it('is sent once to each of several jobs that are noted one after the other', async () => {
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
      // Until the second run writes something else, its message to b may be on its way.
      expect([ofSecond?.[1]?.kind, ofFirst[0]?.kind].toSorted()).toEqual(['noted', 'taken']);
    }
  });

  it.each([
    ['at once', 0, 0],
    ['one after the other', 0, 300],
    ['with lists that lag behind', 2500, 0],
    ['with lists that lag behind, one after the other', 2500, 700],
  ])('is sent by one of two runs that get it %s', async (_, listLagMs, apartMs) => {
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
      const [line = ''] = remembered(sim);
      expect(line).toContain(`${winner} sent/sent`);
      expect(line.replace(/ (me|you) not-sent\/skipped:?/, '')).not.toMatch(/sending|unknown/);
    }
  });
});

describe('a note that cannot be written', () => {
  const FORBIDDEN = { kind: 'missing', why: expect.arrayContaining(['GitHub answered 403: ']) };

  it('does not delay the message if GitHub refuses it, and is reported at the end', async () => {
    await using sim = await simulateGitHub({ readOnly: true });
    const run = open(sim);
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([FORBIDDEN]);
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

  it('causes no warning about sending the message again if the message is not sent', async () => {
    await using sim = await simulateGitHub({ readOnly: true });
    const run = open(sim);
    await sim.drive(announce(run, run.job('a')));
    run.updates.update(run.job('a', { result: 'error', endedAt: START }), NUMBER);
    await sim.drive(run.updates.flush());
    expect(run.warnings).toEqual([expect.stringContaining('later runs may not know how it ended')]);
  });

  it('delays only the first message, by 10 s, if GitHub does not respond', async () => {
    await using sim = await simulateGitHub({ on: () => ({ fault: 'hang' }) });
    const run = open(sim);
    const late = { kind: 'missing', why: ours('GitHub did not answer in time') };
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([late]);
    expect(sim.seconds()).toBe(10);
    expect(await sim.drive(announce(run, run.job('b')))).toEqual([late]);
    expect(sim.seconds()).toBe(10);
  });

  it.each<[string, number, Partial<Turn>, string]>([
    ['in a step', 1, {}, 'missing'],
    ['in a re-run of a step', 2, {}, 'missing'],
    ['in a run of a command', 1, COMMAND, 'unclear'],
    ['in a re-run of a command', 2, COMMAND, 'missing'],
  ])('is reported if the comment has no room for it: %s', async (_, attempt, parts, kind) => {
    await using sim = await simulateGitHub();
    const text = commentText(PROJECT, () => '', String);
    const run = open(sim, { attempt, text }, parts);
    const notes = await sim.drive(announce(run, ...moreThanFit().map((id) => run.job(id))));
    expect(new Set(notes.map((note) => note.kind))).toEqual(new Set(['noted', kind]));
  });

  it('delays each message of a re-run, which sends nothing without its note', async () => {
    await using sim = await simulateGitHub({ on: () => ({ fault: 'hang' }) });
    const run = open(sim, { attempt: 2 });
    await sim.drive(announce(run, run.job('a')));
    await sim.drive(announce(run, run.job('b')));
    expect(sim.seconds()).toBe(20);
  });

  it('is written once GitHub responds again, without a warning', async () => {
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

  it('no longer delays a run that is cancelled', async () => {
    await using sim = await simulateGitHub({ on: () => ({ fault: 'hang' }) });
    const cancel = new AbortController();
    const run = open(sim, { signal: cancel.signal });
    sim.clock.after(2000, () => cancel.abort());
    expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([{ kind: 'missing' }]);
    expect(sim.seconds()).toBe(2);
  });

  it.each(['hang', 'reset'] as const)(
    'makes it unclear whether another run has the command if GitHub does not respond: %s',
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

  it('is written when GitHub responds late, and is updated at the end', async () => {
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

  it('is not needed for a job without a conversation', async () => {
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

  it('sends the message 3 s after its note if no earlier attempt has started it', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, { attempt: 2 }, STEP);
    await sim.drive(run.updates.load(NUMBER));
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    expect(sim.seconds()).toBe(3);
    expect(sim.names()).toEqual(['read', CREATE, 'read', 'read+history']);
  });

  it.each(['sending', 'unknown', 'sent'] as const)(
    'finds an overwritten note of an earlier attempt in the edit history: %s',
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

  it('continues the turn that it finds, and its own turn remains as not sent', async () => {
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

  it('finds a comment that lists show late', async () => {
    await using sim = await simulateGitHub({ trouble: { listLagMs: 2500 } });
    const body = composeText(PROJECT, ledger(jobOf('a', early('sent'))), render);
    sim.github.addComment(NUMBER, ACTIONS, body);
    const run = open(sim, { attempt: 2 }, STEP);
    await sim.drive(run.updates.load(NUMBER));
    expect(await sim.drive(announce(run, run.job('a')))).toMatchObject([
      { kind: 'taken', turn: { mark: 'early' } },
    ]);
  });

  it('continues a turn that was not sent', async () => {
    await using sim = await simulateGitHub(withComment(early('not-sent', { endedAt: START })));
    const run = open(sim, { attempt: 2 }, { ...STEP, mark: 'early' });
    await sim.drive(run.updates.load(NUMBER));
    expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    run.updates.update(run.ended('a'), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: early sent/sent']);
  });

  it('writes its note again if it is overwritten within these 3 s', async () => {
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

  describe('of a command that an earlier attempt has claimed without a note', () => {
    const claimed = { claim: async (): Promise<Claim> => 'taken' };
    const doubt = {
      kind: 'missing',
      why: ours('an earlier attempt may have claimed the command'),
    };

    it('sends nothing, and neither does the next re-run', async () => {
      await using sim = await simulateGitHub();
      const second = open(sim, { ...claimed, attempt: 2, owner: 'second' }, COMMAND);
      await sim.drive(second.updates.load(NUMBER));
      expect(await sim.drive(announce(second, second.job('a')))).toEqual([doubt]);
      const refused = { result: 'error', reason: ['No note.'], endedAt: START } as const;
      second.updates.update(second.job('a', refused), NUMBER);
      await sim.drive(second.updates.flush());

      // The turn of the second attempt must not count as one that was not sent.
      const third = open(sim, { ...claimed, attempt: 3, owner: 'third' }, COMMAND);
      const memory = await sim.drive(third.updates.load(NUMBER));
      const turns =
        memory?.kind === 'ok' ? memory.value.ledger.jobs.flatMap((one) => one.turns) : [];
      expect(turns.map(({ delivery }) => delivery)).not.toContain('not-sent');
      expect(turns).toHaveLength(1);
    });

    it.each(['taken', 'failed'] as const)(
      'sends nothing without its own note, and does not remember the message as not sent: %s',
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

    it('remembers the message as sent if it is sent nevertheless', async () => {
      await using sim = await simulateGitHub();
      const run = open(sim, { ...claimed, attempt: 2 }, COMMAND);
      expect(await sim.drive(announce(run, run.job('a')))).toEqual([doubt]);
      run.updates.update(run.delivered('a'), NUMBER);
      run.updates.update(run.ended('a', { result: 'completed' }), NUMBER);
      await sim.drive(run.updates.flush());
      expect(remembered(sim)).toEqual(['a: me sent/completed']);
    });

    it('sends the message if the comment shows that the earlier attempt has not sent it', async () => {
      await using sim = await simulateGitHub(
        withComment(turn({ mark: 'early', owner: 'early', delivery: 'not-sent', ...COMMAND })),
      );
      const run = open(sim, { ...claimed, attempt: 2 }, { ...COMMAND, mark: 'early' });
      await sim.drive(run.updates.load(NUMBER));
      expect(await sim.drive(announce(run, run.job('a')))).toEqual([{ kind: 'noted' }]);
    });
  });
});

describe('progress is written', () => {
  /** How many writes follow an update within 5 s. */
  async function writesAfter(sim: GitHubSimulation, update: () => void): Promise<number> {
    const before = sim.github.writes().length;
    update();
    await sim.pass(5000);
    return sim.github.writes().length - before;
  }

  it('after all messages are sent, then whenever a tenth of the jobs have ended, and at the end', async () => {
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

  it('only together with notes while more jobs will be announced', async () => {
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

  it('after all messages to a few jobs are sent, and at the end', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    await sim.drive(announce(run, run.job('a'), run.job('b')));
    const updates = [run.delivered('a'), run.delivered('b'), run.ended('a'), run.ended('b')];
    const writes: number[] = [];
    for (const one of updates)
      writes.push(await writesAfter(sim, () => run.updates.update(one, NUMBER)));
    expect(writes).toEqual([0, 1, 0, 1]);
  });

  it('once if more updates follow before the write', async () => {
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

  it('only at the end without wait', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, { wait: false });
    await sim.drive(announce(run, run.job('a'), run.job('b')));
    expect(await writesAfter(sim, () => run.updates.update(run.delivered('a'), NUMBER))).toBe(0);
    expect(await writesAfter(sim, () => run.updates.update(run.delivered('b'), NUMBER))).toBe(0);
    expect(await writesAfter(sim, () => run.updates.update(run.ended('a'), NUMBER))).toBe(0);
    expect(await writesAfter(sim, () => run.updates.update(run.ended('b'), NUMBER))).toBe(1);
  });

  it('also for messages that were not sent, because a re-run sends them', async () => {
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

  it('not for a message that is withdrawn before it is announced', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    run.updates.update(run.job('a'), NUMBER);
    run.updates.withdraw('a');
    run.updates.update(run.job('a', { result: 'skipped', endedAt: START }), NUMBER);
    expect(await sim.drive(run.updates.flush())).toMatchObject({ urls: [], unwritten: '' });
    expect(sim.names()).toEqual([]);
    run.updates.withdraw('unknown');
  });

  it('as not sent for a message that is withdrawn after it is announced', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    await sim.drive(announce(run, run.job('a')));
    run.updates.withdraw('a');
    run.updates.update(run.job('a', { result: 'skipped', endedAt: START }), NUMBER);
    await sim.drive(run.updates.flush());
    expect(remembered(sim)).toEqual(['a: me not-sent/skipped']);
  });

  it('not for jobs that are not announced, whatever their conversation', async () => {
    await using sim = await simulateGitHub(withIssues(NUMBER, 8));
    const run = open(sim);
    run.updates.update(run.job('b'), 8);
    run.updates.update(run.job('c'), NUMBER);
    await sim.drive(announce(run, run.job('a')));
    expect(remembered(sim)).toEqual(['a: me sending']);
    expect(sim.github.comments(8)).toEqual([]);
  });

  it('on both pull requests if the API returns another one', async () => {
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

  it('with the texts of the job record shortened to one line', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim);
    await sim.drive(announce(run, run.job('a')));
    const polledRecord = record({
      ...{ model: 'a\nb', status: 'active', prLink: 'https://github.com/octo/agents/pull/7' },
      source: { repository: 'x'.repeat(300), ref: null },
    });
    run.updates.update({ ...run.ended('a'), record: polledRecord }, NUMBER);
    await sim.drive(run.updates.flush());
    const text = readText(sim.github.comments(NUMBER)[0]?.body ?? '', PROJECT);
    expect(text).toMatchObject({
      jobs: [
        {
          record: {
            ...{ model: 'a b', status: 'active', prLink: polledRecord.prLink },
            source: { repository: `${'x'.repeat(199)}…`, ref: null },
          },
        },
      ],
    });
  });

  describe('for a job that is only polled', () => {
    const polled = (run: Run, status: string): JobState => ({
      ...run.job('a', { result: 'active', endedAt: START }),
      ...{ isReadOnly: true, record: record({ status }) },
    });
    async function poll(sim: GitHubSimulation, status: string): Promise<void> {
      const run = open(sim, { wait: false });
      run.updates.update({ ...run.job('a'), isReadOnly: true }, NUMBER);
      run.updates.update(polled(run, status), NUMBER);
      await sim.drive(run.updates.flush());
    }

    it('with its ID, so that later commands do not need job-id', async () => {
      await using sim = await simulateGitHub();
      await poll(sim, 'active');
      expect(remembered(sim)).toEqual(['a']);
    });

    it('only if its status has changed', async () => {
      await using sim = await simulateGitHub();
      await poll(sim, 'active');
      await poll(sim, 'active');
      expect(sim.github.writes()).toHaveLength(1);
      await poll(sim, 'failed');
      expect(sim.github.writes()).toHaveLength(2);
    });

    it('with the turn of an earlier run that this run waits for', async () => {
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
  it('get one write per second, and the 10 s of a note start with its write', async () => {
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

  it('get the result of a message before the notes of later messages', async () => {
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

  it.each(['a cancellation', 'the deadline'])(
    'get one write each after %s if their messages were not sent yet',
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
      if (end === 'a cancellation') cancel.abort();
      const unsent = { delivery: 'not-sent', result: 'timed-out', sentAt: null } as const;
      for (const n of numbers) run.updates.update(run.ended(`job-${n}`, unsent), n);
      await sim.drive(run.updates.flush());
      expect(await notes.get('job-20')).toEqual({ kind: 'missing', why: ['the run was ending'] });
      for (const n of numbers) {
        expect(remembered(sim, n)).toEqual([`job-${n}: me not-sent/timed-out`]);
      }
      expect(sim.github.writes().length - numbers.length).toBeLessThanOrEqual(6);
      expect(claims.length).toBeLessThanOrEqual(6);
    },
  );

  it('get no note beyond the first 200, with one warning', async () => {
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

describe('flush', () => {
  it('returns a changed job if another message was sent to it later', async () => {
    const later = other('sent', { mark: 'later', owner: 'later', sentAt: START + 5000 });
    await using sim = await simulateGitHub();
    const run = open(sim, {
      review: (current, { turns }) =>
        turns.some(({ mark }) => mark === 'later')
          ? { ...current, turn: { ...current.turn, confirmed: false, reason: ['Another one.'] } }
          : current,
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

  it('writes again what another run has overwritten', async () => {
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

  it('deletes a second comment', async () => {
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

  it('takes at most 30 s, and warns of what is not written', async () => {
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

  it('warns that the end is missing if only the last write of a comment fails', async () => {
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

  it('retries a failed write once', async () => {
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
