import { expect, test } from 'vitest';
import { issueComment, pullRequest, workflowRun } from '../../sim/events.ts';
import type { Luck, Outcome, Setup, World } from './lottery.ts';
import { NO_TROUBLE, newWorld, PULL, runIn } from './lottery.ts';

// Random worlds: legs, re-runs and runs at once, lost answers of creations and edits, kills between any two requests, and lists
// that lag. What is tried in every order, but with fewer things that happen, is in protocol.test.ts.

await import('../../../src/prompt/conversation/fetch.ts');

const WORLDS = Math.min(Number(process.env.MODEL_RUNS ?? 300), 30_000);
const SEED = Number(process.env.MODEL_SEED ?? 1);

/** https://gist.github.com/tommyettinger/46a874533244883189143505d203312c */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Plan = Pick<Setup, 'run' | 'event' | 'with'> & { readonly attempts: number };
const BOT = { login: 'mintlify[bot]', id: 3003, type: 'Bot' } as const;
const KINDS = ['attempts', 'limit', 'commit', 'creation', 'refused creation'] as const;

const command = (id: number) => issueComment({ number: PULL, body: '/agent Go.', id });
const COMMAND = { command: '/agent' };
const CREATES = { ...COMMAND, 'create-job': 'true' };
const ONE_JOB = { 'job-id': 'x', prompt: 'Go.' };
const LIMIT = { ...ONE_JOB, 'allowed-bots': BOT.login, 'max-messages': '2' };
const byBot = pullRequest({ number: PULL, author: BOT });

/** How many messages were sent in the worlds of each kind: where nothing is sent, nothing can be wrong. */
const sentIn: Record<string, number> = {};

/** The runs of a world. Legs of a matrix have one run. */
function plansOf(kind: (typeof KINDS)[number], world: World): readonly Plan[] {
  const names = Array.from({ length: 2 + world.upTo(3) }, (_, n) => n);
  const attempts = () => 1 + world.upTo(3);
  switch (kind) {
    case 'attempts': {
      const event = world.chance(0.5) ? command(9) : pullRequest({ number: PULL });
      const word = event.name === 'issue_comment' ? COMMAND : { prompt: 'Go.' };
      const leg = { run: '1', event, attempts: attempts() };
      return names.map((n) => ({ ...leg, with: { ...word, 'job-id': `leg-${n}` } }));
    }
    case 'limit':
      return names.map((n) => ({ run: `${n}`, event: byBot, with: LIMIT, attempts: 1 }));
    case 'commit': {
      const event = workflowRun({ pullRequests: [PULL] });
      return names.map((n) => ({ run: `${n}`, event, with: ONE_JOB, attempts: 1 }));
    }
    case 'creation':
    case 'refused creation':
      return names.map((n) => ({
        ...{ run: `${n}`, event: command(n + 1), with: CREATES, attempts: attempts() },
      }));
  }
}

async function playPlan(world: World, plan: Plan, luck: Luck): Promise<Outcome[]> {
  const kills = luck.refuses === 1 ? 0 : 0.25;
  await world.clock.pass(world.upTo(6000));
  const outcomes: Outcome[] = [];
  for (let attempt = 1; attempt <= plan.attempts; attempt += 1) {
    const killAt = world.chance(kills) ? 1 + world.upTo(10) : undefined;
    outcomes.push(await runIn(world, { ...plan, attempt, killAt, luck }));
    await world.clock.pass(500 + world.upTo(15_000));
  }
  return outcomes;
}

const IN_TROUBLE: Luck = { loses: 0.15, drops: 0.3, fails: 0.05, doubts: 0.15, refuses: 0.15 };

/** Every process ends by itself, and none of them has sent anything. */
const REFUSED: Luck = { loses: 0.4, drops: 0, fails: 0, doubts: 0, refuses: 1 };

/** What is not as it has to be, in words. */
async function playWorld(seed: number): Promise<readonly string[]> {
  const random = mulberry(seed);
  const world = newWorld(random, [0, 2000, 10_000][seed % 3] ?? 0);
  const kind = KINDS[Math.floor(seed / 3) % KINDS.length] ?? 'attempts';
  const plans = plansOf(kind, world);
  const luck = kind === 'refused creation' ? REFUSED : IN_TROUBLE;
  const played = Promise.all(plans.map((plan) => playPlan(world, plan, luck)));
  const outcomes = (await world.clock.drive(played.finally(() => world.clock.pass(10_000)))).flat();
  const wrong: string[] = [];
  const { accepted } = world;
  sentIn[kind] = (sentIn[kind] ?? 0) + accepted.length;
  const different = new Set(accepted.map(({ run, job }) => `${run} ${job}`));
  if (different.size < accepted.length) wrong.push('twice');
  if (kind === 'creation' && accepted.filter(({ job }) => job === '').length > 1) {
    wrong.push('created twice');
  }
  if (kind === 'commit' && accepted.length > 1) wrong.push('twice for a commit');
  if (kind === 'limit' && accepted.length > 2) wrong.push('beyond the limit');
  if (world.stolen.length > 0) wrong.push('a note of another process');
  for (const { setup, delivery } of outcomes) {
    const { run, attempt, with: inputs } = setup;
    const isSent = accepted.some(
      (one) =>
        one.run === run && one.attempt <= attempt && one.job === (inputs['job-id'] ?? one.job),
    );
    if (delivery === 'sent' && !isSent) wrong.push('says sent');
    if (delivery === 'not-sent' && isSent) wrong.push('says not-sent');
  }
  return [...wrong, ...(await world.clock.drive(probe(world, kind)))];
}

/** An hour later, all is well again: the next runs are neither blocked without need, nor tell what is told. */
async function probe(world: World, kind: string): Promise<string[]> {
  const later = async (setup: Pick<Setup, 'run' | 'event' | 'with'>): Promise<string> => {
    await world.clock.pass(3_600_000);
    return (await runIn(world, { ...setup, attempt: 1, luck: NO_TROUBLE })).result;
  };
  const wrong: string[] = [];
  if (kind === 'limit') {
    const byRun = (run: string) => later({ run, event: byBot, with: LIMIT });
    const results = [await byRun('70'), await byRun('71'), await byRun('72')];
    if (results[2] !== 'skipped') wrong.push(`no limit: ${results}`);
    const before = world.entries.length;
    await byRun('73');
    if (world.entries.length > before) wrong.push('the limit is told twice');
  }
  if (kind === 'refused creation') {
    const result = await later({ run: '99', event: command(99), with: CREATES });
    if (result !== 'sent') wrong.push(`blocked: ${result}`);
  }
  return wrong;
}

test(`${WORLDS} random worlds: never twice, never beyond a limit, and told once`, async () => {
  const wrong: Record<string, number[]> = {};
  for (let seed = SEED; seed < SEED + WORLDS; seed += 1) {
    for (const what of await playWorld(seed)) wrong[what] = [...(wrong[what] ?? []), seed];
  }
  if (process.env.MODEL_RUNS !== undefined) console.info({ worlds: WORLDS, sentIn, wrong });
  expect(wrong).toEqual({});
  expect(KINDS.filter((kind) => sentIn[kind] === 0)).toEqual(['refused creation']);
});
