import { describe, expect, it } from 'vitest';
import type { LedgerJob, LedgerTurn } from '../../src/github/ledger.ts';
import { type JobResult, type Outcome, unknownJob } from '../../src/outcome.ts';
import { headline, renderLedger } from '../../src/report/comment.ts';
import { renderSummary } from '../../src/report/summary.ts';

const TURN: LedgerTurn = {
  key: 'run:1',
  by: null,
  prompt: 'Go.',
  delivery: 'sent',
  result: 'sent',
  confirmed: null,
  prLinkChange: 'none',
  reason: '',
  startedAt: '2026-11-21T12:00:00.000Z',
  sentAt: null,
  elapsedSeconds: null,
  base: null,
  evidence: false,
  runId: '7',
  runAttempt: '1',
};
const JOB: LedgerJob = {
  id: 'job-1',
  status: null,
  model: null,
  repository: null,
  ref: null,
  prLink: null,
  turns: [TURN],
};

describe('headline', () => {
  type Turn = Parameters<typeof headline>[0];
  const plain: Turn = { result: null, delivery: 'sent', confirmed: null, prLinkChange: 'none' };

  it.each<[Outcome | null, Partial<Turn>, string | null, string]>([
    [null, {}, null, 'Sent, the agent is working'],
    [null, { delivery: 'sending' }, null, 'The message is being sent'],
    ['completed', { confirmed: true }, null, 'Completed, no files changed'],
    ['completed', { prLinkChange: 'created' }, null, 'Completed, pull request created'],
    ['completed', { prLinkChange: 'updated' }, null, 'Completed, pull request updated'],
    ['completed', { confirmed: false }, null, 'Completed, unconfirmed'],
    ['failed', { confirmed: true }, null, 'Failed'],
    ['failed', { confirmed: false }, null, 'Failed, possibly the earlier turn'],
    ['archived', {}, null, 'Archived'],
    ['timed-out', { delivery: 'not-sent' }, null, 'Not sent in time'],
    ['timed-out', {}, 'active', 'Still working when the wait ended'],
    ['timed-out', {}, null, 'Still working when the wait ended'],
    ['timed-out', {}, 'completed', 'Not confirmed when the wait ended'],
    ['active', {}, null, 'The agent is working'],
    ['sent', {}, null, 'Sent'],
    ['skipped', {}, null, 'Skipped'],
    ['cancelled', {}, null, 'Stopped watching; the agent goes on'],
    ['cancelled', { delivery: 'not-sent' }, null, 'Cancelled before the message was sent'],
    ['error', {}, null, 'Sent, but the job can no longer be watched'],
    ['error', { delivery: 'not-sent' }, null, 'Not sent'],
    ['error', { delivery: 'unknown' }, null, 'The message may or may not have been delivered'],
  ])('%s, %j, %s: %s', (result, turn, status, words) => {
    expect(headline({ ...plain, ...turn, result }, status)).toBe(words);
  });
});

describe('the comment', () => {
  const site = { serverUrl: 'https://github.com', repository: 'octo/agents' };
  const render = (job: Partial<LedgerJob>, turn: Partial<LedgerTurn> = {}) =>
    renderLedger(
      { projectId: 'p', jobs: [{ ...JOB, turns: [{ ...TURN, ...turn }], ...job }] },
      site,
    );

  it('of a job without any turn is its name and facts', () => {
    expect(render({ turns: [], model: 'opus' })).toBe('### Agent job `job-1`\n\n`opus`');
  });

  it.each([
    ['https://github.com/octo/docs.git', 'main', '`octo/docs@main`'],
    ['https://github.com/octo/docs', null, '`octo/docs`'],
  ])('names the source %s, %s: %s', (repository, ref, shown) => {
    expect(render({ turns: [], repository, ref })).toContain(`\n\n${shown}`);
  });

  it.each([
    ['nobody in particular', { by: null }, '**Sent** · [run]'],
    ['somebody', { by: 'alice' }, '**Sent** · asked by `alice` · [run]'],
  ])('names %s who asked', (_, turn, words) => {
    expect(render({}, turn)).toContain(words);
  });
});

