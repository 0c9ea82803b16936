import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { titleOf } from '../../src/labels.ts';
import {
  ACTION,
  blocks,
  eventsOf,
  files,
  isThisAction,
  read,
  type Workflow,
  workflows,
} from '../contract/workflows.ts';
import {
  ALICE,
  DEPENDABOT,
  issueComment,
  pullRequest,
  push,
  review,
  reviewComment,
  schedule,
  type WebhookEvent,
  workflowDispatch,
} from '../sim/events.ts';
import type { GitHub } from '../sim/github/server.ts';
import { HAS_POSIX_SHELL, TEMP } from '../sim/platform.ts';
import { type Played, playWorkflow } from '../sim/workflow.ts';
import { checksEnded } from './failed-checks.ts';
import {
  JOB,
  KEY,
  ownComments,
  PROJECT,
  PULL,
  type Scenario,
  type Simulation,
  simulate,
} from './scenario.ts';

interface Setup {
  readonly event?: WebhookEvent;
  /** Outputs of steps that are not run, by step ID. */
  readonly outputs?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Variables of the repository, in addition to those for every workflow. */
  readonly vars?: Readonly<Record<string, string>>;
  /** The folder with the files that the steps before would have written. */
  readonly workspace?: string;
  /** Empty in runs for forks. */
  readonly key?: string;
  readonly scenario?: Scenario;
  /** Whether a comment on the pull request names the job, as that of create-a-job.yml does. */
  readonly isNamed?: boolean;
}

const COMMAND = '/agent also add error handling examples';
const LINK = `https://github.com/octo/agents/pull/${PULL}`;
const FAILING = { steps: [{ afterMs: 0, set: { status: 'failed' } }] };
const COMPLETING = {
  steps: [
    { afterMs: 0, set: { status: 'active' } },
    { afterMs: 60_000, set: { status: 'completed' } },
  ],
};
/** A job with a pull request in the repository. */
const LINKED = { agent: { jobs: [{ id: JOB, base: { prLink: LINK } }] } };

/** The event for each `on:`, unless a test has its own. Comments are added to the simulated GitHub. */
const EVENTS: Readonly<Record<string, (github: GitHub) => WebhookEvent>> = {
  issue_comment(github) {
    const { id } = github.addComment(PULL, 'alice', COMMAND);
    return issueComment({ number: PULL, body: COMMAND, id });
  },
  pull_request: () => pullRequest({ number: PULL, fork: 'octo/agents' }),
  pull_request_review: () => review({ number: PULL, body: COMMAND }),
  pull_request_review_comment(github) {
    const { id } = github.addReviewComment(PULL, 'alice', COMMAND);
    return reviewComment({ number: PULL, body: COMMAND, id });
  },
  push: () => push(),
  schedule: () => schedule(),
  workflow_dispatch: () => workflowDispatch({ inputs: { 'job-id': JOB, prompt: 'Go on.' } }),
};

const WEBHOOK = 'https://hooks.slack.com/services/T/B/X';
const MALLORY = { login: 'mallory', id: 1002, type: 'User' } as const;

function labeled(name: string, fork = 'octo/agents'): WebhookEvent {
  const event = pullRequest({ number: PULL, action: 'labeled', fork });
  return { ...event, payload: { ...event.payload, label: { name } } };
}

/** Runs an example on a new simulation, which is over then. */
async function play(name: string, { event, scenario, isNamed = false, ...given }: Setup = {}) {
  await using sim = await simulate(scenario);
  if (isNamed) await nameJob(sim);
  const workflow = example(name);
  const [on = ''] = eventsOf(workflow);
  return { sim, jobs: await playOn(sim, workflow, event ?? eventOf(on, sim), given) };
}

/** Leaves a comment on the pull request that names the job. Sends nothing. */
async function nameJob(sim: Simulation): Promise<void> {
  await sim.runHere({ with: { send: false, wait: true, prompt: '' } });
}

