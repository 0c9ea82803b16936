import type { Exchange, Transport } from '../../../src/agent/http.ts';
import { openSendQueue } from '../../../src/agent/send-queue.ts';
import type { Clock } from '../../../src/clock.ts';
import type { RunContext } from '../../../src/context.ts';
import type { GitHub } from '../../../src/github/api.ts';
import { GitHubError } from '../../../src/github/errors.ts';
import type { CommentTrigger, Trigger } from '../../../src/github/event.ts';
import { type Claim, Reactions } from '../../../src/github/reactions.ts';
import { TimeLimit } from '../../../src/github/time-limit.ts';
import type { Inputs } from '../../../src/inputs.ts';
import { whichJobs } from '../../../src/job/prepare.ts';
import { reviewState } from '../../../src/job/reasons.ts';
import { runJobs } from '../../../src/job/run-jobs.ts';
import { Updates } from '../../../src/memory/updates.ts';
import { sentence } from '../../../src/reason.ts';
import { overallDelivery } from '../../../src/report/ranking.ts';
import type { RunInfo } from '../../../src/runner/environment.ts';
import type { Runtime } from '../../../src/runner/environment.ts';
import type { JobState } from '../../../src/turn.ts';
import {
  PROJECT,
  type Query,
  REPOSITORY,
  type Reply,
  SERVER_URL,
  type ServerState,
  type StoredComment,
} from './server-state.ts';

// A run of the real code, starting with `followUp` in src/run.ts. Its calls go to a `Network`, which
// decides when they take effect.

/** The settings of a run. */
export interface RunSetup {
  /** Identifies the attempt, also in traces. */
  readonly name: string;
  readonly runId: string;
  readonly attempt: number;
  /** Identifies the step. It is the same in all jobs of a matrix. */
  readonly step: string;
  /** The values of the matrix, as the runner sets them; `null` without a matrix. */
  readonly leg: string;
  readonly event:
    | 'pull_request'
    | 'issue_comment'
    | 'pull_request_review'
    | 'schedule'
    | 'workflow_dispatch';
  /** The number of the pull request in the event; null if it has none. */
  readonly conversation: number | null;
  readonly jobIds: readonly string[];
  readonly wait: boolean;
  readonly reply: Reply;
}

export type Kind = 'read' | 'create' | 'update' | 'delete' | 'react' | 'unreact' | 'post' | 'poll';

/** A call to GitHub or the API. */
export interface Call<T> {
  readonly kind: Kind;
  /** What the call accesses. Calls that access different things are independent. */
  readonly on: string;
  /** Only for a read. */
  readonly query?: Query;
  /** The effect of the call. */
  readonly act: (isListed: (comment: StoredComment) => boolean) => T;
  /** The result without a response. */
  readonly unanswered: () => T;
}

/** Connects one run to everything outside of it. */
export interface Network {
  readonly clock: Clock;
  readonly random: () => number;
  call<T>(call: Call<T>): Promise<T>;
}

/** Replacements for parts of a run, to plant a fault. */
export interface Overrides {
  readonly claim?: (setup: RunSetup, claim: () => Promise<Claim>) => Promise<Claim>;
  readonly github?: (github: GitHub) => GitHub;
}

export interface SimulatedRun {
  readonly setup: RunSetup;
  readonly states: Map<string, JobState>;
  readonly cancel: AbortController;
  /** Resolves when the run is over. */
  readonly over: Promise<void>;
}

const TIMEOUT_MS = 600_000;
const COMMENT_ID = 99;

export function startRun(
  setup: RunSetup,
  network: Network,
  server: ServerState,
  overrides: Overrides = {},
): SimulatedRun {
  const states = new Map<string, JobState>();
  const cancel = new AbortController();
  const over = followUp(setup, { network, server, states, cancel, overrides });
  return { setup, states, cancel, over };
}

interface Wiring {
  readonly network: Network;
  readonly server: ServerState;
  readonly states: Map<string, JobState>;
  readonly cancel: AbortController;
  readonly overrides: Overrides;
}

/** Like `openMemory`, `followUp` and `report` in src/run.ts, without log, outputs and summary. */
async function followUp(
  setup: RunSetup,
  { network, server, states, cancel, overrides }: Wiring,
): Promise<void> {
  const { clock, random } = network;
  const runtime: Runtime = { ...RUNTIME, clock, random, signal: cancel.signal };
  const { info, trigger, inputs } = settingsOf(setup);
  const own = openGitHub(network, server, setup);
  const github = overrides.github?.(own) ?? own;
  const connect = (): Promise<GitHub> => Promise.resolve(github);
  const timeLimit = new TimeLimit(clock, 30_000);
  const command = inputs.command === null ? null : trigger.comment;
  const reactions = new Reactions(command, connect, runtime.log);
  const claim = (): Promise<Claim> =>
    overrides.claim?.(setup, () => reactions.claim()) ?? reactions.claim();
  const updates = new Updates({
    ...runtime,
    ...{ connect, timeLimit, claim, owner: setup.name, attempt: info.attempt },
    ...{ comment: inputs.comment, wait: inputs.wait, text: server.text },
    review: reviewState,
  });
  const { conversation } = trigger;
  const context: RunContext = {
    ...{ runtime, info, trigger, inputs, updates, states, text: 'go on', mark: setup.name },
    ...{ conversation, memory: updates.load(conversation) },
    agent: {
      ...runtime,
      transport: openTransport(network, server, setup),
      queue: openSendQueue(),
      where: sentence`${'api.example'}`,
      projectId: PROJECT,
      serverUrl: SERVER_URL,
      deadline: clock.startedAt + TIMEOUT_MS,
    },
    writeOutputs: () => undefined,
  };
  const jobs = await whichJobs(context);
  if (jobs.kind === 'problem') throw new Error(jobs.problem.join(''));
  await runJobs(context, jobs.value);
  if (overallDelivery([...states.values()]) === 'not-sent') reactions.release();
  const { reviewed } = await updates.flush();
  for (const state of reviewed) states.set(state.jobId, state);
  await timeLimit.waitFor(reactions.settled()).catch(() => {});
}

