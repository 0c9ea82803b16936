import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Step } from '../contract/workflows.ts';
import { type Entry, type PlayedScenario, play } from '../sim/demo/play.ts';
import { API_KEY, PROJECT, type Variables } from '../sim/demo/scenario.ts';
import { COMPARE, JOB, PULL, scenario } from '../sim/demo/story.ts';
import { HAS_JQ } from '../sim/platform.ts';

// What the README promises, from the first run to the last: the workflows of examples/ and their scripts,
// the built action, and what people then see. `npm run demo` shows the same.

const ACTION = 'github-actions[bot]';

describe('the pull request of the agent, from a merge to a merge', () => {
  let story: PlayedScenario;
  let entries: readonly Entry[];

  beforeAll(async () => {
    story = await play({ ...scenario, script });
    entries = story.conversations.flatMap((one) => one.entries);
  });

  it('is on one page', () => {
    const { checks, runs, conversations } = story;
    expect(Object.entries(checks).filter(([, isTrue]) => !isTrue)).toEqual([]);
    expect(conversations).toHaveLength(1);
    const logs = runs.map(({ result }) => result?.log);
    expect(JSON.stringify([logs, conversations])).not.toContain(API_KEY);
  });

  it('each message is sent once: the review, three logs, and the command', () => {
    const { agent } = story.end;
    const prompts = agent.accepted(JOB).map(({ prompt }) => prompt);
    const [review = '', ...rest] = prompts;
    const logs = rest.slice(0, 3);
    expect(agent.posts()).toHaveLength(5);
    expect(review).toMatch(/^good start, see below\n/);
    const lines = ['errors.mdx', 'Show the', 'errors.mdx', 'Link the', 'limits.mdx', 'What does'];
    expect(review).toMatch(RegExp(lines.join('[^]*')));
    expect(logs.map((log) => log.match(/broken link/g)?.length)).toEqual([4, 3, 2]);
    expect(new Set(logs.map((log) => /on commit (\w{40}) of/.exec(log)?.[1])).size).toBe(3);
    expect(rest.slice(3)).toEqual([
      'there is no page about error 429: link the table of error codes',
    ]);
  });

  it('each step has the result of its message', () => {
    const results = story.runs.map(({ result }) => {
      const { result: word, delivery, confirmed, 'job-id': id } = result?.outputs ?? {};
      return result && [result.conclusion, word, delivery, confirmed, id];
    });
    const done = ['success', 'completed', 'sent', 'true', JOB];
    const stopped = ['success', 'skipped', 'not-sent', '', JOB];
    expect(results).toEqual([
      ['success', 'completed', 'not-sent', '', JOB],
      ...[done, done, done, done],
      ...[stopped, stopped],
      ...[done, undefined],
    ]);
  });

  it('each answer is where people look', () => {
    expect(entries.map(describeEntry)).toEqual([
      `${ACTION}: ✅ Agent completed`,
      'rita: /agent good start, see below',
      `${ACTION}: ✅ Agent completed`,
      `${ACTION}, hidden: ✅ Agent completed, message 1 of 3`,
      `${ACTION}, hidden: ✅ Agent completed, message 2 of 3`,
      `${ACTION}, hidden: ✅ Agent completed, message 3 of 3`,
      `${ACTION}: 🛑 Limit reached: 3 messages in a row`,
      'rita: /agent there is no page about error 429: link the table of error codes',
      `${ACTION}: ✅ Agent completed`,
    ]);
    const reactions = entries.map(({ reactions }) => reactions.map(({ content }) => content));
    expect(reactions.filter(({ length }) => length > 0)).toEqual([
      ['eyes', 'hooray'],
      ['eyes', 'rocket', 'hooray'],
    ]);
  });

  it('the answers show the work, and what to do next', () => {
    const bodies = entries.filter(({ author }) => author === ACTION).map(({ body }) => body);
    const [created, reviewed, first, , , limit, command] = bodies;
    expect(created).toContain('To send the agent back to work, comment `/agent`');
    expect(reviewed).toContain('**3 new commits**');
    expect(reviewed).toContain('- `docs: say what 429 means` ');
    expect(reviewed).toContain('+ 3 comments on 2 files');
    expect(reviewed).toContain('Not right? Comment `/agent` and what to change.');
    expect(first).toContain('- `docs: fix the link to the guide` ');
    expect(first).toContain('To tell the agent more, comment `/agent` and what to change.');
    expect(limit).toContain('re-run the workflow');
    expect(command).toContain('Not right? Comment `/agent` and what to change.');
  });

  it('people get a mail about the limit, once', () => {
    const { github } = story.end;
    const texts = github
      .calls('POST issues/#/comments')
      .map(({ request }) => JSON.parse(request.body).body as string);
    expect(texts.map((text) => text.includes('Limit reached'))).toEqual([
      ...Array(5).fill(false),
      true,
      false,
    ]);
    expect(github.comments(PULL).filter(({ author }) => author === ACTION)).toHaveLength(7);
  });

  it('the merge starts no new job', () => {
    const [created] = story.runs;
    expect(created?.run.workflow.on).toMatchObject({ push: { paths: ['src/**'] } });
  });
});

/** With the script of create-a-job.yml, if it can run. */
const script: NonNullable<typeof scenario.script> = (run, step, env, workspace) =>
  step.id === 'create' && HAS_JQ
    ? createJob(step, env, workspace)
    : (scenario.script?.(run, step, env, workspace) ?? {});

/** Who wrote it, whether it is hidden, its first line, and the last of its messages in a row. */
function describeEntry({ author, body, isMinimized }: Entry): string {
  const [line = ''] = body.replace(/^<!--.*-->\n|<[^>]+>|^### /gm, '').split('\n');
  const [count] = /message \d of \d/.exec(body) ?? [];
  const hidden = isMinimized ? ', hidden' : '';
  return `${author}${hidden}: ${line}${count === undefined ? '' : `, ${count}`}`;
}

/** Runs the script of create-a-job.yml with a simulated curl, and returns its outputs. */
function createJob({ run = '' }: Step, env: Variables, workspace: string): Variables {
  const bin = join(workspace, 'bin');
  const file = (name: string) => join(bin, name);
  mkdirSync(bin);
  const curl = `#!/bin/sh\necho "$*" >"$0.args"\ncat >"$0.body"\necho '{"id": "${JOB}"}'\n`;
  writeFileSync(file('curl'), curl, { mode: 0o755 });
  const { status, stderr } = spawnSync('bash', ['--norc', '-e', '-c', run], {
    encoding: 'utf8',
    env: {
      ...env,
      PATH: `${bin}${delimiter}${process.env.PATH}`,
      GITHUB_OUTPUT: file('outputs'),
      GITHUB_STEP_SUMMARY: file('summary'),
    },
  });
  expect([status, stderr]).toEqual([0, '']);
  expect(JSON.parse(readFileSync(file('curl.body'), 'utf8'))).toEqual({
    prompt: `Update the docs for the changes in ${COMPARE}. If they need no update, change nothing.`,
  });
  const args = readFileSync(file('curl.args'), 'utf8');
  expect(args).toContain(`https://api.mintlify.com/v2/agent/${PROJECT}/job`);
  expect(args).toContain(`Authorization: Bearer ${API_KEY}`);
  expect(readFileSync(file('summary'), 'utf8')).toContain(`\`\`\`text\n${JOB}\n\`\`\`\n`);
  const outputs = readFileSync(file('outputs'), 'utf8').trim().split('\n');
  return Object.fromEntries(outputs.map((output) => output.split('=')));
}