function jobsIn(statuses: Readonly<Record<string, string>>) {
  return Object.entries(statuses).map(([id, status]) => ({ id, base: { status } }));
}

function playOn(
  sim: Simulation,
  workflow: Workflow,
  event: WebhookEvent,
  { outputs = {}, vars = {}, key = KEY, workspace }: Omit<Setup, 'event' | 'scenario'> = {},
): Promise<readonly Played[]> {
  return playWorkflow(workflow, {
    event,
    repository: sim.github.repository,
    vars: {
      AGENT_PROJECT: PROJECT,
      AGENT_JOB: JOB,
      AGENT_JOBS: JOB,
      CHANGELOG_JOB: JOB,
      ...vars,
    },
    secrets: { AGENT_API_KEY: key, SLACK_WEBHOOK_URL: WEBHOOK },
    outputs,
    isRun: isThisAction,
    run: (given, job) => {
      const folder = workspace === undefined ? {} : { workspace };
      return sim.runHere({
        with: onlyGiven(given),
        step: { event, github: { job }, ...folder },
      });
    },
    open: (uses) => parse(read(uses.replace(`${ACTION}/`, '').replace(/@v1$/, ''))),
  });

  /** Replaces the default inputs of the simulation with those of the workflow, except the base URL. */
  function onlyGiven(given: Readonly<Record<string, string | number | boolean | null>>) {
    const nothing = { 'project-id': '', 'job-id': '', 'api-key': '', prompt: '' };
    return { ...nothing, ...given, 'base-url': sim.agent.url };
  }
}

function eventOf(name: string, { github }: Simulation): WebhookEvent {
  const make = EVENTS[name];
  if (make === undefined) throw new Error(`There is no event for "on: ${name}".`);
  return make(github);
}

function example(name: string): Workflow {
  return parse(read(`examples/${name}.yml`));
}

/** Runs the scripts of steps, and returns the commands that `gh` got. */
function runScripts(jobs: readonly Played[]): readonly string[] {
  const vars = { GITHUB_REPOSITORY: 'octo/agents', GITHUB_SERVER_URL: 'https://github.com' };
  return jobs.flatMap(({ others }) =>
    others.flatMap((other) => {
      const [, env = '', script = ''] = /^((?:[A-Z_]+=[^\n]*\n)*)(.*)$/s.exec(other) ?? [];
      const variables = env.matchAll(/^([A-Z_]+)=(.*)$/gm).map(([, name, value]) => [name, value]);
      const { PATH = '' } = process.env;
      // No other program runs.
      const withStub = `PATH=; gh() { echo "gh $*" >&2; }\n${script}`;
      const { stderr } = spawnSync('bash', ['--norc', '-eu', '-c', withStub], {
        env: { PATH, ...vars, GITHUB_RUN_ID: '1', ...Object.fromEntries(variables) },
        encoding: 'utf8',
      });
      return stderr.split('\n').filter(Boolean);
    }),
  );
}

/** The results of the steps with this action, in order. */
function resultsOf(jobs: readonly Played[]) {
  return jobs.flatMap(({ results }) => results);
}

