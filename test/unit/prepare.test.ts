import { describe, expect, it } from 'vitest';
import type { RunContext } from '../../src/context.ts';
import type { CommentTrigger, Trigger } from '../../src/github/event.ts';
import { JOB_ID_MISSING } from '../../src/inputs.ts';
import { promptOf, startTurn, whichJobs } from '../../src/job/prepare.ts';
import type { Memory } from '../../src/memory/announcements.ts';
import type { LedgerJob } from '../../src/memory/ledger.ts';
import { ours, reasonToText } from '../../src/reason.ts';
import { ok, problem } from '../../src/text.ts';
import { readRunInfo } from '../../src/runner/environment.ts';
import { job, ledger, START, turn } from './record.ts';

const INFO = readRunInfo({
  ...{ GITHUB_REPOSITORY: 'octo/agents', GITHUB_RUN_ID: '8', GITHUB_RUN_ATTEMPT: '2' },
  ...{ GITHUB_JOB: 'build', GITHUB_ACTION: '__self', GITHUB_TRIGGERING_ACTOR: 'bob' },
});
const ALICE = { login: 'alice', id: 1, type: 'User' };
const COMMENT: CommentTrigger = {
  ...{ kind: 'review-comment', action: 'created', conversation: 7, id: 12, nodeId: '', body: '' },
  ...{ author: ALICE, sender: ALICE, viaApp: false },
  context: { path: 'a.ts', line: 3, diffHunk: '' },
};
const PUSH: Trigger = {
  ...{
    event: 'push',
    action: '',
    conversation: null,
    sender: ALICE,
    isHeadHere: false,
    causedBy: '',
  },
  comment: null,
  problem: null,
};
const ON_COMMENT: Trigger = { ...PUSH, event: 'pull_request_review_comment', comment: COMMENT };

interface Parts {
  readonly trigger?: Trigger;
  readonly inputs?: Partial<RunContext['inputs']>;
  readonly redact?: (text: string) => string;
  readonly text?: string;
}

/** The parts of a run that these functions use. */
function contextOf({ trigger = PUSH, inputs, redact = (same) => same, text = '' }: Parts) {
  const usual = {
    command: null,
    prompt: 'Be brief.',
    matrixLeg: 'null',
    jobIds: [],
    comment: true,
  };
  const context = { trigger, text, info: INFO, mark: 'k1' };
  const runtime = { redact, clock: { now: () => START } };
  return { ...context, runtime, inputs: { ...usual, ...inputs } } as unknown as RunContext;
}

describe('startTurn', () => {
  const start = (parts: Parts, prompt = 'Go.') => startTurn(contextOf(parts), prompt);

  it('identifies the turn by its step and its process', () => {
    expect(start({})).toMatchObject({
      ...{ origin: 'run:8:build:__self', leg: '', mark: 'k1', owner: 'k1', writes: 0 },
      ...{ by: 'bob', prompt: 'Go.', startedAt: START, runId: '8', attempt: 2 },
      ...{ delivery: 'not-sent', endedAt: null },
    });
  });

  it('identifies the turn of a command by the comment, whichever run handles it', () => {
    const leg = { matrixLeg: '{"os":"linux"}' };
    const commanded = start({ trigger: ON_COMMENT, inputs: { ...leg, command: '/agent' } });
    expect(commanded).toMatchObject({
      origin: 'review-comment:12',
      leg: '',
      by: 'alice',
      runId: '8',
    });
    const plain = start({ trigger: ON_COMMENT, inputs: leg });
    expect(plain).toMatchObject({ origin: 'run:8:build:__self', by: 'alice' });
    expect(plain.leg).not.toBe('');
  });

  it.each(['null', '', '{}', ' null\n'])('sets no leg without a matrix: %j', (matrixLeg) => {
    expect(start({ inputs: { matrixLeg } }).leg).toBe('');
  });

  it('distinguishes the jobs of a matrix by a hash', () => {
    const legs = ['{"os":"linux"}', '{"os":"windows"}', '{"os":"linux"}'].map(
      (matrixLeg) => start({ inputs: { matrixLeg } }).leg,
    );
    for (const leg of legs) expect(leg).toMatch(/^[0-9a-f]{8}$/);
    expect(new Set(legs).size).toBe(2);
    expect(legs[0]).toBe(legs[2]);
  });

  it.each<[string, Trigger, string | null]>([
    ['a schedule', { ...PUSH, event: 'schedule' }, null],
    ['a push', PUSH, 'bob'],
    [
      'a user with a strange name',
      {
        ...ON_COMMENT,
        comment: { ...COMMENT, author: { ...ALICE, login: `a\n${'x'.repeat(200)}` } },
      },
      `a ${'x'.repeat(97)}…`,
    ],
  ])('remembers who triggered the run: %s', (_, trigger, by) => {
    expect(start({ trigger }).by).toBe(by);
  });

  it('remembers 1000 characters of the prompt, and no part of a secret', () => {
    const redact = (text: string): string => text.replaceAll('s3cret', '***');
    const prompt = `${'x'.repeat(997)}s3cret`;
    expect(start({ redact }, prompt).prompt).toBe(`${'x'.repeat(997)}***`);
    expect(start({ redact }, `${'x'.repeat(1000)}s3cret`).prompt).toBe('x'.repeat(1000));
    expect(start({}, '\u{1f680}'.repeat(501).slice(1)).prompt.isWellFormed()).toBe(true);
  });
});

