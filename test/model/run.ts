import type { Transport } from '../../src/agent/http.ts';
import type { RunContext } from '../../src/context.ts';
import type { Trigger } from '../../src/github/event.ts';
import type { Inputs } from '../../src/inputs.ts';
import { type Job, newJob } from '../../src/job.ts';
import { updateComments } from '../../src/jobs/comments.ts';
import { runJobs } from '../../src/jobs/fleet.ts';
import { type AboutNote, composeNote, hashOf, type NoteData, noteOf } from '../../src/note/data.ts';
import { Note, readNotes } from '../../src/note/note.ts';
import { deliveryOf } from '../../src/report/ranking.ts';
import type { RunInfo } from '../../src/runner/environment.ts';
import type { Runtime } from '../../src/runner/runtime.ts';
import { EPOCH, type VirtualClock, virtualClock } from './clock.ts';
import { type SimulatedGitHub, simulatedGitHub } from './github.ts';
import { type Part, type Scenario, type Script, type Settings, WELL } from './scenario.ts';
import { type Service, type Step, scriptedService } from './service.ts';

// Plays a scenario: the jobs of a step, from the first request to the last comment.

/** A job after the run. */
export interface Played {
  readonly scenario: Scenario;
  readonly part: Part;
  readonly job: Job;
  readonly service: Service;
  /** When the run began to work on its jobs. Before, it reads the earlier comments. */
  readonly beganAt: number;
  readonly endedAt: number;
  readonly cancelledAt: number | null;
  /** Whether the run knows the comments of earlier attempts or runs. */
  readonly knowsNotes: boolean;
  readonly github: SimulatedGitHub;
  /** The deliveries that the outputs showed, and how many messages the API had accepted. */
  readonly saved: readonly { readonly delivery: string; readonly accepted: number }[];
}

const GOLDEN = 0.618034;
const PROJECT = hashOf('proj-1');
const SERVER_URL = 'https://github.com';
const REPOSITORY = 'octo/agents';
const CONVERSATIONS = { merge_group: 7, pull_request: 1, schedule: null, release: null } as const;

export function conversationOf({ event }: Settings): number | null {
  return CONVERSATIONS[event];
}

export async function play(scenario: Scenario): Promise<readonly Played[]> {
  const { parts, startsAt, cancel, jitter, attempt, hidesNotes } = scenario;
  const clock = virtualClock(startsAt);
  const controller = new AbortController();
  const { signal } = controller;
  let cancelledAt: number | null = null;
  let requests = 0;
  let random = jitter;

  function abort(): void {
    cancelledAt ??= clock.now();
    controller.abort(new Error('cancelled'));
  }
  if (cancel.kind === 'at') {
    if (cancel.ms === 0) abort();
    else clock.after(cancel.ms, abort);
  }
  function onRequest(): void {
    if (cancel.kind === 'in-request' && requests === cancel.request) {
      clock.after(cancel.afterMs, abort);
    }
    requests += 1;
  }

  const comments = earlierNotes(scenario).map((note) => composeNote(note, () => ''));
  const github = simulatedGitHub({ ...scenario.github, comments }, PROJECT, clock, signal);
  const saved = new Map<Job, Played['saved'][number][]>();
  const services = parts.map((part, index) => {
    const facts = () => {
      const job = context.jobs[index] as Job;
      const noted = github.notes
        .at(-1)
        ?.at(-1)
        ?.jobs.find(({ id }) => id === job.id)?.delivery;
      return { saved: saved.get(job)?.at(-1)?.delivery, noted };
    };
    return openService(part, startsAt, { onRequest, facts, signal }, clock);
  });

  const runtime = {
    env: {},
    log: new Proxy({}, { get: () => () => {} }),
    redact: (text: string) => text,
    clock: clock.seen,
    signal,
    random() {
      // Evenly spread, and never small many times in a row.
      random = (random + GOLDEN) % 1;
      return random;
    },
  } as unknown as Runtime;
  const conversation = conversationOf(scenario);
  const isNeeded = scenario.send ? attempt > 1 : scenario.wait;
  const hasNotes = isNeeded && conversation !== null && scenario.comment;
  const { deadline, about } = aboutRun(scenario);
  const context: RunContext = {
    ...{ runtime, conversation, about, connect: github.connect, prompt: 'x' },
    inputs: { ...scenario, githubToken: 'x', command: null, prNumber: null } as unknown as Inputs,
    info: {
      repository: REPOSITORY,
      repositoryUrl: `${SERVER_URL}/${REPOSITORY}`,
      attempt,
    } as RunInfo,
    trigger: triggerOf(scenario),
    agent: {
      ...runtime,
      transport: routed(new Map(parts.map(({ job }, index) => [job.id, services[index]]))),
      ...{ where: '“api.example”', isDefaultUrl: true, projectId: 'proj-1' },
      ...{ serverUrl: SERVER_URL, deadline },
    },
    notes: !hasNotes
      ? null
      : hidesNotes
        ? { kind: 'problem', problem: 'the comments cannot be read' }
        : await clock.drive(readNotes(github.connect, conversation, PROJECT)),
    jobs: parts.map(({ job }) => newJob(job.id, !scenario.send)),
    openNote(number, jobs, until) {
      const compose = () => composeNote(noteOf(about, jobs, context.isOver), () => '');
      const id = about.id;
      const { connect } = github;
      return new Note({ ...runtime, connect, conversation: number, deadline: until, compose, id });
    },
    ...{ note: null, claim: null, isOver: false },
    save() {
      for (const [index, job] of context.jobs.entries()) {
        const accepted = services[index]?.accepted() ?? 0;
        const before = saved.get(job) ?? [];
        saved.set(job, [...before, { delivery: deliveryOf(job), accepted }]);
      }
    },
  };
  context.save(false);

  const beganAt = clock.now();
  await clock.drive(runJobs(context));
  context.isOver = true;
  context.save(false);
  const endedBy = clock.now();
  await clock.drive(updateComments(context));
  await clock.drain();

  return parts.map((part, index) => {
    const job = context.jobs[index] as Job;
    const service = services[index] as Service;
    const endedAt = job.endedAt === null ? Infinity : job.endedAt - EPOCH;
    // A cancellation while the comments are written comes too late for the jobs.
    const isCancelled = cancelledAt !== null && cancelledAt <= endedBy;
    return {
      ...{ scenario, part, job, service, github, beganAt, endedAt },
      cancelledAt: isCancelled ? Math.max(cancelledAt ?? 0, beganAt) : null,
      knowsNotes: context.notes?.kind === 'ok',
      saved: saved.get(job) ?? [],
    };
  });
}

