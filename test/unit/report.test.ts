import { describe, expect, it } from 'vitest';
import type { Ledger, LedgerJob } from '../../src/memory/ledger.ts';
import { ours, sentence } from '../../src/reason.ts';
import { renderLedger } from '../../src/report/comment.ts';
import { renderSummary } from '../../src/report/summary.ts';
import type { JobState, Turn, TurnResult } from '../../src/turn.ts';
import { record, START, state, turn } from './record.ts';

const SITE = { repositoryUrl: 'https://github.com/octo/agents' };
const PULL = 'https://github.com/octo/docs/pull/12';
const LOG = '[log](https://github.com/octo/agents/actions/runs/1)';
const WORKING = { endedAt: null, sentAt: START } as const;
const SENDING = { endedAt: null, delivery: 'sending' } as const;
const SENDING_ICON = '<span aria-hidden="true">⏳</span>';

function job(turns: readonly Turn[], parts: Partial<LedgerJob> = {}): LedgerJob {
  return { id: 'job-1', record: null, turns, ...parts };
}

function show(jobs: readonly LedgerJob[], parts: Partial<Ledger> = {}): readonly string[] {
  return renderLedger({ jobs, trimmed: null, ...parts }, SITE).split('\n\n');
}

describe('the comment for one job', () => {
  it('has the result, then the links, the prompt and the details of the job', () => {
    const parts = { by: 'alice', sentAt: START, endedAt: START + 744_000, prompt: 'Say more.' };
    const polled = record({
      prLink: PULL,
      source: { repository: 'https://github.com/octo/docs.git', ref: 'agent/fix' },
    });
    const completed = { result: 'completed', confirmed: true, prLinkChange: 'updated' } as const;
    expect(show([job([turn({ ...parts, ...completed })], { record: polled })])).toEqual([
      '### <span aria-hidden="true">✅</span> Agent completed: pull request updated',
      `[octo/docs#12](${PULL}) · 12 min 24 s · asked by \`alice\` · ${LOG}`.replace(
        /^\S+/,
        '**$&**',
      ),
      '`Say more.`',
      '<sub>Job `job-1` · `sonnet` · `octo/docs@agent/fix` · 2026-11-21 12:00 UTC</sub>',
    ]);
  });

  it('begins with the user and the prompt if it is new, for the email', () => {
    expect(show([job([turn({ ...SENDING, by: 'alice', prompt: 'Say more.' })])])).toEqual([
      `### ${SENDING_ICON} \`alice\` asked the agent: \`Say more.\``,
      `started 12:00 UTC · ${LOG}`,
      '<sub>Job `job-1` · 2026-11-21 12:00 UTC</sub>',
    ]);
  });

  it.each([
    ['is long', 'x'.repeat(130), `\`${'x'.repeat(119)}…\``, `\`${'x'.repeat(130)}\``],
    ['has lines', 'One.\nTwo.', '`One. Two.`', '```text\nOne.\nTwo.\n```'],
  ])('shows the prompt again below if it is new and the prompt %s', (_, prompt, title, quoted) => {
    const [heading, , below] = show([job([turn({ ...SENDING, prompt })])]);
    expect(heading).toBe(`### ${SENDING_ICON} The agent got a message: ${title}`);
    expect(below).toBe(quoted);
  });

  it('shows when the agent started, not how long it has worked', () => {
    const [heading, details] = show([job([turn(WORKING)])]);
    expect(heading).toBe(`### ${SENDING_ICON} Agent is working`);
    expect(details).toBe(`started 12:00 UTC · ${LOG}`);
  });

  it.each([0, 400])('does not show a time of %i ms', (ms) => {
    const [, details] = show([
      job([turn({ result: 'failed', sentAt: START, endedAt: START + ms })]),
    ]);
    expect(details).toBe(LOG);
  });

  it('shows the reason as a sentence, only after the turn has ended', () => {
    const reason = sentence`The agent failed on job ${'job-1'}.`;
    const failed = turn({ result: 'failed', reason });
    expect(show([job([failed])])).toContain('The agent failed on job `job-1`.');
    expect(show([job([{ ...failed, ...WORKING }])]).join()).not.toContain('failed');
  });

  it('shows at most 12 lines of a prompt, with a note', () => {
    const prompt = Array.from({ length: 13 }, (_, n) => `line ${n + 1}`).join('\n');
    const [, , quoted, note] = show([job([turn({ prompt })])]);
    expect(quoted?.split('\n')).toHaveLength(14);
    expect(quoted).toMatch(/\nline 12\n```$/);
    expect(note).toBe('<sub>Only the first 12 lines are shown.</sub>');
  });

  it('shows the last status if no message was sent', () => {
    expect(show([job([], { record: record({ status: 'active', prLink: PULL }) })])).toEqual([
      `### ${SENDING_ICON} Agent is working`,
      `**[octo/docs#12](${PULL})**`,
      'No message was sent to it.',
      '<sub>Job `job-1` · `sonnet`</sub>',
    ]);
  });

  it('lists earlier messages, one per line, with no result that was not polled', () => {
    const earlier = [
      turn({ result: 'failed', by: 'alice', prompt: 'x'.repeat(80), attempt: 2 }),
      turn(WORKING),
    ];
    const [fold, list] = show([job([turn(), ...earlier])]).slice(-3);
    expect(fold).toBe('<details>\n<summary>2 earlier messages</summary>');
    expect(list?.split('\n')).toEqual([
      `- <span aria-hidden="true">❌</span> failed · \`${'x'.repeat(49)}…\` · \`alice\` · 2026-11-21 · ` +
        '[log](https://github.com/octo/agents/actions/runs/1/attempts/2)',
      `- <span aria-hidden="true">📨</span> sent · \`Go.\` · 2026-11-21 · ${LOG}`,
    ]);
  });

  it('does not show a message that another run sends', () => {
    const withdrawn = turn({ result: 'skipped', delivery: 'not-sent' });
    expect(show([job([withdrawn])])).toEqual(['No message was sent to an agent.']);
    expect(show([job([turn(), withdrawn])]).join()).not.toContain('earlier');
  });

  it('has a note if older messages were removed', () => {
    expect(show([job([turn()])], { trimmed: '1' }).at(-1)).toBe(
      '<sub>Older messages were removed from this comment for lack of room.</sub>',
    );
  });

  it.each([
    ['https://gitlab.com/a/b/c/-/merge_requests/7', 'a/b/c!7'],
    ['https://bitbucket.org/a/b/pull-requests/7', 'a/b#7'],
    ['https://github.com/_a_/b/pull/7', '\\_a\\_/b#7'],
  ])('names the pull request %s: %s', (prLink, label) => {
    const [, details] = show([job([turn()], { record: record({ prLink }) })]);
    expect(details).toContain(`**[${label}](${prLink})** · `);
  });

  it('leaves out a link that someone added to the data', () => {
    const polled = record({ prLink: 'https://evil.example/?x=(y)' });
    expect(show([job([turn()], { record: polled })]).join()).not.toContain('evil');
  });
});

