import { expect } from 'vitest';
import { parseRecord } from '../../src/ledger/marker.ts';
import { type CommentRecord, shortHash } from '../../src/ledger/record.ts';
import { toOutputs } from '../../src/runner/outputs.ts';
import {
  type Agent,
  type AgentOptions,
  type JournalEntry,
  SERVICE,
  startAgent,
  turnTo,
} from '../sim/agent.ts';
import { ALICE, issueComment, mergeGroup, type WebhookEvent } from '../sim/events.ts';
import type { Comment } from '../sim/github/issues.ts';
import { type GitHub, type GitHubOptions, startGitHub } from '../sim/github/server.ts';
import { callsEnd, inTime } from '../sim/runner/clock.ts';
import { runHere } from '../sim/runner/here.ts';
import {
  type Step,
  type StepResult,
  type StepRun,
  startStep,
  type TimeOptions,
  type VirtualTime,
  virtualTime,
} from '../sim/runner/process.ts';

/** Secrets that are easy to find. Each scenario ends with a search for them in everything that the run wrote. */
export const KEY = 'mint_canary-7f3a9c1e5b"+/<&>|';
export const TOKEN = 'ghs_canary_4d2e8b6a0f';
export const PROJECT = 'project_1';
export const JOB = 'job-1';
export const PULL = 7;
export const LINK = `https://github.com/octo/agents/pull/${PULL}`;
/** The inputs of a step that reads commands, and of a second attempt. */
export const COMMAND = { command: '/agent', prompt: '' };
export const AGAIN = { run_attempt: '2', triggering_actor: 'alice' };
/** The outputs after a message, without one, and after an error before it. */
export const SENT = { result: 'sent', delivery: 'sent' };
export const SKIPPED = { result: 'skipped', delivery: 'not-sent' };
export const UNSENT = { result: 'error', delivery: 'not-sent' };
const OUTPUT_NAMES = Object.keys(toOutputs({ ended: [], commentUrls: [] }));
/** The job has opened the pull request of the event. */
export const ON_ITS_PULL: Partial<AgentOptions> = { jobs: [{ id: JOB, base: { prLink: LINK } }] };
export const WRITER = { id: ALICE.id, permission: 'write' } as const;
/** Nobody is checked, and `pr-number` names the pull request. */
const NOT_CHECKED = mergeGroup();
const { signal: NEVER_ABORTED } = new AbortController();
/** The agent works for 15 minutes. */
export const LONG_TURN = turnTo('completed', 900_000);

export interface Scenario {
  /** `with:` of the step, in addition to what every step needs. */
  readonly with?: Step['with'];
  readonly agent?: Partial<AgentOptions>;
  readonly github?: GitHubOptions;
  readonly step?: Omit<Step, 'with' | 'time'>;
  readonly time?: TimeOptions;
  /** More secrets that must not appear. */
  readonly secrets?: readonly string[];
}

/** What a step has in addition. */
export type More = Pick<Scenario, 'with' | 'step'>;

/** Makes the resolver return these results for a host, one per lookup. Needs a process of its own. */
export function resolver(host: string, results: string): { readonly nodeArgs: readonly string[] } {
  const url = new URL('../sim/dns.ts', import.meta.url);
  url.searchParams.set(host, results);
  return { nodeArgs: ['--import', url.href] };
}

/** A running scenario. Its servers run until it is disposed of. */
export interface Simulation extends AsyncDisposable {
  readonly agent: Agent;
  readonly github: GitHub;
  readonly time: VirtualTime;
  /** Starts the step. Later steps in the same simulation find what the earlier ones wrote. */
  start(more?: More): StepRun;
  /** Runs the step, and checks what is true for every run. */
  run(more?: More): Promise<StepResult>;
  /** The same on src/ in this process, for rows of tables that need no process of their own. */
  runHere(more?: More): Promise<StepResult>;
  /** Lets this many milliseconds pass while steps run in this process. */
  pass(ms: number): Promise<void>;
  /** Writes a comment of alice, or of the author, and returns its event. */
  ask(body: string, more?: Partial<Parameters<typeof issueComment>[0]>): WebhookEvent;
  /** What the agent got. */
  prompts(): readonly string[];
  /** The comments of the action on a conversation, the oldest first. */
  ownComments(number?: number): readonly Comment[];
  /** The newest of them. */
  lastComment(): string;
  /** What they say. */
  notes(number?: number): readonly CommentRecord[];
  /** What people see of each version of the comments, in order. */
  commentTexts(): readonly string[];
  /** The names of the calls to GitHub, from this position. */
  callNames(from?: number): readonly string[];
}

