import type { Trigger } from '../../src/github/event.ts';
import type { Inputs } from '../../src/inputs.ts';
import type { Job } from '../../src/job.ts';
import { finishOnGitHub } from '../../src/jobs/comments.ts';
import { runJobs } from '../../src/jobs/fleet.ts';
import type { Plan } from '../../src/jobs/plan.ts';
import { prepare, save } from '../../src/jobs/run.ts';
import { hashOf, type NoteData } from '../../src/note/data.ts';
import { endedNow } from '../../src/report/outputs.ts';
import { type RunInfo, type Runtime, readRunInfo } from '../../src/runner/environment.ts';
import { EPOCH, type VirtualClock, virtualClock } from './clock.ts';
import { simulatedGitHub } from './github.ts';
import { type Part, type Scenario, type Script, WELL } from './scenario.ts';
import { type Service, type Step, scriptedService, type Work, workOn } from './service.ts';

// Plays a scenario: the jobs of a step, from the list of the comments to the last comment.

/** A job after the run. */
export type Played = Awaited<ReturnType<typeof play>>[number];

const GOLDEN = 0.618034;
const PROJECT = 'proj-1';
const BOT = { login: 'agent[bot]', id: 1, type: 'Bot' };
const CONVERSATIONS = { merge_group: 7, pull_request: 1, schedule: null, release: null } as const;

export function conversationOf({ event }: Scenario): number | null {
  return CONVERSATIONS[event];
}

/** Messages of bots are counted by comments. */
export function isByBot({ event, send }: Scenario): boolean {
  return event === 'pull_request' && send;
}

export async function play(scenario: Scenario) {
  const { parts, startsAt, cancel, event } = scenario;
  const clock = virtualClock(startsAt);
  const controller = new AbortController();
  const { signal } = controller;
  let cancelledAt: number | null = null;
  let requests = 0;
  let random = scenario.jitter;

  function abort(): void {
    cancelledAt ??= clock.now();
    controller.abort(new Error('cancelled'));
  }
  function onRequest(): void {
    if (cancel?.request === requests) clock.after(cancel.ms, abort);
    requests += 1;
  }
  if (cancel?.request === null) clock.after(cancel.ms, abort);

  const github = simulatedGitHub(scenario, earlierNotes(scenario), clock, signal);
  const jobIds = parts.map(({ job }) => job.id);
  const saved = jobIds.map((): { delivery: string; accepted: number }[] => []);
  const services = parts.map(({ job, posts, polls, earlier }, index) =>
    scriptedService(
      {
        job,
        acceptedAt: acceptedBefore(earlier, startsAt),
        nextPost: stepper(posts, clock),
        nextPoll: stepper(polls, clock),
        ...{ onRequest, signal },
        before: () => ({
          saved: saved[index]?.at(-1)?.delivery,
          noted: github.notes.at(-1)?.jobs.find(({ id }) => id === job.id)?.delivery,
        }),
      },
      clock,
    ),
  );

  // Each job has its own simulated API, independent of the others.
  const serviceOf = (path: string): Service =>
    services[jobIds.indexOf(path.split('/')[5] ?? '')] as Service;

  const runtime = {
    env: {},
    log: new Proxy({}, { get: () => () => {} }),
    redact: (text: string) => text,
    clock: clock.seen,
    signal,
    writeOutputs({ results = '[]' }: Readonly<Record<string, string>>) {
      for (const [index, { delivery }] of JSON.parse(results).entries()) {
        saved[index]?.push({ delivery, accepted: services[index]?.accepted() ?? 0 });
      }
    },
    random() {
      // Evenly spread, and never small many times in a row.
      random = (random + GOLDEN) % 1;
      return random;
    },
  } as unknown as Runtime;
  const conversation = conversationOf(scenario);
  const prNumber = event === 'merge_group' ? conversation : null;
  const given = { ...scenario, jobIds, prNumber, githubToken: 'x', command: null };
  const more = { projectId: PROJECT, maxMessages: null, proxy: { url: '', noProxy: '' } };
  const baseUrl = new URL('https://api.example');
  const inputs = { ...given, ...more, baseUrl, apiKey: 'x', prompt: 'x' } as unknown as Inputs;
  const trigger = {
    event,
    conversation: prNumber === null ? conversation : null,
    sender: isByBot(scenario) ? BOT : null,
    comment: null,
    commit: null,
  } as Trigger;
  const info = infoOf(scenario);
  const start = { runtime, info, trigger, github: github.client, asked: null };
  const request = { prompt: 'x', words: '', parts: [], outputs: [], attached: [] };
  const prepared = await clock.drive(prepare(start, inputs, request));
  if (prepared.kind !== 'ok') throw new Error(`There is no run: ${prepared.kind}.`);
  const { jobs, plan, agent } = prepared.value;
  const transport: Service['transport'] = {
    get: (path, ms) => serviceOf(path).transport.get(path, ms),
    postOnce: (path, json, ms) => serviceOf(path).transport.postOnce(path, json, ms),
  };
  const run = { ...prepared.value, agent: { ...agent, transport } };

  const beganAt = clock.now();
  await clock.drive(runJobs(run));
  save(run);
  // A cancellation while the comments are written comes too late for the jobs.
  const stoppedAt = cancelledAt === null ? null : Math.max(cancelledAt, beganAt);
  await clock.drive(finishOnGitHub(run, endedNow(jobs, scenario.wait)));
  await clock.drain();

  return parts.map((part, index) => {
    const job = jobs[index] as Job;
    return {
      ...{ scenario, part, job, github, plan },
      service: services[index] as Service,
      /** When the run began to work on its jobs. Before, it reads the earlier comments. */
      beganAt,
      endedAt: job.endedAt === undefined ? Infinity : job.endedAt - EPOCH,
      cancelledAt: stoppedAt,
      listed: listedFor(github, job, plan, beganAt),
      ...knownBefore(part, scenario),
      /** The deliveries that the outputs showed, and how many messages the API had accepted. */
      saved: saved[index] ?? [],
    };
  });
}

