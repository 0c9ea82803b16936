import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Delivery } from '../../src/job/job.ts';
import { LABELS, type Label } from '../../src/job/labels.ts';
import type { JobResult } from '../../src/job/stop-reasons.ts';
import { parseRecord } from '../../src/ledger/marker.ts';
import { shortHash } from '../../src/ledger/record.ts';
import { isFinal, STATUS_NAMES } from '../../src/mintlify-api.ts';
import { mergeGroup, pullRequest, RENOVATE, schedule } from '../sim/events.ts';
import { labelFor } from '../unit/record.ts';
import { EPOCH } from './clock.ts';
import type { JobScript } from './service.ts';
import type { Arrived, Breakage, Outcome, Request, Scene } from './world.ts';
import { PROJECT, playInWorlds, playRun } from './world.ts';

// Random runs: jobs at work, requests that fail in any way, a slow GitHub, re-runs and cancellations.

playInWorlds();

const { MODEL_SEQUENCES } = process.env;
const SEQUENCES = Number(MODEL_SEQUENCES ?? 400);
/** The same sequences each time, so that only the change under test can make them fail. */
const SEED = MODEL_SEQUENCES === undefined ? { seed: 1 } : {};

/** The first value so many times as often as each of the others. */
function mostly<T>(weight: number, usual: T, ...others: readonly fc.Arbitrary<T>[]) {
  const rare = others.map((arbitrary) => ({ weight: 1, arbitrary }));
  return fc.oneof({ weight, arbitrary: fc.constant(usual) }, ...rare);
}
const seconds = (min: number, max: number) => fc.integer({ min: min * 1000, max: max * 1000 });
const finalStatus = fc.constantFrom(...STATUS_NAMES.filter(isFinal));

/** What a status certainly means: the request had no effect. */
function refuses(status: number): boolean {
  return status >= 300 && status < 500 && status !== 408 && status !== 499;
}

const status = fc.constantFrom(
  ...[301, 400, 401, 403, 404, 408, 409, 425, 429, 429, 429, 499],
  ...[500, 502, 503, 503, 504, 527],
);
const retryAfter = fc.constantFrom('', '1', '30', '119', '121', 'soon');
const body = fc.constantFrom('<h1>Hello</h1>', { id: 'another' });
const [unwritten, written, link] = [fc.constant(false), fc.constant(true), fc.boolean()];
const isApplied = fc.boolean();
const breakage: fc.Arbitrary<Breakage> = fc.oneof(
  fc.record({
    code: fc.constantFrom('ECONNREFUSED', 'EAI_AGAIN', 'CERT_HAS_EXPIRED'),
    isWritten: unwritten,
  }),
  fc.record({ code: fc.constantFrom('ECONNRESET', 'hang'), isWritten: written, isApplied }),
  fc.record({ status, retryAfter, isApplied }).map((one) => ({
    ...{ status: one.status, isApplied: one.isApplied && !refuses(one.status) },
    headers: one.retryAfter === '' ? {} : { 'retry-after': one.retryAfter },
  })),
  fc.record({ body, isApplied }),
);

const job: fc.Arbitrary<Partial<JobScript>> = fc.record({
  earlier: fc.record({ endsAt: mostly(2, -1e9, seconds(0, 200)), ends: finalStatus, link }),
  queueMs: fc.oneof(seconds(0, 5), seconds(0, 45)),
  showsQueue: mostly(5, false, fc.constant(true)),
  joins: mostly(5, false, fc.constant(true)),
  workMs: fc.oneof(seconds(0, 5), seconds(0, 100), seconds(0, 3000)),
  ends: finalStatus,
  otherAt: mostly<number | null>(6, null, seconds(-100, 300)),
});

const EVENTS = {
  'a merge group': mergeGroup(),
  'a bot': pullRequest({ number: 7, sender: RENOVATE }),
  'a schedule': schedule(),
};