describe('every workflow in the documentation works', () => {
  const shown = workflows()
    .filter(({ name }) => name.includes('.md:'))
    .map(({ name, text }) => ({ name, workflow: parse(text) as Workflow }))
    .filter(({ workflow }) =>
      Object.values(workflow.jobs).some(({ steps = [], uses }) => uses ?? steps.some(isThisAction)),
    )
    .flatMap(({ name, workflow }) => eventsOf(workflow).map((event) => ({ name, event, workflow })))
    // Its prompt is a file that a script writes: it has scenarios of its own.
    .filter(({ event }) => event !== 'workflow_run');

  it.each(shown)('$name on $event', async ({ workflow, event }) => {
    // The job fails first, if the workflow is only about failed jobs.
    const isFirstFailed = JSON.stringify(workflow).includes('"only-when":"failed"');
    const turns = isFirstFailed ? [FAILING, COMPLETING] : [];
    await using sim = await simulate({ agent: { jobs: [{ id: JOB, turns }] } });
    // Commands can leave out the job once the comment names it.
    await sim.run();
    const jobs = await playOn(sim, workflow, eventOf(event, sim), {
      outputs: jobOutputs(workflow),
    });
    const results = resultsOf(jobs);
    expect(results.map(({ outputs }) => outputs.result)).toEqual(
      results.map(() => expect.stringMatching(/^(sent|completed|active)$/)),
    );
    expect(results).not.toEqual([]);
    const sent = results.filter(({ outputs }) => outputs.delivery === 'sent');
    expect(sim.agent.accepted()).toHaveLength(1 + sent.length);
  });

  /** Steps with an ID output the ID of the job. */
  function jobOutputs({ jobs }: Workflow): NonNullable<Setup['outputs']> {
    const ids = Object.values(jobs).flatMap(({ steps = [] }) => steps.map(({ id = '' }) => id));
    return Object.fromEntries(ids.map((id) => [id, { 'job-id': JOB }]));
  }
});

describe('the first workflow of the README starts no agent for', () => {
  const [first] = blocks('yaml').filter(({ document }) => document === 'README.md');
  const workflow: Workflow = parse(first?.text ?? '');
  const byStranger = { number: PULL, body: COMMAND, author: MALLORY };

  it.each<[string, WebhookEvent, readonly string[]]>([
    ['any comment', issueComment({ number: PULL, body: 'Thanks!' }), []],
    ['any review', review({ number: PULL, body: 'Good, but see below.' }), []],
    ['inline comments and replies without a review', review({ number: PULL, body: null }), []],
    ['a command by a stranger', issueComment(byStranger), ['skipped']],
    ['a review by a stranger', review(byStranger), ['skipped']],
  ])('%s', async (_, event, expected) => {
    await using sim = await simulate();
    const jobs = await playOn(sim, workflow, event);
    expect(jobs).toMatchObject([{ failed: false, skipped: expected.length === 0 }]);
    expect(resultsOf(jobs).map(({ outputs }) => outputs.result)).toEqual(expected);
    expect(sim.agent.journal).toEqual([]);
  });
});

/** The results that are neither a success nor an error, by the status of the job. */
const BAD_RESULTS = { failed: 'failed', archived: 'archived', active: 'timed-out' };

