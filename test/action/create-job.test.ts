import { describe, expect, it } from 'vitest';
import { type AgentOptions, type JobScript, type PostReply, turnTo } from '../sim/agent.ts';
import * as on from '../sim/events.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import {
  AGAIN,
  COMMAND,
  meetAt,
  PULL,
  type Scenario,
  SENT,
  type Simulation,
  SKIPPED,
  simulate,
  UNSENT,
} from './scenario.ts';

// With create-job, the first message creates the job: never two of them for one run, nor for one conversation.

const NEW = 'new-job-1';
/** The pull request that the agent opens. */
const OPENED = 8;
const ISSUE = { issues: [{ number: PULL }, { number: OPENED, pullRequest: true }] };
const CREATES = { 'job-id': '', 'create-job': true };
const PR_LINK = `https://github.com/octo/agents/pull/${OPENED}`;
const WAITS = { ...COMMAND, wait: true };
const DONE = { result: 'completed', delivery: 'sent', confirmed: 'true' };
const REFUSED = { result: 'error', delivery: 'unknown' };

/** The agent opens a pull request. */
function create(n: number): JobScript {
  const turns = [turnTo('completed', 60_000, { prLink: PR_LINK })];
  return { id: `new-job-${n}`, base: { status: 'active' }, turns };
}

function creating(scenario: Scenario = {}, agent: Partial<AgentOptions> = {}): Promise<Simulation> {
  const usual = { github: ISSUE, agent: { jobs: [], create, ...agent } };
  return simulate({ ...usual, ...scenario, with: { ...CREATES, ...scenario.with } });
}

/** The step on a command by alice. */
function commanded(sim: Simulation, body: string, run_id = '1', number = PULL) {
  const event = sim.ask(body, { number, onPullRequest: number === OPENED });
  return { step: { event, github: { run_id } } };
}

const ABOUT = `This is about the issue https://github.com/octo/agents/issues/${PULL}.`;

it('the first command creates a job, and the next ones follow it up, also on its pull request', async () => {
  await using sim = await creating({ with: WAITS });
  const first = await sim.run(commanded(sim, '/agent write a guide'));
  expect(first.annotations).toEqual([]);
  expect(first.outputs).toMatchObject({ ...DONE, 'job-id': NEW, prLink: PR_LINK });
  const [early = '', late = ''] = [sim.commentTexts().at(0), sim.commentTexts().at(-1)];
  expect(early).toContain('Creating an agent job');
  expect(early).toContain('This starts a new job; the agent opens a pull request of its own.');
  expect(late).toContain('Agent opened');
  expect(sim.notes()).toMatchObject([{ jobs: [{ id: NEW, delivery: 'sent', prNumber: OPENED }] }]);
  expect(sim.notes(OPENED)).toMatchObject([{ jobs: [{ id: NEW }] }]);
  // The pull request is elsewhere, so the end is a comment of its own.
  const urls = [PULL, OPENED].map((number) => sim.github.comments(number).at(-1)?.html_url);
  expect(first.outputs['comment-url']).toBe(urls.join('\n'));

  for (const number of [PULL, OPENED]) {
    await sim.pass(600_000);
    const given = commanded(sim, `/agent shorter on ${number}, please`, `${number}`, number);
    expect((await sim.runHere(given)).outputs).toMatchObject({ ...DONE, 'job-id': NEW });
  }
  expect(sim.agent.created()).toEqual([NEW]);
  expect(sim.prompts()).toEqual([
    expect.stringMatching(RegExp(`^write a guide\n\nLines .*\n\n${ABOUT}\n\nThe issue, by .*:\n`)),
    `shorter on ${PULL}, please\n\n${ABOUT}`,
    `shorter on ${OPENED}, please`,
  ]);
});

const GOES_ON = { ...SENT, 'job-id': NEW };
it.each<[string, PostReply | undefined, object, object, posts: number]>([
  ['it has created one', undefined, GOES_ON, GOES_ON, 1],
  ['its answer is lost', { fault: 'reset', accept: true }, REFUSED, REFUSED, 1],
  ['409, which closes no job, and it creates one then', { status: 409 }, UNSENT, GOES_ON, 2],
])('one run creates at most one job, however often it is run again: %s', async (...row) => {
  const [, reply, first, again, posts] = row;
  await using sim = await creating({}, { onPost: (n) => (n === 1 ? reply : undefined) });
  const one = await sim.runHere();
  expect(one.outputs).toMatchObject(first);
  const remedy = first === UNSENT ? 'Once this is fixed, ' : 'https://app.mintlify.com';
  if (first !== GOES_ON) expect(one.errors[0]).toContain(remedy);
  for (const run_attempt of ['2', '3']) {
    const { outputs } = await sim.runHere({ step: { github: { ...AGAIN, run_attempt } } });
    expect(outputs).toMatchObject(again);
  }
  expect(sim.agent.posts()).toHaveLength(posts);
  expect(sim.agent.created()).toHaveLength(1);
});

