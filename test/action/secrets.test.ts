import { describe, expect, it } from 'vitest';
import { type Answer, turnTo } from '../sim/agent.ts';
import { issueComment, reviewComment, SHA, workflowRun } from '../sim/events.ts';
import type { WorkflowRunOptions } from '../sim/github/runs.ts';
import { findTraces, JOB, PULL, type Scenario, simulate, TOKEN } from './scenario.ts';

/** Makes this the API key. */
function withKey(apiKey: string, { with: inputs, agent, ...others }: Scenario): Scenario {
  return { ...others, with: { 'api-key': apiKey, ...inputs }, agent: { ...agent, apiKey } };
}

const LINK = 'https://github.com/octo/agents/pull/2026';
const COMMAND = { command: '/agent', prompt: '' };

const jobs = [{ id: JOB, turns: [turnTo('completed', 60_000, { prLink: LINK })] }];

// They occur in outputs, in JSON, in links or in the markers of a comment.
it.concurrent.each(['completed', 'delivery'])('outputs are valid with the key %s', async (word) => {
  const step = { event: issueComment({ number: PULL, body: '/agent Add examples.' }) };
  const inputs = { ...COMMAND, wait: true };
  await using sim = await simulate(withKey(word, { with: inputs, agent: { jobs }, step }));
  const { outputs, annotations } = await sim.runHere();

  // The end is told by a comment of its own, because the pull request is another one.
  const end = sim.github.comments(PULL).at(-1);
  expect(annotations).toEqual([]);
  expect(outputs).toMatchObject({
    ...{ status: 'completed', prLink: LINK, result: 'completed' },
    ...{ delivery: 'sent', confirmed: 'true', reason: '', 'job-id': JOB },
    'comment-url': end?.html_url,
  });
  const entry = { jobId: JOB, delivery: 'sent', result: 'completed', confirmed: true };
  const known = { status: 'completed', prLink: LINK };
  expect(JSON.parse(outputs.results ?? '')).toMatchObject([{ ...entry, ...known }]);
  const jobNote = { id: JOB, delivery: 'sent', isOurs: true, ended: { result: 'completed' } };
  expect(sim.notes()).toMatchObject([{ jobs: [jobNote] }]);
});

/** How a text by others may have a secret. */
const TEXTS: readonly [string, (secret: string) => string][] = [
  ['as it is', (secret) => `It is ${secret}.`],
  // Texts are cut at these limits, here within the secret.
  ['cut at 60', (secret) => 'x'.repeat(34) + secret],
  ['cut at 200', (secret) => 'x'.repeat(174) + secret],
];

describe.concurrent.each(TEXTS)('removes the API key, %s,', (_, toText) => {
  const key = 'canary-0f8e2d5b7a-"of\\the+api"';
  const secrets = { key, token: TOKEN, more: [key.slice(0, 20)] };
  const text = toText(key);
  const refused: Scenario = { github: { on: () => ({ status: 403, body: { message: text } }) } };
  const onPost = (answer: Answer): Scenario => ({ agent: { onPost: () => answer } });
  const headers = { 'content-type': text, 'cf-ray': text, location: text };
  const base = {
    ...{ model: text, source: { repository: text, ref: text }, createdAt: text },
    prLink: `https://github.com/octo/${key}/pull/1`,
  };
  const code = { number: PULL, body: '/agent Fix this.', path: text, diffHunk: `@@\n+${text}` };
  const passed = { id: 41, sha: SHA, name: text, conclusion: 'success', jobs: [] };
  const fields = { id: 41, name: text, conclusion: 'failure', head_branch: text };
  const event = workflowRun({ pullRequests: [PULL], fields });
  /** A run failed on a commit of which GitHub has these runs. */
  const failed = (...runs: WorkflowRunOptions[]): Scenario => {
    return { with: COMMAND, step: { event }, github: { runs } };
  };

  it.each<[string, Scenario]>([
    ['each field of a job record', { with: { wait: true }, agent: { jobs: [{ id: JOB, base }] } }],
    ['the error of a refused message', onPost({ status: 400, body: { error: text } })],
    ['the headers of an answer that is not from the API', onPost({ headers, body: '<html>' })],
    ['a prompt', { with: { prompt: text } }],
    ['an invalid input', { with: { wait: text, 'job-id': text } }],
    ['the login of who triggered the run', { step: { github: { triggering_actor: text } } }],
    ['the name of a file', { with: { attach: text } }],
    ['an error of GitHub', refused],
    ['a run that failed', failed({ ...passed, conclusion: null, jobs: [{ name: text }] })],
    ['one that has passed since, and another', failed(passed, { ...passed, id: 42 })],
    ['the code that a comment is about', { with: COMMAND, step: { event: reviewComment(code) } }],
  ])('from %s', async (_, scenario) => {
    await using sim = await simulate(withKey(key, scenario));
    const result = await sim.runHere();
    // The action sends the prompt of the workflow unchanged.
    const isPrompt = scenario.with?.prompt === text;
    const journal = sim.agent.journal.map((request) => ({ ...request, body: '' }));
    const agent = isPrompt ? { journal } : sim.agent;
    // The path of a permission check contains a login, which is from GitHub.
    const github = { journal: sim.github.journal.map((request) => ({ ...request, path: '' })) };
    expect(findTraces(secrets, result, { agent, github })).toEqual([]);
  });
});

it('refuses an api-key of 20 KB in many lines, without showing any part of it', async () => {
  const lines = Array.from({ length: 500 }, (_, index) => `line ${index} of a canary credential`);
  await using sim = await simulate({ with: { 'api-key': lines.join('\n') } });
  const result = await sim.run();
  const why = /^Nothing was sent\. “api-key” contains .* store only the key in the secret\.$/;
  expect(result.errors).toEqual([expect.stringMatching(why)]);
  const log = result.stdout.replace(/^::add-mask::.*$/gm, '');
  expect(result.outputText + result.summary + log).not.toContain('canary');
});
