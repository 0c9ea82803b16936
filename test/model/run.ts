import { getEventListeners } from 'node:events';
import type { Transport } from '../../src/agent/http.ts';
import { openSendQueue } from '../../src/agent/send-queue.ts';
import type { Job, JobEvent } from '../../src/job/job.ts';
import { type Plan, stateOf, unplannedState } from '../../src/job/plan.ts';
import { type Message, runJob } from '../../src/job/run-job.ts';
import { firstPollMs, paceOf } from '../../src/job/schedule.ts';
import type { Note } from '../../src/memory/announcements.ts';
import { ours, reasonToText, sentence } from '../../src/reason.ts';
import { deliveryOf } from '../../src/report/ranking.ts';
import type { Log } from '../../src/runner/log.ts';
import { elapsedMs, type JobState, newTurn, type Turn } from '../../src/turn.ts';
import { EPOCH, type VirtualClock, virtualClock } from './clock.ts';
import type { Fleet, Part, PlanInput, Scenario, Script } from './scenario.ts';
import { WELL } from './scenario.ts';
import {
  recordBefore,
  type Service,
  type ServiceScript,
  type Span,
  type Step,
  scriptedService,
} from './service.ts';

/** What the action reports of a job at some moment. */
export type Snapshot = ReturnType<typeof snapshotOf>;

/** An event of a job, and what was true at that moment. */
export interface Emitted {
  readonly progress: { readonly kind: JobEvent['kind']; readonly snapshot: Snapshot };
  readonly accepted: number;
  /** Whether the API may have accepted a message, as far as the client can know. */
  readonly mayBeAccepted: boolean;
}

/** A job after the run. */
export interface Run {
  readonly scenario: Scenario;
  readonly result: Snapshot;
  readonly state: JobState;
  readonly service: Service;
  readonly endedAt: number;
  readonly cancelledAt: number | null;
  /** The only announcement, before the first message. All jobs wait for it. */
  readonly announcement: Span | null;
  readonly emitted: readonly Emitted[];
}

/** All jobs after the run, in order. */
export interface FleetRun {
  readonly runs: readonly Run[];
  readonly timersLeft: number;
  readonly listenersLeft: number;
}

const SERVER_URL = 'https://github.com';
const PROJECT = 'proj-1';

/** Simulates a run with all its jobs. */
export async function play(fleet: Fleet): Promise<FleetRun> {
  const { parts, startsAt, cancel, jitter, announceMs } = fleet;
  const clock = virtualClock(startsAt);
  const controller = new AbortController();
  const { signal } = controller;
  let cancelledAt: number | null = null;
  let announcement: Span | null = null;
  let requests = 0;
  let drawn = 0;

  function abort(): void {
    cancelledAt ??= clock.now();
    controller.abort(new Error('cancelled'));
  }
  const cancelTimers: (() => void)[] = [];
  if (cancel.kind === 'at') {
    if (cancel.ms === 0) abort();
    else cancelTimers.push(clock.after(cancel.ms, abort));
  }
  function onRequest(): void {
    if (cancel.kind === 'in-request' && requests === cancel.request) {
      cancelTimers.push(clock.after(cancel.afterMs, abort));
    }
    requests += 1;
  }
  async function announceOnce(): Promise<void> {
    announcement = { startedAt: clock.now(), endedAt: Infinity };
    if (announceMs > 0) await clock.sleep(announceMs, signal).catch(() => {});
    announcement.endedAt = clock.now();
  }
  let announced: Promise<void> | undefined;
  async function announce({ note }: Part): Promise<Note> {
    announced ??= announceOnce();
    await announced;
    return NOTES[note];
  }

  const services = parts.map((part) => openService(part, startsAt, { onRequest, signal }, clock));
  const context = {
    transport: routed(new Map(parts.map(({ job }, index) => [job.id, services[index]]))),
    queue: openSendQueue(),
    where: sentence`${'api.example'}`,
    projectId: PROJECT,
    serverUrl: SERVER_URL,
    clock: clock.seen,
    deadline: EPOCH + fleet.order.timeoutMs,
    signal,
    random: () => jitter[drawn++ % jitter.length] ?? 0,
    log: { debug: () => {} } as unknown as Log,
    redact: (text: string) => text,
  };

  async function playPart(
    part: Part,
    index: number,
  ): Promise<Omit<Run, 'cancelledAt' | 'announcement'>> {
    const scenario = { ...fleet, ...part };
    const service = services[index] as Service;
    const emitted: Emitted[] = [];
    const plan = planOf(part, fleet);
    const unplanned = unplannedState(part.job.id, START, part.isReadOnly);
    const polled = { ...unplanned, polls: part.isKnown ? 1 : 0 };
    const job: Job = {
      conversation: null,
      inputs: { ...fleet.order, onlyWhen: fleet.onlyWhen },
      context,
      pace: paceOf(index, parts.length),
      firstPollMs: firstPollMs(index),
      warned: new Set(),
      state: stateOf(polled, plan, START, fleet.order.wait),
      observer({ kind }, state) {
        const mayBeAccepted = mayHaveBeenAccepted(part, service);
        const progress = { kind, snapshot: snapshotOf(state) };
        emitted.push({ progress, accepted: acceptedBy(part, service), mayBeAccepted });
        return fleet.veto && kind === 'sending' ? 'The outputs cannot be written.' : undefined;
      },
    };
    const message: Message = {
      prompt: 'x',
      baseline: baselineOf(fleet),
      firstPoll: firstPollOf(fleet, parts.length),
      mustBeNoted: fleet.isRerun,
      isUnchecked: fleet.isRerun,
      announce: () => announce(part),
    };
    await runJob(job, plan, message);
    const { state } = job;
    return { scenario, state, result: snapshotOf(state), service, endedAt: clock.now(), emitted };
  }

  const runs = await clock.drive(Promise.all(parts.map(playPart)));
  for (const stop of cancelTimers) stop();
  return {
    runs: runs.map((run) => ({ ...run, cancelledAt, announcement })),
    timersLeft: clock.pending(),
    listenersLeft: getEventListeners(signal, 'abort').length,
  };
}

