import { describe, expect, it } from 'vitest';
import { LABELS } from '../../src/job/labels.ts';
import type { Reply } from '../sim/agent.ts';
import { type Json, mergeGroup, SHA, workflowRun } from '../sim/events.ts';
import type { IssueOptions } from '../sim/github/issues.ts';
import type { WorkflowRunOptions } from '../sim/github/runs.ts';
import type { GitHub, GitHubOptions } from '../sim/github/server.ts';
import {
  AGAIN,
  COMMAND,
  JOB,
  LINK,
  ON_ITS_PULL,
  PULL,
  type Scenario,
  SENT,
  type Simulation,
  SKIPPED,
  simulate,
} from './scenario.ts';

// Events about a commit: only the newest one gets a message, and each one gets it once. What it carries is in carried.test.ts.

const NEWER = 'b'.repeat(40);
const NEWER_COMMITS = 'The pull request has newer commits; their own checks decide.';
const RUN = { pullRequests: [PULL], fields: { conclusion: 'failure' } };
const FAILED = workflowRun(RUN);
const OUTDATED = workflowRun({ ...RUN, head: NEWER });

/** An earlier run names the job there. */
async function nameJob(sim: Simulation, wait = false): Promise<void> {
  const step = { event: mergeGroup(), github: { run_id: '1' } };
  await sim.runHere({ step, with: { 'pr-number': PULL, wait } });
}

describe('nothing is sent about a commit', () => {
  it('that was outdated at the event', async () => {
    await using sim = await simulate({ step: { event: OUTDATED } });
    const { conclusion, outputs, annotations } = await sim.run();
    expect([conclusion, outputs]).toMatchObject(['success', { ...SKIPPED, reason: NEWER_COMMITS }]);
    expect(annotations).toHaveLength(1);
    expect(sim.agent.posts()).toEqual([]);
    // Its log is not read either.
    expect(sim.callNames()).toEqual(['GET collaborators/*/permission', 'list']);
  });

  it('of this very workflow, which nobody is asked about', async () => {
    const path = '.github/workflows/agent.yml';
    const event = workflowRun({ ...RUN, fields: { conclusion: 'failure', path: `${path}@main` } });
    const github = { workflow_ref: `octo/agents/${path}@refs/heads/main` };
    await using sim = await simulate({ step: { event, github } });
    const { outputs } = await sim.runHere();
    expect(outputs).toMatchObject({ ...SKIPPED, reason: expect.stringContaining('this workflow') });
    expect(sim.github.calls()).toEqual([]);
  });

  it.each<[string, (github: GitHub) => void, string]>([
    ['whose pull request is merged', ({ end }) => end(PULL, 'merged'), `#${PULL} is merged.`],
    ['whose pull request is closed', ({ end }) => end(PULL, 'closed'), `#${PULL} is closed.`],
    ['that is no longer the newest', ({ push }) => push(PULL, NEWER), NEWER_COMMITS],
  ])('%s: it leaves no comment, unless that is just before the message', async (...row) => {
    const [, change, reason] = row;
    for (const isLate of [false, true]) {
      await using sim = await simulate({
        step: { event: FAILED },
        github: {
          on({ method, path }) {
            if (method === 'POST' && path.endsWith('/comments')) change(sim.github);
            return undefined;
          },
        },
      });
      if (!isLate) change(sim.github);
      const { outputs, conclusion } = await sim.runHere();
      expect([conclusion, outputs]).toMatchObject(['success', { ...SKIPPED, reason }]);
      expect(sim.agent.posts()).toEqual([]);
      expect(sim.notes()).toMatchObject(isLate ? [{ jobs: [{ delivery: 'not-sent' }] }] : []);
      if (isLate) expect(sim.lastComment()).toContain(LABELS.skipped.title);
      else expect(sim.github.writes()).toEqual([]);
    }
  });

  it('is what a re-run reports, unless the message was sent', async () => {
    await using sim = await simulate({ agent: ON_ITS_PULL, step: { event: FAILED } });
    await sim.runHere();
    sim.github.end(PULL, 'merged');
    expect((await sim.runHere({ step: { github: AGAIN } })).outputs).toMatchObject(SENT);
    const other = await sim.runHere({ step: { github: { ...AGAIN, run_id: '2' } } });
    expect(other.outputs).toMatchObject({ result: 'skipped' });
    expect(sim.agent.posts()).toHaveLength(1);
  });
});

const links = { id: 42, sha: SHA, name: 'Links', path: 'links.yml', jobs: [{ name: 'links' }] };
const CHANGED = '“CI” has passed since, was cancelled, or runs again.';
const CANCELLED = { conclusion: 'cancelled' };
const ci = (more: Partial<WorkflowRunOptions>) => ({ id: 41, sha: SHA, jobs: [], ...more });

