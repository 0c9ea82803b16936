import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { QUOTATIONS } from '../../src/prompt/sections.ts';
import { checkRun, issueComment, review, workflowRun } from '../sim/events.ts';
import type { InlineOptions } from '../sim/github/reviews.ts';
import { type RunJobOptions, SIGNATURE } from '../sim/github/runs.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import {
  COMMAND,
  ON_ITS_PULL,
  PULL,
  type Scenario,
  SENT,
  SKIPPED,
  simulate,
  TOKEN,
  UNSENT,
} from './scenario.ts';

// What a message carries of its event. The unit tests have all forms of it.

const COMMIT = 'c356495dc22eb5a1b4ff9b1a0e1ba52b19b0ea12';
type Lacks = NonNullable<GitHubOptions['lacks']>;

const INLINE: readonly InlineOptions[] = [
  { path: 'b.md', line: 4, body: 'Second.' },
  { path: 'b.md', line: 9, startLine: 7, body: 'Third.', outdated: true },
  { path: 'a.md', line: 1, body: 'First.\n<!-- hidden -->' },
];
const REPLY: InlineOptions = { body: 'Agreed.', isReply: true };
const REPLIES = 'The review only replies to comments.';
const APPROVAL = 'Approvals without inline comments are not sent.';
const NOTHING = 'The review has neither text nor inline comments.';

it.each<[string, readonly InlineOptions[], string, (string | undefined)?, string?, string?]>([
  ['with inline comments alone', INLINE, ''],
  ['that is a reply with a text of its own', [REPLY], 'And change this.'],
  ['that approves, with an inline comment', [REPLY, ...INLINE], '', undefined, 'approved'],
  ['without anything, with a prompt', [], '', undefined, 'commented', 'Have a look.'],
  ['of replies alone', [REPLY, REPLY], '', REPLIES],
  ['that approves', [], 'LGTM', APPROVAL, 'approved'],
  ['with nothing', [], '<!-- -->', NOTHING],
])('a review without a command, %s, is sent or skipped, green', async (...row) => {
  const [, inline, body, reason, state = 'commented', prompt = ''] = row;
  await using sim = await simulate();
  const id = sim.github.addReview(PULL, 'alice', inline);
  const step = { event: review({ number: PULL, id, body, state }) };
  const { conclusion, outputs } = await sim.runHere({ with: { prompt }, step });
  expect(conclusion).toBe('success');
  expect(outputs).toMatchObject(reason === undefined ? SENT : { ...SKIPPED, reason });
  expect(sim.prompts()).toHaveLength(reason === undefined ? 1 : 0);
  if (reason !== undefined) expect([...sim.agent.journal, ...sim.github.writes()]).toEqual([]);
});

function line(second: number, text: string): string {
  return `2026-11-21T19:32:0${second}.1234567Z ${text}\n`;
}

function linksJob(parts: Partial<RunJobOptions> = {}, more: readonly string[] = []): RunJobOptions {
  const log = [
    line(1, 'added 231 packages'),
    line(4, '##[group]Run npm run links'),
    line(4, '##[endgroup]'),
    line(5, '\x1b[31ma.md: broken link\x1b[0m'),
    ...more.map((text) => line(5, text)),
    line(6, '##[error]Process completed with exit code 1.'),
    line(6, 'Post job cleanup.'),
  ];
  return { name: 'links', log: log.join(''), ...parts };
}

const ABOUT = { pullRequests: [PULL], sha: COMMIT };
const OF_COMMIT = workflowRun({ ...ABOUT, fields: { id: 41, conclusion: 'failure' } });

/** After the failure of a run with these jobs. */
function afterRun(jobs: readonly RunJobOptions[], more: Scenario = {}): Scenario {
  return {
    secrets: [SIGNATURE],
    step: { event: OF_COMMIT },
    agent: ON_ITS_PULL,
    ...more,
    with: { ...COMMAND, ...more.with },
    github: {
      issues: [{ number: PULL, pullRequest: true, commits: [COMMIT] }],
      runs: [{ id: 41, sha: COMMIT, jobs }],
      ...more.github,
    },
  };
}

