import { expect, it } from 'vitest';
import {
  ACTION_URL,
  addMention,
  type RunReport,
  renderProblem,
  renderReport,
  renderUsage,
} from '../../../src/comment/render.ts';
import { A_RUN } from '../../../src/job/explain.ts';
import {
  type Change,
  type JobRecord,
  type JobState,
  NEW_JOB,
  type Pushed,
} from '../../../src/job/job.ts';
import { LABELS, type Label } from '../../../src/job/labels.ts';
import { toOutcome } from '../../../src/job/outcome.ts';
import { agentStop } from '../../../src/job/stop-reasons.ts';
import { ended, INFO, job, NOT_SENT, PULL, record, SENT, START, UNKNOWN } from '../record.ts';

const LIMIT = 60_000;
const DOUBT = { ...toOutcome(job(SENT), agentStop('completed'), A_RUN, true), explanation: '' };
const REPORT: RunReport = {
  ...{ info: INFO, cause: 'Asked by `alice`', prompt: 'Say more.', attached: '', message: '' },
  ...{ startedAt: START, command: null },
};
const LOG = '[log](https://github.com/octo/agents/actions/runs/1)';
const FOOT = `2026-11-21 12:00 UTC · [Agent Follow-up](${ACTION_URL})`;
const PROMPT = '> `Say more.`';
const OWN = 'https://github.com/octo/agents/pull/7';

/** The blocks of a comment on the pull request #7. */
function show(jobs: readonly JobState[], story: Partial<RunReport> = {}) {
  const text = renderReport({ ...REPORT, ...story }, jobs, { conversation: 7, limit: LIMIT });
  return text.split('\n\n');
}
function summaryOf(jobs: readonly JobState[], story: Partial<RunReport> = {}): string {
  return renderReport({ ...REPORT, ...story }, jobs, { limit: LIMIT });
}
function icon(kind: Label): string {
  return `<span aria-hidden="true">${LABELS[kind].icon}</span>`;
}
function heading(kind: Label): string {
  return `### ${icon(kind)} ${LABELS[kind].title}`;
}
const of = (prLink: string): JobRecord => record({ prLink, prNumber: prLink === OWN ? 7 : null });
const linked = (prLink: string, change?: Change, after = 60_000): JobState =>
  ended({}, { record: of(prLink), ...(change && { change }), endedAt: START + after });
const RANGE = { kind: 'commits', before: 'a1', after: 'b2' } as const;
const commits = (count?: number): Change => ({ ...RANGE, count });
const merge = (count: number): Change => ({ ...commits(count), told: 'a merge' }) as Change;

it('one job has its state, the links, the prompt and the details', () => {
  const done = { record: record({ prLink: PULL }), endedAt: START + 744_000 };
  expect(show([ended({ confirmed: true }, done)])).toEqual([
    heading('completed'),
    `**[octo/docs#12](${PULL})** · 12\u00a0min\u00a024\u00a0s · ${LOG}`,
    PROMPT,
    `<sub>Asked by \`alice\` · job \`job-1\` · ${FOOT}</sub>`,
  ]);
  // No line of the log alone.
  expect(show([job()])).toEqual([
    heading('sending'),
    PROMPT,
    `<sub>Asked by \`alice\` · job \`job-1\` · ${LOG} · ${FOOT}</sub>`,
  ]);
});

const waits = 'This run waits until 2026-11-21 12:30 UTC.';
const until = START + 1_800_000;
const base = { status: 'new' };
const isNew = 'This starts a new job; the agent opens a pull request of its own.';
const unsent = 'If the agent is not done by then, the message is not sent.';
const goesOn = 'This run does not wait for the result.';
it.each<[string, readonly JobState[], Partial<RunReport>, string]>([
  ['a wait', [job(SENT)], { until }, waits],
  ['a busy agent', [job({ isWaiting: true })], { until }, `${waits} ${unsent}`],
  ['nothing without a wait', [job(SENT)], {}, ''],
  ['nothing at the end', [ended({}), ended({})], { until }, ''],
  ['a creation', [job({ id: NEW_JOB })], {}, isNew],
  ['a new job, without a wait', [ended({ result: 'sent' }, { base })], {}, `${isNew} ${goesOn}`],
  ['nothing of one that is done', [ended({}, { base })], {}, ''],
])('says what follows: %s', (_, jobs, story, words) => {
  const said = show(jobs, story).filter((block) => block.startsWith('This '));
  expect(said).toEqual(words === '' ? [] : [words]);
});

it('says first what it is about while it is new', () => {
  const failure = '`CI` failed on 311411a';
  const story = { failure, cause: `After ${failure}` };
  for (const jobs of [[job()], [job(SENT)]]) {
    expect(show(jobs, story).slice(1, 3)).toEqual([failure, PROMPT]);
    expect(show(jobs, story).at(-1)).not.toContain('After');
  }
  const cause = expect.stringContaining(`After ${failure}`);
  expect(show([ended({})], story).slice(1)).toEqual([PROMPT, cause]);
});

