import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkFor } from './check.ts';
import { explore, traceOf, walkAtRandom } from './explore.ts';
import { FAULTS } from './planted-faults.ts';
import { GROUPS, LIMITS, WALKED } from './scenarios.ts';

// Stack traces of many errors take time, and are not read.
const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

/** `npm run test:long` tries every order. Otherwise, the tests try a sample. */
const IS_LONG = process.env.MODEL_SEQUENCES !== undefined;
const MAX_EXECUTIONS = Number(process.env.MODEL_EXECUTIONS ?? (IS_LONG ? 60_000 : 12));
const WALKS = IS_LONG ? 5000 : 30;
const MS_OF_A_DAY = 86_400_000;

describe.each(GROUPS)('$name', ({ name, messages, scenarios }) => {
  it('sends and notes each message once', { timeout: MS_OF_A_DAY }, async () => {
    const wrong: string[] = [];
    const leftovers = new Map<string, string>();
    const sums = { executions: 0, ended: 0, complete: 0, orders: 0n };
    for (const scenario of scenarios) {
      const found = await explore(scenario, checkFor(messages), { most: MAX_EXECUTIONS });
      sums.executions += found.executions;
      sums.ended += found.ended;
      sums.orders += found.orders;
      if (found.isComplete) sums.complete += 1;
      const trace = async (what: string, transitions: readonly string[]): Promise<string> =>
        [`${scenario.name}: ${what}`, ...(await traceOf(scenario, transitions))].join('\n  ');
      for (const [what, { transitions }] of found.wrong) wrong.push(await trace(what, transitions));
      for (const [what, { transitions }] of found.leftovers) {
        if (!leftovers.has(what)) leftovers.set(what, await trace(what, transitions));
      }
    }
    console.info(
      `${name}: ${sums.complete} of ${scenarios.length} scenarios in every order. Without pruning, there are ` +
        `at least ${sums.orders.toLocaleString('en')} orders; tried ${sums.executions}, of which ` +
        `${sums.ended} were possible and new.`,
    );
    if (IS_LONG) console.info([...leftovers.values()].join('\n'));
    expect(wrong).toEqual([]);
  });
});

describe('a limit in SECURITY.md', () => {
  it.each(LIMITS)('sends a message twice if $name', async ({ messages, scenario }) => {
    const found = await explore(scenario, checkFor(messages), { most: 3000, stopsAtWrong: true });
    expect([...found.wrong.keys()]).toContain('a message is sent twice');
    if (!IS_LONG) return;
    const [first] = found.wrong.values();
    console.info((await traceOf(scenario, first?.transitions ?? [])).join('\n  '));
  });
});

describe('exploration finds the planted fault', () => {
  it.each(FAULTS)('$name', { timeout: 600_000 }, async (fault) => {
    const { overrides, messages, scenario } = fault;
    const restore = fault.plant?.();
    try {
      const options = { overrides, most: 20_000, stopsAtWrong: true };
      const found = await explore(scenario, checkFor(messages), options);
      const [first] = found.wrong.keys();
      console.info(`${fault.name}: "${first}" after ${found.executions} executions.`);
      expect(found.wrong.size).toBeGreaterThan(0);
    } finally {
      restore?.();
    }
  });
});

it('pruning does not miss any end of an execution', { timeout: 3_600_000 }, async () => {
  const check = checkFor(1);
  const counts = { ended: 0, impossible: 0 };
  for (const scenario of WALKED) {
    const { ends, isComplete } = await explore(scenario, check);
    expect(isComplete).toBe(true);
    for (let seed = 1; seed <= WALKS; seed++) {
      const verdict = await walkAtRandom({ ...scenario, isSplit: true }, check, seed);
      counts[verdict === null ? 'impossible' : 'ended'] += 1;
      if (verdict !== null) expect([...ends.keys()]).toContain(verdict.end);
    }
  }
  console.info(
    `${counts.ended} random executions had known ends, ${counts.impossible} were impossible.`,
  );
});
