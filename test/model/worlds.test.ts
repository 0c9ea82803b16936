import { describe, expect, it } from 'vitest';
import { issueComment, mergeGroup, SHA, workflowRun } from '../sim/events.ts';
import type { Arrived, Breakage, Outcome, Scene, World } from './world.ts';
import { FAILED_RUN, LONGEST_LAG_MS, playRun as play, playInWorlds } from './world.ts';

// The same run in fast and slow worlds: what counts is the order of things.

playInWorlds();

type Fact = keyof Outcome['facts'];

const FAST: World = { takes: () => [0, 0] };
const HOSTS = { 'the API': ['api'], GitHub: ['github'], both: ['api', 'github'] } as const;
type Shape = (one: Arrived, ms: number) => readonly [number, number];
const each: Shape = (_, ms) => [ms, 0];
const SHAPES: readonly (readonly [string, number, Shape])[] = [
  ['each', 1200, each],
  ['each', 9000, each],
  ['reads', 9000, ({ isRead }, ms) => [isRead ? ms : 0, 0]],
  ['writes', 9000, ({ isRead }, ms) => [isRead ? 0 : ms, 0]],
  ['the first', 9000, ({ n }, ms) => [n === 1 ? ms : 0, 0]],
  ['bodies', 9000, (_, ms) => [0, ms]],
];

interface Slow extends World {
  readonly name: string;
  /** Milliseconds that a request to the API takes at most, or that its answer is behind. */
  readonly apiMs: number;
}

/** All requests to both hosts or one, or some of them. */
const SLOW = Object.entries(HOSTS).flatMap(([who, hosts]) =>
  SHAPES.map(
    ([what, ms, shape]): Slow => ({
      name: `${who}: ${what} at ${ms} ms`,
      takes: (one) => (hosts.some((host) => host === one.host) ? shape(one, ms) : [0, 0]),
      apiMs: who === 'GitHub' ? 0 : ms,
    }),
  ),
);
/** Two replicas of which one is behind, and a cache that keeps answers of the agent at work. */
const WORLDS: readonly Slow[] = [
  { ...FAST, name: 'a replica is 5 s behind', apiMs: 5000, lagsMs: [0, 5000] },
  { ...FAST, name: 'a replica is 15 s behind', apiMs: 15_000, lagsMs: [0, 15_000] },
  { ...FAST, name: 'a cache', apiMs: 0, cacheMs: 90_000 },
  ...SLOW,
];

/** Work that begins and ends between two polls is not seen: its end is taken when it has settled. */
const UNSEEN = { scene: 'a job that is done in seconds', fromMs: 5000 } as const;
const UNSEEN_FACTS: readonly Fact[] = ['confirmed', 'warnings', 'titles'];
/** If it is listed late, a comment that has announced the message says what becomes of that. */
const ANNOUNCED: readonly string[] = ['a limit that is reached', 'a re-run in doubt'];

/**
 * The end is seen within one interval between polls and three answers, and looked at again four times at most. Without work
 * that was seen, it settles for a minute, in which polls are 5 s apart.
 */
function latestMs({ workMs, facts }: Outcome, apiMs: number): number {
  const interval = Math.min(30_000, Math.max(2000, workMs / 20));
  const settleMs = facts.confirmed === 'false' ? 65_000 + 2 * apiMs : 0;
  const looksMs = 4 * (3000 + apiMs);
  return interval + 3 * apiMs + settleMs + looksMs + 1000;
}

/** What is otherwise than in the fast world, and whether the end is seen late. */
function differences(fast: Outcome, slow: Outcome, apiMs: number, ignored: readonly Fact[] = []) {
  const names = Object.keys(fast.facts) as Fact[];
  const others = names.filter((name) => {
    const isSame = JSON.stringify(slow.facts[name]) === JSON.stringify(fast.facts[name]);
    return !isSame && !ignored.includes(name);
  });
  const wrong = others.map((name) => `${name}: ${JSON.stringify(slow.facts[name])}`);
  const lateMs = slow.knownAt - slow.endsAt;
  const hasEnd = ['completed', 'failed'].includes(slow.facts.result) && slow.endsAt > 0;
  return hasEnd && lateMs > latestMs(slow, apiMs) ? [...wrong, `seen ${lateMs} ms late`] : wrong;
}

const wait: Scene = { event: mergeGroup(), with: { 'pr-number': '7' } };
const fields = { id: FAILED_RUN, run_attempt: 1, conclusion: 'failure' };
const failed: Scene = {
  event: workflowRun({ pullRequests: [7], fields }),
  with: { 'job-id': '', prompt: '', command: '/agent' },
  notes: [{ delivery: 'sent' }],
};
const rerun = (delivery: 'sent' | 'sending' | 'not-sent'): Scene => ({
  ...{ ...wait, attempt: 2, notes: [{ delivery, run: '77' }] },
  ...(delivery === 'sent' && { sentAt: -20_000 }),
});
const limited = (count: number): Scene => ({
  ...{ ...wait, with: { ...wait.with, 'max-messages': '2' } },
  notes: Array.from({ length: count }, () => ({ delivery: 'sent' })),
});
const busy = (endsAt: number) => ({ earlier: { endsAt, ends: 'completed', link: true } }) as const;

const many = { ...wait, jobs: [60, 90, 120].map((s) => ({ workMs: s * 1000 })) };
const inputs = (more: Scene['with']): Scene => ({ ...wait, with: { ...wait.with, ...more } });
const command = issueComment({ number: 7, body: '/agent Say more.' });
const short = { ...wait, jobs: [{ queueMs: 500, workMs: 2000 }] };
const joined = { ...inputs({ 'only-when': 'active' }), jobs: [{ ...busy(300_000), joins: true }] };
const created = { ...inputs({ 'job-id': '', 'create-job': 'true' }), jobs: [{ queueMs: 0 }] };
const early = { ...wait, jobs: [busy(60_000)] };

