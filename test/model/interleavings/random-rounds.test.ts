import { afterAll, beforeAll, expect, it } from 'vitest';
import { findJob } from '../../../src/memory/ledger.ts';
import { commentText } from '../../../src/memory/text.ts';
import { reasonToText } from '../../../src/reason.ts';
import { type Round, type RoundSetup, randomFrom, runRound } from './random-round.ts';
import { A, EXISTING, JOB } from './scenarios.ts';
import { PROJECT } from './server-state.ts';
import type { RunSetup } from './simulated-run.ts';

const ROUNDS = Number(process.env.MODEL_SEQUENCES ?? 20_000);
/** Every so many rounds, the comments contain real data. */
const REAL_DATA_EVERY = 400;
/** Those with several conversations take three times as long. */
const KINDS = ['legs', 'legs', 'comment', 'comment', 'review', 'review', 'several'] as const;
// Stack traces of many errors take time, and are not read.
const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

it(`sends and notes each message once in ${ROUNDS} random rounds of 3 to 8 runs`, {
  timeout: 86_400_000,
}, async () => {
  const count = { runs: 0, calls: 0, spare: 0 };
  for (let seed = 1; seed <= ROUNDS; seed++) {
    // The rounds themselves never return to the event loop, which Vitest needs.
    await new Promise(setImmediate);
    const setup = setupFrom(seed);
    const round = await runRound(setup);
    const wrong = wrongWith(setup, round);
    if (wrong.length > 0) {
      const lines: string[] = [];
      await runRound(setup, {}, (line) => lines.push(line));
      expect.unreachable(`Round ${seed}: ${wrong.join(', ')}\n${lines.join('\n')}`);
    }
    count.runs += round.simulatedRuns.length;
    count.calls += round.calls;
    if (hasSpareComment(round)) count.spare += 1;
  }
  console.info(
    `${ROUNDS} rounds of ${count.runs} runs with ${count.calls} calls; ${count.spare} left more than one comment.`,
  );
});

function setupFrom(seed: number): RoundSetup {
  const random = randomFrom(seed * 7919);
  const pick = (most: number): number => Math.floor(random() * most);
  const kind = KINDS[pick(KINDS.length)] as (typeof KINDS)[number];
  // Few runs find more faults, and take less time.
  const size = 3 + Math.floor(6 * random() ** 4);
  const isCommand = kind === 'comment' || kind === 'review';
  const runs = [...Array(size).keys()].map((index): RunSetup => {
    const runId = isCommand ? String(1000 + index) : A.runId;
    return { ...A, name: `R${index}`, runId, ...partsOf(kind, index) };
  });
  const withinMs = [0, 1000, 5000][pick(3)] ?? 0;
  return {
    ...{ runs, startsAt: runs.map(() => random() * withinMs), seed },
    existing: pick(2) === 0 ? null : EXISTING,
    pullRequests: new Map([
      [JOB, 7],
      ['job-2', kind === 'several' ? 8 : 7],
      ['job-3', 7],
    ]),
    lostPerMille: [0, 30, 200][pick(3)] ?? 0,
    failedPerMille: [0, 30, 200][pick(3)] ?? 0,
    ...(seed % REAL_DATA_EVERY === 0 ? { text: commentText(PROJECT, () => '', String) } : {}),
  };
}

function partsOf(kind: (typeof KINDS)[number], index: number): Partial<RunSetup> {
  const leg = `{"part":${index}}`;
  switch (kind) {
    case 'legs':
      return { leg };
    case 'comment':
      return { event: 'issue_comment' };
    case 'review':
      return { event: 'pull_request_review' };
    case 'several': {
      const jobIds = [JOB, 'job-2', 'job-3'].slice(index % 2);
      return { event: 'schedule', conversation: null, leg, jobIds };
    }
  }
}

function wrongWith(
  { runs }: RoundSetup,
  { server, simulatedRuns, failures }: Round,
): readonly string[] {
  const isCommand = runs.some(({ event }) => /comment|review/.test(event));
  const messages = runs.flatMap(({ name, jobIds }) => jobIds.map((job) => `${job} by ${name}`));
  const posts = server.posts.map(({ jobId, by }) => `${jobId} by ${by}`);
  const states = simulatedRuns.flatMap(({ setup, states }) =>
    [...states.values()].map((state) => ({ setup, state })),
  );
  // If GitHub fails repeatedly, and other runs keep overwriting the note.
  const asksForRerun = states.some(({ state: { turn } }) =>
    /Re-run/.test(reasonToText(turn.reason)),
  );
  const kept = server.remembered();
  const lost = states.filter(({ setup, state: { jobId, turn } }) => {
    const note = findJob(kept, jobId)?.turns.find(({ mark }) => mark === setup.name);
    if (note === undefined) return turn.delivery !== 'not-sent';
    return note.delivery !== turn.delivery || note.endedAt === null;
  });
  return [
    ...failures.map(String),
    ...(new Set(posts).size < posts.length ? ['a run sends twice'] : []),
    ...(isCommand && posts.length > 1 ? ['a message is sent twice'] : []),
    ...(isCommand && posts.length === 0 && !asksForRerun ? ['no run sends the message'] : []),
    ...(!isCommand && posts.length < messages.length ? ['a message is not sent'] : []),
    ...(server.claims.length > 1 ? ['two runs win the claim'] : []),
    ...(lost.length > 0 ? ['a note is lost'] : []),
  ];
}

function hasSpareComment({ server }: Round): boolean {
  const conversations = server.comments.map(({ conversation }) => conversation);
  return new Set(conversations).size < conversations.length;
}