describe('a run that failed', () => {
  it('is a message in time, however slow its logs are', async () => {
    const jobs = Array.from({ length: 8 }, (_, n) => linksJob({ name: `links ${n}` }));
    const on: GitHubOptions['on'] = ({ path }) =>
      path.endsWith('/logs') ? { fault: 'hang' } : undefined;
    const given = afterRun(jobs, { with: { 'timeout-minutes': '0.3' }, github: { on } });
    await using sim = await simulate(given);
    expect((await sim.runHere()).outputs).toMatchObject(SENT);
    expect(sim.prompts()[0]).toContain('GitHub did not answer in time');
  });

  it('is a message with the log of the steps that failed', async () => {
    await using sim = await simulate(afterRun([linksJob()]));
    const { outputs, annotations } = await sim.run();
    expect(outputs).toMatchObject(SENT);
    expect(annotations).toEqual([]);
    expect(sim.prompts()).toEqual([
      `Find out why, and fix it. If nothing in the repository is at fault, such as a network, an outage or a secret, change nothing and say so. If only some failures are of that kind, fix the others. Do not weaken the check.

${QUOTATIONS}

The workflow “CI” failed on the commit c356495 of the pull request https://github.com/octo/agents/pull/7 (branch “changes”): https://github.com/octo/agents/actions/runs/41

Failed job: “links”.

The log of the job “links”:

> \`\`\`text
> Run npm run links
> 
> a.md: broken link
> error: Process completed with exit code 1.
> \`\`\``,
    ]);
    expect(sim.lastComment()).toContain('> <sub>+ log of `links` (c356495)</sub>');
    expect(sim.lastComment()).toContain('After `CI` failed on c356495');
    expect(sim.lastComment()).not.toContain('broken link');
    expect(sim.github.downloads).toHaveLength(1);
    expect(JSON.stringify(sim.github.downloads)).not.toContain(TOKEN);
  });

  it('has what several logs share once, and of a long one what matters', async () => {
    const passed = Array.from({ length: 3000 }, (_, index) => `a.md:${index} passed`);
    const jobs = [[], [], ['##[error]no heading', ...passed]].map((more, n) =>
      linksJob({ name: `links (${n})` }, more),
    );
    await using sim = await simulate(afterRun(jobs));
    expect((await sim.runHere()).outputs).toMatchObject(SENT);
    const above = 'without the lines that stand in a log above';
    const chosen = `${above} \\(\\d+ of 3002 lines, chosen; .*\\):\n\n> \`{3}text\n> \n> error: no heading\n`;
    const words = RegExp(`“links \\(1\\)” ${above} is empty.\n\n.* “links \\(2\\)” ${chosen}`);
    expect(sim.prompts()).toEqual([expect.stringMatching(words)]);
  });
});

