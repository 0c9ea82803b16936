import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  eventsOf,
  files,
  isThisAction,
  read,
  type Workflow,
  workflows,
} from '../contract/workflows.ts';
import { turnTo } from '../sim/agent.ts';
import * as on from '../sim/events.ts';
import { ALICE, DEPENDABOT, type Json, type WebhookEvent } from '../sim/events.ts';
import { type Played, playWorkflow } from '../sim/workflow.ts';
import { JOB, KEY, PROJECT, PULL, type Scenario, type Simulation, simulate } from './scenario.ts';

// The workflows in examples/ and in the documents, as they are. The story plays the loop on the built action.

const COMMAND = '/agent also add error handling examples';
const LINK = `https://github.com/octo/agents/pull/${PULL}`;
const NEW_JOB = 'new-job-1';
const RELEASE = 'https://github.com/octo/code/releases/tag/v2.0.0';
const COMPARE = 'https://github.com/octo/code/compare/0a1b2c3...4d5e6f7';
const MALLORY = { login: 'mallory', id: 1002, type: 'User' } as const;
const SENT = { result: 'completed', delivery: 'sent' };
/** A job with a pull request in the repository. */
const LINKED = { agent: { jobs: [{ id: JOB, base: { prLink: LINK } }] } };

/** The event for each `on:`. Comments are added to the simulated GitHub. */
const EVENTS: Readonly<Record<string, (sim: Simulation) => WebhookEvent>> = {
  check_run: () => on.checkRun({ pullRequests: [PULL], fields: { conclusion: 'failure' } }),
  issue_comment: ({ ask }) => ask(COMMAND),
  pull_request: () => on.pullRequest({ number: PULL, fork: 'octo/agents' }),
  pull_request_review: () => on.review({ number: PULL, body: COMMAND }),
  pull_request_review_comment({ github }) {
    const id = github.addReviewComment(PULL, 'alice', { body: COMMAND });
    return on.reviewComment({ number: PULL, body: COMMAND, id });
  },
  push: () => on.push(),
  release: () => on.event('release', 'published', { release: { html_url: RELEASE } }),
  repository_dispatch: () => on.repositoryDispatch({ compare: COMPARE }),
  schedule: () => on.schedule(),
  workflow_dispatch: () =>
    on.workflowDispatch({ inputs: { 'job-id': JOB, prompt: 'Go on.', 'pr-number': String(PULL) } }),
  workflow_run({ github }) {
    github.addRun({ id: 41, jobs: [{ name: 'links', log: 'a broken link\n' }] });
    return checksEnded('failure');
  },
};

function checksEnded(conclusion: string, fields: Json = {}): WebhookEvent {
  return on.workflowRun({ pullRequests: [PULL], fields: { conclusion, id: 41, ...fields } });
}

function eventOf(name: string, sim: Simulation): WebhookEvent {
  const make = EVENTS[name];
  if (make === undefined) throw new Error(`There is no event for "on: ${name}".`);
  return make(sim);
}

function example(name: string): Workflow {
  return parse(read(`examples/${name}.yml`));
}

/** Leaves a comment on the pull request that names the job. */
async function nameJob(sim: Simulation): Promise<void> {
  await sim.runHere({ with: { wait: true, prompt: 'Go on.' } });
}

function playOn(
  sim: Simulation,
  workflow: Workflow,
  event: WebhookEvent,
  workspace?: string,
): Promise<readonly Played[]> {
  // The inputs of the workflow replace those of the simulation, except the base URL.
  const nothing = { 'project-id': '', 'job-id': '', 'api-key': '', prompt: '', wait: '' };
  return playWorkflow(workflow, {
    event,
    repository: sim.github.repository,
    vars: { AGENT_PROJECT: PROJECT, AGENT_JOB: JOB, AGENT_JOBS: JOB, CHANGELOG_JOB: JOB },
    secrets: { AGENT_API_KEY: KEY, DOCS_TOKEN: 'x', SLACK_WEBHOOK: 'x' },
    outputs: { links: { broken: 'true' }, list: { ids: `${JOB} `, numbers: `[${PULL}]` } },
    run: (given, job) =>
      sim.runHere({
        with: { ...nothing, ...given, 'base-url': sim.agent.url },
        step: { event, github: { job, ...(workspace && { workspace }) } },
      }),
  });
}

/** Plays an example on a new simulation, which is over then. */
async function play(name: string, scenario?: Scenario): Promise<readonly Played[]> {
  await using sim = await simulate(scenario);
  const workflow = example(name);
  return await playOn(sim, workflow, eventOf(eventsOf(workflow)[0] ?? '', sim));
}

/** The outputs of the steps with this action, in order. */
function outputsOf(jobs: readonly Played[]) {
  return jobs.flatMap(({ results }) => results.map(({ outputs }) => outputs));
}

const shown = workflows()
  .filter(({ name }) => name.includes('.md:'))
  .map(({ name, text }) => ({ name, workflow: parse(text) as Workflow }))
  .filter(({ workflow }) =>
    Object.values(workflow.jobs).some(({ steps = [] }) => steps.some(isThisAction)),
  )
  .flatMap(({ name, workflow }) => eventsOf(workflow).map((event) => ({ name, event, workflow })));

