import { describe, expect, it } from 'vitest';
import { QUOTATIONS } from '../../src/prompt/sections.ts';
import { ALICE, review } from '../sim/events.ts';
import type { InlineOptions } from '../sim/github/reviews.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { ON_ITS_PULL, PULL, type Simulation, simulate, visibleIn } from './scenario.ts';

// Reviews with a command. Those without one are in carried.test.ts.

const COMMAND = { command: '/agent', prompt: '' };

const DIFF = '@@ -1 +1 @@\n-old\n+new';
const QUOTED_DIFF = `\`\`\`diff\n${DIFF}\n\`\`\``.replace(/^/gm, '> ');

interface Submitted {
  readonly comments?: readonly InlineOptions[];
  readonly body?: string;
  readonly prompt?: string;
  readonly github?: GitHubOptions;
}

/** Submits a review, and runs the action on it. */
async function submit({ comments = [], body = '/agent Fix it.', ...more }: Submitted) {
  const { prompt = '', github = {} } = more;
  await using sim = await simulate({ agent: ON_ITS_PULL, with: { ...COMMAND, prompt }, github });
  const id = sim.github.addReview(PULL, ALICE.login, comments);
  const result = await sim.runHere({ step: { event: review({ number: PULL, id, body }) } });
  return { sim, result, prompts: sim.prompts() };
}

/** An inline comment with a short diff. */
function inline(body: string, more: Partial<InlineOptions> = {}): InlineOptions {
  return { body, diffHunk: DIFF, ...more };
}

const answers = ({ github }: Simulation) =>
  github.comments(PULL).map(({ body }) => visibleIn(body));

describe('a review is one message', () => {
  it('with all inline comments, in the order of the files and lines', async () => {
    const suggested = 'Shorter: \n```suggestion\nnew\n```';
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
      prompt: 'Be brief.',
    });
    expect(result.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    const on = (place: string, ...texts: readonly string[]) =>
      [`Comment ${place}:`, ...texts].join('\n\n');
    const parts = [
      ...['Be brief.', 'Fix these.', on('1 of 5, on the file “a.md”', 'Split it.')],
      on('2 of 5, on the file “a.md”, lines 7 to 9', QUOTED_DIFF, suggested),
      on('3 of 5, on the file “a.md”, lines 12 to 30 of an older commit', QUOTED_DIFF, 'Two.'),
      on('4 of 5, on the file “b.md”, line 3', QUOTED_DIFF, 'Three.'),
      on('5 of 5, on the file “b.md”, line 8', QUOTED_DIFF, 'Moved.'),
    ];
    expect(prompts).toEqual([[...parts, QUOTATIONS].join('\n\n')]);
    expect(sim.lastComment()).toMatch(/Fix these\..*\+ 5 comments on 2 files/s);
    expect(sim.lastComment()).not.toContain('Split it.');
  });

  it('with 120 inline comments', async () => {
    const comments = Array.from({ length: 120 }, (_, index) =>
      inline(`Text ${index}.`, { path: 'docs/long.md', line: 120 - index }),
    );
    const { sim, prompts } = await submit({ comments });
    const texts = prompts.flatMap((prompt) => prompt.match(/^Text \d+\.$/gm) ?? []);
    expect(texts).toEqual(comments.map(({ body }) => body).toReversed());
    expect(sim.github.calls('review')).toHaveLength(6);
    expect(sim.lastComment()).toContain('+ 120 comments on 1 file');
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
  const paths = ['a.md', 'b.md', 'c.md', 'b.md'];
  await using sim = await simulate({
    with: { ...COMMAND, wait: true },
    agent: { ...ON_ITS_PULL, onPost: () => void sim.github.push(PULL, NEW) },
    github: {
      issues: [{ number: PULL, pullRequest: true, commits: [OLD] }],
      changes: { [NEW]: { files: ['a.md', ['c.md', 'd.md']] } },
    },
  });
  const comments = paths.map((path) => inline('Shorter.', { path }));
  const id = sim.github.addReview(PULL, ALICE.login, comments);
  const event = review({ number: PULL, id, body: '/agent Fix it.' });
  const { outputs, summary } = await sim.run({ step: { event } });
  const line = '2 files: `a.md` and `d.md`. Not in these commits: `b.md` (2 comments).';
  expect(outputs.commits).toBe('1');
  for (const text of [summary, answers(sim).at(-1)]) expect(text).toContain(line);
  expect(summary).toMatch(/<summary>The message \([\d,]+ characters\)<\/summary>/);
});

const SECOND_LOST: GitHubOptions = {
  trouble: { loses: ({ name, nth }) => name === 'review' && nth >= 2 },
};
const answering = (reply: object): GitHubOptions => ({
  on: ({ body }) => (body.includes('diffHunk') ? reply : undefined),
});

it.each<[string, GitHubOptions, RegExp]>([
  ['a rate limit', answering({ status: 429, body: {} }), /429 because of a rate limit\./],
  ['no answer to page two', SECOND_LOST, /could not be reached: .*/],
  ['silence', answering({ fault: 'hang' }), /did not answer in time\./],
])('half a review is never sent: %s', async (_, github, why) => {
  const comments = Array.from({ length: 101 }, (_, index) => inline(`Text ${index}.`));
  const { sim, result } = await submit({ comments, github });
  const said = `^Nothing was sent\\. The inline comments .* cannot be read: .*${why.source}`;
  const reason = expect.stringMatching(RegExp(`${said} Comment again later\\.$`));
  expect(result.errors).toEqual([reason]);
  expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent', reason });
  expect(sim.agent.journal).toEqual([]);
  expect(answers(sim)).toEqual([expect.stringContaining('cannot be read')]);
  const id = expect.stringMatching(/^PRR_/);
  expect(sim.github.reactions).toMatchObject([{ id, content: 'confused' }]);
});
