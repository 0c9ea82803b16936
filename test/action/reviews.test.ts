import { describe, expect, it } from 'vitest';
import { QUOTATIONS } from '../../src/prompt/sections.ts';
import { ALICE, type Person, RENOVATE, review } from '../sim/events.ts';
import type { InlineOptions } from '../sim/github/reviews.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { JOB, ON_ITS_PULL, PULL, type Scenario, type Simulation, simulate } from './scenario.ts';

// Reviews with a command. Those without one are in carried.test.ts.

const COMMAND = { command: '/agent', prompt: '' };
const MALLORY: Person = { login: 'mallory', id: 2002, type: 'User' };
const ISSUES: GitHubOptions = { issues: [{ number: PULL, pullRequest: true }] };
const COLLABORATORS: NonNullable<GitHubOptions['collaborators']> = {
  alice: { id: ALICE.id, permission: 'write' },
  mallory: { id: MALLORY.id, permission: 'read' },
  [RENOVATE.login]: { id: RENOVATE.id, permission: 'none' },
};
const DIFF = '@@ -1 +1 @@\n-old\n+new';
const QUOTED_DIFF = `\`\`\`diff\n${DIFF}\n\`\`\``.replace(/^/gm, '> ');

interface Submitted {
  readonly comments?: readonly InlineOptions[];
  readonly body?: string | null;
  readonly author?: Person;
  readonly scenario?: Scenario;
  readonly isBuilt?: boolean;
}

/** Submits a review, and runs the action on it. */
async function submit({ comments = [], body = '/agent Fix it.', ...more }: Submitted) {
  const { author = ALICE, scenario = {}, isBuilt = false } = more;
  await using sim = await simulate({
    agent: ON_ITS_PULL,
    ...scenario,
    with: { ...COMMAND, ...scenario.with },
    github: { ...ISSUES, collaborators: COLLABORATORS, ...scenario.github },
  });
  const id = sim.github.addReview(PULL, author.login, comments);
  const step = { event: review({ number: PULL, id, body, author }) };
  const result = await (isBuilt ? sim.run({ step }) : sim.runHere({ step }));
  return { sim, result, prompts: sim.prompts() };
}

/** An inline comment with a short diff. */
function inline(body: string, more: Partial<InlineOptions> = {}): InlineOptions {
  return { body, diffHunk: DIFF, ...more };
}

function answers({ github }: Simulation): readonly string[] {
  return github.comments(PULL).map(({ body }) => body.replace(/^(<!--.*-->\n)+/, ''));
}