const DELIVERIES = ['sent', 'unknown', 'sending', 'not-sent'] as const;
const cancellation = fc.record({ n: fc.integer({ min: 1, max: 9 }), ms: fc.nat({ max: 30_000 }) });

const scenarios = fc.record({
  jobs: fc.oneof(
    { weight: 3, arbitrary: fc.tuple(job) },
    { weight: 1, arbitrary: fc.array(job, { minLength: 2, maxLength: 5 }) },
  ),
  event: mostly<keyof typeof EVENTS>(4, 'a merge group', fc.constantFrom('a bot', 'a schedule')),
  wait: mostly(3, true, fc.constant(false)),
  comment: mostly(6, true, fc.constant(false)),
  minutes: fc.constantFrom('0.02', '0.05', '0.5', '2', '10', '10', '60'),
  onlyWhen: mostly(4, '', fc.constantFrom(...STATUS_NAMES)),
  /** What the comment of an earlier attempt says of each job; null in the first attempt. */
  earlier: mostly<null | (typeof DELIVERIES)[number]>(5, null, fc.constantFrom(...DELIVERIES)),
  /** Whether it saw the end of what it sent, and whether that was confirmed. */
  seenEnd: mostly<null | boolean>(1, null, fc.boolean()),
  /** What becomes of the requests, one after the other. */
  api: fc.array(mostly<Breakage | null>(3, null, breakage), { maxLength: 12 }),
  isForEver: mostly(8, false, fc.constant(true)),
  github: fc.array(mostly<Breakage | null>(8, null, breakage), { maxLength: 12 }),
  apiMs: fc.array(fc.oneof(fc.constantFrom(0, 100), fc.nat({ max: 9000 })), { minLength: 1 }),
  githubMs: fc.oneof(fc.constantFrom(0, 300), fc.nat({ max: 9000 })),
  listLagMs: mostly(4, 0, seconds(1, 10)),
  /** Of the replicas of the API. */
  lagsMs: fc.oneof(
    fc.constant([0]),
    fc.tuple(seconds(0, 8)),
    fc.tuple(seconds(0, 0), seconds(0, 15)),
  ),
  cacheMs: fc.constantFrom(0, 90_000),
  /** So many milliseconds after the n-th request to the API. */
  cancel: mostly<{ n: number; ms: number } | null>(4, null, cancellation),
});
type Scenario = typeof scenarios extends fc.Arbitrary<infer T> ? T : never;

function sceneOf(scenario: Scenario): Scene {
  const { jobs, event, wait, comment, minutes, earlier, seenEnd: confirmed } = scenario;
  const end = { result: 'failed', confirmed: confirmed === true, at: EPOCH - 10_000 } as const;
  const ended = earlier === 'sent' && confirmed !== null && { ended: end, prNumber: 7 };
  return {
    jobs,
    event: EVENTS[event],
    with: {
      ...{ wait: `${wait}`, comment: `${comment}`, 'timeout-minutes': minutes },
      'allowed-bots': RENOVATE.login,
      ...(event === 'a merge group' && { 'pr-number': '7' }),
      'only-when': scenario.onlyWhen,
    },
    ...(earlier !== null && {
      ...{ attempt: 2, notes: [{ delivery: earlier, run: '77', ...ended }] },
      ...(earlier === 'sent' && { sentAt: -20_000 }),
    }),
  };
}

function play(scenario: Scenario): Promise<Outcome> {
  const { api, github, apiMs, githubMs, isForEver, cancel, ...world } = scenario;
  return playRun(sceneOf(scenario), {
    ...world,
    takes: ({ host, n }) => [host === 'api' ? (apiMs[n % apiMs.length] ?? 0) : githubMs, 0],
    breaks({ host, n }: Arrived) {
      const all = host === 'api' ? api : github;
      const last = host === 'api' && isForEver ? all.at(-1) : undefined;
      return (n <= all.length ? all[n - 1] : last) ?? undefined;
    },
    cancels: ({ host, n }) => (host === 'api' && n === cancel?.n ? cancel.ms : undefined),
  });
}