it.each(shown)(
  'every workflow in the documents works $name on $event',
  async ({ workflow, event }) => {
    // The job fails first, if the workflow is only about failed jobs.
    const isFirstFailed = JSON.stringify(workflow).includes('"only-when":"failed"');
    const turns = isFirstFailed ? [turnTo('failed'), turnTo()] : [];
    const jobs = [{ id: JOB, base: { prLink: LINK }, turns }];
    await using sim = await simulate({ agent: { jobs } });
    // Commands can leave out the job once the comment names it.
    await sim.runHere();
    await sim.pass(120_000);
    const outputs = outputsOf(await playOn(sim, workflow, eventOf(event, sim)));
    expect(outputs.map(({ result }) => result)).toEqual(
      outputs.map(() => expect.stringMatching(/^(sent|completed|active)$/)),
    );
    expect(outputs).not.toEqual([]);
    const sent = outputs.filter(({ delivery }) => delivery === 'sent');
    expect(sim.agent.accepted()).toHaveLength(1 + sent.length);
  },
);

const byStranger = { number: PULL, body: COMMAND, author: MALLORY };
const ofFork = { conclusion: 'failure', check_suite: { head_branch: null } };

it.each<[string, WebhookEvent, readonly string[]]>([
  ['any comment', on.issueComment({ number: PULL, body: 'I would ask the /agent.' }), []],
  ['inline comments and replies without a review', on.review({ number: PULL, body: null }), []],
  ['a command by a stranger', on.issueComment(byStranger), ['skipped']],
  ['a run that passed', checksEnded('success'), []],
  ['a run that was cancelled', checksEnded('cancelled'), []],
  ['a failed run of main', checksEnded('failure', { event: 'push' }), []],
  ['a failed run of a fork', checksEnded('failure', { head_repository: { id: 2 } }), []],
  ['a failed check of a fork', on.checkRun({ fields: ofFork }), ['skipped']],
  ['a check that passed', on.checkRun({ fields: { conclusion: 'success' } }), []],
])('loop.yml starts no agent for %s', async (_, event, expected) => {
  await using sim = await simulate();
  const jobs = await playOn(sim, example('loop'), event);
  expect(jobs).toMatchObject([{ failed: false, skipped: expected.length === 0 }]);
  expect(outputsOf(jobs).map(({ result }) => result)).toEqual(expected);
  expect(sim.agent.journal).toEqual([]);
});