it.each<[string, readonly WorkflowRunOptions[], Json, string]>([
  ['that has passed since', [ci({ conclusion: 'success' }), links], {}, CHANGED],
  ['that runs again', [ci({ conclusion: null }), links], {}, CHANGED],
  ['that was cancelled', [ci(CANCELLED)], CANCELLED, 'The run was cancelled.'],
])('a failed run is skipped %s', async (_, runs, fields, reason) => {
  const event = workflowRun({ ...RUN, fields: { id: 41, conclusion: 'failure', ...fields } });
  const scenario = { agent: ON_ITS_PULL, github: { runs }, step: { event } };
  await using sim = await simulate({ ...scenario, with: COMMAND });
  const { outputs, conclusion } = await sim.runHere();
  expect([conclusion, outputs]).toMatchObject(['success', { ...SKIPPED, reason }]);
  expect(sim.agent.posts()).toEqual([]);
  expect(sim.github.downloads).toEqual([]);
  // A later failure of the commit can still be sent.
  const isLate = Object.keys(fields).length === 0;
  expect(sim.notes()).toMatchObject(isLate ? [{ jobs: [{ delivery: 'not-sent' }] }] : []);
});

it.each([2, 4])(
  'what has passed while the agent was at work again is not sent: poll %i',
  async (again) => {
    const failed = ci({ jobs: [{ name: 'build', log: 'a broken link\n' }] });
    const event = workflowRun({ ...RUN, fields: { id: 41, conclusion: 'failure' } });
    await using sim = await simulate({
      agent: {
        onGet(n) {
          if (n === again) sim.github.addRun({ ...failed, conclusion: 'success' });
          const isBusy = n === again || n < again - 2;
          return { body: { id: JOB, status: isBusy ? 'active' : 'completed', prLink: null } };
        },
      },
      ...{ github: { runs: [failed] }, step: { event }, with: { wait: true } },
    });
    expect((await sim.runHere()).outputs).toMatchObject({ ...SKIPPED, reason: CHANGED });
    expect(sim.github.downloads).toHaveLength(1);
  },
);

it.each(['reset', 'hang'] as const)(
  'a message about a commit is sent if the question for its pull request fails: %s',
  async (fault) => {
    const on: GitHubOptions['on'] = ({ path }) =>
      /\/pulls\/\d+$/.test(path) ? { fault } : undefined;
    await using sim = await simulate({ github: { on }, step: { event: FAILED } });
    sim.github.end(PULL, 'closed');
    sim.github.push(PULL, NEWER);
    expect((await sim.runHere()).outputs).toMatchObject(SENT);
  },
);