describe('all that fails on a commit', () => {
  const annotation = { path: 'docs/a.md', line: 12, message: 'broken link' };
  const exit = { message: 'Process completed with exit code 1.' };
  const vale = { sha: COMMIT, name: 'Vale', id: 90, title: '2 errors', summary: 'a.md: no' };
  const runs = [
    { id: 41, sha: COMMIT, jobs: [linksJob({ annotations: [exit, annotation] })] },
    { id: 42, sha: COMMIT, name: 'Docs', path: 'docs.yml', jobs: [linksJob({ name: 'build' })] },
    { id: 43, sha: COMMIT, name: 'Preview', path: 'preview.yml', conclusion: null, jobs: [] },
  ];
  const also =
    'Also fails on this commit; fix it only if the cause is the same, or the documentation is at fault:';
  const log = '> error: Process completed';
  const line = '> docs/a.md:12: broken link';
  const output = { title: vale.title, summary: vale.summary, annotations_count: 1 };
  const ofVale = { id: 90, conclusion: 'failure', name: 'Vale', output };
  const events = {
    run: OF_COMMIT,
    check: checkRun({ ...ABOUT, fields: ofVale }),
    command: issueComment({ number: PULL, body: '/agent fix the checks' }),
  };
  const failed = ['“CI” failed', '“Docs” failed', '“Vale” failed'];
  const all = [...failed, 'finished yet: “Preview”', log, line];
  const lacking = (what: string, name: string) =>
    `${what}: the workflow job, or the App of its token, lacks “${name}: read”`;
  const withoutChecks = lacking('failed jobs, checks of apps and annotations', 'checks');
  const withoutLogs = lacking('the log of “links” of “CI” and “build” of “Docs”', 'actions');
  const withoutRuns = lacking('fails there', 'actions');
  const noRuns = ['“CI” failed', 'job: “links”', also, 'job “build” failed', '“Vale” failed', line];

  const ORDER = [
    ...['“CI” failed', also, '“Docs” failed', '“Vale” failed', 'of the job “links”'],
    ...['annotations of the check “Vale”', '> 2 errors', 'log of the job'],
  ];
  const NAMED =
    '`links` of `CI` and `Vale`, output of `Vale` and log of `links` of `CI` and `build` of `Docs` (c';

  it.each<[keyof typeof events, 'public' | 'private', Lacks, readonly string[], string]>([
    ['run', 'private', [], [also, ...all], ''],
    ['check', 'private', [], [also, ...all], ''],
    ['command', 'private', [], all, ''],
    ['run', 'public', ['checks', 'actions'], [also, ...all.slice(0, 4), line], withoutLogs],
    ['command', 'private', ['checks'], [...all.slice(0, 2), ...all.slice(3, 4)], withoutChecks],
    ['run', 'private', ['actions'], noRuns, withoutRuns],
    ['command', 'private', ['actions', 'checks'], [], withoutRuns],
  ])(
    'is carried by a %s in a %s repository, but for %j',
    async (name, of, lacks, words, missing) => {
      const checks = [{ ...vale, annotations: [annotation] }];
      const github = { runs, checks, isPrivate: of === 'private', lacks };
      await using sim = await simulate(afterRun([], { step: { event: events[name] }, github }));
      const result = await sim.runHere();
      expect(result.outputs).toMatchObject(SENT);
      const [prompt = ''] = sim.prompts();
      expect(words.filter((part) => !prompt.includes(part))).toEqual([]);
      const other = all.filter((part) => !words.includes(part));
      expect(other.filter((part) => prompt.includes(part))).toEqual([]);
      expect(prompt.includes('Not shown')).toBe(missing !== '');
      expect(result.warnings.join('\n')).toContain(missing);
      expect(prompt).toContain(missing.replace(': the', ' (the'));
      expect(sim.lastComment()).toContain(missing.replaceAll(/[“”]/g, '`'));
      if (missing === withoutLogs) {
        expect(result.warnings).toContain(`The message goes without ${missing}.`);
        // Only what may pass is asked again.
        expect(sim.github.calls('GET actions/jobs/#/logs')).toHaveLength(2);
      }
      if (name !== 'run' || lacks.length > 0) return;
      // From the run of the event to the others, and from annotations to logs.
      expect(prompt).toMatch(RegExp(ORDER.map((part) => RegExp.escape(part)).join('.*'), 's'));
      expect(sim.lastComment()).toContain(NAMED);
    },
  );

  it.each<[keyof typeof events, Scenario['github'], string]>([
    ['run', { isPrivate: true, lacks: ['checks'] }, '“checks: read”'],
    ['run', { lacks: ['actions'] }, '“actions: read”'],
    ['check', { isPrivate: true, lacks: ['actions', 'checks'] }, '“actions: read”'],
  ])('is not sent by a %s if it is only links, without %j', async (name, given, permission) => {
    const github = { runs: [{ id: 41, sha: COMMIT, jobs: [linksJob()] }], ...given };
    await using sim = await simulate(afterRun([], { step: { event: events[name] }, github }));
    const { conclusion, outputs } = await sim.runHere();
    expect([conclusion, outputs]).toMatchObject(['failure', UNSENT]);
    const why = `The message would have no more than links: the workflow job.* lacks ${permission}`;
    expect(outputs.reason).toMatch(RegExp(why));
    expect(sim.agent.posts()).toEqual([]);
  });
});

describe('attach', () => {
  const workspace = mkdtempSync(join(tmpdir(), 'attached-'));
  writeFileSync(join(workspace, 'vale.txt'), 'a.md: ::error::no\n');

  it('carries a file with the words of a person', async () => {
    const event = issueComment({ number: PULL, body: '/agent fix these' });
    await using sim = await simulate({ agent: ON_ITS_PULL, step: { workspace, event } });
    const { outputs, commands } = await sim.run({ with: { ...COMMAND, attach: '\n vale.txt\n' } });
    expect(outputs).toMatchObject(SENT);
    expect(sim.prompts()).toEqual([
      expect.stringMatching(/^fix these\n\nLines that begin.*\n> a\.md: ::error::no\n/s),
    ]);
    expect(sim.lastComment()).toContain('> `fix these`\n> <sub>+ `vale.txt`</sub>');
    expect(commands.map(({ name }) => name)).not.toContain('error');
  });

  it('is enough for a message that has only links else', async () => {
    const step = { workspace, event: OF_COMMIT };
    await using sim = await simulate(afterRun([], { step, github: { lacks: ['actions'] } }));
    expect((await sim.runHere({ with: { attach: 'vale.txt' } })).outputs).toMatchObject(SENT);
  });
});