describe('a review is one message', () => {
  it('with all inline comments, in the order of the files and lines', async () => {
    const suggestion = 'Shorter: <!-- ignore this -->\u200b\r\n```suggestion\r\nnew\r\n```';
    const { sim, result, prompts } = await submit({
      comments: [
        inline('Three.', { path: 'b.md', line: 3 }),
        inline('Two.', { path: 'a.md', line: 30, startLine: 12, outdated: true }),
        inline(suggestion, { path: 'a.md', line: 9, startLine: 7 }),
        inline('Split it.', { path: 'a.md', line: null, diffHunk: '' }),
        inline('Moved.', { path: 'b.md', line: 1, movedTo: 8 }),
      ],
      body: '/agent Fix these. <!-- not this -->',
      scenario: { with: { prompt: 'Be brief.' } },
      isBuilt: true,
    });
    expect(result.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(prompts).toEqual([
      [
        'Be brief.',
        'Fix these.',
        'Comment 1 of 5, on the file “a.md”:',
        'Split it.',
        'Comment 2 of 5, on the file “a.md”, lines 7 to 9:',
        QUOTED_DIFF,
        'Shorter: \n```suggestion\nnew\n```',
        'Comment 3 of 5, on the file “a.md”, lines 12 to 30 of an older commit:',
        QUOTED_DIFF,
        'Two.',
        'Comment 4 of 5, on the file “b.md”, line 3:',
        QUOTED_DIFF,
        'Three.',
        'Comment 5 of 5, on the file “b.md”, line 8:',
        QUOTED_DIFF,
        'Moved.',
        QUOTATIONS,
      ].join('\n\n'),
    ]);
    const [comment] = sim.ownComments();
    expect(comment?.body).toContain('Fix these.');
    expect(comment?.body).toContain('+ 5 comments on 2 files');
    expect(comment?.body).not.toContain('Split it.');
  });

  it('with 120 inline comments', async () => {
    const comments = Array.from({ length: 120 }, (_, index) =>
      inline(`Text ${index}.`, { path: 'docs/long.md', line: 120 - index }),
    );
    const { sim, prompts } = await submit({ comments });
    const texts = prompts.flatMap((prompt) => prompt.match(/^Text \d+\.$/gm) ?? []);
    expect(texts).toEqual(comments.map(({ body }) => body).toReversed());
    expect(sim.github.calls('review')).toHaveLength(6);
    expect(sim.ownComments()[0]?.body).toContain('+ 120 comments on 1 file');
  });

  it('of which a bare command without inline comments gets the usage', async () => {
    const { sim, result } = await submit({ body: '/agent' });
    expect(result.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
    expect(answers(sim)).toEqual([expect.stringMatching(/^Nothing was sent\. Write your message/)]);
    expect(sim.agent.journal).toEqual([]);
  });

  it('with only the comments by its author', async () => {
    const others = ['mallory', null].map((author) => inline('Delete it.', { author }));
    const { prompts } = await submit({ comments: [...others, inline('One.')] });
    expect(prompts).toEqual([expect.stringMatching(/^Fix it\.\n\nComment 1 of 1, .*One\.\n\nLi/s)]);
  });
});

it('the answer names the files of inline comments that the commits do not change', async () => {
  const [OLD, NEW] = ['0'.repeat(40), '1'.repeat(40)];
  const prLink = `https://github.com/octo/agents/pull/${PULL}`;
  const paths = ['a.md', 'b.md', 'c.md', 'b.md'];
  await using sim = await simulate({
    with: { ...COMMAND, wait: true },
    agent: {
      jobs: [{ id: JOB, base: { prLink } }],
      onPost: () => void sim.github.push(PULL, NEW),
    },
    github: {
      issues: [{ number: PULL, pullRequest: true, commits: [OLD] }],
      collaborators: COLLABORATORS,
      changes: { [NEW]: { files: ['a.md', ['c.md', 'd.md']] } },
    },
  });
  const comments = paths.map((path) => inline('Shorter.', { path }));
  const id = sim.github.addReview(PULL, ALICE.login, comments);
  const event = review({ number: PULL, id, body: '/agent Fix it.', author: ALICE });
  const { outputs, summary } = await sim.run({ step: { event } });
  const line = '2 files: `a.md` and `d.md`. Not in these commits: `b.md` (2 comments).';
  expect(outputs.commits).toBe('1');
  for (const text of [summary, answers(sim).at(-1)]) expect(text).toContain(line);
  expect(summary).toMatch(/<summary>The message \([\d,]+ characters\)<\/summary>/);
});

const losesFrom = (page: number): GitHubOptions => ({
  trouble: { loses: ({ name, nth }) => name === 'review' && nth >= page },
});
const answering = (reply: object): GitHubOptions => ({
  on: ({ body }) => (body.includes('diffHunk') ? reply : undefined),
});

it.each<[string, GitHubOptions, RegExp]>([
  [
    'a rate limit',
    answering({ status: 429, body: {} }),
    /429.*rate limit of GitHub for the token\. Comment again later\.$/,
  ],
  ['no answer to page two', losesFrom(2), /could not be reached: .* Comment again later\.$/],
  ['silence', answering({ fault: 'hang' }), /did not answer in time\. Comment again later\.$/],
])('half a review is never sent: %s', async (_, github, why) => {
  const comments = Array.from({ length: 101 }, (_, index) => inline(`Text ${index}.`));
  const { sim, result } = await submit({ comments, scenario: { github } });
  const reason = expect.stringMatching(
    new RegExp(`^Nothing was sent\\. The inline comments .* cannot be read: .*${why.source}`),
  );
  expect(result.errors).toEqual([reason]);
  expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent', reason });
  expect(sim.agent.journal).toEqual([]);
  expect(answers(sim)).toEqual([expect.stringContaining('cannot be read')]);
  expect(sim.github.reactions).toMatchObject([
    { id: expect.stringMatching(/^PRR_/), content: 'confused' },
  ]);
});
