import { describe, expect, it } from 'vitest';
import type { RunContext } from '../../src/context.ts';
import type { CommentTrigger, Trigger } from '../../src/github/event.ts';
import { JOB_ID_MISSING } from '../../src/inputs.ts';
import { promptOf, startTurn, whichJobs } from '../../src/job/prepare.ts';
import type { Memory } from '../../src/memory/announcements.ts';
import type { LedgerJob } from '../../src/memory/ledger.ts';
import { ours, reasonToText } from '../../src/reason.ts';
import { ok, problem } from '../../src/result.ts';
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

interface Facts {
  readonly trigger?: Trigger;
  readonly inputs?: Partial<RunContext['inputs']>;
  readonly redact?: (text: string) => string;
  readonly text?: string;
}

/** What these functions take of a run. */
function contextOf({ trigger = PUSH, inputs, redact = (same) => same, text = '' }: Facts) {
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

describe('the turn that a run begins', () => {
  const begin = (facts: Facts, prompt = 'Go.') => startTurn(contextOf(facts), prompt);

  it('is known by its step, and by the process', () => {
    expect(begin({})).toMatchObject({
      ...{ origin: 'run:8:build:__self', leg: '', mark: 'k1', owner: 'k1', writes: 0 },
      ...{ by: 'bob', prompt: 'Go.', startedAt: START, runId: '8', attempt: 2 },
      ...{ delivery: 'not-sent', endedAt: null },
    });
  });

  it('is known by the comment that asked, whichever run handles it', () => {
    const leg = { matrixLeg: '{"os":"linux"}' };
    const asked = begin({ trigger: ON_COMMENT, inputs: { ...leg, command: '/agent' } });
    expect(asked).toMatchObject({ origin: 'review-comment:12', leg: '', by: 'alice', runId: '8' });
    const plain = begin({ trigger: ON_COMMENT, inputs: leg });
    expect(plain).toMatchObject({ origin: 'run:8:build:__self', by: 'alice' });
    expect(plain.leg).not.toBe('');
  });

  it.each(['null', '', '{}', ' null\n'])('has no leg without a matrix: %j', (matrixLeg) => {
    expect(begin({ inputs: { matrixLeg } }).leg).toBe('');
  });

  it('tells the legs of a matrix apart, without what they hold', () => {
    const legs = ['{"os":"linux"}', '{"os":"windows"}', '{"os":"linux"}'].map(
      (matrixLeg) => begin({ inputs: { matrixLeg } }).leg,
    );
    for (const leg of legs) expect(leg).toMatch(/^[0-9a-f]{8}$/);
    expect(new Set(legs).size).toBe(2);
    expect(legs[0]).toBe(legs[2]);
  });

  it.each<[string, Trigger, string | null]>([
    ['a schedule', { ...PUSH, event: 'schedule' }, null],
    ['a push', PUSH, 'bob'],
    [
      'somebody with a strange name',
      {
        ...ON_COMMENT,
        comment: { ...COMMENT, author: { ...ALICE, login: `a\n${'x'.repeat(200)}` } },
      },
      `a ${'x'.repeat(97)}…`,
    ],
  ])('says who asked: %s', (_, trigger, by) => {
    expect(begin({ trigger }).by).toBe(by);
  });

  it('remembers a thousand characters of the prompt, and no part of a secret', () => {
    const redact = (text: string): string => text.replaceAll('s3cret', '***');
    const prompt = `${'x'.repeat(997)}s3cret`;
    expect(begin({ redact }, prompt).prompt).toBe(`${'x'.repeat(997)}***`);
    expect(begin({ redact }, `${'x'.repeat(1000)}s3cret`).prompt).toBe('x'.repeat(1000));
    expect(begin({}, '\u{1f680}'.repeat(501).slice(1)).prompt.isWellFormed()).toBe(true);
  });
});

describe('what goes out', () => {
  it.each<[string, Facts, string]>([
    ['without a command the prompt', {}, 'Be brief.'],
    ['whoever commented', { trigger: ON_COMMENT }, 'Be brief.'],
    [
      'with a command all of it',
      { trigger: ON_COMMENT, inputs: { command: '/agent' }, text: 'Add tests.' },
      'Be brief.\n\nAdd tests.\n\nContext: this was written on the file "a.ts", line 3.',
    ],
    ['with nothing but a command the prompt', { inputs: { command: '/agent' } }, 'Be brief.'],
  ])('%s', (_, facts, prompt) => {
    expect(promptOf(contextOf(facts))).toBe(prompt);
  });
});

describe('the jobs that are meant', () => {
  const whole = (...jobs: readonly LedgerJob[]): Memory =>
    ok({ ledger: ledger(...jobs), isWhole: true });
  const meant = (
    memory: Memory,
    inputs: Partial<RunContext['inputs']> = {},
    conversation: number | null = 7,
  ) => whichJobs({ ...contextOf({ inputs }), conversation, memory: Promise.resolve(memory) });

  it.each<[string, Partial<RunContext['inputs']>, number | null, object]>([
    ['those that are named', { jobIds: ['a', 'b'] }, 7, ok(['a', 'b'])],
    ['else the one that is remembered', {}, 7, ok(['known'])],
    ['which is none without a conversation', {}, null, problem(JOB_ID_MISSING)],
    ['and none without comments', { comment: false }, 7, problem(JOB_ID_MISSING)],
  ])('%s', async (_, inputs, conversation, expected) => {
    expect(await meant(whole(job('known')), inputs, conversation)).toEqual(expected);
  });

  it.each<[string, Memory]>([
    ['that got a message', whole(job('a', turn()))],
    ['that was only looked at', whole(job('a'))],
  ])('are the only one that is remembered: %s', async (_, memory) => {
    expect(await meant(memory)).toEqual(ok(['a']));
  });

  it.each<[Memory, RegExp]>([
    [
      problem(ours('GitHub answered 500')),
      /the comment that may name the job cannot be read: GitHub answered 500\.$/,
    ],
    [whole(), /names an agent job here yet/],
    [null, /names an agent job here yet/],
    [whole(job('a'), job('b', turn())), /2 jobs: a, b\. .* "job-id: a"/],
  ])('are otherwise not clear: %#', async (memory, why) => {
    const jobs = await meant(memory);
    expect(jobs.kind === 'problem' && reasonToText(jobs.problem)).toMatch(why);
  });
});
