import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { eventsOf, files, isThisAction, type Workflow, workflows } from '../contract/workflows.ts';
import { turnTo } from '../sim/agent.ts';
import * as on from '../sim/events.ts';
import { type Played, playWorkflow } from '../sim/workflow.ts';
import {
  JOB,
  KEY,
  LINK,
  ON_ITS_PULL,
  PROJECT,
  PULL,
  type Simulation,
  simulate,
} from './scenario.ts';

// The workflows in examples/ and in the documents, as they are. The story plays the loop on the built action.

const COMMAND = '/agent also add error handling examples';
const NEW_JOB = 'new-job-1';
const CREATING = { jobs: [], create: () => ({ id: NEW_JOB, base: { prLink: LINK } }) };
const RELEASE = 'https://github.com/octo/code/releases/tag/v2.0.0';
const COMPARE = 'https://github.com/octo/code/compare/0a1b2c3...4d5e6f7';
const MALLORY = { login: 'mallory', id: 1002, type: 'User' } as const;

/** The event for each `on:`. Comments are added to the simulated GitHub. */
const EVENTS: Readonly<Record<string, (sim: Simulation) => on.WebhookEvent>> = {
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

function checksEnded(conclusion: string, fields: on.Json = {}): on.WebhookEvent {
  return on.workflowRun({ pullRequests: [PULL], fields: { conclusion, id: 41, ...fields } });
}

function eventOf(name: string, sim: Simulation): on.WebhookEvent {
  const make = EVENTS[name];
  if (make === undefined) throw new Error(`There is no event for "on: ${name}".`);
  return make(sim);
}

/** Leaves a comment on the pull request that names the job. */
const nameJob = (sim: Simulation) => sim.runHere({ with: { wait: true } });

function playOn(
  sim: Simulation,
  workflow: Workflow,
  event: on.WebhookEvent,
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

/** The outputs of the steps with this action, in order. */
function outputsOf(jobs: readonly Played[]) {
  return jobs.flatMap(({ results }) => results.map(({ outputs }) => outputs));
}

async function sends(...played: Parameters<typeof playOn>): Promise<void> {
  const sent = { result: 'completed', delivery: 'sent' };
  expect(outputsOf(await playOn(...played))).toMatchObject([sent]);
}

async function skips(sim: Simulation, workflow: Workflow, ...events: on.WebhookEvent[]) {
  for (const event of events) {
    expect(await playOn(sim, workflow, event)).toMatchObject([{ skipped: true }]);
  }
}

const examples = new Map<string, Workflow>(
  files('examples/*.yml').map(({ name, text }) => [
    name.replace(/^examples\/|\.yml$/g, ''),
    parse(text),
  ]),
);
const LOOP = examples.get('loop') ?? { on: [], jobs: {} };

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

it.each<[string, on.WebhookEvent, readonly string[]]>([
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
  const jobs = await playOn(sim, LOOP, event);
  expect(jobs).toMatchObject([{ failed: false, skipped: expected.length === 0 }]);
  expect(outputsOf(jobs).map(({ result }) => result)).toEqual(expected);
  expect(sim.agent.journal).toEqual([]);
});

const PLAYS: Readonly<Record<string, (workflow: Workflow) => Promise<void>>> = {
  'docs-for-each-pull-request': async (workflow) => {
    const here = { number: PULL, fork: 'octo/agents' };
    await using sim = await simulate({ agent: { jobs: [] } });
    await playOn(sim, workflow, on.pullRequest(here));
    await sim.pass(600_000);
    await sends(sim, workflow, on.pullRequest({ ...here, action: 'synchronize' }));
    const prompt = expect.stringContaining(`the changes in ${LINK} `);
    expect(sim.agent.accepted(NEW_JOB)).toMatchObject([{ prompt }, { prompt }]);
    expect(sim.agent.posts()).toHaveLength(2);
    const ofFork = on.pullRequest({ number: PULL, fork: 'stranger/agents' });
    await skips(sim, workflow, ofFork, on.pullRequest({ ...here, author: on.DEPENDABOT }));
  },

  'create-a-job': async (workflow) => {
    for (const [name, about] of Object.entries({
      push: 'the changes in https://github.com/',
      release: `the release ${RELEASE} `,
      repository_dispatch: `the changes in ${COMPARE}. `,
      workflow_dispatch: 'Go on.',
    })) {
      await using sim = await simulate({ agent: CREATING });
      await sends(sim, workflow, eventOf(name, sim));
      const prompt = expect.stringContaining(about);
      expect(sim.agent.accepted(NEW_JOB)).toMatchObject([{ prompt }]);
      if (name !== 'push') continue;
      // The comment there names the job, so that a command finds it.
      await sends(sim, LOOP, eventOf('issue_comment', sim));
      const words = expect.stringContaining('also add error handling examples');
      expect(sim.agent.accepted(NEW_JOB)).toMatchObject([{ prompt }, { prompt: words }]);
    }
  },

  'commands-only': async (workflow) => {
    await using sim = await simulate({ agent: CREATING });
    await sends(sim, workflow, eventOf('issue_comment', sim));
    await skips(sim, workflow, on.issueComment({ number: PULL, body: 'I would ask the /agent.' }));
    expect(sim.agent.posts()).toHaveLength(1);
  },

  'requested-changes': async (workflow) => {
    await using sim = await simulate({ agent: ON_ITS_PULL });
    await nameJob(sim);
    const submitted = (state: string, ref: string): on.WebhookEvent => {
      const event = on.review({ number: PULL, body: 'Please shorten this.', state });
      const pull = event.payload.pull_request as Record<string, on.Json>;
      const head = { ...pull.head, ref, repo: { full_name: 'octo/agents' } };
      return { ...event, payload: { ...event.payload, pull_request: { ...pull, head } } };
    };
    await sends(sim, workflow, submitted('changes_requested', 'mintlify/1'));
    expect(sim.prompts().at(-1)).toContain('shorten');
    const approved = submitted('approved', 'mintlify/1');
    await skips(sim, workflow, approved, submitted('changes_requested', 'docs'));
  },

  report: async (workflow) => {
    await using sim = await simulate({ agent: ON_ITS_PULL });
    const workspace = mkdtempSync(join(tmpdir(), 'report-'));
    writeFileSync(join(workspace, 'broken-links.txt'), 'guides/start.mdx: /gone is broken\n');
    await sends(sim, workflow, on.schedule(), workspace);
    rmSync(workspace, { recursive: true });
    expect(sim.prompts()).toEqual([expect.stringContaining('/gone is broken')]);
  },

  'on-label': async (workflow) => {
    const people = { alice: { id: on.ALICE.id, permission: 'read', role_name: 'triage' } } as const;
    const labeled = (name: string, fork = 'octo/agents'): on.WebhookEvent => {
      const event = on.pullRequest({ number: PULL, action: 'labeled', fork });
      return { ...event, payload: { ...event.payload, label: { name } } };
    };
    await using sim = await simulate({ github: { collaborators: people } });
    await nameJob(sim);
    await sends(sim, workflow, labeled('check links'));
    expect(sim.prompts().at(-1)).toContain('links');
    await skips(sim, workflow, labeled('bug'), labeled('check links', 'stranger/agents'));
  },

  'merge-when-done': async (workflow) => {
    for (const pushed of [[], ['b'.repeat(40)]]) {
      await using sim = await simulate({
        agent: {
          ...{ jobs: [], ...ON_ITS_PULL },
          onPost: () => void sim.github.push(PULL, ...pushed),
        },
      });
      const merges = pushed.map(() => expect.stringContaining('gh pr merge --auto'));
      const played = await playOn(sim, workflow, eventOf('workflow_dispatch', sim));
      expect(played).toMatchObject([{ failed: false, others: merges }]);
    }
  },

  'all-open-pull-requests': async (workflow) => {
    await using sim = await simulate({ agent: ON_ITS_PULL });
    await nameJob(sim);
    await sends(sim, workflow, eventOf('workflow_dispatch', sim));
  },

  'tell-the-docs-repository': async (workflow) => {
    await using sim = await simulate();
    const told = await playOn(sim, workflow, eventOf('push', sim));
    expect(told).toMatchObject([{ others: [expect.stringContaining('COMPARE=https')] }]);
  },

  'use-the-outputs': async (workflow) => {
    for (const [status, ...others] of [
      [undefined, `LINK=${LINK}`],
      [400, 'answered 400'],
      [502, 'REASON=', 'Check the job'],
    ] as const) {
      const onPost = (n: number) => {
        if (n > 1 && status === undefined) sim.github.push(PULL, 'e'.repeat(40));
        return status === undefined || n === 1 ? undefined : { status };
      };
      await using sim: Simulation = await simulate({ agent: { ...ON_ITS_PULL, onPost } });
      await nameJob(sim);
      const played = await playOn(sim, workflow, eventOf('workflow_run', sim));
      const found = others.map((text) => expect.stringContaining(text));
      expect(played, String(status)).toMatchObject([{ others: found }]);
    }
  },
};

// story.test.ts plays these.
for (const name of ['loop', 'every-night', 'take-over']) examples.delete(name);

it.concurrent.each([...examples])('every example works %s', async (name, workflow) => {
  const play = PLAYS[name];
  if (play === undefined) throw new Error('No test plays this example.');
  await play(workflow);
});
