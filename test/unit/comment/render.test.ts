import { describe, expect, it } from 'vitest';
import {
  logLink,
  renderFor,
  renderProblem,
  renderStory,
  renderUsage,
  type Story,
} from '../../../src/comment/render.ts';
import { A_RUN } from '../../../src/job/explain.ts';
import {
  type Change,
  type Job,
  type JobRecord,
  NEW_JOB,
  type PlainCommits,
} from '../../../src/job/job.ts';
import { iconOf, type Label, titleOf, wordOf } from '../../../src/job/labels.ts';
import { toOutcome } from '../../../src/job/outcome.ts';
import { agentStop } from '../../../src/job/stop-reasons.ts';
import { ACTION_URL } from '../../../src/runner/network.ts';
import { ended, INFO, job, NOT_SENT, PULL, record, SENT, START, UNKNOWN } from '../record.ts';

const LIMIT = 60_000;
const DOUBT = { ...toOutcome(job(SENT), agentStop('completed'), A_RUN, true), explanation: '' };
const STORY: Story = {
  ...{ info: INFO, occasion: 'Asked by `alice`', prompt: 'Say more.', attached: '', message: '' },
  ...{ startedAt: START, command: null },
};
const LOG = '[log](https://github.com/octo/agents/actions/runs/1)';
const FOOT = `2026-11-21 12:00 UTC · [Agent Follow-up](${ACTION_URL})`;
const ANSWER =
  'Its answer, if it gave one, is in the [dashboard](https://app.mintlify.com): look for `job-1`.';
const OWN = 'https://github.com/octo/agents/pull/7';

/** The blocks of a comment on this pull request. */
function show(jobs: readonly Job[], story: Partial<Story> = {}, conversation = 1) {
  return renderStory({ ...STORY, ...story }, jobs, { conversation, limit: LIMIT }).split('\n\n');
}
function summaryOf(jobs: readonly Job[], story: Partial<Story>): string {
  return renderStory({ ...STORY, ...story }, jobs, { limit: LIMIT });
}
function icon(kind: Label): string {
  return `<span aria-hidden="true">${iconOf(kind)}</span>`;
}
function heading(kind: Label): string {
  return `### ${icon(kind)} ${titleOf(kind)}`;
}