describe('of an event that names no pull request, GitHub is asked for it:', () => {
  const NAMELESS = workflowRun({ ...RUN, pullRequests: [] });
  const NO_PULL = 'The commit is on no open pull request of this repository.';
  const pull = { number: PULL, pullRequest: true };
  const other = { ...pull, number: 8 };
  const older = { commits: [SHA, NEWER] };
  const closed = { ...pull, over: 'closed' } as const;
  const SEVERAL = `The commit is the newest of several pull requests: #${PULL} and #8.`;

  it.each<[string, readonly IssueOptions[], string | null]>([
    ['the only one', [pull], null],
    ['the only one with this head', [{ ...other, ...older }, pull], null],
    ['the only open one', [{ ...other, over: 'merged' }, pull], null],
    ['the one with the branch of the run', [{ ...other, branch: 'agent/8' }, pull], null],
    ['the only one in this repository', [{ ...other, fork: 'mallory/agents' }, pull], null],
    ['several', [pull, other], SEVERAL],
    ['one with newer commits', [{ ...pull, ...older }], NEWER_COMMITS],
    [
      'several with newer commits',
      [pull, other].map((one) => ({ ...one, ...older })),
      NEWER_COMMITS,
    ],
    ['one that is merged', [{ ...pull, over: 'merged' }], `#${PULL} is merged.`],
    ['one that is closed', [{ ...closed, ...older }], `#${PULL} is closed.`],
    ['a closed one, and a merged one', [closed, { ...other, over: 'merged' }], '#8 is merged.'],
    ['only one of a fork', [{ ...pull, fork: 'mallory/agents' }], NO_PULL],
    ['only one of a fork that was deleted', [{ ...pull, fork: null }], NO_PULL],
    ['none', [{ ...pull, commits: [NEWER] }], NO_PULL],
  ])('%s', async (name, issues, reason) => {
    await using sim = await simulate({ github: { issues }, agent: ON_ITS_PULL });
    await nameJob(sim);
    const made = sim.github.calls().length;
    const step = { event: NAMELESS, github: { run_id: '2' } };
    const given = { 'job-id': '', prompt: '' };
    const result = await sim[name === 'several' ? 'run' : 'runHere']({ step, with: given });
    const expected = reason === null ? SENT : { ...SKIPPED, reason };
    expect([result.conclusion, result.outputs]).toMatchObject(['success', expected]);
    expect(sim.agent.posts()).toHaveLength(reason === null ? 2 : 1);
    expect(sim.ownComments()).toHaveLength(reason === null ? 2 : 1);
    const asked = ['GET collaborators/*/permission', 'GET commits/*/pulls'];
    expect(sim.callNames(made).slice(0, 2)).toEqual(asked);
  });

  const asked = (reply: Reply): GitHubOptions => ({
    issues: [pull],
    on: ({ path }) => (path.includes(`/commits/${SHA}/`) ? reply : undefined),
  });
  it.each<[string, GitHubOptions, Scenario['with'], object]>([
    ['no answer', asked({ status: 502 }), { 'job-id': '' }, { ...SKIPPED, reason: /502/ }],
    ['a refusal', asked({ status: 403 }), { 'job-id': '' }, { ...SKIPPED, reason: /403/ }],
    ['no answer, with job-id', asked({ status: 502 }), {}, SENT],
    ['none, with job-id', { issues: [{ ...pull, commits: [NEWER] }] }, {}, SENT],
    ['the one merged to main', { issues: [{ ...pull, branch: 'x', over: 'merged' }] }, {}, SENT],
    ['its own merged one, with job-id', { issues: [{ ...pull, over: 'merged' }] }, {}, SKIPPED],
    ['it is not asked, with pr-number', asked({ status: 502 }), { 'pr-number': PULL }, SENT],
  ])('%s', async (_, github, given, expected) => {
    await using sim = await simulate({ github, step: { event: NAMELESS } });
    const { outputs } = await sim.runHere({ with: { prompt: '', ...given } });
    const { reason, ...others } = expected as { readonly reason?: RegExp };
    expect(outputs).toMatchObject(others);
    if (reason !== undefined) expect(outputs.reason).toMatch(reason);
  });
});

describe('a failed run on the pull request of a person, where a command once named a job', () => {
  const linkTo = (path: string | null) => {
    const prLink = path === null ? null : `https://github.com/octo/${path}`;
    return { jobs: [{ id: JOB, base: { prLink } }] };
  };
  const OLD = 'old/pull/8';
  it.each<[string, string | null, string]>([
    ['another one is that of the job', 'agents/pull/8', 'pull request of the job is #8.'],
    ['it is elsewhere', OLD, `pull request of the job is https://github.com/octo/${OLD}.`],
    ['the job has none', null, 'job has no pull request in this repository yet.'],
    ['a link that cannot be read', 'agents/pull/x', 'pull request of the job is not known.'],
  ])('is skipped: %s', async (_, path, why) => {
    await using sim = await simulate({ agent: linkTo(path) });
    await nameJob(sim);
    const given = { step: { event: FAILED }, with: { ...COMMAND, 'job-id': '' } };
    const { outputs, conclusion } = await sim.runHere(given);
    const reason = `The failed run is about #${PULL}, but the ${why}`;
    expect([conclusion, outputs]).toMatchObject(['success', { ...SKIPPED, reason }]);
    expect(sim.agent.posts()).toHaveLength(1);
    expect(sim.github.comments(PULL)).toHaveLength(1);
  });

  it('is sent if the comments show that it is that of the job, which is at work', async () => {
    let isBusy = false;
    const body = { id: JOB, status: 'active', prLink: null };
    const onGet = () => (isBusy ? { body } : undefined);
    const agent = { ...linkTo(`agents/pull/${PULL}`), onGet };
    await using sim = await simulate({ agent, step: { event: FAILED } });
    await nameJob(sim, true);
    isBusy = true;
    expect((await sim.runHere({ with: { 'job-id': '' } })).outputs).toMatchObject(SENT);
  });

  it.each([JOB, `${JOB},job-2`])('is sent with the link to it to %s', async (ids) => {
    const agent = { jobs: [...linkTo('agents/pull/8').jobs, { id: 'job-2' }] };
    await using sim = await simulate({ agent, step: { event: FAILED } });
    const { outputs } = await sim.runHere({ with: { 'job-id': ids, prompt: '' } });
    expect(outputs).toMatchObject(SENT);
    const about = `The workflow “CI” failed on the commit aaaaaaa of the pull request ${LINK}`;
    const words = expect.stringMatching(RegExp(`^Find out why[^\\n]*\\n\\n${about}`));
    expect(sim.prompts()).toEqual(ids.split(',').map(() => words));
  });
});