describe('the summary', () => {
  const parts = { results: [], problem: '', commentUrls: [], unwrittenComment: '' };
  const at = (second: number) => new Date(Date.UTC(2026, 10, 21, 12) + second * 1000);
  const result = (more: Partial<JobResult>): JobResult => ({
    ...unknownJob('job-1', { delivery: 'sent', result: 'sent', reason: '' }),
    ...more,
  });

  it('that would be too large for the runner keeps the result', () => {
    const text = renderSummary({
      ...parts,
      results: [result({ status: 'active' })],
      unwrittenComment: '\u{1f680}'.repeat(300_000),
    });
    expect(text).toMatch(
      /^## Agent follow-up\n+\*\*Sent\*\*\n\n\| Job \| `job-1` \|\n\| :-- \| :-- \|.*\n$/s,
    );
    expect(text).toContain('| Status | `active` |');
    expect(text).not.toContain('\u{1f680}');
  });

  it('that is just small enough is whole', () => {
    const text = renderSummary({ ...parts, unwrittenComment: 'x'.repeat(900_000) });
    expect(Buffer.byteLength(text)).toBeGreaterThan(900_000);
  });

  it('holds no word in its timeline that Mermaid would take as syntax', () => {
    const milestones = [
      { at: at(0), what: 'end' },
      { at: at(2), what: 'a: b; c#d\n' },
      { at: at(8), what: 'constructor' },
    ];
    const [from, mid, to = 0] = milestones.map((one) => one.at.getTime());
    expect(renderSummary({ ...parts, results: [result({ milestones })] })).toContain(
      [
        '    section job-1',
        `    _end : ${from}, ${mid}`,
        `    a_b_c_d_ : ${mid}, ${to}`,
        `    constructor : ${to}, ${to + 1000}`,
        '```',
      ].join('\n'),
    );
  });

  it.each([
    [30, ''],
    [31, 'The timeline shows the first 30 of 31 jobs.'],
  ])('shows 30 jobs in its timeline, of %i, and says so: %j', (count, words) => {
    const milestones = [
      { at: at(0), what: 'sent' },
      { at: at(8), what: 'completed' },
    ];
    const results = Array.from({ length: count }, (_, n) =>
      result({ jobId: `job-${n}`, milestones }),
    );
    const text = renderSummary({ ...parts, results });
    expect(text.match(/^ {4}section /gm)).toHaveLength(30);
    expect(text.slice(text.lastIndexOf('```') + 3).trim()).toBe(words);
  });

  it('has a row for each job that got a message, and a short bar for its end', () => {
    const job = (jobId: string, word: Outcome, seconds: readonly (readonly [number, string])[]) =>
      result({
        jobId,
        result: word,
        milestones: seconds.map(([second, what]) => ({ at: at(second), what })),
      });
    const zero = at(0).getTime();
    const text = renderSummary({
      ...parts,
      results: [
        job('a', 'completed', [
          [0, 'completed'],
          [0.5, 'sent'],
          [10, 'active'],
          [40, 'completed'],
          [40, 'completed'],
        ]),
        job('longer-id', 'failed', [
          [0, 'sent'],
          [5, 'active'],
          [80, 'failed'],
        ]),
        job('not-sent', 'skipped', [
          [0, 'active'],
          [0.1, 'skipped'],
        ]),
      ],
    });
    expect(text).toContain('\n    leftPadding: 87\n');
    expect(text.split('\n').filter((line) => / : |section/.test(line))).toEqual([
      '    section longer-id',
      `    sent : ${zero}, ${zero + 5000}`,
      `    active : active, ${zero + 5000}, ${zero + 80_000}`,
      `    failed : crit, ${zero + 80_000}, ${zero + 90_000}`,
      '    section a',
      `    sent : ${zero + 500}, ${zero + 10_000}`,
      `    active : active, ${zero + 10_000}, ${zero + 40_000}`,
      `    completed : done, ${zero + 40_000}, ${zero + 50_000}`,
    ]);
  });

  it('has no timeline where nothing took any time', () => {
    const milestones = ['sent', 'active', 'sent'].map((what) => ({ at: at(0), what }));
    expect(renderSummary({ ...parts, results: [result({ milestones })] })).not.toContain('gantt');
  });

  it.each([
    [['https://github.com/o/r/pull/7#issuecomment-1'], '[Comment on the conversation]('],
    [
      ['https://github.com/o/r/pull/10#issuecomment-1', 'https://github.com/o/r/issues/8#i-2'],
      'Comments: [#8](https://github.com/o/r/issues/8#i-2), [#10](https://github.com/o/r/pull/10#',
    ],
  ])('links to the comments %j', (commentUrls, words) => {
    expect(renderSummary({ ...parts, commentUrls })).toContain(words);
  });
});
