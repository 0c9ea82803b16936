import { describe, expect, it } from 'vitest';
import { LABELS } from '../../src/job/labels.ts';
import type { Answer, Reply } from '../sim/agent.ts';
import { mergeGroup, pullRequest, workflowRun } from '../sim/events.ts';
import { type Origin, openAttempts, purposeOf, purposes } from './attempts.ts';
import type { Scenario, Simulation } from './scenario.ts';
import { JOB, LONG_TURN, meetAt, PULL, resolver, simulate } from './scenario.ts';

// The comment of a run is its note: no note, no message. What happens if GitHub refuses it, is slow, or shows it late. What
// the comment shows is in comments.test.ts, and how many calls it takes in budgets.test.ts.

const SENT = { result: 'sent', delivery: 'sent' };
const SKIPPED = { result: 'skipped', delivery: 'not-sent' };
const NOT_SENT = { result: 'error', delivery: 'not-sent' };
const RATE: Answer = { status: 403, body: { message: 'You exceeded a secondary rate limit.' } };

type Replies = Readonly<Record<string, (nth: number) => Reply | undefined>>;

/** A run in which GitHub answers the calls that are for these. */
async function open(origin: Origin, scenario: Scenario, replies: Replies) {
  let nth = 0;
  const on = () => replies[purposes(attempts.sim).at(-1) ?? '']?.(++nth);
  const attempts = await openAttempts(origin, { ...scenario, github: { on } });
  return attempts;
}