describe('the comment for several jobs', () => {
  const row = (id: string, parts: Partial<Turn>, polled = record({ prLink: PULL })): LedgerJob =>
    job([turn(parts)], { id, record: polled });
  const failed = { result: 'failed', sentAt: START, endedAt: START + 474_000 } as const;

  it('has the counts, the prompt once, and a table of the jobs, the worst first', () => {
    const reason = sentence`The agent failed on job ${'b'}.`;
    const jobs = [row('a', { by: 'alice' }), row('b', { ...failed, by: 'alice', reason })];
    expect(show(jobs)).toEqual([
      '### <span aria-hidden="true">❌</span> 1 of 2 agent jobs failed',
      `1 failed · 1 sent · asked by \`alice\` · ${LOG}`,
      '`Go.`',
      [
        '| Result | Link | Time | Job |',
        '| --- | --- | --- | --- |',
        `| <span aria-hidden="true">❌</span>\u00a0failed | [#12](${PULL}) | 7\u00a0min\u00a054\u00a0s | \`b\` |`,
        `| <span aria-hidden="true">📨</span>\u00a0sent | [#12](${PULL}) |  | \`a\` |`,
      ].join('\n'),
      '- The agent failed on job `b`.',
    ]);
  });

  it('begins with the user and the prompt if it is new', () => {
    const jobs = ['a', 'b'].map((id) => row(id, { ...SENDING, by: 'alice' }));
    const [heading, details] = show(jobs);
    expect(heading).toBe(`### ${SENDING_ICON} \`alice\` asked 2 agent jobs: \`Go.\``);
    expect(details).toBe(`started 12:00 UTC · ${LOG}`);
  });

  it('has columns for the prompt and the log if they differ', () => {
    const other = { prompt: 'Stop.', runId: '2', by: 'bob', startedAt: START + 60_000 };
    const far = record({ prLink: 'https://github.com/octo/site/pull/3' });
    const [heading, details, table] = show([
      row('a', WORKING),
      row('b', { ...WORKING, ...other }, far),
    ]);
    expect(heading).toBe(`### ${SENDING_ICON} 0 of 2 agent jobs done`);
    expect(details).toBe('2 working');
    expect(table?.split('\n')).toEqual([
      '| Result | Link | Time | Job | Prompt | Log |',
      '| --- | --- | --- | --- | --- | --- |',
      `| ${SENDING_ICON}\u00a0working | [octo/docs#12](${PULL}) | started\u00a012:00\u00a0UTC | \`a\` | \`Go.\` | ${LOG} |`,
      `| ${SENDING_ICON}\u00a0working | [octo/site#3](https://github.com/octo/site/pull/3) | ` +
        `started\u00a012:01\u00a0UTC | \`b\` | \`Stop.\` | ${LOG.replace('runs/1', 'runs/2')} |`,
    ]);
  });

  it('shows the same reason only once', () => {
    const reasonOf = (id: string) => sentence`Job ${id} was archived.`;
    const jobs = ['a', 'b', 'c'].map((id) => row(id, { result: 'archived', reason: reasonOf(id) }));
    const other = row('d', { result: 'cancelled', reason: ours('It was cancelled.') });
    expect(show([...jobs, other]).at(-1)).toBe(
      '- `d`: It was cancelled.\n- Job `a` (and 2 more) was archived.',
    );
  });

  it('includes jobs without a message', () => {
    const [heading, details] = show([row('a', failed), job([], { id: 'b', record: record() })]);
    expect(heading).toBe('### <span aria-hidden="true">❌</span> 1 of 2 agent jobs failed');
    expect(details).toBe(`1 failed · 1 completed · ${LOG}`);
  });

  it('does not show when the agent started on a job without a message', () => {
    const active = job([], { id: 'b', record: record({ status: 'active' }) });
    expect(show([row('a', failed), active])[1]).toBe(`1 failed · 1 working · ${LOG}`);
  });

  it.each([10, 11])('folds %i jobs that need no attention, if there are more than 10', (count) => {
    const jobs = Array.from({ length: count }, (_, n) => row(`job-${n}`, { result: 'completed' }));
    const text = show([row('x', failed), ...jobs]).join('\n\n');
    const [open = '', folded = ''] = text.split('<details>');
    expect(open.match(/`job-\d+`/g) ?? []).toHaveLength(count > 10 ? 0 : count);
    expect(folded.match(/`job-\d+`/g) ?? []).toHaveLength(count > 10 ? count : 0);
    expect(folded.includes('<summary>11 completed</summary>')).toBe(count > 10);
  });
});