describe('on one conversation', () => {
  it('two first commands at once create one job', async () => {
    const meet = meetAt(2, 'POST issues/#/comments', () => sim);
    const github: GitHubOptions = { ...ISSUE, on: (request) => meet(request) };
    await using sim: Simulation = await creating({ with: COMMAND, github });
    const given = ['1', '2'].map((run_id) => commanded(sim, `/agent write page ${run_id}`, run_id));
    const results = await Promise.all(given.map((one) => sim.runHere(one)));
    expect(sim.agent.posts()).toHaveLength(1);
    const stopped = results.filter(({ conclusion }) => conclusion === 'failure');
    const reason = expect.stringMatching(
      /^Another run is creating, or may have .*#issuecomment-\d+/,
    );
    expect(stopped).toMatchObject([{ outputs: { ...UNSENT, reason } }]);
    const deliveries = sim.notes().map(({ jobs }) => jobs[0]?.delivery);
    expect(deliveries.toSorted()).toEqual(['not-sent', 'sent']);
  });

  it('a command after a creation in doubt is refused, until its comment is deleted', async () => {
    const onPost: AgentOptions['onPost'] = (n) => (n === 1 ? { status: 502 } : undefined);
    await using sim = await creating({ with: COMMAND }, { onPost });
    const first = await sim.runHere(commanded(sim, '/agent write a guide'));
    expect(first.outputs).toMatchObject(REFUSED);
    const [doubtful] = sim.ownComments();
    const second = await sim.runHere(commanded(sim, '/agent write it now', '2'));
    expect(second.outputs).toMatchObject(UNSENT);
    expect(second.outputs.reason).toContain(doubtful?.html_url);
    expect(sim.github.comments(PULL).at(-1)?.body).toContain('delete that comment');
    sim.github.deleteComment(doubtful?.id ?? 0);
    const third = await sim.runHere(commanded(sim, '/agent write it now', '3'));
    expect(third.outputs).toMatchObject({ ...SENT, 'job-id': NEW });
  });

  it('a later run leaves the comment on the pull request that was not known before', async () => {
    let isHidden = false;
    const on: GitHubOptions['on'] = ({ body }) =>
      isHidden && /viewerDidAuthor.*"number":8\b/.test(body) ? { status: 502 } : undefined;
    await using sim = await creating({ with: COMMAND, github: { ...ISSUE, on } });
    await sim.runHere(commanded(sim, '/agent write a guide'));
    expect(sim.notes(OPENED)).toEqual([]);
    await sim.pass(600_000);
    for (const run_id of ['2', '3']) {
      await sim.runHere({ with: { wait: true }, ...commanded(sim, '/agent shorter', run_id) });
      expect(sim.notes(OPENED)).toMatchObject([{ jobs: [{ id: NEW }] }]);
      // Where it cannot be read whether there is one, there is no further one.
      isHidden = true;
    }
  });
});

const FAILED = { pullRequests: [PULL], fields: { conclusion: 'failure' } };

it.each<[string, on.WebhookEvent]>([
  ['after a failed run', on.workflowRun(FAILED)],
  ['for a bot', on.pullRequest({ number: PULL, author: on.RENOVATE })],
  ['after a status', { name: 'status', payload: { sender: on.ALICE } }],
])('nothing is created %s', async (_, event) => {
  await using sim = await creating({
    step: { event },
    with: { 'allowed-bots': on.RENOVATE.login },
  });
  const { conclusion, outputs } = await sim.runHere();
  expect([conclusion, outputs]).toMatchObject(['success', SKIPPED]);
  expect([...sim.agent.journal, ...sim.github.writes()]).toEqual([]);
});

it('on a on.schedule each run, and no re-run, creates a job, whose pull request gets a comment at the end', async () => {
  await using sim = await creating({ with: { wait: true }, step: { event: on.schedule() } });
  for (const run_id of ['1', '2']) {
    const { outputs } = await sim.runHere({ step: { github: { run_id } } });
    expect(outputs).toMatchObject({ ...DONE, 'job-id': `new-job-${run_id}` });
    expect(outputs['comment-url']).toBe(sim.ownComments(OPENED).at(-1)?.html_url);
  }
  const again = await sim.runHere({ step: { github: { ...AGAIN, run_id: '2' } } });
  expect(again.outputs).toMatchObject(REFUSED);
  expect(sim.agent.created()).toHaveLength(2);
  expect(sim.notes(OPENED)).toHaveLength(2);
});