it('has no prompt and names nobody where there is none', () => {
  const print = `<sub>job \`job-1\` · ${LOG} · ${FOOT}</sub>`;
  expect(show([ended({})], { cause: '', prompt: '' })).toEqual([heading('completed'), print]);
  // A re-run that goes on may have another prompt.
  const earlier = { message: { kind: 'sent', at: START, isEarlier: true } } as const;
  expect(show([ended({}, earlier)])).not.toContain(PROMPT);
  expect(show([ended({}, earlier), ended({})])).toContain(PROMPT);
});

it('says which message in a row it is, unless it was not sent', () => {
  const print = (one: JobState) => show([one], { most: 3 }).at(-1);
  expect(print(ended({}, { nthInARow: 2 }))).toContain('job `job-1` · message 2 of 3 · ');
  expect(print(ended({}, { ...NOT_SENT, nthInARow: 2 }))).not.toContain('message');
});

const NO_CHANGE = { change: { kind: 'none' } } as const;
const improve = 'Not right? Comment `/agent` and what to change.';
const beginAnew = 'Comment on a new issue to begin a new job.';
const failed = { result: 'failed', explanation: 'It failed.' } as const;
it.each<[string, readonly JobState[], string]>([
  ['completed', [ended({})], improve],
  ['no change', [ended({}, NO_CHANGE)], 'Comment `/agent` and what is missing.'],
  ['a doubt', [ended({ explanation: 'So.', confirmed: false })], `So. ${improve}`],
  ['failed', [ended(failed)], 'It failed. Comment `/agent try again` to try again.'],
  ['over', [ended({ label: 'closed', explanation: 'So.' })], `So. ${beginAnew}`],
  ['in doubt: nothing', [ended({ result: 'error' }, UNKNOWN)], ''],
  ['several of both: nothing', [ended({}), ended(failed)], ''],
])('says in a comment what to do next after a command: %s', (_, jobs, words) => {
  const story = { command: '/agent', createsJobs: true };
  const asks = /Not right|is missing|try again|new issue/;
  if (words === '') expect(show(jobs, story).join()).not.toMatch(asks);
  else expect(show(jobs, story)).toContain(words);
  // With “job-id”, a command on a new issue goes to the same job.
  expect(show(jobs, { command: '/agent' }).join()).not.toContain(beginAnew);
  expect([show(jobs).join(), summaryOf(jobs, story)].join()).not.toMatch(asks);
});

it.each<[string, JobState, string]>([
  ['no time of less than a second', linked(PULL, undefined, 400), `(${PULL})** · ${LOG}`],
  ['this page', linked(OWN), `[Review changes](${OWN}/files) · 1\u00a0min · ${LOG}`],
  [
    'commits',
    linked(PULL, commits(3)),
    `**[octo/docs#12](${PULL})** · [Review changes](${PULL}/files/a1..b2) · 1\u00a0min · ${LOG}`,
  ],
  ['nothing to review yet', job({ record: of(OWN) }), PROMPT],
])('links to what has changed: %s', (_, one, words) => {
  expect(show([one])[1]).toContain(words);
});

it.each<[string, JobState, string]>([
  ['nothing new', linked(OWN, { kind: 'none' }), 'Agent finished: no new commit seen'],
  ['none', ended({}, { change: { kind: 'no-pull-request' } }), 'finished without a pull request'],
  ['a doubt', { ...linked(OWN, commits(1)), end: DOUBT }, LABELS.unconfirmed.title],
  ['a failure', ended({ result: 'failed' }, { change: commits(1) }), 'failed after pushing 1 '],
  ['a merge', linked(OWN, merge(1)), 'Agent pushed a merge'],
])('says in the title what the agent has done: %s', (_, one, words) => {
  const [title, ...others] = show([one]);
  expect(title).toContain(words);
  const answer =
    'Its answer, if it gave one, is in the [dashboard](https://app.mintlify.com): look for `job-1`.';
  expect(others.includes(answer)).toBe(/no new commit|without a pull request/.test(words));
});

type Told = Exclude<Pushed['told'], 'a merge' | undefined>;
const one = { files: ['a.md'], headlines: ['Say more'], authors: ['a'] };
const told: Told = { ...one, untouched: new Map() };
const many: Partial<Told> = {
  files: ['a.md', 'b|c.md', ...'defgh'],
  untouched: new Map([['x.md', 2]]),
  headlines: ['x'.repeat(80), ...'bcdefg'],
  authors: ['a[bot]', 'anna', null],
};
it.each<[string, Partial<Told>, number | undefined, readonly string[]]>([
  ['one author', {}, 1, ['1 file: `a.md`.', '`Say more`']],
  [
    'many of all',
    many,
    7,
    [
      '7 files: `a.md`, `b¦c.md`, `d`, `e`, `f` and 2 more. Not in these commits: `x.md` (2 comments).',
      `7 commits by \`a[bot]\`, \`anna\` and somebody: \`${'x'.repeat(71)}…\` · \`b\` · \`c\` · \`d\` · \`e\` and 2 more`,
    ],
  ],
  ['no number', { authors: ['a', 'b'] }, undefined, ['Commits by `a` and `b`: `Say more`']],
  ['what is hostile', { headlines: ['@bob `#1` \u202e|'] }, 1, ['``@bob `#1` ¦``']],
])('names the files, the headlines and more than one author: %s', (_, parts, count, lines) => {
  const change = { ...commits(1), count, told: { ...told, ...parts } } as Change;
  const shown = show([linked(OWN, change)]);
  expect(shown.slice(2, shown.indexOf(PROMPT))).toEqual(expect.arrayContaining([...lines]));
});