function aboutRun({ attempt, send, timeoutMs }: Settings): { deadline: number; about: AboutNote } {
  const deadline = EPOCH + timeoutMs;
  const about = {
    ...{ project: PROJECT, step: hashOf('step'), leg: '', prompt: hashOf('x'), run: '2' },
    ...{ command: '', series: hashOf('series', String(send)), attempt, id: 'this', deadline },
  };
  return { deadline, about };
}

/** The comment of the earlier attempt or, with `send: false`, of an earlier run. */
function earlierNotes(scenario: Scenario): readonly NoteData[] {
  const { parts, startsAt, send, attempt } = scenario;
  if (send && attempt === 1) return [];
  const { about } = aboutRun(scenario);
  const jobs = parts.flatMap(({ job, earlier }) => {
    if (earlier === null) return [];
    const { delivery, agoMs, knowsBase } = earlier;
    const base = agoMs + job.earlier.endsAt < startsAt ? job.earlier.ends : 'active';
    return {
      id: job.id,
      delivery,
      sentAt: delivery === 'sent' ? EPOCH + startsAt - agoMs : undefined,
      base: knowsBase ? base : undefined,
    };
  });
  return [{ ...about, run: send ? '2' : '1', attempt: 1, id: 'that', over: true, jobs }];
}

function triggerOf(scenario: Settings): Trigger {
  const { event } = scenario;
  const bot = { login: 'agent[bot]', id: 1, type: 'Bot' };
  return {
    ...{ event, conversation: conversationOf(scenario), comment: null, problem: null },
    ...{ isHeadHere: true, isOtherBranch: false },
    sender: event === 'pull_request' ? bot : null,
  };
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
  run: Pick<Parameters<typeof scriptedService>[0], 'onRequest' | 'facts' | 'signal'>,
  clock: VirtualClock,
): Service {
  const acceptedAt = earlier?.wasAccepted ? startsAt - earlier.agoMs - 50 : null;
  const nextPost = stepper(posts, clock);
  const nextPoll = stepper(polls, clock);
  return scriptedService({ job, acceptedAt, nextPost, nextPoll, ...run }, clock);
}

function stepper({ steps, forEver, outage }: Script, clock: VirtualClock): () => Step {
  let index = 0;
  return () => {
    const sinceMs = outage === null ? -1 : clock.now() - outage.fromMs;
    if (outage !== null && sinceMs >= 0 && sinceMs < outage.forMs) {
      return { ...WELL, fault: outage.fault };
    }
    return steps[index++] ?? (forEver ? steps.at(-1) : undefined) ?? WELL;
  };
}
