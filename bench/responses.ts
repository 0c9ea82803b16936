// How many responses in a row a run waits for: before the message, and from the last response of the API
// to the end. Whole runs of the built action, in simulated time. Every response takes the same real time.

import { setTimeout as wait } from 'node:timers/promises';
import { startAgent } from '../test/sim/agent.ts';
import { ALICE, issueComment, push, type WebhookEvent } from '../test/sim/events.ts';
import { startGitHub } from '../test/sim/github/server.ts';
import { startStep, virtualTime } from '../test/sim/runner/process.ts';
import { API_KEY, COMMAND, PROJECT, PROMPT, TOKEN } from './step.ts';

/** A way to use the action. */
export interface Use {
  readonly name: string;
  readonly with: Readonly<Record<string, string | boolean>>;
  /** Whether a comment triggers it. */
  readonly isCommand: boolean;
}

export interface Responses {
  /** Responses in a row, by GitHub and the API. */
  readonly before: number;
  readonly after: number;
  /** Calls to GitHub. */
  readonly calls: number;
}

interface Call {
  readonly at: number;
  readonly to: 'GitHub' | 'api';
  readonly isMessage: boolean;
}

/** Long enough that simultaneous calls overlap even on a busy machine. */
const RESPONSE_MS = 150;
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

/** `runs` runs on one conversation. From the second run on, the comment exists. */
export async function countResponses(use: Use, runs: number): Promise<readonly Responses[]> {
  using time = virtualTime();
  const late = async (): Promise<undefined> => void (await wait(RESPONSE_MS));
  await using agent = await startAgent({
    ...{ project: PROJECT, apiKey: API_KEY, clock: time, jobs: [JOB] },
    ...{ onGet: late, onPost: late },
  });
  await using github = await startGitHub({
    token: TOKEN,
    issues: [{ number: PULL, pullRequest: true }],
    collaborators: { [ALICE.login]: { id: ALICE.id, permission: 'write' } },
    trouble: { latencyMs: RESPONSE_MS },
    clock: time,
  });
  const responses: Responses[] = [];
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
    if (conclusion !== 'success') throw new Error(`${use.name} failed:\n${log}`);
    const calls: readonly Call[] = [
      ...github
        .calls()
        .map(({ request: { at } }) => ({ at, to: 'GitHub' as const, isMessage: false })),
      ...agent.journal.map(({ at, method }) => ({
        ...{ at, to: 'api' as const, isMessage: method === 'POST' },
      })),
    ];
    responses.push(responsesOf(calls.toSorted((one, other) => one.at - other.at).slice(from)));
  }
  return responses;
}

export function inputsOf(use: Use): Use['with'] {
  const own = { 'project-id': PROJECT, 'job-id': JOB.id, 'api-key': API_KEY };
  return { ...own, prompt: use.isCommand ? '' : PROMPT, ...use.with };
}

export function eventFor({ isCommand }: Use, number: number, id: number): WebhookEvent {
  const body = `${COMMAND} ${PROMPT}`;
  return isCommand ? issueComment({ number, body, id }) : push();
}

function responsesOf(calls: readonly Call[]): Responses {
  const message = calls.findIndex(({ isMessage }) => isMessage);
  const last = calls.findLastIndex(({ to }) => to === 'api');
  return {
    before: longestChain(calls.slice(0, message)),
    after: longestChain(calls.slice(last + 1)),
    calls: calls.filter(({ to }) => to === 'GitHub').length,
  };
}

/** The maximum number of responses in a row: each one arrives before the next call begins. */
function longestChain(calls: readonly Call[]): number {
  const chains: number[] = [];
  for (const { at } of calls) {
    const earlier = calls.flatMap((call, index) =>
      call.at + RESPONSE_MS <= at ? (chains[index] ?? 0) : [],
    );
    chains.push(1 + Math.max(0, ...earlier));
  }
  return Math.max(0, ...chains);
}
