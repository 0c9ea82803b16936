import { describe, expect, it } from 'vitest';
import type { LedgerJob } from '../../src/memory/ledger.ts';
import { headline, renderLedger } from '../../src/report/comment.ts';
import { renderSummary } from '../../src/report/summary.ts';
import type { JobState, Turn, TurnResult } from '../../src/turn.ts';
import { job, ledger, record, START, state, turn } from './record.ts';

describe('headline', () => {
  const open = { endedAt: null };

  it.each<[TurnResult, Partial<Turn>, string | null, string]>([
    ['sent', open, null, 'Sent, the agent is working'],
    ['error', { ...open, delivery: 'sending' }, null, 'The message is being sent'],
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
    ['cancelled', {}, null, 'Stopped watching; the agent keeps working'],
    ['cancelled', { delivery: 'not-sent' }, null, 'Cancelled before the message was sent'],
    ['error', {}, null, 'Sent, but the job can no longer be watched'],
    ['error', { delivery: 'not-sent' }, null, 'Not sent'],
    ['error', { delivery: 'unknown' }, null, 'The message may or may not have been delivered'],
  ])('%s, %j, %s: %s', (result, parts, status, words) => {
    expect(headline(turn({ prLinkChange: 'none', ...parts, result }), status)).toBe(words);
  });
});

describe('the comment', () => {
  const site = { serverUrl: 'https://github.com', repository: 'octo/agents' };
  const render = (of: Partial<LedgerJob>, parts: Partial<Turn> = {}) =>
    renderLedger(ledger({ ...job('job-1', turn(parts)), ...of }), site);

  it('of a job without any turn is its name and facts', () => {
    expect(render({ turns: [], record: record({ model: 'opus' }) })).toBe(
      '### Agent job `job-1`\n\n`opus`',
    );
  });

  it.each([
    ['https://github.com/octo/docs.git', 'main', '`octo/docs@main`'],
    ['https://github.com/octo/docs', null, '`octo/docs`'],
  ])('names the source %s, %s: %s', (repository, ref, shown) => {
    const seen = record({ model: null, source: { repository, ref } });
    expect(render({ turns: [], record: seen })).toContain(`\n\n${shown}`);
  });

  it.each([
    ['nobody in particular', { by: null }, '**Sent** · [run]'],
    ['somebody', { by: 'alice' }, '**Sent** · asked by `alice` · [run]'],
  ])('names %s who asked', (_, parts, words) => {
    expect(render({}, parts)).toContain(words);
  });
});

describe('of a message that somebody else had', () => {
  const site = { serverUrl: 'https://github.com', repository: 'octo/agents' };
  const taken = turn({ delivery: 'not-sent', result: 'skipped' });

  it('the comment says nothing', () => {
    const older = turn({ mark: 'older', prompt: 'Older.' });
    const text = renderLedger(ledger(job('a', taken, older)), site);
    expect(text).not.toMatch(/Skipped|earlier message/);
    expect(text).toContain('Older.');
  });

  it.each([
    ['it', ledger(job('a', taken), job('b', taken))],
    ['a job of which nothing is known', ledger(job('a'))],
    ['nothing', ledger()],
  ])('a comment with nothing but %s is no riddle', (_, of) => {
    expect(renderLedger(of, site)).toBe('No message was sent to an agent.');
  });
});

describe('the summary', () => {
  const parts = { states: [], problem: '', commentUrls: [], unwrittenComment: '' };
  const at = (second: number) => START + second * 1000;

  it('that would be too large for the runner keeps the result', () => {
    const text = renderSummary({
      ...parts,
      states: [state({ record: record({ status: 'active' }) })],
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
    const timeline = [
      { at: at(0), what: 'end' },
      { at: at(2), what: 'a: b; c#d\n' },
      { at: at(8), what: 'constructor' },
    ];
    const [from, mid, to = 0] = timeline.map((one) => one.at);
    expect(renderSummary({ ...parts, states: [state({ timeline })] })).toContain(
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
    const timeline = [
      { at: at(0), what: 'sent' },
      { at: at(8), what: 'completed' },
    ];
    const states = Array.from({ length: count }, (_, n) => state({ jobId: `job-${n}`, timeline }));
    const text = renderSummary({ ...parts, states });
    expect(text.match(/^ {4}section /gm)).toHaveLength(30);
    expect(text.slice(text.lastIndexOf('```') + 3).trim()).toBe(words);
  });

  it('has a row for each job that got a message, and a short bar for its end', () => {
    type Mark = readonly [second: number, what: string];
    function job(jobId: string, result: TurnResult, marks: readonly Mark[]): JobState {
      const timeline = marks.map(([second, what]) => ({ at: at(second), what }));
      return state({ jobId, timeline }, { result });
    }
    const zero = at(0);
    const text = renderSummary({
      ...parts,
      states: [
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
    const timeline = ['sent', 'active', 'sent'].map((what) => ({ at: at(0), what }));
    expect(renderSummary({ ...parts, states: [state({ timeline })] })).not.toContain('gantt');
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