describe('one job', () => {
  it('has its state, the links, the prompt and the details', () => {
    const done = ended(
      { confirmed: true },
      { record: record({ prLink: PULL }), endedAt: START + 744_000 },
    );
    expect(show([done])).toEqual([
      heading('completed'),
      `**[octo/docs#12](${PULL})** · 12\u00a0min\u00a024\u00a0s · ${LOG}`,
      '> `Say more.`',
      `<sub>Asked by \`alice\` · job \`job-1\` · ${FOOT}</sub>`,
    ]);
  });

  it('has no line of the log alone', () => {
    for (const [one, kind] of [
      [job(), 'sending'],
      [ended({}), 'completed'],
    ] as const) {
      expect(show([one])).toEqual([
        heading(kind),
        '> `Say more.`',
        `<sub>Asked by \`alice\` · job \`job-1\` · ${LOG} · ${FOOT}</sub>`,
      ]);
    }
  });

  it('says that a new job is one', () => {
    const base = { status: 'new' };
    const isNew = 'This starts a new job; the agent opens a pull request of its own.';
    for (const one of [
      job({ id: NEW_JOB }),
      job({ ...SENT, base }),
      ended({ result: 'sent' }, { base }),
    ]) {
      expect(show([one]).join()).toContain(isNew);
    }
    for (const one of [job(), job(SENT), ended({}, { base })]) {
      expect(show([one]).join()).not.toContain('new job');
    }
  });

  it('says until when the run waits, or that it does not', () => {
    const waits = 'This run waits until 2026-11-21 12:30 UTC.';
    const waiting = { until: START + 1_800_000 };
    for (const jobs of [[job()], [job(SENT)], [job(), job()]]) {
      expect(show(jobs, waiting)).toContain(waits);
      expect(show(jobs)).not.toContain(waits);
    }
    const unsent = `${waits} If the agent is not done by then, the message is not sent.`;
    expect(show([job({ isWaiting: true })], waiting)).toContain(unsent);
    expect(show([ended({ result: 'sent' })])).toContain('This run does not wait for the result.');
    expect(show([ended({}), ended({})], waiting)).not.toContain(waits);
  });

  it('says first what it is about while it is new', () => {
    const failure = '`CI` failed on 311411a';
    const story = { failure, occasion: `After ${failure}` };
    for (const jobs of [[job()], [job(SENT)], [job(), job()]]) {
      const [, ...shown] = show(jobs, story);
      expect(shown.slice(0, 2)).toEqual([failure, '> `Say more.`']);
      expect(shown.at(-1)).not.toContain('After');
    }
    expect(show([job()])[1]).toBe('> `Say more.`');
    const [, first, second] = show([ended({})], story);
    expect([first, second]).toEqual(['> `Say more.`', expect.stringContaining(`After ${failure}`)]);
  });

  it('says that a pull request is over, on which nothing can be reviewed', () => {
    for (const number of [7, 8]) {
      const story = { mergedOrClosed: { number, how: 'merged' as const } };
      const shown = show([linked(OWN, commits(3))], story, 7);
      expect(shown).toContain(`The request is about #${number}. It is merged.`);
      expect(shown.join().includes('Review changes')).toBe(number === 8);
    }
    expect(
      show([ended({}), ended({})], { mergedOrClosed: { number: 7, how: 'closed' } }),
    ).toContain('The request is about #7. It is closed.');
  });

  it('has no prompt and names nobody where there is none', () => {
    expect(show([ended({})], { occasion: '', prompt: '' }).slice(1)).toEqual([
      `<sub>job \`job-1\` · ${LOG} · ${FOOT}</sub>`,
    ]);
    // A re-run that goes on may have another prompt.
    const earlier = { message: { kind: 'sent', at: START, isEarlier: true } } as const;
    expect(show([ended({}, earlier)]).join()).not.toContain('Say more.');
    expect(show([ended({}, earlier), ended({})]).join()).toContain('Say more.');
  });

  it('says which message in a row it is, unless it was not sent', () => {
    const limit = { most: 3 };
    const print = (one: Job) => show([one], limit).at(-1);
    expect(print(ended({}, { nthInARow: 2 }))).toContain('job `job-1` · message 2 of 3 · ');
    expect(print(ended({}, { ...NOT_SENT, nthInARow: 2 }))).not.toContain('message');
    const [title] = show([ended({ result: 'skipped', label: 'limited' }, NOT_SENT)], limit);
    expect(title).toBe(heading('limited'));
  });

  const improve = 'Not right? Comment `/agent` and what to change.';
  const missing = 'Comment `/agent` and what is missing.';
  const tryAgain = 'Comment `/agent try again` to try again.';
  const beginAnew = 'Comment on a new issue to begin a new job.';
  const failed = { result: 'failed', explanation: 'It failed.' } as const;
  const unconfirmed = { explanation: 'Perhaps.', confirmed: false };

  it.each<[string, readonly Job[], string]>([
    ['completed', [ended({})], improve],
    ['done without a change', [ended({}, { change: { kind: 'none' } })], missing],
    ['unconfirmed, beside what happened', [ended(unconfirmed)], `Perhaps. ${improve}`],
    ['failed', [ended(failed)], `It failed. ${tryAgain}`],
    ['of a job that is over', [ended({ label: 'closed', explanation: 'So.' })], `So. ${beginAnew}`],
    ['archived', [ended({ result: 'archived', explanation: 'So.' })], `So. ${beginAnew}`],
    ['at work: nothing', [job(SENT)], ''],
    ['in doubt: nothing', [ended({ result: 'error' }, UNKNOWN)], ''],
    ['several of both: nothing', [ended({}), ended(failed)], ''],
  ])('says in a comment what to do next after a command: %s', (_, jobs, words) => {
    const story = { command: '/agent', createsJobs: true };
    const asks = /Not right|is missing|try again|new issue/;
    if (words === '') expect(show(jobs, story).join()).not.toMatch(asks);
    else expect(show(jobs, story)).toContain(words);
    expect(show(jobs).join()).not.toMatch(asks);
    // With “job-id”, a command on a new issue goes to the same job.
    expect(show(jobs, { command: '/agent' }).join()).not.toContain(beginAnew);
    expect(summaryOf(jobs, story)).not.toMatch(asks);
  });

  const of = (prLink: string): JobRecord => record({ prLink, prNumber: prLink === OWN ? 7 : null });
  const linked = (prLink: string, change?: Change, after = 60_000): Job =>
    ended({}, { record: of(prLink), ...(change && { change }), endedAt: START + after });
  const commits = (count: number | undefined): Change => ({
    ...{ kind: 'commits', count, before: 'a1', after: 'b2' },
  });
  const merge = (count: number): Change => ({ ...commits(count), told: 'a merge' }) as Change;
  const range = (url: string): string => `[Review changes](${url}/files/a1..b2)`;

  it.each<[string, Job, string]>([
    ['another pull request', linked(PULL), `**[octo/docs#12](${PULL})** · `],
    ['no time of less than a second', linked(PULL, undefined, 400), `** · ${LOG}`],
    ['the one that people are reading', linked(OWN), `[Review changes](${OWN}/files) · 1\u00a0min`],
    ['commits', linked(PULL, commits(3)), `** · ${range(PULL)} · `],
    ['nothing to review yet', job({ record: of(OWN) }), '> `Say more.`'],
  ])('links to what has changed: %s', (_, one, words) => {
    const [, links] = show([one], {}, 7);
    expect(links).toContain(words);
  });

  it.each<[string, Job, string]>([
    ['commits', linked(OWN, commits(3)), 'Agent pushed 3 commits'],
    ['this one', linked(OWN, { kind: 'created' }), 'Agent opened this pull request'],
    ['one elsewhere', linked(PULL, { kind: 'created' }), `Agent opened [octo/docs#12](${PULL})`],
    ['nothing new', linked(OWN, { kind: 'none' }), 'Agent finished: no new commit seen'],
    ['none', ended({}, { change: { kind: 'no-pull-request' } }), 'finished without a pull request'],
    ['what is not known', linked(OWN), titleOf('completed')],
    ['a doubt', { ...linked(OWN, commits(1)), end: DOUBT }, titleOf('unconfirmed')],
    ['an old failure', ended({ result: 'failed', confirmed: false }), 'failed, perhaps before'],
    ['a failure', ended({ result: 'failed' }, { change: commits(1) }), 'failed after pushing 1 '],
    ['no number', linked(OWN, commits(undefined)), 'Agent pushed'],
    ['a merge', linked(OWN, merge(1)), 'Agent pushed a merge'],
    ['more', linked(OWN, merge(3)), 'Agent pushed 3 commits, with a merge'],
    [
      'both',
      ended({ result: 'failed' }, { change: merge(1) }),
      'Agent failed after pushing a merge',
    ],
  ])('says in the title what the agent has done: %s', (_, one, words) => {
    const [title, ...others] = show([one], {}, 7);
    expect(title).toContain(words);
    // Complete, so that a new sentence cannot come without a test.
    const isAnswer = /no new commit|without a pull request/.test(words);
    const hasLinks = others[0]?.endsWith(LOG) === true;
    expect(others.slice(hasLinks ? 1 : 0)).toEqual([
      ...(isAnswer ? [ANSWER] : []),
      '> `Say more.`',
      `<sub>Asked by \`alice\` · job \`job-1\` · ${hasLinks ? '' : `${LOG} · `}${FOOT}</sub>`,
    ]);
  });

  const told: PlainCommits = {
    ...{ files: ['a.md'], untouched: new Map(), headlines: ['Say more'], authors: ['a'] },
  };
  const long = { headlines: ['x'.repeat(80), ...'bcdefg'], authors: ['a[bot]', 'anna', null] };
  const untouched = new Map([
    ['x.md', 2],
    ['y.md', 1],
  ]);

  it.each<[string, string, Partial<PlainCommits>, number | undefined, readonly string[]]>([
    ['one author', '1 commit', {}, 1, ['1 file: `a.md`.', '`Say more`']],
    [
      'many of all',
      '7 commits',
      { ...long, files: ['a.md', 'b|c.md', ...'defgh'], untouched },
      7,
      [
        '7 files: `a.md`, `b¦c.md`, `d`, `e`, `f` and 2 more. ' +
          'Not in these commits: `x.md` (2 comments) and `y.md` (1 comment).',
        `7 commits by \`a[bot]\`, \`anna\` and somebody: \`${'x'.repeat(71)}…\` · \`b\` · \`c\` · \`d\` · \`e\` and 2 more`,
      ],
    ],
    ['no number', '', { authors: ['a', 'b'] }, undefined, ['Commits by `a` and `b`: `Say more`']],
    ['what is hostile', '1 commit', { headlines: ['@bob `#1` \u202e|'] }, 1, ['``@bob `#1` ¦``']],
  ])(
    'names the files, the headlines and more than one author: %s',
    (_, title, parts, count, lines) => {
      const change = { ...commits(1), count, told: { ...told, ...parts } } as Change;
      for (const shown of [
        show([linked(OWN, change)], {}, 7),
        summaryOf([linked(OWN, change)], {}).split('\n\n'),
      ]) {
        expect(shown[0]).toMatch(RegExp(` Agent pushed ?${title}$`));
        expect(shown.slice(2, shown.indexOf('> `Say more.`'))).toEqual(
          expect.arrayContaining([...lines]),
        );
      }
    },
  );

  it.each<[string, Job, boolean]>([
    ['was sent', ended({}), true],
    ['may have been sent', ended({ result: 'error' }, UNKNOWN), true],
    ['was not sent', ended({ result: 'error' }, NOT_SENT), false],
    [
      'was sent in an earlier attempt',
      ended({}, { message: { ...SENT.message, isEarlier: true } }),
      false,
    ],
  ])('has the whole message in the summary, folded, if it %s', (_, one, isShown) => {
    const story = { ...STORY, message: '```\n</details>' };
    const summary = renderStory(story, [one], { limit: LIMIT });
    expect(summary.includes('<summary>The message (14 characters)</summary>')).toBe(isShown);
    expect(summary.includes('\n````text\n```\n</details>\n````\n')).toBe(isShown);
    expect(renderStory(story, [one], { limit: LIMIT, conversation: 7 })).not.toContain('<summary>');
    const long = renderStory({ ...story, message: 'x'.repeat(60_001) }, [one], { limit: LIMIT });
    expect(long.includes('(60001 characters, only the beginning)')).toBe(isShown);
  });

  it('has its links in one order, whatever its end', () => {
    for (const result of ['failed', 'completed'] as const) {
      const { end } = ended({ result });
      const one = { ...linked(PULL, commits(1)), ...(end && { end }) };
      const links = `**[octo/docs#12](${PULL})** · ${range(PULL)} · 1\u00a0min · ${LOG}`;
      expect(show([one], {}, 7)[1]).toBe(links);
    }
  });
});