const EXAMPLES: Readonly<Record<string, () => Promise<void>>> = {
  'docs-for-each-pull-request': async () => {
    const workflow = example('docs-for-each-pull-request');
    const here = { number: PULL, fork: 'octo/agents' };
    await using sim = await simulate({ agent: { jobs: [] } });
    await playOn(sim, workflow, on.pullRequest(here));
    await sim.pass(600_000);
    const pushed = on.pullRequest({ ...here, action: 'synchronize' });
    expect(outputsOf(await playOn(sim, workflow, pushed))).toMatchObject([SENT]);
    const prompt = expect.stringContaining(`the changes in ${LINK} `);
    expect(sim.agent.accepted(NEW_JOB)).toMatchObject([{ prompt }, { prompt }]);
    expect(sim.agent.posts()).toHaveLength(2);
    for (const event of [
      on.pullRequest({ number: PULL, fork: 'stranger/agents' }),
      on.pullRequest({ ...here, author: DEPENDABOT }),
    ]) {
      expect(await playOn(sim, workflow, event)).toMatchObject([{ skipped: true }]);
    }
  },

  'create-a-job': async () => {
    const create = () => ({ id: NEW_JOB, base: { prLink: LINK } });
    for (const [name, about] of Object.entries({
      push: 'the changes in https://github.com/',
      release: `the release ${RELEASE} `,
      repository_dispatch: `the changes in ${COMPARE}. `,
      workflow_dispatch: 'Go on.',
    })) {
      await using sim = await simulate({ agent: { jobs: [], create } });
      const created = await playOn(sim, example('create-a-job'), eventOf(name, sim));
      expect(outputsOf(created), name).toMatchObject([SENT]);
      // The comment there names the job, so that a command finds it.
      const command = eventOf('issue_comment', sim);
      expect(outputsOf(await playOn(sim, example('loop'), command))).toMatchObject([SENT]);
      const words = expect.stringContaining('also add error handling examples');
      const prompt = expect.stringContaining(about);
      expect(sim.agent.accepted(NEW_JOB)).toMatchObject([{ prompt }, { prompt: words }]);
    }
  },

  'commands-only': async () => {
    const create = () => ({ id: NEW_JOB, base: { prLink: LINK } });
    await using sim = await simulate({ agent: { jobs: [], create } });
    const workflow = example('commands-only');
    const command = eventOf('issue_comment', sim);
    expect(outputsOf(await playOn(sim, workflow, command))).toMatchObject([SENT]);
    const other = on.issueComment({ number: PULL, body: 'I would ask the /agent.' });
    expect(await playOn(sim, workflow, other)).toMatchObject([{ skipped: true }]);
    expect(sim.agent.posts()).toHaveLength(1);
  },

  'requested-changes': async () => {
    const workflow = example('requested-changes');
    await using sim = await simulate(LINKED);
    await nameJob(sim);
    const submitted = (state: string, ref: string): WebhookEvent => {
      const event = on.review({ number: PULL, body: 'Please shorten this.' });
      const { review: given, pull_request: pull } = event.payload as Record<string, Json>;
      const head = { ...(pull?.head as Json), ref, repo: { full_name: 'octo/agents' } };
      const parts = { review: { ...given, state }, pull_request: { ...pull, head } };
      const payload = { ...event.payload, ...parts };
      return { ...event, payload };
    };
    const requested = submitted('changes_requested', 'mintlify/1');
    expect(outputsOf(await playOn(sim, workflow, requested))).toMatchObject([SENT]);
    const prompt = expect.stringContaining('shorten');
    expect(sim.agent.accepted().at(-1)).toMatchObject({ prompt });
    for (const event of [
      submitted('approved', 'mintlify/1'),
      submitted('changes_requested', 'docs'),
    ]) {
      expect(await playOn(sim, workflow, event)).toMatchObject([{ skipped: true }]);
    }
  },

  report: async () => {
    await using sim = await simulate(LINKED);
    const workspace = mkdtempSync(join(tmpdir(), 'report-'));
    writeFileSync(join(workspace, 'broken-links.txt'), 'guides/start.mdx: /gone is broken\n');
    const played = await playOn(sim, example('report'), on.schedule(), workspace);
    rmSync(workspace, { recursive: true });
    expect(outputsOf(played)).toMatchObject([SENT]);
    const prompt = expect.stringContaining('/gone is broken');
    expect(sim.agent.accepted()).toMatchObject([{ prompt }]);
  },

  'on-label': async () => {
    const workflow = example('on-label');
    const people = { alice: { id: ALICE.id, permission: 'read', role_name: 'triage' } } as const;
    const labeled = (name: string, fork = 'octo/agents'): WebhookEvent => {
      const event = on.pullRequest({ number: PULL, action: 'labeled', fork });
      return { ...event, payload: { ...event.payload, label: { name } } };
    };
    await using sim = await simulate({ github: { collaborators: people } });
    await nameJob(sim);
    expect(outputsOf(await playOn(sim, workflow, labeled('check links')))).toMatchObject([SENT]);
    expect(sim.agent.accepted().at(-1)?.prompt).toContain('links');
    for (const event of [labeled('bug'), labeled('check links', 'stranger/agents')]) {
      expect(await playOn(sim, workflow, event)).toMatchObject([{ skipped: true }]);
    }
  },

  'merge-when-done': async () => {
    const workflow = example('merge-when-done');
    for (const pushed of [[], ['b'.repeat(40)]]) {
      await using sim = await simulate({
        agent: {
          ...LINKED.agent,
          onPost() {
            sim.github.push(PULL, ...pushed);
            return undefined;
          },
        },
        github: { issues: [{ number: PULL, pullRequest: true, commits: ['a'.repeat(40)] }] },
      });
      const merges = pushed.map(() => expect.stringContaining('gh pr merge --auto'));
      const played = await playOn(sim, workflow, eventOf('workflow_dispatch', sim));
      expect(played).toMatchObject([{ failed: false, others: merges }]);
    }
  },

  'all-open-pull-requests': async () => {
    await using sim = await simulate(LINKED);
    await nameJob(sim);
    const workflow = example('all-open-pull-requests');
    const jobs = await playOn(sim, workflow, eventOf('workflow_dispatch', sim));
    expect(outputsOf(jobs)).toMatchObject([SENT]);
  },

  'tell-the-docs-repository': async () => {
    const told = await play('tell-the-docs-repository');
    expect(told).toMatchObject([{ others: [expect.stringContaining('COMPARE=https')] }]);
  },

  'use-the-outputs': async () => {
    const workflow = example('use-the-outputs');
    for (const [status, ...others] of [
      [undefined, `LINK=${LINK}`],
      [400, 'answered 400'],
      [502, 'REASON=', 'Check the job'],
    ] as const) {
      let posts = 0;
      const onPost = () => {
        posts += 1;
        if (posts > 1 && status === undefined) sim.github.push(PULL, 'e'.repeat(40));
        return status === undefined || posts === 1 ? undefined : { status };
      };
      await using sim = await simulate({ agent: { ...LINKED.agent, onPost } });
      await nameJob(sim);
      const played = await playOn(sim, workflow, eventOf('workflow_run', sim));
      const found = others.map((text) => expect.stringContaining(text));
      expect(played, String(status)).toMatchObject([{ others: found }]);
    }
  },
};

// story.test.ts plays these.
const others = files('examples/*.yml').filter(
  ({ name }) => !/(loop|every-night|take-over)\.yml$/.test(name),
);

it.concurrent.each(others)('every example works $name', async ({ name }) => {
  const check = EXAMPLES[name.replace(/^examples\/|\.yml$/g, '')];
  if (check === undefined) throw new Error('No test plays this example.');
  await check();
});