describe('the job summary', () => {
  const parts = { states: [], commentUrls: [] };
  const at = (second: number) => START + second * 1000;

  it('for one job has the result, and then the details', () => {
    const source = { repository: 'https://github.com/octo/docs', ref: null };
    const reason = sentence`The agent failed on job ${'job-1'}.`;
    const polled = record({ prLink: PULL, source });
    const ended = { sentAt: START, endedAt: at(0.4), confirmed: true, by: 'alice' } as const;
    const states = [state({ record: polled, polls: 7 }, { result: 'failed', reason, ...ended })];
    expect(renderSummary({ ...parts, states })).toBe(
      [
        '## <span aria-hidden="true">❌</span> Agent failed',
        `**[octo/docs#12](${PULL})** · asked by \`alice\``,
        'The agent failed on job `job-1`.',
        [
          '| Job | `job-1` |',
          '| :-- | :-- |',
          '| Message | delivered |',
          '| Confirmed | yes |',
          '| Model | `sonnet` |',
          '| Source | `octo/docs` |',
          '',
        ].join('\n'),
      ].join('\n\n'),
    );
  });

  it('with send: false does not mention a message', () => {
    const states = [state({ isReadOnly: true }, { result: 'active', by: 'alice' })];
    expect(renderSummary({ ...parts, states })).toBe(
      `## ${SENDING_ICON} Agent is working\n\n| Job | \`job-1\` |\n| :-- | :-- |\n`,
    );
  });

  it.each([20, 21])('for several jobs folds %i completed ones if more than 20', (count) => {
    const states = Array.from({ length: count }, (_, n) =>
      state({ jobId: `job-${n}` }, { result: 'completed' }),
    );
    const text = renderSummary({ ...parts, states });
    expect(text).toMatch(
      new RegExp(`^## <span aria-hidden="true">✅</span> ${count} agent jobs completed\n`),
    );
    expect(text.includes('<summary>21 completed</summary>')).toBe(count > 20);
    expect(text.match(/\| `job-\d+` \|/g)).toHaveLength(count);
  });

  it('has the error if no job was started', () => {
    expect(renderSummary({ ...parts, problem: sentence`wait is ${'x|y'}.` })).toBe(
      '## <span aria-hidden="true">⚠️</span> Nothing was sent\n\nwait is `x¦y`.\n',
    );
  });

  it('keeps the result if the rest is too large for the runner', () => {
    const text = renderSummary({
      ...parts,
      states: [state({ record: record({ status: 'active' }) })],
      unwrittenComment: '\u{1f680}'.repeat(300_000),
    });
    expect(text).toMatch(/^## .+ Message sent to the agent\n\n\| Job \| `job-1` \|\n/);
    expect(text).not.toContain('\u{1f680}');
  });

  it('is complete if it is just small enough', () => {
    const text = renderSummary({ ...parts, unwrittenComment: 'x'.repeat(900_000) });
    expect(Buffer.byteLength(text)).toBeGreaterThan(900_000);
  });

  it('is small enough for 500 jobs with the longest texts', () => {
    const states = Array.from({ length: 500 }, (_, n) => {
      const prLink = `https://github.com/o/${'r'.repeat(440)}/pull/${n}`;
      const jobId = `${'j'.repeat(250)}${n}`;
      return state(
        { jobId, record: record({ prLink }) },
        { reason: sentence`${'あ'.repeat(2000)}${jobId}` },
      );
    });
    const text = renderSummary({ ...parts, states });
    expect(Buffer.byteLength(text)).toBeLessThan(1_000_000);
    expect(text).toMatch(/\n\d+ more jobs are not shown for lack of room: \d+ sent\.\n/);
  });

  it.each([
    [['https://github.com/o/r/pull/7#issuecomment-1'], 'Comment: [#7]('],
    [
      ['https://github.com/o/r/pull/10#issuecomment-1', 'https://github.com/o/r/issues/8#i-2'],
      'Comments: [#8](https://github.com/o/r/issues/8#i-2), [#10](https://github.com/o/r/pull/10#',
    ],
  ])('links to the comments %j', (commentUrls, words) => {
    expect(renderSummary({ ...parts, commentUrls })).toContain(words);
  });

  describe('with a timeline', () => {
    const timed = (jobId: string, result: TurnResult, from: number, to: number): JobState =>
      state({ jobId }, { result, sentAt: at(from), endedAt: at(to) });
    const barsOf = (states: readonly JobState[]): readonly string[] =>
      renderSummary({ ...parts, states })
        .split('\n')
        .filter((line) => / : |section |leftPadding|tickInterval|axisFormat/.test(line))
        .map((line) => line.trim());

    it('has one bar per job from the message to the end, in the color of the result, the worst first', () => {
      const cancelled = timed('c', 'cancelled', 0, 60);
      const bars = barsOf([
        timed('a', 'completed', 0.5, 40),
        timed('longer-id', 'failed', 0, 80),
        cancelled,
        state({ jobId: 'not-sent' }, { result: 'skipped', delivery: 'not-sent' }),
        timed('at-once', 'sent', 0, 0),
      ]);
      expect(bars).toEqual([
        'leftPadding: 87',
        'axisFormat %H:%M:%S',
        'tickInterval 30second',
        'section longer-id',
        `failed : crit, ${at(0)}, ${at(80)}`,
        'section c',
        `cancelled : active, ${at(0)}, ${at(60)}`,
        'section a',
        `completed : done, ${at(0.5)}, ${at(40)}`,
      ]);
    });

    it('has bars from the first poll for jobs without a message', () => {
      const turnParts = { result: 'completed', delivery: 'not-sent', endedAt: at(11) } as const;
      const polled = state({ isReadOnly: true, firstSeenAt: at(1) }, turnParts);
      expect(barsOf([polled])).toContain(`completed : done, ${at(1)}, ${at(11)}`);
    });

    it.each([
      [2, '1second', '%H:%M:%S'],
      [240, '1minute', '%H:%M'],
      [3600, '30minute', '%H:%M'],
      [500_000, '1day', '%H:%M'],
    ])('has few ticks for %i s: %s', (seconds, tick, format) => {
      expect(barsOf([timed('a', 'completed', 0, seconds)])).toEqual(
        expect.arrayContaining([`tickInterval ${tick}`, `axisFormat ${format}`]),
      );
    });

    it.each([
      [20, ''],
      [21, 'The timeline shows 20 of 21 jobs.'],
    ])('shows 20 of %i jobs, with a note: %j', (count, words) => {
      const states = Array.from({ length: count }, (_, n) => timed(`job-${n}`, 'completed', 0, 9));
      const text = renderSummary({ ...parts, states });
      expect(text.match(/^ {4}section /gm)).toHaveLength(20);
      expect(text.slice(text.lastIndexOf('```') + 3).trim()).toBe(words);
    });

    it('contains no word that Mermaid would parse as syntax, and no long word', () => {
      const states = ['end', 'a: b; c#d\n', 'x'.repeat(40)].map((id) => timed(id, 'failed', 0, 9));
      expect(barsOf(states).filter((line) => line.startsWith('section'))).toEqual([
        'section _end',
        'section a_b_c_d_',
        `section ${'x'.repeat(18)}..`,
      ]);
    });

    it.each([
      [0, false],
      [0.9, false],
      [1, true],
    ])('is shown for %d s: %s', (seconds, isShown) => {
      const text = renderSummary({ ...parts, states: [timed('a', 'completed', 0, seconds)] });
      expect(text.includes('gantt')).toBe(isShown);
    });
  });
});