const nothing = (): void => {};
const RUNTIME: Omit<Runtime, 'clock' | 'random' | 'signal'> = {
  env: {},
  log: {
    debug: nothing,
    info: nothing,
    notice: nothing,
    warning: nothing,
    error: nothing,
    group: nothing,
    endGroup: nothing,
  } as unknown as Runtime['log'],
  redact: (text) => text,
  crashed: new Promise<never>(() => {}),
  saveMemory: nothing,
  deferTierUp: nothing,
  writeOutputs: nothing,
  writeSummary: nothing,
};

const ALICE = { login: 'alice', id: 1, type: 'User' };
const COMMENT_KINDS = { issue_comment: 'comment', pull_request_review: 'review' } as const;

function settingsOf(setup: RunSetup): Pick<RunContext, 'info' | 'trigger' | 'inputs'> {
  const { runId, attempt, step, leg, event, conversation, jobIds, wait } = setup;
  const isComment = event === 'issue_comment' || event === 'pull_request_review';
  const comment: CommentTrigger | null =
    isComment && conversation !== null
      ? {
          ...{ kind: COMMENT_KINDS[event], action: 'created', conversation },
          ...{ id: COMMENT_ID, nodeId: 'C_99', body: '/agent go on', author: ALICE },
          ...{ sender: ALICE, viaApp: false, context: null },
        }
      : null;
  const trigger: Trigger = {
    ...{ event, action: '', conversation, comment, sender: ALICE, isHeadHere: true, causedBy: '' },
    problem: null,
  };
  const info: RunInfo = {
    serverUrl: SERVER_URL,
    apiUrl: '',
    graphqlUrl: '',
    repository: REPOSITORY,
    repositoryUrl: `${SERVER_URL}/${REPOSITORY}`,
    ...{ runId, attempt, origin: `run:${runId}:${step}`, actor: 'alice', triggeringActor: 'alice' },
  };
  const inputs: Inputs = {
    ...{ command: isComment ? '/agent' : null, minimumPermission: 'none' },
    ...{ allowedBots: new Set<string>(), githubToken: 't', hasApiKey: true, apiKey: 'mint_' },
    ...{ projectId: PROJECT, jobIds, repeatedIds: 0, send: true, prompt: 'go on', wait },
    ...{ onlyWhen: null, timeoutMs: TIMEOUT_MS, pollIntervalMs: 2000, settleMs: 0 },
    ...{ failOn: new Set<never>(), comment: true, resendOnRerun: false, matrixLeg: leg },
    ...{ prNumber: null, baseUrl: new URL('https://api.example'), proxy: { url: '', noProxy: '' } },
  };
  return { info, trigger, inputs };
}

function openGitHub(network: Network, server: ServerState, { name }: RunSetup): GitHub {
  const at = (): number => network.clock.now();
  const unanswered = (): never => {
    throw new GitHubError(0, 'GitHub did not answer in time');
  };
  return {
    async readComments(conversation, { nodeIds, isOurs, withVersions }) {
      const query = { conversation, nodeIds, withVersions };
      const comments = await network.call({
        ...{ kind: 'read', on: `#${conversation}`, unanswered, query },
        act: (isListed) => server.read(query, isListed),
      });
      return comments.filter(({ body }) => isOurs(body));
    },
    createComment: (number, body) =>
      network.call({
        ...{ kind: 'create', on: `#${number}`, unanswered },
        act: () => server.create(number, body, name, at()),
      }),
    updateComment: (id, body) =>
      network.call({
        ...{ kind: 'update', on: conversationOf(server, id), unanswered },
        act: () => server.update(id, body, at()),
      }),
    deleteComment: (id) =>
      network.call({
        ...{ kind: 'delete', on: conversationOf(server, id), unanswered },
        act: () => server.remove(id),
      }),
    react: ({ kind, id }, content) =>
      kind === 'review'
        ? Promise.resolve(null)
        : network.call({
            ...{ kind: 'react', on: `${content} on ${kind} ${id}`, unanswered },
            act: () => server.react(`${content} on ${kind} ${id}`, name),
          }),
    removeReaction: ({ kind, id }) =>
      network.call({
        ...{ kind: 'unreact', on: `rocket on ${kind} ${id}`, unanswered },
        act: () => server.unreact(`rocket on ${kind} ${id}`, name),
      }),
    collaborator: () => Promise.reject(new Error('Permissions are not simulated.')),
  };
}

/** The conversation of a comment, which may have been deleted. */
function conversationOf(server: ServerState, id: number): string {
  return `#${server.conversationOf(id)}`;
}

function openTransport(
  network: Network,
  server: ServerState,
  { name, reply }: RunSetup,
): Transport {
  const jobOf = (path: string): string => /\/job\/([^/]+)/.exec(path)?.[1] ?? '';
  const unanswered = (): Exchange => ({
    ...{ kind: 'failure', written: true, cause: 'network', why: 'connection lost' },
  });
  return {
    get: (path) =>
      network.call({
        ...{ kind: 'poll', on: jobOf(path), unanswered },
        act: () => server.poll(jobOf(path), name),
      }),
    postOnce: (path) =>
      network.call({
        ...{ kind: 'post', on: jobOf(path), unanswered },
        act: () => server.post(jobOf(path), name, reply),
      }),
  };
}
