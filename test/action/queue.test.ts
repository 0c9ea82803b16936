import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { turnTo } from '../sim/agent.ts';
import type { Person } from '../sim/events.ts';
import { JOB, PULL, type Simulation, simulate } from './scenario.ts';

// Several people write commands for one job at times that no rule names. Each of them is told the end of the work on the own
// message. All of this is drawn from a seed, which is printed.

const SEED = process.env.QUEUE_SEED ?? '1';
const ISSUE = 3;
const PEOPLE = ['ann', 'bob', 'cy'].map(
  (login, n): Person => ({ login, id: 501 + n, type: 'User' }),
);
const collaborators = Object.fromEntries(
  PEOPLE.map(({ login, id }) => [login, { id, permission: 'write' as const }]),
);
const COMMAND = { wait: true, command: '/agent', prompt: '' };
const MINUTE = 60_000;
/** Polls and lists of comments are half a minute apart, and another page needs 65 seconds. */
const SLACK_MS = 120_000;

interface Trial {
  readonly seed: string;
  /** Where each person writes. */
  readonly places: readonly number[];
  /** Whose run is killed in between. */
  readonly dead?: number;
}

/** From 0 to 1, always the same for the same seed and keys. */
function draw(...keys: readonly (string | number)[]): number {
  const hash = createHash('sha256').update(JSON.stringify([SEED, ...keys]));
  return hash.digest().readUInt32BE() / 2 ** 32;
}

/** Resolves to what is not as it has to be, in words, and how many have died. */
async function play({ seed, places, dead }: Trial) {
  // What the agent makes of each message.
  const turns = places.map((_, n) => ({
    ms: 20_000 + draw(seed, 'length', n) * 7 * MINUTE,
    status: draw(seed, 'end', n) < 0.3 ? 'failed' : 'completed',
    pushes: draw(seed, 'pushes', n) < 0.5,
  }));
  const later: Promise<void>[] = [];
  const prLink = `https://github.com/octo/agents/pull/${PULL}`;
  await using sim: Simulation = await simulate({
    with: { ...COMMAND, 'timeout-minutes': 45 },
    agent: {
      jobs: [{ id: JOB, base: { prLink }, turns: turns.map((one) => turnTo(one.status, one.ms)) }],
      onPost(n) {
        const push = () => sim.github.push(PULL, `${n}`.repeat(40));
        const turn = turns[n - 1];
        if (turn?.pushes) later.push(sim.pass(turn.ms - 1000).then(push));
        return undefined;
      },
    },
    github: { issues: [{ number: PULL, pullRequest: true }, { number: ISSUE }], collaborators },
  });

  const runs = places.map(async (number, n) => {
    const author = PEOPLE[n] as Person;
    await sim.pass(draw(seed, 'asks', n) * 5 * MINUTE);
    const about = { number, author, onPullRequest: number === PULL };
    const event = sim.ask(`/agent Task of ${author.login}.`, about);
    await sim.pass(2000 + draw(seed, 'starts', n) * 20_000);
    const killer = new AbortController();
    const dies = () => sim.pass(draw(seed, 'dies') * 4 * MINUTE).then(() => killer.abort());
    if (dead === n) later.push(dies());
    const startedAt = sim.time.now();
    const { outputs, signal } = await sim.runHere({
      with: dead === n ? { 'timeout-minutes': 10 } : {},
      step: {
        event,
        github: { run_id: `${n + 1}`, triggering_actor: author.login },
        dies: killer.signal,
      },
    });
    const isDead = signal === 'SIGKILL';
    return { who: author.login, outputs, startedAt, endedAt: sim.time.now(), isDead };
  });
  const ended = await Promise.all(runs);
  await Promise.all(later);

  const died = ended.filter(({ isDead }) => isDead);
  const sent = sim.agent.accepted();
  const positionOf = (who: string) =>
    sent.findIndex(({ prompt }) => prompt.startsWith(`Task of ${who}.`));
  const dones = sent.map(({ at }, n) => at + (turns[n]?.ms ?? 0));
  const freeAt = Math.max(0, ...died.map(({ startedAt }) => startedAt + 11 * MINUTE));
  const wrong = ended.flatMap(({ who, outputs, startedAt, endedAt, isDead }) => {
    if (isDead) return [];
    const position = positionOf(who);
    const [turn, message, done = 0] = [turns[position], sent[position], dones[position]];
    if (turn === undefined || message === undefined) return [`${who}: not sent`];
    const { result, confirmed, commits } = outputs;
    const latest = Math.max(freeAt, startedAt, ...dones.slice(0, position)) + SLACK_MS;
    return [
      result !== turn.status && 'the end of another one',
      endedAt < done && 'an end before the own',
      endedAt > done + SLACK_MS && 'an end after the own',
      confirmed !== 'true' && 'unconfirmed',
      commits !== '' && commits !== (turn.pushes ? '1' : '0') && 'commits of another one',
      message.at > latest && 'too late',
    ].flatMap((what) => (what ? [`${who}: ${what}`] : []));
  });
  const order = ended.map(({ who }) => who).filter((who) => positionOf(who) >= 0);
  const noteOf = (who: string) =>
    sim.ownComments().findIndex(({ body }) => body.includes(`"askedBy":"${who}"`));
  const byNote = order.toSorted((one, other) => noteOf(one) - noteOf(other)).join();
  const bySent = order.toSorted((one, other) => positionOf(one) - positionOf(other)).join();
  const isOnePage = places.every((place) => place === PULL);
  if (isOnePage && byNote !== bySent) wrong.push(`sent as ${bySent}, not ${byNote}`);
  return { wrong, died: died.length };
}