/** What the outputs say of a job. */
interface Entry {
  readonly jobId: string;
  readonly result: JobResult;
  readonly delivery: Delivery;
  readonly confirmed: boolean | null;
  readonly reason: string;
  readonly elapsedSeconds: number | null;
}

function entriesOf({ results = '[]' }: Readonly<Record<string, string>>): readonly Entry[] {
  return JSON.parse(results);
}

/** A job after the run, of which the outputs say this. */
function toPlayed(scenario: Scenario, outcome: Outcome, result: Entry) {
  const job = outcome.jobs.find(({ id }) => id === result.jobId);
  if (job === undefined) throw new Error('There is a result of another job.');
  const of = (what: Request['what']) =>
    outcome.journal.filter((one) => one.what === what && one.jobId === job.id);
  const [posts, polls] = [of('message'), of('poll')];
  const sentAt = posts.at(-1)?.endedAt;
  const isSent = sentAt !== undefined && result.elapsedSeconds !== null;
  const endedAt = isSent ? sentAt + (result.elapsedSeconds ?? 0) * 1000 : outcome.knownAt;
  const answered = polls.filter(({ jobStatus }) => jobStatus !== undefined);
  return { ...outcome, scenario, job, result, posts, polls, answered, endedAt };
}
type Played = ReturnType<typeof toPlayed>;

function verdictOf({ breakage, isWritten, status }: Request): 'refused' | 'doubtful' | 'accepted' {
  if (status === undefined) return isWritten ? 'doubtful' : 'refused';
  if (breakage === undefined) return 'accepted';
  return refuses(status) ? 'refused' : 'doubtful';
}

/** What the comment said of the job before a request. */
function notedBefore({ journal, job }: Played, { startedAt }: Request): string | undefined {
  const written = journal.filter(({ note, endedAt }) => note !== undefined && endedAt <= startedAt);
  return written.at(-1)?.note?.jobs.find(({ id }) => id === job.id)?.delivery;
}

function deadlineOf({ beganAt, scenario }: Played): number {
  return beganAt + Number(scenario.minutes) * 60_000;
}