/**
 * What a list shows of the comments from before when it counts for a job: that before the own comment, and if the message is
 * still to be sent, the one that shows the own comment. `some`: the list lags.
 */
function listedFor(
  { calls, before }: ReturnType<typeof simulatedGitHub>,
  { end, endedAt = Infinity }: Pick<Job, 'end' | 'endedAt'>,
  { decidesAgain }: Plan,
  beganAt: number,
): { readonly first: 'all' | 'some' | 'none'; readonly own: boolean | undefined } {
  const lists = calls.filter(({ kind }) => kind === 'list');
  const created = calls.find(({ kind, isDone }) => kind === 'create' && isDone);
  const at = created?.endedAt ?? Infinity;
  const { shown } = lists.find(({ startedAt }) => startedAt < at) ?? {};
  const isOwnShown = lists.some((list) => (list.shown ?? 0) > before);
  // An end that an earlier attempt saw is from before.
  const isOver = !decidesAgain || (endedAt >= EPOCH + beganAt && endedAt < EPOCH + at);
  return {
    first: shown === undefined ? 'none' : shown >= before ? 'all' : 'some',
    // A cancellation ends the second list.
    own: isOver || (!isOwnShown && end?.result === 'cancelled') ? undefined : isOwnShown,
  };
}

function infoOf({ attempt }: Pick<Scenario, 'attempt'>): RunInfo {
  return readRunInfo({
    ...{ GITHUB_REPOSITORY: 'octo/agents', GITHUB_RUN_ID: '2', GITHUB_TRIGGERING_ACTOR: 'alice' },
    GITHUB_RUN_ATTEMPT: String(attempt),
  });
}

export function wasAccepted({ delivery, isAccepted }: NonNullable<Part['earlier']>): boolean {
  return delivery === 'sent' || (isAccepted && delivery !== 'not-sent');
}

/** When the API accepted the message of the earlier attempt; null if it did not. */
function acceptedBefore(earlier: Part['earlier'], startsAt: number): number | null {
  return earlier !== null && wasAccepted(earlier) ? startsAt - earlier.agoMs - 50 : null;
}

/** What the comments before the run say of the work on the message, and of a later message by another run. */
function knownBefore(
  { job, earlier }: Part,
  { startsAt }: Scenario,
): {
  readonly knownWork: Work | null;
  readonly knownEnd: Work | null;
  readonly isOutdone: boolean;
} {
  const acceptedAt = acceptedBefore(earlier, startsAt);
  if (earlier?.delivery !== 'sent' || acceptedAt === null) {
    return { knownWork: null, knownEnd: null, isOutdone: false };
  }
  const lookedAt = startsAt - job.lagMs;
  const ours = workOn(job, acceptedAt).find(({ isOurs }) => isOurs) ?? null;
  const isSeen = ours !== null && earlier.sees !== 'nothing' && ours.begin < lookedAt;
  const isEndSeen = isSeen && earlier.sees === 'the end' && ours.end < lookedAt;
  const otherAt = job.otherAt ?? Infinity;
  return {
    knownWork: isSeen ? ours : null,
    knownEnd: isEndSeen ? ours : null,
    isOutdone: otherAt > acceptedAt && otherAt < startsAt,
  };
}

/** The comments of the earlier attempt, and of another run that sent a message to some of the jobs. */
function earlierNotes(scenario: Scenario): readonly NoteData[] {
  const { parts, startsAt } = scenario;
  const { runId: run, workflow, step } = infoOf(scenario);
  const hashes = { project: hashOf(PROJECT), step: hashOf(workflow, step) };
  const about = { ...hashes, run, attempt: 1, command: '', commit: '', byBot: false };
  const jobs = parts.flatMap((part): NoteData['jobs'] => {
    const { job, earlier } = part;
    if (earlier === null) return [];
    const { delivery, agoMs, knowsBase } = earlier;
    const { knownWork, knownEnd } = knownBefore(part, scenario);
    const isDone = job.earlier.endsAt < startsAt - agoMs - job.lagMs;
    const sentAt = delivery === 'sent' ? EPOCH + startsAt - agoMs : undefined;
    const base = isDone ? job.earlier.ends : 'active';
    const ended = knownEnd && {
      ...{ result: knownEnd.ends, confirmed: knowsBase, at: Math.round(EPOCH + knownEnd.end) },
    };
    return [
      {
        ...{ id: job.id, delivery, sentAt, base: knowsBase ? base : undefined },
        ...{ isOurs: knownWork !== null || undefined, ended: ended ?? undefined },
      },
    ];
  });
  const others = parts.flatMap((part): NoteData['jobs'] => {
    const { id, otherAt } = part.job;
    const isNoted = knownBefore(part, scenario).isOutdone;
    return isNoted ? [{ id, delivery: 'sent', sentAt: Math.round(EPOCH + (otherAt ?? 0)) }] : [];
  });
  return [
    { ...about, jobs },
    { ...about, run: '1', jobs: others },
  ];
}

function stepper({ steps, forEver, outage }: Script, clock: VirtualClock): () => Step {
  let index = 0;
  return () => {
    const sinceMs = outage === null ? -1 : clock.now() - outage.from;
    if (outage !== null && sinceMs >= 0 && sinceMs < outage.forMs) {
      return { ...WELL, fault: outage.fault };
    }
    return steps[index++] ?? (forEver ? steps.at(-1) : undefined) ?? WELL;
  };
}