describe.concurrent('the creation of the comment', () => {
  it('has a connection of its own, and is repeated if that is refused', async () => {
    await using sim = await simulate({ with: { 'max-messages': 3 } });
    const { port } = new URL(sim.github.apiUrl);
    const result = await sim.run({
      step: {
        event: pullRequest({ number: PULL }),
        github: { api_url: `http://localhost:${port}` },
        // The calls before share a connection. Of that for the creation, the first lookup leads nowhere.
        ...resolver('localhost', '127.0.0.1;::1;127.0.0.1'),
      },
    });
    expect(result.outputs).toMatchObject(SENT);
    const calls = sim.github.calls();
    const note = calls.find((call) => purposeOf(call) === 'note');
    const others = calls.filter(({ request }) => request.socket === note?.request.socket);
    expect(others).toEqual([note]);
    expect(sim.notes()).toHaveLength(1);
  });

  /** What a command gets that finds no note. */
  const answersTo = (sim: Simulation) =>
    sim.github.comments(PULL).filter(({ body }) => body.includes(' reply '));

  it('without an answer or a comment sends nothing, and says how the next one works', async () => {
    let isLost = true;
    const lost = () => (isLost ? { status: 504 } : undefined);
    await using attempts = await open('a comment', {}, { note: lost });
    const { run, sim } = attempts;
    const result = await run(1);
    expect(result.outputs).toMatchObject(NOT_SENT);
    const remedy = 'Comment again; if a comment of this run appears later, delete it.';
    expect(result.errors).toEqual([expect.stringContaining(remedy)]);
    expect(result.errors[0]).not.toContain('comment: false');
    expect(answersTo(sim)).toMatchObject([{ body: expect.stringContaining(remedy) }]);
    expect(answersTo(sim)[0]?.body).not.toContain('Once this is fixed');
    isLost = false;
    const next = { step: { github: { run_id: '2' } } };
    expect((await run(1, next)).outputs).toMatchObject(SENT);
    // It is told, so what was told before is of no use.
    expect(answersTo(sim)[0]?.minimizedReason).toBe('outdated');
  });

  it.each([1, 3])('waits a minute after a limit that names no time: %i of them', async (count) => {
    const reply = (nth: number) => (nth <= count ? RATE : undefined);
    await using attempts = await open('a comment', {}, { note: reply });
    const { run, sim } = attempts;
    const { outputs } = await run(1);
    const calls = sim.github.calls('POST issues/#/comments');
    expect(calls).toHaveLength(count === 1 ? 2 : 3);
    const [first, second] = calls.map(({ request }) => request.at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(60_000);
    expect(outputs).toMatchObject(count === 1 ? SENT : NOT_SENT);
    // A further comment would fall under the same limit.
    expect(answersTo(sim)).toEqual([]);
  });

  it('that fails in a re-run that only goes on is a warning', async () => {
    let isRerun = false;
    const reply = () => (isRerun ? RATE : undefined);
    await using attempts = await open('a step', { with: { wait: true } }, { note: reply });
    const { sim, run } = attempts;
    await run(1, { with: { wait: false } });
    isRerun = true;
    const result = await run(2);
    expect(result.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(result.warnings[0]).toContain('rate limit');
    expect(sim.agent.accepted()).toHaveLength(1);
  });
});

it.concurrent.each<[string, number, Reply, string?]>([
  ['twice: they are made again', 2, { status: 502 }],
  ['by silence', Infinity, { fault: 'hang' }, 'did not answer in time'],
])('edits of the comment that fail %s: at most one warning', async (_, most, reply, said) => {
  const agent = { jobs: [{ id: JOB, turns: [LONG_TURN] }] };
  const edit = (nth: number) => (nth <= most ? reply : undefined);
  await using attempts = await open('a step', { with: { wait: true }, agent }, { edit });
  const { conclusion, outputs, warnings } = await attempts.run(1);
  expect(conclusion).toBe('success');
  expect(outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
  expect(warnings).toEqual(said === undefined ? [] : [expect.stringContaining(said)]);
  const icon = LABELS[said === undefined ? 'completed' : 'sending'].icon;
  expect(attempts.sim.lastComment()).toContain(icon);
});

describe.concurrent('a list of comments that shows new ones late', () => {
  it('and never the own one means that nothing is sent, which the comment says', async () => {
    await using sim = await simulate({
      with: { 'max-messages': 3 },
      github: { trouble: { listLagMs: 3_600_000 } },
    });
    const { outputs, errors } = await sim.runHere();
    expect(outputs).toMatchObject(NOT_SENT);
    const why = 'GitHub does not list the comment of this run';
    expect(errors).toEqual([expect.stringContaining(why)]);
    // Once before the comment, five times after it, and once for what is to be collapsed.
    expect(sim.github.calls('list')).toHaveLength(7);
    expect(sim.agent.posts()).toEqual([]);
    expect(sim.notes()).toMatchObject([{ jobs: [{ delivery: 'not-sent' }] }]);
    expect(sim.ownComments()[0]?.body).toContain(why);
  });

  const FAILED = { step: { event: workflowRun({ pullRequests: [PULL] }) } };
  const CREATE = { with: { 'job-id': '', 'create-job': true } };
  it.each<[string, number, Scenario, object]>([
    ['about one commit', 4, FAILED, SKIPPED],
    ['that would create a job', 3, CREATE, NOT_SENT],
  ])('by 10 s: of runs at once %s, only the first sends', async (_, count, scenario, others) => {
    // None of them sees the comment of another one before its own.
    const on = meetAt(count, 'POST issues/#/comments', () => sim);
    const github = { trouble: { listLagMs: 10_000 }, on };
    await using sim: Simulation = await simulate({ ...scenario, github });
    const ids = Array.from({ length: count }, (_, index) => String(index + 1));
    const runs = ids.map((run_id) => sim.runHere({ step: { github: { run_id } } }));
    const results = await Promise.all(runs);
    expect(sim.agent.accepted()).toHaveLength(1);
    const unsent = results.filter(({ outputs }) => outputs.delivery !== 'sent');
    expect(unsent).toHaveLength(count - 1);
    for (const { outputs } of unsent) expect(outputs).toMatchObject(others);
    // What was not sent is told elsewhere, or by nobody, so its note is collapsed.
    const hidden = sim.ownComments().map(({ isMinimized }) => isMinimized);
    expect(hidden.slice(1)).toEqual(Array(count - 1).fill(true));
    const deliveries = sim.notes().map(({ jobs }) => jobs[0]?.delivery);
    expect(deliveries).toEqual(['sent', ...Array(count - 1).fill('not-sent')]);
  });

  const again = { github: { run_attempt: '2', triggering_actor: 'alice' } };

  it.each<[string, Reply]>([
    ['is refused', { status: 403, body: { message: 'Resource not accessible by integration' } }],
    ['has no answer', { status: 504 }],
  ])('a re-run whose comment %s does not say “not-sent”', async (_, reply) => {
    let isRerun = false;
    const fails = () => isRerun && sim.github.calls().at(-1)?.name === 'POST issues/#/comments';
    await using sim: Simulation = await simulate({
      github: { on: () => (fails() ? reply : undefined), trouble: { listLagMs: 6e4 } },
    });
    expect((await sim.runHere()).outputs).toMatchObject(SENT);
    isRerun = true;
    const { outputs } = await sim.runHere({ step: again });
    expect(outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
    expect(outputs.reason).toMatch(/^This attempt sent nothing; an earlier one may have sent/);
    // Of the comments of this run, that of the first attempt must stay.
    expect(outputs.reason).not.toMatch(
      /comment: false|[Cc]omment again|new run|Nothing was sent|comment of this run/,
    );
    expect(sim.agent.accepted()).toHaveLength(1);
  });

  it('a re-run that sees a doubtful attempt only then writes that it sent nothing, and its remedy works', async () => {
    await using sim = await simulate({
      agent: { onPost: (n) => (n === 1 ? { status: 503 } : undefined) },
      github: { trouble: { listLagMs: 3000 } },
    });
    await sim.runHere();
    const { outputs } = await sim.runHere({ step: again });
    expect(outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
    const [first, second] = sim.ownComments();
    expect(outputs.reason).toContain(`delete the comment ${first?.html_url}, and re-run`);
    expect(sim.notes().map(({ jobs }) => jobs[0]?.delivery)).toEqual(['unknown', 'not-sent']);
    expect(second?.body).toContain('This re-run sent nothing.');
    sim.github.deleteComment(first?.id ?? 0);
    const third = { github: { ...again.github, run_attempt: '3' } };
    expect((await sim.runHere({ step: third })).outputs).toMatchObject(SENT);
  });
});

it('300 long comments of a stranger do not block a command without job-id', async () => {
  await using attempts = await openAttempts('a comment', { with: { 'job-id': '' } });
  const { sim, run } = attempts;
  const step = { event: mergeGroup() };
  await run(1, { with: { command: '', prompt: 'Earlier.', 'job-id': JOB }, step });
  for (let n = 0; n < 300; n++) sim.github.addComment(PULL, 'mallory', 'x'.repeat(65_000));
  expect((await run(1)).outputs).toMatchObject(SENT);
  expect((await run(2)).outputs).toMatchObject(SENT);
  expect(sim.agent.accepted()).toHaveLength(2);
});