const EXAMPLES: Readonly<Record<string, () => Promise<void>>> = {
  'send-back': () => runsCommands('send-back', ['issue_comment', 'pull_request_review']),
  'send-back-reusable': () =>
    runsCommands('send-back-reusable', ['issue_comment', 'pull_request_review']),

  'create-a-job': async () => {
    const compare = 'https://github.com/octo/agents/compare/1f2e3d4...5a6b7c8';
    const pushed = push();
    const byPush = { ...pushed, payload: { ...pushed.payload, compare } };
    for (const [event, prompt] of [
      [byPush, `Update the docs for the changes in ${compare}.`],
      [workflowDispatch({ inputs: { prompt: 'Add a guide.' } }), 'Add a guide.'],
    ] as const) {
      const record = { id: 'job-2', status: 'active' };
      const done = { ...record, status: 'completed', prLink: LINK };
      const onGet = (n: number) => ({ body: n > 3 ? done : record });
      await using sim = await simulate({ agent: { jobs: [{ id: 'job-2' }], onGet } });
      const outputs = { create: { 'job-id': 'job-2' } };
      const [job] = await playOn(sim, example('create-a-job'), event, { outputs });
      expect(job?.others).toEqual([expect.stringContaining(`PROMPT=${prompt}`)]);
      expect(job?.results.map(({ outputs }) => outputs)).toMatchObject([
        { result: 'completed', delivery: 'not-sent', 'job-id': 'job-2', 'pr-link': LINK },
      ]);
      expect(sim.agent.posts()).toEqual([]);
      // The comment names the job now, so a command needs no job-id.
      const named = await playOn(sim, example('send-back'), eventOf('issue_comment', sim));
      expect(resultsOf(named).map(({ outputs }) => outputs)).toMatchObject([
        { result: 'completed', 'job-id': 'job-2' },
      ]);
    }
  },

  'docs-for-each-pull-request': async () => {
    const workflow = example('docs-for-each-pull-request');
    const here = { number: PULL, fork: 'octo/agents' };
    await using sim = await simulate();
    const unknown = { known: { job: '' }, create: { 'job-id': JOB } };
    const [opened] = await playOn(sim, workflow, pullRequest(here), { outputs: unknown });
    expect(opened?.others).toEqual([
      expect.stringContaining(`PULL=${PULL}`),
      expect.stringContaining(`PROMPT=Update the docs for the changes in ${LINK}.`),
    ]);
    expect(opened?.results.map(({ outputs }) => outputs.result)).toEqual(['completed']);
    expect(sim.agent.posts()).toEqual([]);

    const [comment] = ownComments(sim.github);
    const [marker, jobs] = ['<!-- agent-follow-up ', '"jobs":[{'];
    expect(opened?.others[0]).toContain(`startswith(${JSON.stringify(marker)})`);
    expect(opened?.others[0]).toContain(`contains(${JSON.stringify(jobs)})`);
    expect(comment?.body.startsWith(marker)).toBe(true);
    expect(comment?.body.split('\n')[0]).toContain(jobs);

    const pushed = pullRequest({ ...here, action: 'synchronize' });
    const later = await playOn(sim, workflow, pushed, { outputs: { known: { job: 'yes' } } });
    expect(resultsOf(later).map(({ outputs }) => outputs)).toMatchObject([
      { delivery: 'sent', 'job-id': JOB },
    ]);
    expect(sim.agent.accepted()).toMatchObject([{ prompt: expect.stringContaining(LINK) }]);
    for (const event of [
      pullRequest({ number: PULL, fork: 'stranger/agents' }),
      pullRequest({ ...here, author: DEPENDABOT }),
    ]) {
      expect(await playOn(sim, workflow, event)).toMatchObject([{ skipped: true }]);
    }
  },

  'on-label': async () => {
    const workflow = example('on-label');
    const people = { alice: { id: ALICE.id, permission: 'read', role_name: 'triage' } } as const;
    await using sim = await simulate({
      github: { issues: [{ number: PULL, pullRequest: true }], collaborators: people },
    });
    await nameJob(sim);
    const jobs = await playOn(sim, workflow, labeled('check links'));
    expect(resultsOf(jobs).map(({ outputs }) => outputs.result)).toEqual(['completed']);
    expect(sim.agent.accepted()).toMatchObject([{ prompt: expect.stringContaining('links') }]);
    for (const event of [labeled('bug'), labeled('check links', 'stranger/agents')]) {
      expect(await playOn(sim, workflow, event)).toMatchObject([{ skipped: true }]);
    }
  },

  'commit-status': async () => {
    await runsCommands('commit-status', ['issue_comment']);
    const failed = { id: JOB, turns: [{ steps: [{ afterMs: 0, set: { status: 'failed' } }] }] };
    for (const [state, jobs] of [
      ['success', [{ id: JOB }]],
      ['failure', [failed]],
      // It is completed, but this is not confirmed.
      ['error', [{ id: JOB, turns: [{ steps: [] }] }]],
      ['error', []],
    ] as const) {
      const scenario = { agent: { jobs } };
      const { jobs: played } = await play('commit-status', { scenario, isNamed: true });
      if (!HAS_POSIX_SHELL) continue;
      const [head, status] = runScripts(played);
      expect(head).toBe(`gh api repos/octo/agents/pulls/${PULL} --jq .head.sha`);
      expect(status).toMatch(RegExp(` -f state=${state} -f description=.+ -f target_url=https://`));
    }
    const event = issueComment({ number: PULL, body: COMMAND, author: MALLORY });
    const { jobs } = await play('commit-status', { event });
    expect(jobs).toMatchObject([{ failed: false, others: [] }]);
    const onIssue = issueComment({ number: PULL, body: COMMAND, onPullRequest: false });
    const other = await play('commit-status', { event: onIssue });
    expect(other.jobs).toMatchObject([{ skipped: true }]);
  },

  'every-night': async () => {
    for (const [status, result] of Object.entries({ completed: 'completed', ...BAD_RESULTS })) {
      const base = { status: 'failed', prLink: LINK };
      const turns = [
        {
          steps: [
            { afterMs: 0, set: { status: 'active' } },
            { afterMs: 60_000, set: { status } },
          ],
        },
      ];
      const scenario = { agent: { jobs: [{ id: JOB, base, turns }] } };
      const { jobs } = await play('every-night', { scenario });
      expect(jobs[0]?.others).toEqual([
        expect.stringMatching(RegExp(`^WEBHOOK=.+\nRESULT=${result}\nREASON=.*\nLINKS=${LINK}`)),
      ]);
    }
    const scenario = { agent: { jobs: jobsIn({ [JOB]: 'completed' }) } };
    const { jobs } = await play('every-night', { scenario });
    expect(jobs).toMatchObject([{ failed: false, others: [] }]);
  },

  'use-the-outputs': async () => {
    const done = await play('use-the-outputs', { scenario: LINKED });
    expect(done.jobs.map(({ job, others }) => [job, others])).toEqual([
      ['follow-up', [expect.stringContaining(`LINK=${LINK}`)]],
      ['review', [expect.stringContaining(`LINK=${LINK}`)]],
    ]);
    const unclear = await play('use-the-outputs', {
      scenario: { agent: { onPost: () => ({ status: 502 }), onGet: () => ({ status: 502 }) } },
    });
    expect(unclear.jobs).toMatchObject([{ failed: true }, { results: [], others: [] }]);
    for (const [status, result] of Object.entries(BAD_RESULTS)) {
      const turns = [{ steps: [{ afterMs: 0, set: { status } }] }];
      const scenario = { agent: { jobs: [{ id: JOB, turns }] } };
      const bad = await play('use-the-outputs', { scenario });
      expect(resultsOf(bad.jobs).map(({ outputs }) => outputs.result)).toEqual([result]);
      expect(bad.jobs[0]?.others).toEqual([expect.stringMatching(/^REASON=.*\S/)]);
    }
  },

  'fix-checks': async () => {
    const workflow = example('fix-checks');
    const prompt = 'Checks failed. Find out why, and fix it.\n';
    const workspace = mkdtempSync(join(TEMP, 'fix-checks-'));
    writeFileSync(join(workspace, 'failed-checks.md'), prompt);
    await using sim = await simulate();
    // The comment of an earlier run names the job.
    await sim.run();
    const jobs = await playOn(sim, workflow, checksEnded('failure', [PULL]), { workspace });
    expect(resultsOf(jobs).map(({ outputs }) => outputs)).toMatchObject([
      { result: 'completed', 'job-id': JOB },
    ]);
    expect(jobs[0]?.outputs).toMatchObject({ result: 'completed', 'job-id': JOB });
    expect(sim.agent.accepted().at(-1)).toMatchObject({ jobId: JOB, prompt });
    for (const event of [checksEnded('success', [PULL]), checksEnded('failure', [])]) {
      expect(await playOn(sim, workflow, event)).toMatchObject([{ skipped: true }]);
    }
    rmSync(workspace, { recursive: true });
  },

  'nudge-matrix': async () => {
    const statuses = { 'job-1': 'failed', 'job-2': 'active', 'job-3': 'active', 'job-4': 'failed' };
    const parts = ['job-1 job-2', 'job-3', 'job-4'];
    await using sim = await simulate({ agent: { jobs: jobsIn(statuses) } });
    const outputs = { split: { parts: JSON.stringify(parts) }, start: { second: '1' } };
    const event = workflowDispatch({ inputs: { prompt: 'Go on.' } });
    const jobs = await playOn(sim, example('nudge-matrix'), event, { outputs });
    const [split, ...others] = jobs;
    const [one, two, three, gather] = others;
    expect(jobs.map(({ job }) => job)).toEqual(['split', 'nudge', 'nudge', 'nudge', 'gather']);
    expect(resultsOf(jobs).map(({ outputs }) => outputs['job-id'])).toEqual([
      'job-1\njob-2',
      'job-3',
      'job-4',
    ]);
    expect(sim.agent.accepted().map(({ jobId }) => jobId)).toEqual(['job-1', 'job-4']);
    expect(jobs.flatMap(({ others }) => others).join()).toContain('"jobId":"job-4"');
    expect(split?.others).toHaveLength(1);
    // If a part has sent something and another part follows, it pauses first.
    const pauses = [one, two, three].map((part) =>
      part?.others.find((other) => /sleep/.test(other)),
    );
    expect(pauses).toEqual([
      expect.stringContaining('PART=0\nPARTS=3'),
      undefined,
      expect.stringContaining('PART=2\nPARTS=3'),
    ]);
    expect(gather?.others).toHaveLength(2);
    const empty = { split: { parts: '[]' } };
    const none = await playOn(sim, example('nudge-matrix'), event, { outputs: empty });
    expect(none.map(({ others }) => others.length)).toEqual([1, 0, 0]);
  },

  'wait-in-a-later-run': async () => {
    const workflow = example('wait-in-a-later-run');
    await using sim = await simulate(LINKED);
    const evening = await playOn(sim, workflow, schedule({ cron: '0 20 * * 1-5' }));
    expect(resultsOf(evening).map(({ outputs }) => outputs.result)).toEqual(['sent']);
    const morning = await playOn(sim, workflow, schedule({ cron: '0 6 * * 2-6' }));
    expect(resultsOf(morning).map(({ outputs }) => outputs)).toMatchObject([
      { result: 'completed', delivery: 'not-sent' },
    ]);
    expect(sim.agent.accepted()).toHaveLength(1);
    const states = ownComments(sim.github).map(({ body }) => body);
    expect(states).toEqual(
      [titleOf('sent'), titleOf('completed')].map((title) => expect.stringContaining(title)),
    );
  },
};

