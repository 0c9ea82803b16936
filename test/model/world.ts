import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { composeComment, parseRecord } from '../../src/ledger/marker.ts';
import { type CommentRecord, shortHash } from '../../src/ledger/record.ts';
import { run } from '../../src/run.ts';
import { type Env, readRunInfo } from '../../src/runner/environment.ts';
import { type Dispatcher, EnvHttpProxyAgent } from '../../src/vendor/undici.ts';
import type { Answer, JournalEntry } from '../sim/agent.ts';
import { ALICE, type WebhookEvent } from '../sim/events.ts';
import { openCallLog } from '../sim/github/call-log.ts';
import { openGraph, type Reaction } from '../sim/github/graph.ts';
import { graphql } from '../sim/github/graphql.ts';
import { openRepository } from '../sim/github/repository.ts';
import { rest } from '../sim/github/rest.ts';
import { openRuns } from '../sim/github/runs.ts';
import '../sim/runner/preload.ts';
import { NOTE } from '../unit/record.ts';
import { recordingRuntime } from '../unit/recording-runtime.ts';
import { EPOCH, virtualClock } from './clock.ts';
import { type JobScript, show, workOn } from './service.ts';

// Plays a whole run, from the environment to the exit code, in virtual time. Everything is real up to
// the dispatcher of undici, which asks the simulated API and GitHub without a socket.

export type Host = 'api' | 'github';

/** A request that has arrived. `n` counts those to its host from 1. */
export interface Arrived {
  readonly host: Host;
  readonly isRead: boolean;
  readonly n: number;
  /** Whether the message was accepted. */
  readonly isSent: boolean;
  /** When the work on the message ends or, without one, the earlier work. */
  readonly endsAt: number;
  readonly now: number;
}

export interface World {
  /** Milliseconds until the head of the response and from then until its body. */
  readonly takes: (request: Arrived) => readonly [head: number, body: number];
  /** Instead of the usual response. An error: before the request is written, or after it. */
  readonly breaks?: (request: Arrived) => Breakage | undefined;
  /** Milliseconds after a request at which the run is cancelled. */
  readonly cancels?: (request: Arrived) => number | undefined;
  readonly listLagMs?: number;
  /** How much older than a poll the records of each replica are. They answer by turns. */
  readonly lagsMs?: readonly number[];
  /** Milliseconds that a cache keeps a GET, which a request with `no-cache` passes. */
  readonly cacheMs?: number;
  /** Whether the earlier comments are created only when the run starts. */
  readonly areFresh?: boolean;
}

/** The code `hang`: silence. `isApplied`: the request takes effect all the same. */
export type Breakage = (Answer | { readonly code: string; readonly isWritten: boolean }) & {
  readonly isApplied?: boolean;
};

/** Without a status, the run got no answer; `endedAt` is infinite while there is none. */
export interface Request {
  readonly what: 'poll' | 'message' | 'of GitHub';
  readonly jobId: string;
  /** What is written to the comment. */
  readonly note: CommentRecord | undefined;
  readonly breakage: Breakage | undefined;
  readonly startedAt: number;
  endedAt: number;
  isWritten: boolean;
  status?: number;
  /** That of the job in an answer of the API. */
  jobStatus?: string | undefined;
}

export interface Scene {
  readonly event: WebhookEvent;
  readonly with: Readonly<Record<string, string>>;
  readonly jobs?: readonly Partial<JobScript>[];
  readonly attempt?: number;
  /** What comments there say of all jobs. Default: they are of other runs of this step. */
  readonly notes?: readonly (Partial<CommentRecord> &
    Pick<CommentRecord['jobs'][number], 'delivery' | 'ended' | 'prNumber'>)[];
  /** When an earlier attempt has sent the message to all jobs. */
  readonly sentAt?: number;
  /** The commits of the pull request. */
  readonly commits?: readonly string[];
}

export type Outcome = Awaited<ReturnType<typeof playRun>>;

