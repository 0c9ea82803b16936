import { getEventListeners } from 'node:events';
import { type Earlier, followJob, type Progress, type Task } from '../../src/agent/follow.ts';
import type { Limits, Transport } from '../../src/agent/http.ts';
import { firstLookMs, paceOf } from '../../src/agent/schedule.ts';
import { openSends } from '../../src/agent/sends.ts';
import type { JobResult } from '../../src/outcome.ts';
import { type VirtualClock, virtualClock } from './clock.ts';
import type { Circumstances, Fleet, Part, Scenario, Script } from './scenario.ts';
import { WELL } from './scenario.ts';
import { recordBefore, type Service, type Span, type Step, scriptedService } from './service.ts';

/** What was told on the way, and what was true then. */
export interface Told {
  readonly progress: Progress;
  readonly accepted: number;
  /** Whether a message may have been taken, for one who does not know the service. */
  readonly mayBeTaken: boolean;
}

/** What came of a job. */
export interface Run {
  readonly scenario: Scenario;
  readonly result: JobResult;
  readonly service: Service;
  readonly endedAt: number;
  readonly cancelledAt: number | null;
  /** The one note before the first message, which all of them wait for. */
  readonly note: Span | null;
  readonly told: readonly Told[];
}

/** What came of all of them, in their order. */
export interface FleetRun {
  readonly runs: readonly Run[];
  readonly timersLeft: number;
  readonly listenersLeft: number;
}

const SERVER_URL = 'https://github.com';
const PROJECT = 'proj-1';

/** Plays a run with all its jobs. */
export async function play(fleet: Fleet): Promise<FleetRun> {
  const { parts, startsAt, cancel, jitter, noteMs } = fleet;
  const clock = virtualClock(startsAt);
  const controller = new AbortController();
  const { signal } = controller;
  let cancelledAt: number | null = null;
  let note: Span | null = null;
  let requests = 0;
  let drawn = 0;

  function abort(): void {
    cancelledAt ??= clock.now();
    controller.abort(new Error('cancelled'));
  }
  const callOff: (() => void)[] = [];
  if (cancel.kind === 'at') {
    if (cancel.ms === 0) abort();
    else callOff.push(clock.after(cancel.ms, abort));
  }
  function onRequest(): void {
    if (cancel.kind === 'in-request' && requests === cancel.request) {
      callOff.push(clock.after(cancel.afterMs, abort));
    }
    requests += 1;
  }
  async function takeNote(): Promise<void> {
    note = { startedAt: clock.now(), endedAt: Infinity };
    if (noteMs > 0) await clock.sleep(noteMs, signal).catch(() => {});
    note.endedAt = clock.now();
  }
  let noted: Promise<void> | undefined;
  function beforeSend(): Promise<void> {
    noted ??= takeNote();
    return noted;
  }

  const services = parts.map((part) => openService(part, startsAt, onRequest, clock));
  const context = {
    transport: routed(new Map(parts.map(({ job }, index) => [job.id, services[index]]))),
    sends: openSends(),
    where: 'api.example',
    projectId: PROJECT,
    clock,
    deadline: fleet.order.timeoutMs,
    signal,
    random: () => jitter[drawn++ % jitter.length] ?? 0,
    debug: () => {},
    redact: (text: string) => text,
  };

  async function playPart(part: Part, index: number): Promise<Omit<Run, 'cancelledAt' | 'note'>> {
    const scenario = { ...fleet, ...part };
    const service = services[index] as Service;
    const told: Told[] = [];
    const order = {
      ...fleet.order,
      jobId: part.job.id,
      task: taskOf(part, fleet, beforeSend, clock),
      pace: paceOf(index, parts.length),
      firstLookMs: firstLookMs(index),
      polls: part.isKnown ? 1 : 0,
      serverUrl: SERVER_URL,
    };
    const result = await followJob(order, context, (progress) => {
      const mayBeTaken = isPerhapsTaken(part, service);
      told.push({ progress, accepted: acceptedBy(part, service), mayBeTaken });
      return fleet.veto && progress.kind === 'sending'
        ? 'The outputs cannot be written.'
        : undefined;
    });
    return { scenario, result, service, endedAt: clock.now(), told };
  }

  const runs = await clock.drive(Promise.all(parts.map(playPart)));
  for (const stop of callOff) stop();
  return {
    runs: runs.map((run) => ({ ...run, cancelledAt, note })),
    timersLeft: clock.pending(),
    listenersLeft: getEventListeners(signal, 'abort').length,
  };
}

/** Each job has a service of its own, which knows nothing of the others. */
function routed(services: ReadonlyMap<string, Service | undefined>): Transport {
  const serviceOf = (path: string): Service => {
    const [, jobId = ''] = /^\/v2\/agent\/proj-1\/job\/([^/]+)(?:\/message)?$/.exec(path) ?? [];
    const service = services.get(jobId);
    if (service === undefined) throw new Error(`There is no job at ${path}.`);
    return service;
  };
  return {
    get: (path: string, limits: Limits) => serviceOf(path).get(path, limits),
    postOnce: (path, json, limits) => serviceOf(path).postOnce(path, json, limits),
    close: () => Promise.resolve(),
  };
}

function openService(
  { job, posts, looks, earlier }: Part,
  startsAt: number,
  onRequest: () => void,
  clock: VirtualClock,
): Service {
  return scriptedService(
    {
      job,
      acceptedAt: earlier?.wasAccepted ? startsAt - earlier.agoMs - 50 : null,
      nextPost: stepper(posts),
      nextLook: stepper(looks),
      onRequest,
    },
    clock,
  );
}

function stepper({ steps, forEver }: Script): () => Step {
  let index = 0;
  return () => steps[index++] ?? (forEver ? steps.at(-1) : undefined) ?? WELL;
}

function taskOf(
  part: Part,
  { onlyWhen, startsAt }: Circumstances,
  beforeSend: () => Promise<void>,
  clock: VirtualClock,
): Task {
  const earlier = leftBehind(part, startsAt, clock);
  if (part.isLook) return { kind: 'look', turn: earlier };
  if (earlier !== null) return { kind: 'go-on', earlier };
  const seen = part.isKnown ? recordBefore(part.job, startsAt) : null;
  return { kind: 'send', prompt: 'x', onlyWhen, seen, beforeSend };
}

/** What the ledger holds of the attempt or run before this one. */
function leftBehind({ earlier, job }: Part, startsAt: number, clock: VirtualClock): Earlier | null {
  if (earlier === null) return null;
  const { delivery, agoMs, knowsBase, knowsTime } = earlier;
  return {
    delivery,
    base: knowsBase ? recordBefore(job, startsAt - agoMs - 60) : null,
    sentAt: knowsTime && delivery === 'sent' ? new Date(clock.date().getTime() - agoMs) : null,
    evidence: false,
    isOvertaken: false,
  };
}

/** Messages of this turn that the service acted on. The one that a look waits for is none of it. */
export function acceptedBy({ isLook, earlier }: Part, service: Service): number {
  return service.accepted() - (isLook && earlier?.wasAccepted ? 1 : 0);
}

/** Whether a message may have been taken, for one who sees only the connection and the answers. */
export function isPerhapsTaken({ isLook, earlier }: Part, { posts }: Service): boolean {
  return (earlier !== null && !isLook) || posts.some(({ mayBeTaken }) => mayBeTaken);
}