const outdated = { ...failed, commits: [SHA, 'e'.repeat(40)] };

/** Each scene with its result, `confirmed` and `delivery`. */
type Scenes = Readonly<Record<string, readonly [end: string, Scene]>>;
const LISTS: Scenes = {
  'failed checks': ['completed, true, sent', failed],
  'failed checks of an outdated commit': ['skipped, , not-sent', outdated],
  'a limit that is reached': ['skipped, , not-sent', limited(2)],
  'a limit that is not reached': ['completed, true, sent', limited(1)],
  'a re-run that goes on': ['completed, true, sent', rerun('sent')],
  'a re-run in doubt': ['error, false, unknown', rerun('sending')],
  'a re-run that sends': ['completed, true, sent', rerun('not-sent')],
};
const SCENES: Scenes = {
  ...LISTS,
  'a wait': ['completed, true, sent', wait],
  'a failed job': ['failed, true, sent', { ...wait, jobs: [{ ends: 'failed' }] }],
  'a job that is done in seconds': ['completed, true, sent', short],
  'no wait': ['sent, , sent', inputs({ wait: 'false' })],
  'earlier work': ['completed, true, sent', early],
  'only-when: active': ['completed, false, sent', joined],
  'only-when: failed': ['skipped, , not-sent', inputs({ 'only-when': 'failed' })],
  'a command': ['completed, true, sent', { ...failed, event: command }],
  'several jobs': ['completed, true, sent', many],
  'create-job': ['completed, true, sent', created],
};

it.each(Object.entries(SCENES))('in every world, %s ends as in the fast one', async (...row) => {
  const [name, [end, scene]] = row;
  const fast = await play(scene, FAST);
  const { result, confirmed, delivery } = fast.facts;
  expect(`${result}, ${confirmed}, ${delivery}`).toBe(end);
  const words = name === 'failed checks' ? 'A link is broken.' : '';
  expect(fast.facts.prompts.join()).toContain(words);
  for (const world of WORLDS) {
    const ignored = name === UNSEEN.scene && world.apiMs >= UNSEEN.fromMs ? UNSEEN_FACTS : [];
    const slow = await play(scene, world);
    expect(differences(fast, slow, world.apiMs, ignored), world.name).toEqual([]);
  }
});

it.each(Object.entries(LISTS))('with comments listed late, so does %s', async (name, [, scene]) => {
  const fast = await play(scene, FAST);
  // Where no comment is found that names the job, there is nothing to send.
  const isNamed = scene.with['job-id'] === undefined;
  const ignored: readonly Fact[] = ANNOUNCED.includes(name) ? ['titles'] : [];
  for (const listLagMs of [2000, LONGEST_LAG_MS]) {
    for (const ms of [0, 1200]) {
      const world = { takes: () => [ms, 0] as const, listLagMs };
      expect(differences(fast, await play(scene, world), ms)).toEqual([]);
      const late = isNamed ? await play(scene, { ...world, areFresh: true }) : fast;
      expect(differences(fast, late, ms, ignored)).toEqual([]);
    }
  }
});

/** Bad answers to a poll, by a part of the reason in the end. */
const BAD: Readonly<Record<string, Breakage>> = {
  'answered 401 ': { status: 401, headers: { 'retry-after': '3600' }, body: { error: 'no' } },
  'such as a proxy or firewall': { status: 403, body: '<h1>Blocked</h1>' },
  'That is no record of this job.': { body: '<h1>Welcome</h1>' },
  CERT_HAS_EXPIRED: { code: 'CERT_HAS_EXPIRED', isWritten: false },
  ECONNRESET: { code: 'ECONNRESET', isWritten: true },
};
/** When the first of them comes. */
const WAITS: Readonly<Record<string, readonly [Scene, (one: Arrived) => boolean]>> = {
  'for the agent': [wait, ({ isSent, endsAt, now }) => isSent && now > endsAt - 40_000],
  'for earlier work': [early, ({ isSent, now }) => !isSent && now > 30_000],
};

/** A world in which the polls break there: the first of them, or all from then on. */
function breaking(isThere: (one: Arrived) => boolean, breakage: Breakage, most: number) {
  const broken: number[] = [];
  const breaks = (one: Arrived): Breakage | undefined => {
    const isPoll = one.host === 'api' && one.isRead;
    const isBroken = isPoll && broken.length < most && (broken.length > 0 || isThere(one));
    if (isBroken) broken.push(one.now);
    return isBroken ? breakage : undefined;
  };
  return { ...FAST, breaks, broken };
}

describe.each(Object.entries(WAITS))('in a wait %s', (_, [scene, isThere]) => {
  it.each(Object.entries(BAD))('one poll ends nothing, but ten minutes do: %s', async (...row) => {
    const [said, bad] = row;
    const one = breaking(isThere, bad, 1);
    const slow = await play(scene, one);
    expect(differences(await play(scene, FAST), slow, 10_000)).toEqual([]);
    // A pause is never longer than 30 s.
    expect(slow.knownAt - slow.endsAt).toBeLessThan(60_000);
    expect(one.broken).toHaveLength(1);

    const all = breaking(isThere, bad, Infinity);
    const { facts, reason, knownAt } = await play(scene, all);
    const delivery = scene === wait ? 'sent' : 'not-sent';
    expect(facts).toMatchObject({ code: 1, result: 'error', delivery });
    expect(reason).toContain(said);
    expect(Math.round((knownAt - (all.broken[0] ?? 0)) / 60_000)).toBe(10);
  });
});