const PULL = 7;
/** A run of a workflow whose one job has failed. */
export const FAILED_RUN = 900;
export const PROJECT = 'proj-1';
const JOB: JobScript = {
  ...{ id: 'job-1', earlier: { endsAt: -1e9, ends: 'completed', link: true } },
  ...{ queueMs: 3000, showsQueue: false, joins: false, workMs: 60_000 },
  ...{ ends: 'completed', otherAt: null },
};
/** Milliseconds before a run: lists show comments that are older. */
export const LONGEST_LAG_MS = 10_000;
const usualDispatch = EnvHttpProxyAgent.prototype.dispatch;
let folder = '';
/** The dispatcher of the run that is played. */
let respond: Dispatcher['dispatch'] = () => false;

/** All requests of the tests in a file go to the world that is played. */
export function playInWorlds(): void {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'worlds-'));
    // A spy would keep all requests.
    EnvHttpProxyAgent.prototype.dispatch = (...request) => respond(...request);
  });
  afterAll(() => {
    EnvHttpProxyAgent.prototype.dispatch = usualDispatch;
    rmSync(folder, { recursive: true });
  });
}

export async function playRun(scene: Scene, world: World) {
  const clock = virtualClock();
  const jobs = (scene.jobs ?? [{}]).map((job, n) => ({ ...JOB, id: `job-${n + 1}`, ...job }));
  const env = environmentOf(scene, jobs);
  const { sentAt } = scene;
  const acceptedAt = new Map(sentAt === undefined ? [] : jobs.map((job) => [job, sentAt]));
  const counts = { api: 0, github: 0 };
  const answers = new Map<string, number>();
  const cache = new Map<string, { readonly at: number; readonly answer: Answer }>();
  const journal: Request[] = [];
  const cancel = new AbortController();
  let cancelledAt = Infinity;
  const repository = openRepository({
    issues: [{ number: PULL, pullRequest: true, ...(scene.commits && { commits: scene.commits }) }],
    collaborators: { alice: { id: ALICE.id, permission: 'write' } },
    clock: clock.seen,
    trouble: { listLagMs: world.listLagMs ?? 0 },
  });
  const reactions: Reaction[] = [];
  const log = openCallLog();
  const graph = openGraph(repository, reactions);
  const failedJob = { name: 'links', log: 'A link is broken.' };
  const failedRun = { id: FAILED_RUN, sha: 'a'.repeat(40), jobs: [failedJob] };
  const runs = openRuns([failedRun], repository.name);
  const prompts: string[] = [];
  const pass = () => clock.drive(clock.pass(LONGEST_LAG_MS));
  if (world.areFresh) await pass();
  for (const body of earlierComments(scene, jobs, env)) {
    repository.actions.addComment(PULL, repository.viewer.login, body);
  }
  const before = repository.comments(PULL).length;
  if (!world.areFresh) await pass();
  const beganAt = clock.now();

  /** What the agent did because of the message. */
  function oursOn(job: JobScript) {
    return workOn(job, acceptedAt.get(job) ?? null).find(({ isOurs }) => isOurs);
  }
  const recordedEnd = () => Math.max(...jobs.map((job) => oursOn(job)?.end ?? job.earlier.endsAt));

  function answerOf(host: Host, request: JournalEntry): Answer {
    if (host === 'api') return request.method === 'GET' ? askCache(request) : askApi(request);
    if (request.path.startsWith('/logs/')) return runs.download(request) as Answer;
    const onUnknown = (name: string): never => {
      throw new Error(`The simulation has no ${name}.`);
    };
    const usual = { logOrigin: 'https://logs.example', forbids: () => false, onUnknown };
    const call = log.add(request);
    if (call.route === '/graphql') return graphql(graph, request, usual.forbids);
    return rest({ repository, runs, ...usual }, call);
  }

  function askCache(request: JournalEntry): Answer {
    const kept = cache.get(request.path);
    const isKept = clock.now() - (kept?.at ?? -Infinity) < (world.cacheMs ?? 0);
    if (kept && isKept && request.headers['cache-control'] !== 'no-cache') return kept.answer;
    const answer = askApi(request);
    cache.set(request.path, { at: clock.now(), answer });
    return answer;
  }

  function askApi({ method, path, body }: JournalEntry): Answer {
    const [, , , , , id = jobs[0]?.id] = path.split('/');
    const job = jobs.find((one) => one.id === id);
    if (job === undefined) return { status: 404, body: { error: 'no such job' } };
    if (method === 'POST') {
      if (acceptedAt.has(job)) throw new Error(`A second message to ${id}.`);
      acceptedAt.set(job, clock.now());
      prompts.push(body);
      const wait = (oursOn(job)?.end ?? 0) - clock.now();
      if (job === jobs[0]) clock.after(wait, () => repository.actions.push(PULL, 'd'.repeat(40)));
    }
    const { lagsMs = [0] } = world;
    const n = answers.get(job.id) ?? 0;
    answers.set(job.id, n + 1);
    const lagMs = lagsMs[n % lagsMs.length] ?? 0;
    return { body: show(job, acceptedAt.get(job) ?? null, clock.now() - lagMs) };
  }

  respond = ({ origin, path, method, headers, body }, handler) => {
    const host: Host = String(origin).includes('mintlify') ? 'api' : 'github';
    counts[host] += 1;
    const isQuery = path === '/graphql' && String(body).includes('"query":"query');
    const request = {
      ...{ host, isRead: method === 'GET' || isQuery, n: counts[host] },
      ...{ isSent: acceptedAt.size > 0, endsAt: recordedEnd(), now: clock.now() },
    } as const;
    const [headMs, bodyMs] = world.takes(request);
    const breakage = world.breaks?.(request);
    const ofApi = method === 'GET' ? 'poll' : 'message';
    const isApi = host === 'api';
    const made: Request = {
      ...{ what: isApi ? ofApi : 'of GitHub', jobId: isApi ? (path.split('/')[5] ?? '') : '' },
      note: isApi ? undefined : noteIn(path, String(body ?? '')),
      ...{ breakage, startedAt: clock.now(), endedAt: Infinity, isWritten: false },
    };
    journal.push(made);
    const cancelMs = world.cancels?.(request);
    if (cancelMs !== undefined) {
      clock.after(cancelMs, () => {
        cancelledAt = Math.min(cancelledAt, clock.now());
        cancel.abort(new Error('cancelled'));
      });
    }
    let stop = (): void => {};
    let isOver = false;
    const fail = (error: Error): void => {
      if (isOver) return;
      isOver = true;
      made.endedAt = clock.now();
      stop();
      handler.onResponseError?.(controller, error);
    };
    const controller = {
      ...{ paused: false, aborted: false, reason: null, rawHeaders: [], rawTrailers: [] },
      ...{ abort: fail, pause() {}, resume() {} },
    } as unknown as Dispatcher.DispatchController;
    const isLost = breakage !== undefined && 'code' in breakage;
    const code = isLost ? breakage.code : 'ECONNABORTED';
    const lost = Object.assign(new Error(code), { code });
    // The request arrives half-way to the head, as the connection is set up at once.
    stop = clock.after(headMs / 2, () => {
      if (!isLost || breakage.isWritten) handler.onRequestStart?.(controller, {});
      // A run that is cancelled just before aborts it there.
      made.isWritten = !isOver && (!isLost || breakage.isWritten);
      if (isOver || (isLost && !breakage.isWritten)) return fail(lost);
      const entry = { method, path, headers: Object(headers), body: String(body ?? '') };
      const given = { ...entry, at: clock.now(), status: null, socket: 1 };
      const usual = (breakage?.isApplied ?? breakage === undefined) ? answerOf(host, given) : {};
      if (isLost) return breakage.code === 'hang' ? undefined : fail(lost);
      const { status = 200, headers: more, body: said = '' } = breakage ?? usual;
      const type = typeof said === 'object' ? 'application/json' : 'text/html';
      stop = clock.after(headMs / 2, () => {
        made.status = status;
        const heads = { 'content-type': type, ...more } as Record<string, string>;
        handler.onResponseStart?.(controller, status, heads, '');
        stop = clock.after(bodyMs, () => {
          made.endedAt = clock.now();
          if (isApi) made.jobStatus = Object(said).status;
          const text = typeof said === 'object' ? JSON.stringify(said) : said;
          handler.onResponseData?.(controller, Buffer.from(text));
          handler.onResponseEnd?.(controller, {});
        });
      });
    });
    return true;
  };

  const saved: { at: number; outputs: Readonly<Record<string, string>>; accepted: string[] }[] = [];
  const { runtime, logged, summaries } = recordingRuntime({
    // The process starts now.
    ...{ env, clock: { ...clock.seen, startedAt: EPOCH + beganAt } },
    ...{ signal: cancel.signal, random: () => 0.5 },
    writeOutputs(outputs) {
      const accepted = [...acceptedAt.keys()].map(({ id }) => id);
      saved.push({ at: clock.now(), outputs, accepted });
    },
  });
  const code = await clock.drive(run(runtime));

  const { result = '', confirmed = '', delivery = '', reason = '' } = saved.at(-1)?.outputs ?? {};
  const comments = repository.comments(PULL).slice(before);
  const warnings = logged.filter((line) => /^(warning|error)/.test(line));
  return {
    /** What must be the same in any world. */
    facts: {
      ...{ code, result, confirmed, delivery, warnings, prompts },
      titles: comments.map(({ body }) => body.split('\n').find((line) => /^(#|[^<\s])/.test(line))),
      reactions: reactions.map(({ content }) => content),
    },
    ...{ reason, journal, saved, cancelledAt, beganAt },
    /** What people read at the end. */
    ...{ summary: summaries.join(''), comments: comments.map(({ body }) => body) },
    jobs: jobs.map((job) => ({ ...job, ours: oursOn(job) })),
    endsAt: recordedEnd(),
    /** When the run knows its result. */
    knownAt:
      saved.find(({ outputs: one }) => one.result === result && one.reason === reason)?.at ?? 0,
    /** How long the run has waited for the end. */
    workMs: recordedEnd() - Math.min(beganAt, ...acceptedAt.values()),
  };
}

/** What a request to GitHub writes to the comment. */
function noteIn(path: string, body: string): CommentRecord | undefined {
  if (path === '/graphql' || !body.includes('agent-follow-up {')) return undefined;
  const note = parseRecord(JSON.parse(body).body, shortHash(PROJECT));
  return typeof note === 'object' ? note : undefined;
}

function environmentOf({ event, attempt = 1, ...scene }: Scene, jobs: readonly JobScript[]) {
  const path = join(folder, 'event.json');
  writeFileSync(path, JSON.stringify(event.payload));
  const inputs = {
    ...{ 'project-id': PROJECT, 'api-key': 'mint_test_key', 'github-token': 'ghs_x' },
    ...{ 'job-id': jobs.map(({ id }) => id).join(), prompt: 'Add examples.', ...scene.with },
  };
  const pairs = Object.entries(inputs).map(([name, text]) => [`INPUT_${name.toUpperCase()}`, text]);
  return {
    ...{ GITHUB_REPOSITORY: 'octo/agents', GITHUB_RUN_ID: '77', GITHUB_JOB: 'agent' },
    ...{ GITHUB_ACTION: 'step', GITHUB_WORKFLOW_REF: 'w@main', GITHUB_TRIGGERING_ACTOR: 'alice' },
    ...{ GITHUB_RUN_ATTEMPT: String(attempt), GITHUB_EVENT_NAME: event.name },
    ...{ GITHUB_EVENT_PATH: path, ...Object.fromEntries(pairs) },
  };
}

function earlierComments({ notes = [] }: Scene, jobs: readonly JobScript[], env: Env): string[] {
  const { workflow, step } = readRunInfo(env);
  const usual = { ...NOTE, project: shortHash(PROJECT), step: shortHash(workflow, step) };
  return notes.map(({ delivery, ended, prNumber, ...note }, index) => {
    const sent = delivery === 'sent' && { sentAt: EPOCH - 20_000, base: 'completed' };
    const all = jobs.map(({ id }) => ({ id, delivery, ...sent, ended, prNumber }));
    const own = { run: `${index}`, process: shortHash(`${index}`), jobs: all };
    return composeComment({ ...usual, ...own, ...note }, () => 'Earlier.');
  });
}