async function playAll(count: number, trial: (seed: string, n: number) => Trial) {
  const trials = Array.from({ length: count }, (_, n) => play(trial(`${n}`, n)));
  const found = await Promise.all(trials);
  const wrong = found.flatMap((one, n) => one.wrong.map((what) => `${n}: ${what}`));
  const spoiled = found.filter((one) => one.wrong.length > 0).length;
  console.info(`QUEUE_SEED=${SEED}: ${spoiled} of ${count} trials\n${wrong.join('\n')}`);
  return { spoiled, wrong, died: found.reduce((sum, { died }) => sum + died, 0) };
}

it.each([
  ['is cancelled', 3 * MINUTE, 'cancelled'],
  ['has no time left', Infinity, 'timed-out'],
])('who %s while another one is before him sends nothing, and says for whom', async (...row) => {
  const [, stopMs, result] = row;
  const turns = [{ steps: [{ afterMs: 0, set: { status: 'active' } }] }];
  const agent = { jobs: [{ id: JOB, turns }] };
  await using sim = await simulate({ with: COMMAND, agent, github: { collaborators } });
  const ask = (author: Person, minutes: number, stops = new AbortController().signal) =>
    sim.runHere({
      with: { 'timeout-minutes': minutes },
      step: {
        event: sim.ask(`/agent Task of ${author.login}.`, { author }),
        github: { run_id: `${minutes}`, triggering_actor: author.login },
        stops,
      },
    });
  const [ann, bob] = PEOPLE as [Person, Person];
  const stops = new AbortController();
  const first = ask(ann, 20);
  await sim.pass(30_000);
  if (stopMs < Infinity) void sim.pass(stopMs).then(() => stops.abort());
  const { outputs } = await ask(bob, 10, stops.signal);
  expect(outputs).toMatchObject({ result, delivery: 'not-sent' });
  expect(outputs.reason).toContain(sim.ownComments()[0]?.html_url);
  await first;
  expect(sim.agent.posts()).toHaveLength(1);
});

/** QUEUE_TRIALS=24 plays them as often as the rule was found. */
const TRIALS = Number(process.env.QUEUE_TRIALS ?? 6);
const timeout = 240_000;

it('of two people on one page, each is told the own end', { timeout }, async () => {
  const { wrong } = await playAll(TRIALS, (seed) => ({ seed, places: [PULL, PULL] }));
  expect(wrong).toEqual([]);
});

it('of three people on one page, so are those whose run is not killed', { timeout }, async () => {
  const { wrong, died } = await playAll(Math.ceil(TRIALS / 3), (seed, n) => ({
    ...{ seed: `three ${seed}`, places: [PULL, PULL, PULL], dead: n % 3 },
  }));
  expect(wrong).toEqual([]);
  expect(died).toBeGreaterThanOrEqual(TRIALS / 3);
});

it('of an issue and a pull request of one job, most are', { timeout }, async () => {
  const { spoiled } = await playAll(TRIALS, (seed) => ({ seed, places: [ISSUE, PULL] }));
  expect(spoiled).toBeLessThanOrEqual(2);
});
