import pLimit from 'p-limit';
import type { GitHub } from '../../src/github/api.ts';
import type { Trigger } from '../../src/github/event.ts';
import type { Inputs } from '../../src/inputs.ts';
import { type Job, newJob } from '../../src/job.ts';
import { tellGitHub } from '../../src/jobs/comments.ts';
import { type Run, save } from '../../src/jobs/context.ts';
import { runJobs } from '../../src/jobs/fleet.ts';
import { JobLog } from '../../src/jobs/log.ts';
import { makePlan, type Plan } from '../../src/jobs/plan.ts';
import { type AboutNote, hashOf, type NoteData } from '../../src/note/data.ts';
import { readNotes } from '../../src/note/note.ts';
import { endedNow } from '../../src/report/outputs.ts';
import type { RunInfo, Runtime } from '../../src/runner/environment.ts';
import { ok, problem } from '../../src/text.ts';
import { EPOCH, type VirtualClock, virtualClock } from './clock.ts';
import { simulatedGitHub } from './github.ts';
import { type Part, type Scenario, type Script, WELL } from './scenario.ts';
import { type Service, type Step, scriptedService, type Work, workOn } from './service.ts';

// Plays a scenario: the jobs of a step, from the first request to the last comment.

/** A job after the run. */
export type Played = Awaited<ReturnType<typeof play>>[number];

const GOLDEN = 0.618034;
const REPOSITORY_URL = 'https://github.com/octo/agents';
const BOT = { login: 'agent[bot]', id: 1, type: 'Bot' };
/** A job has the pull request 1, and after the work on our message 2. */
const CONVERSATIONS = {
  ...{ merge_group: 7, pull_request: 1, pull_request_target: 2, schedule: null, release: null },
} as const;

export function conversationOf({ event }: Scenario): number | null {
  return CONVERSATIONS[event];
}

/** A bot triggers the pull request, which may be that of the job. */
export function isByBot({ event }: Scenario): boolean {
  return event === 'pull_request' || event === 'pull_request_target';
}

export async function play(scenario: Scenario) {
  const { parts, startsAt, cancel, attempt, send, event } = scenario;
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
  const jobs = parts.map(({ job }) => newJob(job.id, !send));
  const saved = jobs.map((): { delivery: string; accepted: number }[] => []);
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
    services[jobs.findIndex(({ id }) => id === path.split('/')[5])] as Service;

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
  const about = aboutRun(scenario);
  const jobIds = jobs.map(({ id }) => id);
  const given = {
    ...{ ...scenario, jobIds, githubToken: 'x', command: null, prNumber },
    maxMessages: null,
  };
  const inputs = given as unknown as Inputs;
  const trigger = {
    event,
    conversation: prNumber === null ? conversation : null,
    sender: isByBot(scenario) ? BOT : null,
    comment: null,
    commit: null,
  } as Trigger;
  const info = { repositoryUrl: REPOSITORY_URL, attempt, triggeringActor: 'alice' } as RunInfo;
  const plan = makePlan(inputs, trigger, info, EPOCH);
  const { deadline } = plan;
  github.client.limitTo(deadline);
  const run: Run = {
    ...{ runtime, info, trigger, github: github.client, asked: null },
    ...{ inputs, plan, about, prompt: 'x', jobs },
    agent: {
      ...runtime,
      transport: {
        get: (path, ms) => serviceOf(path).get(path, ms),
        postOnce: (path, json, ms) => serviceOf(path).postOnce(path, json, ms),
      },
      ...{ where: '“api.example”', isDefaultUrl: true, projectId: 'proj-1', deadline },
      repositoryUrl: REPOSITORY_URL,
    },
    notes: await clock.drive(findNotes(plan, github.client, about)),
    log: new JobLog({ ...runtime, jobs, deadline }),
    queue: { sends: pLimit(4), polls: pLimit(24), stop: new AbortController() },
    story: {
      info,
      by: 'x',
      prompt: 'x',
      startedAt: EPOCH,
      until: null,
      command: null,
      footer: '',
      count: '',
      attached: '',
    },
    ...{ note: null, release: null },
  };

  const beganAt = clock.now();
  await clock.drive(runJobs(run));
  save(run);
  // A cancellation while the comments are written comes too late for the jobs.
  const stoppedAt = cancelledAt === null ? null : Math.max(cancelledAt, beganAt);
  await clock.drive(tellGitHub(run, endedNow(jobs, scenario.wait)));
  await clock.drain();

  return parts.map((part, index) => {
    const job = jobs[index] as Job;
    return {
      ...{ scenario, part, job, github, plan },
      service: services[index] as Service,
      /** When the run began to work on its jobs. Before, it reads the earlier comments. */
      beganAt,
      endedAt: job.endedAt === null ? Infinity : job.endedAt - EPOCH,
      cancelledAt: stoppedAt,
      /** Whether the run knows the comments of earlier attempts. */
      knowsNotes: plan.readsNotes && run.notes.kind === 'ok',
      ...knownBefore(part, scenario),
      /** The deliveries that the outputs showed, and how many messages the API had accepted. */
      saved: saved[index] ?? [],
    };
  });
}

async function findNotes(
  { readsNotes, comments }: Plan,
  github: GitHub,
  { project }: AboutNote,
): Promise<Run['notes']> {
  if (!readsNotes) return ok([]);
  if (comments.kind !== 'note') return problem('there is no comment');
  return readNotes(github, comments.conversation, project);
}

function aboutRun({ attempt, timeoutMs }: Scenario): AboutNote {
  return {
    ...{ project: hashOf('proj-1'), step: hashOf('step'), leg: '', prompt: hashOf('x') },
    ...{
      run: '2',
      command: '',
      commit: '',
      byBot: false,
      series: hashOf('series'),
      attempt,
      id: 'this',
    },
    deadline: EPOCH + timeoutMs,
  };
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
  const about = { ...aboutRun(scenario), attempt: 1, over: true };
  const jobs = parts.flatMap((part): NoteData['jobs'] => {
    const { job, earlier } = part;
    if (earlier === null) return [];
    const { delivery, agoMs, knowsBase } = earlier;
    const { knownWork, knownEnd } = knownBefore(part, scenario);
    const isDone = job.earlier.endsAt < startsAt - agoMs - job.lagMs;
    const sentAt = delivery === 'sent' ? EPOCH + startsAt - agoMs : 0;
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
    { ...about, id: 'that', jobs },
    { ...about, id: 'other', run: '1', jobs: others },
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