/** A command by someone with permission is sent to the agent. Other comments do not start a runner. */
async function runsCommands(name: string, events: readonly string[]): Promise<void> {
  const workflow = example(name);
  expect(eventsOf(workflow)).toEqual(events);
  for (const eventName of events) {
    await using sim = await simulate();
    await nameJob(sim);
    const jobs = await playOn(sim, workflow, eventOf(eventName, sim));
    expect(resultsOf(jobs).map(({ outputs }) => outputs.result)).toEqual(['completed']);
    expect(sim.agent.accepted()).toMatchObject([
      { jobId: JOB, prompt: expect.stringContaining('also add error handling examples') },
    ]);
    if (name === 'send-back-reusable') {
      expect(jobs[0]?.outputs).toMatchObject({ result: 'completed', 'job-id': JOB });
    }
    const chat = { number: PULL, body: 'I would ask the /agent to do this.' };
    const other = eventName === 'issue_comment' ? issueComment(chat) : review(chat);
    expect(resultsOf(await playOn(sim, workflow, other))).toEqual([]);
  }
}

describe.concurrent('every example works', () => {
  it.each(files('examples/*.yml'))('$name', async ({ name }) => {
    const check = EXAMPLES[name.replace(/^examples\/|\.yml$/g, '')];
    if (check === undefined) throw new Error('No test runs this example.');
    await check();
  });
});