/** The outputs round to tenths of a second. */
const SLACK_MS = 100;
const PROMISES: Readonly<Record<string, (played: Played) => boolean>> = {
  'no POST after one that the API may have accepted': ({ posts }) =>
    posts.slice(0, -1).every((post) => verdictOf(post) === 'refused'),
  'no POST if an earlier attempt may have sent the message': (played) =>
    played.posts.length === 0 || [null, 'not-sent'].includes(played.scenario.earlier),
  'no POST less than 2 s before the deadline, or after a cancellation': (played) => {
    const latest = Math.min(deadlineOf(played) - 2000, played.cancelledAt) + SLACK_MS;
    return played.posts.every(({ startedAt }) => startedAt <= latest);
  },
  'no POST before its note, which says that it may be sent': (played) => {
    const { event, comment } = played.scenario;
    const hasNote = comment && event !== 'a schedule';
    return !hasNote || played.posts.every((post) => notedBefore(played, post) === 'sending');
  },
  'the outputs say before each POST that the delivery is unknown': ({ posts, saved, job }) =>
    posts.every(({ startedAt }) => {
      const before = saved.findLast(({ at }) => at <= startedAt)?.outputs ?? {};
      return entriesOf(before).some((one) => one.jobId === job.id && one.delivery === 'unknown');
    }),
  'with a wait, each POST has a last poll of its own': (played) =>
    !played.scenario.wait ||
    played.posts.every((post, index) => {
      const { startedAt = -Infinity } = lastPoll(played, post) ?? {};
      return startedAt >= (played.posts[index - 1]?.endedAt ?? -Infinity);
    }),
  'no POST while the last poll showed the agent at work, if the run waits': (played) => {
    const { wait, onlyWhen } = played.scenario;
    const waits = wait && (onlyWhen === '' || isFinal(onlyWhen));
    return !waits || played.posts.every((post) => isFinal(lastPoll(played, post)?.jobStatus));
  },
  'no POST if the first poll shows a status that is not wanted': ({ scenario, ...played }) => {
    const shown = played.answered[0]?.jobStatus;
    const counted = shown === 'odd' ? 'active' : shown;
    return ['', counted].includes(scenario.onlyWhen) || played.posts.length === 0;
  },
  'the delivery is true, and not-sent only if it certainly was not accepted': (played) => {
    const { posts, result, saved, job } = played;
    const { earlier } = played.scenario;
    const isAccepted = saved.at(-1)?.accepted.includes(job.id) === true;
    if (earlier === 'unknown' || earlier === 'sending') return result.delivery === 'unknown';
    if (earlier === 'sent') return ['sent', 'unknown'].includes(result.delivery);
    const verdicts = posts.map(verdictOf);
    if (result.delivery === 'sent') return isAccepted && verdicts.at(-1) === 'accepted';
    const isRefused = verdicts.every((verdict) => verdict === 'refused');
    if (result.delivery === 'not-sent') return !isAccepted && isRefused;
    return !isRefused || (earlier === 'not-sent' && posts.length === 0);
  },
  'the outputs are true whenever they are saved': ({ saved, job, scenario }) =>
    scenario.earlier === 'sent' ||
    saved.every(({ outputs, accepted }) => {
      const own = entriesOf(outputs).find(({ jobId }) => jobId === job.id);
      return own?.delivery !== 'not-sent' || !accepted.includes(job.id);
    }),
  'what the comment says of a delivery is certain': ({ journal, job, result, scenario }) => {
    const notes = journal.flatMap(({ note }) => note?.jobs.find(({ id }) => id === job.id) ?? []);
    const isEarlier = result.delivery === 'unknown' && scenario.earlier !== null;
    const final = isEarlier ? ['not-sent', 'unknown'] : [result.delivery];
    return notes.every(({ delivery }) => ['sending', ...final].includes(delivery));
  },
  'a wait is never blind: after each poll, the next one begins within 30 s': (played) => {
    const { posts, polls, endedAt: end, result, scenario } = played;
    if (result.delivery !== 'sent' || posts.length === 0 || !scenario.wait) return true;
    const after = polls.filter(({ startedAt }) => startedAt >= (posts.at(-1)?.endedAt ?? 0));
    const nextTo = (index: number) => after[index + 1]?.startedAt ?? end;
    return after.every(({ endedAt }, index) => nextTo(index) <= endedAt + 30_000 + SLACK_MS);
  },
  'polls about once a second at most': ({ polls, saved, beganAt }) =>
    polls.length <= 20 + ((saved.at(-1)?.at ?? 0) - beganAt) / 1000,
  'the first poll is made three times at most': ({ polls, answered: [first], scenario }) =>
    scenario.earlier === 'sent' || (first ? polls.indexOf(first) : polls.length) <= 3,
  // A message, and five lists that GitHub shows late.
  'ends by the deadline, or with the requests that are under way then': (played) =>
    played.knownAt <= Math.min(deadlineOf(played), played.cancelledAt) + 62_000 + 6 * 10_000,
  'an end that an earlier attempt saw is reported as it was': ({ result, scenario }) =>
    scenario.earlier !== 'sent' ||
    scenario.seenEnd === null ||
    result.delivery !== 'sent' ||
    (result.result === 'failed' && result.confirmed === scenario.seenEnd),
  'a confirmed end is that of the work on our message': ({ result, job, endedAt, scenario }) =>
    result.confirmed !== true ||
    job.otherAt !== null ||
    scenario.earlier !== null ||
    (job.ours !== undefined && job.ours.end <= endedAt && result.result === job.ours.ends),
  'a final result is what the API has shown last': ({ result, answered, scenario }) =>
    !isFinal(result.result) ||
    scenario.earlier !== null ||
    answered.at(-1)?.jobStatus === result.result,
  'a wait is lost only after an outage of 10 minutes': (played) => {
    const { result, delivery } = played.result;
    const isLost = result === 'error' && delivery === 'sent' && !played.scenario.earlier;
    return !isLost || played.endedAt - (played.answered.at(-1)?.endedAt ?? 0) >= 600_000;
  },
  'whether the end is confirmed is said after each wait for it': ({ result, scenario }) =>
    scenario.earlier !== null ||
    (result.confirmed !== null) === (scenario.wait && result.delivery !== 'not-sent'),
  'the label fits the result and the delivery': ({ result, summary, jobs }) => {
    const labels = labelsOf(result);
    const [title = '', ...lines] = summary.replaceAll('\u00a0', ' ').split('\n');
    if (jobs.length > 1) {
      const items = lines.filter((line) => line.startsWith('- ')).join('\n');
      return labels.some((label) => items.includes(` ${LABELS[label].word}: `));
    }
    const isDone = ['completed', 'failed'].includes(labels[0] ?? '');
    if (isDone && /Agent (pushed|opened|finished|failed after)/.test(title)) return true;
    return labels.some((label) => title.includes(LABELS[label].title)) || summary === '';
  },
  'the comment says the same as the outputs': ({ comments, job, result }) =>
    comments.every((body) => {
      const note = parseRecord(body, shortHash(PROJECT));
      const said = typeof note === 'string' ? [] : note.jobs;
      const own = said.find(({ id }) => id === job.id);
      if (own?.ended === undefined) return true;
      const isEarlier = result.delivery === 'unknown' && own.delivery === 'not-sent';
      const shown = said.length > 1 ? 'word' : 'icon';
      const words = labelsOf(result).map((label) => LABELS[label][shown]);
      return (
        own.ended.result === result.result &&
        own.ended.confirmed === (result.confirmed === true) &&
        (isEarlier || own.delivery === result.delivery) &&
        words.some((word) => body.replaceAll('\u00a0', ' ').includes(word))
      );
    }),
  'every result except plain success has a reason in one line': ({ result: one }) => {
    const isDone = one.result === 'completed' && one.confirmed !== false;
    const isPlain = isDone || one.result === 'sent';
    return isPlain ? one.reason === '' : /^[^\p{Cc}\u2028\u2029]+$/u.test(one.reason);
  },
};