describe('promptOf returns', () => {
  it.each<[string, Parts, string]>([
    ['the prompt without a command', {}, 'Be brief.'],
    ['the prompt without a command, even for a comment', { trigger: ON_COMMENT }, 'Be brief.'],
    [
      'the prompt, the text of the comment and its context with a command',
      { trigger: ON_COMMENT, inputs: { command: '/agent' }, text: 'Add tests.' },
      'Be brief.\n\nAdd tests.\n\nContext: this was written on the file "a.ts", line 3.',
    ],
    ['the prompt for a command without a text', { inputs: { command: '/agent' } }, 'Be brief.'],
  ])('%s', (_, parts, prompt) => {
    expect(promptOf(contextOf(parts))).toBe(prompt);
  });
});

describe('whichJobs', () => {
  const whole = (...jobs: readonly LedgerJob[]): Memory =>
    ok({ ledger: ledger(...jobs), isWhole: true });
  const jobsFor = (
    memory: Memory,
    inputs: Partial<RunContext['inputs']> = {},
    conversation: number | null = 7,
  ) => whichJobs({ ...contextOf({ inputs }), conversation, memory: Promise.resolve(memory) });

  it.each<[string, Partial<RunContext['inputs']>, number | null, object]>([
    ['the jobs of job-id', { jobIds: ['a', 'b'] }, 7, ok(['a', 'b'])],
    ['the job of the comment without job-id', {}, 7, ok(['known'])],
    ['a problem without a conversation', {}, null, problem(JOB_ID_MISSING)],
    ['a problem if comment is false', { comment: false }, 7, problem(JOB_ID_MISSING)],
  ])('returns %s', async (_, inputs, conversation, expected) => {
    expect(await jobsFor(whole(job('known')), inputs, conversation)).toEqual(expected);
  });

  it.each<[string, Memory]>([
    ['that got a message', whole(job('a', turn()))],
    ['that was only polled', whole(job('a'))],
  ])('returns the only job of the comment, one %s', async (_, memory) => {
    expect(await jobsFor(memory)).toEqual(ok(['a']));
  });

  it.each<[Memory, RegExp]>([
    [
      problem(ours('GitHub answered 500')),
      /the comment that may name the job cannot be read: GitHub answered 500\.$/,
    ],
    [whole(), /names an agent job here yet/],
    [null, /names an agent job here yet/],
    [whole(job('a'), job('b', turn())), /2 jobs: a, b\. .* "job-id: a"/],
    [whole(...[...'abcdefghijkl'].map((id) => job(id))), /12 jobs: a, .*, j and 2 more\. /],
  ])('otherwise explains what is missing: %#', async (memory, why) => {
    const jobs = await jobsFor(memory);
    expect(jobs.kind === 'problem' && reasonToText(jobs.problem)).toMatch(why);
  });
});
