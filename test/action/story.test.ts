import { beforeAll, describe, expect, it } from 'vitest';
import { type Entry, type Played, play } from '../sim/demo/play.ts';
import { API_KEY, COMPARE, JOB, PULL } from '../sim/demo/story.ts';

// What the README promises, from the first run to the last: the workflows of examples/, the built action, and what
// people then see. `npm run demo` shows the same.

const ACTION = 'github-actions[bot]';

describe('the pull request of the agent, from a merge to a merge', () => {
  let story: Played;
  let entries: readonly Entry[];

  beforeAll(async () => {
    story = await play();
    entries = story.entries;
  });

  it('shows the API key nowhere', () => {
    const logs = story.runs.map(({ result }) => result?.log);
    expect(JSON.stringify([logs, entries])).not.toContain(API_KEY);
  });

  it('each message is sent once: the first prompt, the review, three logs, and the command', () => {
    const { agent, github } = story;
    const [first, review = '', ...rest] = agent.accepted(JOB).map(({ prompt }) => prompt);
    const logs = rest.slice(0, 3);
    expect(agent.created()).toEqual([JOB]);
    expect(agent.posts()).toHaveLength(6);
    expect(first).toBe(
      `Update the docs for the changes in ${COMPARE}. If they need no update, change nothing.`,
    );
    const lines = ['errors.mdx', 'Show the', 'errors.mdx', 'Link the', 'limits.mdx', 'What does'];
    expect(review).toMatch(RegExp(`^good start, see below\n[^]*${lines.join('[^]*')}`));
    expect(logs.map((log) => log.match(/^> .*: broken link \//gm)?.length)).toEqual([8, 6, 4]);
    expect(new Set(logs.map((log) => / on the commit (\w{7})/.exec(log)?.[1])).size).toBe(3);
    for (const log of logs) {
      expect(log).toMatch(/^Find out why, and fix it\. If /);
      expect(log).toContain('The log of the step “Check links” of the job “links”:');
      expect(log).not.toMatch(/packages|cleanup/);
    }
    // What rita wrote in the review is still open, and was sent.
    const command = 'there is no page about error 429: link the table of error codes';
    const state = RegExp(
      `^${command}\n\nLines .*\n\nFor reference, [^]*> .*broken link /errors#429[^]*\n\nOther open threads:\n\n> .*: “Show the request as well.”`,
    );
    expect(rest.slice(3)).toEqual([expect.stringMatching(state)]);
    // No log is read for what is not sent. The command has the newest one.
    expect(github.downloads).toHaveLength(4);
  });

  it('each step has the result of its message', () => {
    const results = story.runs.map(({ result }) => {
      const { result: word, delivery, confirmed, 'job-id': id } = result?.outputs ?? {};
      return result && [result.conclusion, word, delivery, confirmed, id];
    });
    const done = ['success', 'completed', 'sent', 'true', JOB];
    const stopped = ['success', 'skipped', 'not-sent', '', JOB];
    expect(results).toEqual([...Array(5).fill(done), stopped, stopped, done, undefined]);
  });

  it('each answer is where people look', () => {
    expect(entries.map(describeEntry)).toEqual([
      `${ACTION}: ✅ Agent opened this pull request`,
      'rita: /agent good start, see below',
      `${ACTION}: ✅ Agent pushed 3 commits`,
      `${ACTION}, hidden: ✅ Agent pushed 1 commit, message 1 of 3`,
      `${ACTION}, hidden: ✅ Agent pushed 1 commit, message 2 of 3`,
      `${ACTION}, hidden: ✅ Agent pushed 1 commit, message 3 of 3`,
      `${ACTION}, hidden: 🛑 Limit reached: message not sent`,
      'rita: /agent there is no page about error 429: link the table of error codes',
      `${ACTION}: ✅ Agent pushed 2 commits`,
    ]);
    const reactions = entries.map(({ reactions }) => reactions.map(({ content }) => content));
    expect(reactions.filter(({ length }) => length > 0)).toEqual([
      ['eyes', 'hooray'],
      ['eyes', 'hooray'],
    ]);
  });

  it('the answers show the work, and what to do next', () => {
    const bodies = entries.filter(({ author }) => author === ACTION).map(({ body }) => body);
    const [created, reviewed, first, , , limit, command] = bodies;
    const next = 'Not right? Comment `/agent` and what to change.';
    for (const body of [created, reviewed, first, command]) expect(body).toContain(next);
    expect(reviewed).toContain('+ 3 comments on 2 files');
    expect(reviewed).not.toContain('Not in these commits');
    expect(command).toContain('2 files: `docs/errors/codes.mdx` and `docs/errors.mdx`.');
    expect(command).toContain(
      '`Add the table of error codes` · `Link it from the page about errors`',
    );
    expect(command).toMatch(
      /\+ annotations and log of `links` \(`CI`, \w{7}\) · \+ links of 3 open threads/,
    );
    expect(first).toMatch(/\+ annotations and log of `links` \(`CI`, \w{7}\)/);
    expect(first).toMatch(/After `CI` failed on \w{7}/);
    expect(first).not.toContain('broken link');
    expect(limit).toContain('re-run the workflow');
  });

  it('people get a mail about the limit, once', () => {
    const { github } = story;
    const texts = github
      .calls('POST issues/#/comments')
      .map(({ request }) => JSON.parse(request.body).body as string);
    const isLimit = texts.map((text) => text.includes('Limit reached'));
    expect(isLimit).toEqual([...Array(5).fill(false), true, false]);
    expect(github.comments(PULL).filter(({ author }) => author === ACTION)).toHaveLength(7);
  });

  it('the merge starts no new job', () => {
    const [created] = story.runs;
    expect(created?.workflow.on).toMatchObject({ push: { paths: ['src/**'] } });
  });
});

/** Who wrote it, whether it is hidden, its first line, and the last of its messages in a row. */
function describeEntry({ author, body, isMinimized }: Entry): string {
  const text = body.replace(/^(?:<!--.*-->\n)+|<[^>]+>|^### /gm, '');
  const [line = ''] = text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').split('\n');
  const [count] = /message \d of \d/.exec(body) ?? [];
  const hidden = isMinimized ? ', hidden' : '';
  return `${author}${hidden}: ${line}${count === undefined ? '' : `, ${count}`}`;
}