/** The labels that a result may have. */
function labelsOf({ result, confirmed, delivery }: Entry): readonly Label[] {
  const message = { kind: delivery, isEarlier: false } as Parameters<typeof labelFor>[1];
  const own = labelFor({ result, ...(confirmed !== null && { confirmed }) }, message);
  return result === 'skipped' ? [own, 'limited', 'not-sent'] : [own];
}

function lastPoll({ answered }: Played, { startedAt }: Request): Request | undefined {
  return answered.findLast(({ endedAt }) => endedAt <= startedAt);
}

const endings = new Map<string, number>();

async function check(scenario: Scenario): Promise<void> {
  const outcome = await play(scenario);
  for (const result of entriesOf(outcome.saved.at(-1)?.outputs ?? {})) {
    const played = toPlayed(scenario, outcome, result);
    const broken = Object.entries(PROMISES).filter(([, isKept]) => !isKept(played));
    expect(broken.map(([promise]) => promise)).toEqual([]);
    const ending = `${result.result}, ${result.delivery}, ${result.confirmed}`;
    endings.set(ending, (endings.get(ending) ?? 0) + 1);
  }
}

const TITLE = `keeps every promise in ${SEQUENCES} random runs`;
it(TITLE, { timeout: 60_000 + SEQUENCES * 100 }, async () => {
  await fc.assert(fc.asyncProperty(scenarios, check), { numRuns: SEQUENCES, ...SEED });
  const spread = [...endings].sort(([, one], [, other]) => other - one);
  console.info(`How the jobs ended: ${spread.map((one) => one.join(': ')).join('; ')}.`);
});