const byEarlier = { message: { ...SENT.message, isEarlier: true } };
it.each<[string, JobState, boolean]>([
  ['was sent', ended({}), true],
  ['may have been sent', ended({ result: 'error' }, UNKNOWN), true],
  ['was not sent', ended({ result: 'error' }, NOT_SENT), false],
  ['was sent in an earlier attempt', ended({}, byEarlier), false],
])('has the whole message in the summary, folded, if it %s', (_, one, isShown) => {
  const summary = summaryOf([one], { message: '```\n</details>' });
  expect(summary.includes('<summary>The message (14 characters)</summary>')).toBe(isShown);
  expect(summary.includes('\n````text\n```\n</details>\n````\n')).toBe(isShown);
  expect(show([one], { message: 'x' }).join()).not.toContain('<summary>');
  const long = summaryOf([one], { message: 'x'.repeat(60_001) });
  expect(long.includes('(60001 characters, only the beginning)')).toBe(isShown);
});

const at = (id: string, result: 'failed' | 'completed' | 'sent', explanation = ''): JobState =>
  ended({ result, explanation }, { id, record: record({ prLink: PULL }) });
const ONE = '1 of 2 agent jobs needs attention';
const working = (id: string): JobState => job({ id, ...SENT });

it('several jobs have an item for each result and reason, the worst first, and one prompt', () => {
  const other = ended({ result: 'failed', explanation: 'So.' }, { id: 'd' });
  const failed = ['b', 'c'].map((id) => at(id, 'failed', 'It failed.'));
  const linkTo12 = `[octo/docs#12](${PULL})`;
  expect(show([at('a', 'sent'), ...failed, other])).toEqual([
    `### ${icon('failed')} 3 of 4 agent jobs need attention`,
    [
      `- ${icon('failed')} 2 ${LABELS.failed.word}: ${linkTo12} and ${linkTo12}: It failed.`,
      `- ${icon('failed')} 1 ${LABELS.failed.word}: \`d\`: So.`,
      `- ${icon('sent')} 1 ${LABELS.sent.word}: ${linkTo12}`,
    ].join('\n'),
    PROMPT,
    `<sub>Asked by \`alice\` · ${LOG} · ${FOOT}</sub>`,
  ]);
});

it.each<[string, readonly JobState[], Label, string]>([
  ['bad', [at('a', 'failed'), at('b', 'sent')], 'failed', ONE],
  ['bad so far', [at('a', 'failed'), working('b')], 'working', `${ONE} so far`],
  ['at work', [working('a'), at('b', 'sent')], 'working', '2 agent jobs: 1 working, 1 sent'],
])('several jobs have a heading: %s', (_, jobs, kind, words) => {
  expect(show(jobs)[0]).toBe(`### ${icon(kind)} ${words}`);
});

it('several jobs count what there is no room for', () => {
  const jobs = Array.from({ length: 60 }, (_, n) =>
    ended({ result: 'failed', explanation: `For ${n} ${'x'.repeat(50)}.` }, { id: `job-${n}` }),
  );
  const text = renderReport(REPORT, jobs, { conversation: 1, limit: 3000 });
  expect(text.length).toBeLessThanOrEqual(3000);
  const [, hidden = ''] = /\n- Jobs not shown for lack of room: (\d+)\./.exec(text) ?? [];
  expect((text.match(/^- <span/gm) ?? []).length + Number(hidden)).toBe(60);
  const alike = jobs.map(({ id }) => ended({}, { id }));
  expect(show(alike)[1]).toMatch(/60 completed: `job-0`, .*, `job-19` and 40 more$/);
});

it('addMention mentions a person below the title, and nothing else', () => {
  const text = '### Title\n\nFirst.\n\nSecond.';
  expect(addMention('mona', text)).toBe('### Title\n\n@mona\n\nFirst.\n\nSecond.');
  for (const login of ['', 'a b', '@all']) expect(addMention(login, text)).toBe(text);
});

it('renderProblem and renderUsage answer a command, and never begin with one', () => {
  expect(renderProblem('wait is “x|y”.', INFO)).toBe(
    `${icon('not-sent')} Nothing was sent to the agent. wait is \`x¦y\`. · ${LOG}`,
  );
  expect(renderUsage('/a`b')).toMatch(
    /^Nothing was sent\. Write .* after ``\/a`b`` .*:\n\n```text\n\/a`b also/,
  );
});