describe('several jobs', () => {
  const at = (id: string, kind: 'failed' | 'completed' | 'skipped' | 'sent', ms = 0): Job => {
    const parts = { id, record: record({ prLink: PULL }), endedAt: START + ms };
    const end = { result: kind, explanation: kind === 'failed' ? 'It failed.' : '' };
    return ended(end, kind === 'skipped' ? { ...parts, ...NOT_SENT } : parts);
  };
  const working = (id: string): Job => job({ id, ...SENT });
  const linkTo12 = `[octo/docs#12](${PULL})`;

  it('have the prompt once, and an item for each result and reason, the worst first', () => {
    const other = ended({ result: 'failed', explanation: 'So.' }, { id: 'd' });
    expect(show([at('a', 'sent'), at('b', 'failed', 474_000), at('c', 'failed'), other])).toEqual([
      `### ${icon('failed')} 3 of 4 agent jobs need attention`,
      [
        `- ${icon('failed')} 2 ${wordOf('failed')}: ${linkTo12} and ${linkTo12}: It failed.`,
        `- ${icon('failed')} 1 ${wordOf('failed')}: \`d\`: So.`,
        `- ${icon('sent')} 1 ${wordOf('sent')}: ${linkTo12}`,
      ].join('\n'),
      '> `Say more.`',
      `<sub>Asked by \`alice\` · ${LOG} · ${FOOT}</sub>`,
    ]);
  });

  it.each<[string, readonly Job[], Label, string]>([
    [
      'one is bad',
      [at('a', 'failed'), at('b', 'sent')],
      'failed',
      '1 of 2 agent jobs needs attention',
    ],
    [
      'one is bad, one works',
      [at('a', 'failed'), working('b')],
      'working',
      '1 of 2 agent jobs needs attention so far',
    ],
    ['new', [job({ id: 'a' }), job({ id: 'b' })], 'sending', '2 agent jobs: sending'],
    [
      'at work',
      [working('a'), at('b', 'completed')],
      'working',
      '2 agent jobs: 1 working, 1 completed',
    ],
    [
      'completed',
      [at('a', 'completed'), at('b', 'completed')],
      'completed',
      '2 agent jobs: completed',
    ],
    ['all at work', [working('a'), working('b')], 'working', '2 agent jobs: working'],
    ['sent', [at('a', 'sent'), at('b', 'sent')], 'sent', '2 agent jobs: sent'],
  ])('have a heading: %s', (_, jobs, kind, words) => {
    expect(show(jobs)[0]).toBe(`### ${icon(kind)} ${words}`);
  });

  it('count what there is no room for', () => {
    const jobs = Array.from({ length: 60 }, (_, n) =>
      ended(
        { result: 'failed', explanation: `Reason ${n} ${'x'.repeat(50)}.` },
        { id: `job-${n}` },
      ),
    );
    const text = renderStory(STORY, jobs, { conversation: 1, limit: 3000 });
    expect(text.length).toBeLessThanOrEqual(3000);
    const [, hidden = ''] = /\n- Jobs not shown for lack of room: (\d+)\./.exec(text) ?? [];
    expect((text.match(/^- <span/gm) ?? []).length + Number(hidden)).toBe(60);
    const many = Array.from({ length: 60 }, (_, n) => ended({}, { id: `job-${n}` }));
    expect(show(many).join()).toMatch(/60 completed: `job-0`, .*, `job-19` and 40 more,/);
  });
});

it('logLink leads to the attempt', () => {
  expect(logLink({ ...INFO, attempt: 2 })).toBe(
    '[log](https://github.com/octo/agents/actions/runs/1/attempts/2)',
  );
});

it('renderFor mentions a person below the title, and nothing else', () => {
  const text = '### Title\n\nFirst.\n\nSecond.';
  expect(renderFor('mona', text)).toBe('### Title\n\n@mona\n\nFirst.\n\nSecond.');
  for (const login of ['', 'a b', '@all']) expect(renderFor(login, text)).toBe(text);
});

it('renderProblem and renderUsage answer a command, and never begin with one', () => {
  expect(renderProblem('wait is “x|y”.', INFO)).toBe(
    `${icon('not-sent')} Nothing was sent to the agent. wait is \`x¦y\`. · ${LOG}`,
  );
  expect(renderUsage('/a`b')).toMatch(
    /^Nothing was sent\. Write .* after ``\/a`b`` .*:\n\n```text\n\/a`b also/,
  );
});