/** Starts the simulated API and GitHub, which share virtual time with the step. */
export async function simulate(scenario: Scenario = {}): Promise<Simulation> {
  const time = virtualTime(scenario.time);
  const usual = { project: PROJECT, apiKey: KEY, jobs: [{ id: JOB }], clock: time };
  const agent = await startAgent({ ...usual, ...scenario.agent });
  const github = await startGitHub({
    token: TOKEN,
    issues: [{ number: PULL, pullRequest: true }],
    collaborators: { alice: WRITER },
    clock: time,
    ...scenario.github,
  });

  function stepOf(more: More = {}): Step {
    const step = { event: NOT_CHECKED, ...scenario.step, ...more.step };
    return {
      token: TOKEN,
      ...step,
      with: {
        'project-id': PROJECT,
        'job-id': JOB,
        'api-key': KEY,
        prompt: 'Add error handling examples.',
        // Most scenarios are about what comes before the wait.
        wait: false,
        'base-url': agent.url,
        'pr-number': step.event?.name === NOT_CHECKED.name ? PULL : '',
        ...scenario.with,
        ...more.with,
      },
      github: {
        api_url: github.apiUrl,
        server_url: github.serverUrl,
        repository: github.repository,
        ...step.github,
      },
      time,
    };
  }

  function start(more?: More): StepRun {
    const run = startStep(stepOf(more));
    return { ...run, result: run.result.then(withCheckedOutputs) };
  }

  async function checked(run: Promise<StepResult>): Promise<StepResult> {
    const result = withCheckedOutputs(await run);
    expectPromises(result, { agent, github }, scenario.secrets);
    return result;
  }

  const ownComments = (number = PULL): readonly Comment[] =>
    github.comments(number).filter(({ body }) => parseRecord(body, shortHash(PROJECT)) !== 'none');

  return {
    ...{ agent, github, time, start, ownComments },
    ask(body, { number = PULL, author = ALICE, ...more } = {}) {
      const { id } = github.addComment(number, author.login, body);
      return issueComment({ number, body, id, author, ...more });
    },
    prompts: () => agent.accepted().map(({ prompt }) => prompt),
    lastComment: () => ownComments().at(-1)?.body ?? '',
    notes: (number) =>
      ownComments(number).map(({ body, html_url }) => {
        const note = parseRecord(body, shortHash(PROJECT));
        if (typeof note === 'string') throw new Error(`The comment ${html_url} is ${note}.`);
        return note;
      }),
    commentTexts() {
      const bodies = github.writes().flatMap(({ body }) => JSON.parse(body || '{}').body ?? []);
      return bodies.map(visibleIn);
    },
    callNames: (from = 0) => github.calls().flatMap(({ name }, n) => (n < from ? [] : [name])),
    run: (more) => checked(start(more).result),
    runHere: (more) => checked(runHere(stepOf(more))),
    pass: (ms) => inTime(time, (clock) => clock.sleep(ms, NEVER_ABORTED)),
    async [Symbol.asyncDispose]() {
      await callsEnd(time);
      await agent[Symbol.asyncDispose]();
      await github[Symbol.asyncDispose]();
      time[Symbol.dispose]();
    },
  };
}

/** Each kind of runner reads the same outputs, unless the step was killed. */
function withCheckedOutputs(result: StepResult): StepResult {
  if (result.signal !== 'SIGKILL') expect(result.strictProblem).toBe('');
  return result;
}

/** Checks what is true for every run, whatever happens to it. */
export function expectPromises(
  result: StepResult,
  sim: Journals,
  more: readonly string[] = [],
): void {
  const stale = 'if you changed src/, run npm run build; archive.test.ts runs what is committed';
  expect(Object.keys(result.outputs).sort(), stale).toEqual(OUTPUT_NAMES.toSorted());
  expect(result.errors.length).toBeLessThanOrEqual(1);
  expect(result.stdout + result.stderr).not.toMatch(/^\s+at .*\.[jt]s:\d+/m);
  expect(result.fileErrors).toEqual([]);
  // If the run tries again by itself, it does not ask users to try again later.
  const retries = result.log.match(/^.*(Trying|Polling) again (in|at once).*$/gm) ?? [];
  expect(retries.filter((line) => /later|asks to wait until/.test(line))).toEqual([]);
  expect(findTraces({ key: KEY, token: TOKEN, more }, result, sim)).toEqual([]);
}

type Secrets = Readonly<Record<'key' | 'token', string> & Record<'more', readonly string[]>>;
type Journals = Readonly<Record<'agent' | 'github', Pick<Agent, 'journal'>>>;

/** Each form of a secret in a text that must not contain it, and the name of the text. */
export function findTraces(
  { key, token, more }: Secrets,
  result: StepResult,
  { agent, github }: Journals,
): readonly string[] {
  const requests = (journal: readonly JournalEntry[], header: string, own: string): string =>
    journal
      .flatMap(({ path, headers, body }) => {
        const { [header]: withKey = '', ...others } = headers;
        return [path, withKey.replace(own, ''), ...Object.values(others), body];
      })
      .join('\n');
  const texts = {
    stdout: result.stdout.replace(/^::add-mask::.*$/gm, ''),
    stderr: result.stderr,
    outputs: result.outputText,
    summary: result.summary,
    // Without the secret that belongs in their headers.
    'requests to the API': requests(agent.journal, SERVICE.keyHeader, key),
    'requests to GitHub': requests(github.journal, 'authorization', token),
  };
  return Object.entries(texts).flatMap(([name, text]) => {
    const readable = unescaped(text);
    return [...new Set([key, token, ...more].flatMap(formsOf))]
      .filter((form) => text.includes(form) || readable.includes(unescaped(form)))
      .map((form) => `${form} in ${name}`);
  });
}

/** Without the escapes of nested JSON and of table cells. */
function unescaped(text: string): string {
  return text
    .replace(/\\+u([\da-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll('\\', '')
    .replaceAll('¦', '|');
}

function formsOf(secret: string): readonly string[] {
  const inBase64 = (start: string) => Buffer.from(start + secret).toString('base64');
  const shifted = ['', '.', '..'].map((start) => inBase64(start).slice(4, 24));
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), ...shifted];
}

/** What people see of the body of a comment. */
export function visibleIn(body: string): string {
  return body.replace(/^(<!--.*-->\n)+/, '').replace(/\n\n<!--.*-->$/, '');
}

/**
 * Lets runs that are at once reach a call before any of them gets past it. It needs a `graceMs` that is longer than
 * processes take to start.
 */
export function meetAt(count: number, name: string, sim: () => Simulation) {
  const arrived: (() => void)[] = [];
  return async (request: JournalEntry): Promise<undefined> => {
    const call = sim()
      .github.calls(name)
      .find((one) => one.request === request);
    if (call === undefined || arrived.length >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    arrived.push(resolve);
    if (arrived.length === count) for (const go of arrived) go();
    await promise;
  };
}
