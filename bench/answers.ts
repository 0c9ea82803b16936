// Which answers a run waits for, one after the other: before the message, and from the last answer of
// the service to the end. Whole runs of the built action, in simulated time, in which every answer takes
// the same real time.

import { setTimeout as wait } from 'node:timers/promises';
import { startAgent } from '../test/sim/agent.ts';
import { ALICE, issueComment, push, type WebhookEvent } from '../test/sim/events.ts';
import { startGitHub } from '../test/sim/github/server.ts';
import { startStep, virtualTime } from '../test/sim/runner/process.ts';
import { API_KEY, COMMAND, PROJECT, PROMPT, TOKEN } from './step.ts';

/** What is measured: a way to use the action. */
export interface Use {
  readonly name: string;
  readonly with: Readonly<Record<string, string | boolean>>;
  /** Whether a comment starts it. */
  readonly isCommand: boolean;
}

export interface Answers {
  /** Of GitHub and the service. */
  readonly before: number;
  readonly after: number;
  /** To GitHub. */
  readonly calls: number;
}

interface Call {
  readonly at: number;
  readonly to: 'GitHub' | 'service';
  readonly isMessage: boolean;
}

/** Long enough for calls at the same time to count as such on a machine that has other work. */
const ANSWER_MS = 150;
const PULL = 7;
const JOB = {
  id: 'job-1',
  turns: [
    {
      steps: [
        { afterMs: 0, set: { status: 'active' } },
        { afterMs: 20_000, set: { status: 'completed' } },
      ],
    },
  ],
};

/** `runs` runs of it on one conversation: from the second one on there is a comment. */
export async function countAnswers(use: Use, runs: number): Promise<readonly Answers[]> {
  using time = virtualTime();
  const late = async (): Promise<undefined> => void (await wait(ANSWER_MS));
  await using agent = await startAgent({
    ...{ project: PROJECT, apiKey: API_KEY, clock: time, jobs: [JOB] },
    ...{ onGet: late, onPost: late },
  });
  await using github = await startGitHub({
    token: TOKEN,
    issues: [{ number: PULL, pullRequest: true }],
    collaborators: { [ALICE.login]: { id: ALICE.id, permission: 'write' } },
    trouble: { latencyMs: ANSWER_MS },
    clock: time,
  });
  const answers: Answers[] = [];
  for (let run = 1; run <= runs; run++) {
    const from = github.calls().length + agent.journal.length;
    const { id } = github.addComment(PULL, ALICE.login, `${COMMAND} ${PROMPT}`);
    const { conclusion, log } = await startStep({
      ...{ time, token: TOKEN, event: eventFor(use, PULL, id) },
      with: { ...inputsOf(use), 'base-url': agent.url, 'pr-number': PULL },
      github: {
        ...{ api_url: github.apiUrl, graphql_url: github.graphqlUrl, run_id: String(run) },
        ...{ server_url: github.serverUrl, repository: github.repository },
      },
    }).result;
    if (conclusion !== 'success') throw new Error(`${use.name} went wrong:\n${log}`);
    const calls: readonly Call[] = [
      ...github
        .calls()
        .map(({ request: { at } }) => ({ at, to: 'GitHub' as const, isMessage: false })),
      ...agent.journal.map(({ at, method }) => ({
        ...{ at, to: 'service' as const, isMessage: method === 'POST' },
      })),
    ];
    answers.push(answersOf(calls.toSorted((one, other) => one.at - other.at).slice(from)));
  }
  return answers;
}

export function inputsOf(use: Use): Use['with'] {
  const own = { 'project-id': PROJECT, 'job-id': JOB.id, 'api-key': API_KEY };
  return { ...own, prompt: use.isCommand ? '' : PROMPT, ...use.with };
}

export function eventFor({ isCommand }: Use, number: number, id: number): WebhookEvent {
  const body = `${COMMAND} ${PROMPT}`;
  return isCommand ? issueComment({ number, body, id }) : push();
}

function answersOf(calls: readonly Call[]): Answers {
  const message = calls.findIndex(({ isMessage }) => isMessage);
  const last = calls.findLastIndex(({ to }) => to === 'service');
  return {
    before: longestChain(calls.slice(0, message)),
    after: longestChain(calls.slice(last + 1)),
    calls: calls.filter(({ to }) => to === 'GitHub').length,
  };
}

/** The most answers of which each was there before the next call began. */
function longestChain(calls: readonly Call[]): number {
  const chains: number[] = [];
  for (const { at } of calls) {
    const earlier = calls.flatMap((call, index) =>
      call.at + ANSWER_MS <= at ? (chains[index] ?? 0) : [],
    );
    chains.push(1 + Math.max(0, ...earlier));
  }
  return Math.max(0, ...chains);
}