const NOTES: Readonly<Record<Part['note'], Note>> = {
  noted: { kind: 'noted' },
  missing: { kind: 'missing', why: ours('GitHub answered 500') },
  unclear: { kind: 'unclear', why: ours('GitHub did not answer in time') },
  taken: { kind: 'taken', turn: null },
};

/** If nothing is compared with the baseline, it may have any age. */
export function baselineOf({ order, onlyWhen, takesPlace }: PlanInput): Message['baseline'] {
  if (order.wait || onlyWhen !== null) return 'fresh';
  return takesPlace ? 'once' : 'none';
}

function firstPollOf(
  { onlyWhen, takesPlace, isRerun, isTrusted }: PlanInput,
  size: number,
): Message['firstPoll'] {
  if (takesPlace || onlyWhen !== null) return 'before';
  if (size > 1) return 'after';
  return isTrusted || isRerun ? 'before' : 'beside';
}

/** Each job has its own simulated API, independent of the others. */
function routed(services: ReadonlyMap<string, Service | undefined>): Transport {
  const serviceOf = (path: string): Service => {
    const [, jobId = ''] = /^\/v2\/agent\/proj-1\/job\/([^/]+)(?:\/message)?$/.exec(path) ?? [];
    const service = services.get(jobId);
    if (service === undefined) throw new Error(`No job has the path ${path}.`);
    return service;
  };
  return {
    get: (path, ...limits) => serviceOf(path).get(path, ...limits),
    postOnce: (path, ...message) => serviceOf(path).postOnce(path, ...message),
  };
}

function openService(
  { job, posts, polls, earlier }: Part,
  startsAt: number,
  run: Pick<ServiceScript, 'onRequest' | 'signal'>,
  clock: VirtualClock,
): Service {
  return scriptedService(
    {
      job,
      acceptedAt: earlier?.wasAccepted ? startsAt - earlier.agoMs - 50 : null,
      nextPost: stepper(posts),
      nextPoll: stepper(polls),
      ...run,
    },
    clock,
  );
}

function stepper({ steps, forEver }: Script): () => Step {
  let index = 0;
  return () => steps[index++] ?? (forEver ? steps.at(-1) : undefined) ?? WELL;
}

const START = newTurn({
  ...{ origin: 'run:1:job:step', leg: '', mark: 'mark-1', by: null, prompt: 'x' },
  ...{ promptHash: 'x', startedAt: EPOCH, runId: '1', attempt: 1 },
});

function snapshotOf(state: JobState) {
  const { jobId, record, turn, polls } = state;
  const elapsed = elapsedMs(turn, null);
  return {
    jobId,
    polls,
    delivery: deliveryOf(state),
    result: turn.result,
    confirmed: turn.confirmed,
    reason: reasonToText(turn.reason),
    base: turn.base,
    status: record?.status ?? null,
    elapsedSeconds: elapsed === null ? null : elapsed / 1000,
  };
}

function planOf(part: Part, { startsAt, order }: PlanInput): Plan {
  const turn = earlierTurn(part, startsAt);
  if (part.isReadOnly) return { kind: 'read-only', turn: order.wait ? turn : null };
  return turn === null
    ? { kind: 'send', warning: '', earlier: null }
    : { kind: 'resume', turn, isOvertaken: false };
}

/** What the ledger contains about the previous attempt or run. */
function earlierTurn({ earlier, job }: Part, startsAt: number): Turn | null {
  if (earlier === null) return null;
  const { delivery, agoMs, knowsBase, knowsTime } = earlier;
  return {
    ...START,
    delivery,
    base: knowsBase ? recordBefore(job, startsAt - agoMs - 60) : null,
    sentAt: knowsTime && delivery === 'sent' ? EPOCH + startsAt - agoMs : null,
  };
}

/** How many messages of this turn the API accepted. Not counted: an earlier message that a read-only job waits for. */
export function acceptedBy({ isReadOnly, earlier }: Part, service: Service): number {
  return service.accepted() - (isReadOnly && earlier?.wasAccepted ? 1 : 0);
}

/** Whether the API may have accepted a message, as far as the connection and the responses show. */
export function mayHaveBeenAccepted({ isReadOnly, earlier }: Part, { posts }: Service): boolean {
  return (earlier !== null && !isReadOnly) || posts.some(({ mayBeAccepted }) => mayBeAccepted);
}
