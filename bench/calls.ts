// How many responses of GitHub in a row a run waits for before the message, and its calls to GitHub. Whole runs of
// the built action, in simulated time. Every response takes the same real time.

import { setTimeout as wait } from 'node:timers/promises';
import { startAgent } from '../test/sim/agent.ts';
import { ALICE, issueComment, pullRequest, push, type WebhookEvent } from '../test/sim/events.ts';
import { startGitHub } from '../test/sim/github/server.ts';
import { startStep, virtualTime } from '../test/sim/runner/process.ts';
import { API_KEY, PROJECT, PROMPT, TOKEN } from './step.ts';
import { table } from './table.ts';

/** Long enough that simultaneous calls overlap even on a busy machine. */
const RESPONSE_MS = 150;
const NUMBER = 7;
const COMMAND = '/agent';
const STEPS = [
  { afterMs: 0, set: { status: 'active' } },
  { afterMs: 20_000, set: { status: 'completed' } },
];

interface Use {
  readonly name: string;
  readonly event: (commandId: number) => WebhookEvent;
  readonly with: Readonly<Record<string, string | number | boolean>>;
  /** Of the build with one comment for all runs, which had a memory in it (commit d6230a6). */
  readonly former: readonly [before: number, calls: number];
}

const byPerson = (): WebhookEvent => pullRequest({ number: NUMBER });
const byCommand = (id: number): WebhookEvent =>
  issueComment({ number: NUMBER, body: `${COMMAND} ${PROMPT}`, id });
const command = { command: COMMAND, prompt: '', wait: true };

const USES: readonly Use[] = [
  { name: 'no conversation', event: () => push(), with: {}, former: [0, 0] },
  {
    ...{ name: 'nobody is checked, sending', event: () => push(), former: [3, 6] },
    with: { 'pr-number': NUMBER },
  },
  { name: 'a person, sending', event: byPerson, with: {}, former: [3, 7] },
  { name: 'a person, waiting', event: byPerson, with: { wait: true }, former: [3, 8] },
  { name: 'a command, waiting', event: byCommand, with: command, former: [3, 11] },
  {
    ...{ name: 'a command without `job-id`', event: byCommand, former: [3, 11] },
    with: { ...command, 'job-id': '' },
  },
];

export async function describeCalls(action?: string): Promise<string> {
  const rows: string[][] = [];
  for (const use of USES) {
    const counted = await count(use, action);
    rows.push([use.name, ...[...counted, ...use.former].map(String)]);
  }
  const head = ['a run', 'responses before the message', 'calls', 'formerly: before', 'calls'];
  return `The responses of GitHub in a row for which a run waits until the message goes out, and all its calls to GitHub, on a
conversation with a comment of an earlier run.

${table(head, rows)}

The budgets are those of \`test/action/budgets.test.ts\`.`;
}

async function count(use: Use, action?: string): Promise<readonly [before: number, calls: number]> {
  // Real time counts in full.
  using time = virtualTime({ pace: 100 });
  await using agent = await startAgent({
    ...{ project: PROJECT, apiKey: API_KEY, clock: time },
    jobs: [{ id: 'job-1', turns: [{ steps: STEPS }] }],
  });
  let lateMs = 0;
  await using github = await startGitHub({
    token: TOKEN,
    issues: [{ number: NUMBER, pullRequest: true }],
    collaborators: { [ALICE.login]: { id: ALICE.id, permission: 'write' } },
    clock: time,
    on: async () => void (await wait(lateMs)),
  });
  const run = async (event: WebhookEvent, runId: string, inputs: Use['with']): Promise<void> => {
    const own = { 'project-id': PROJECT, 'job-id': 'job-1', 'api-key': API_KEY, prompt: PROMPT };
    const { conclusion, log } = await startStep({
      ...{ time, token: TOKEN, event, ...(action !== undefined && { action }) },
      with: { ...own, 'base-url': agent.url, ...inputs },
      github: {
        ...{ api_url: github.apiUrl, graphql_url: github.graphqlUrl, run_id: runId },
        ...{ server_url: github.serverUrl, repository: github.repository },
      },
    }).result;
    if (conclusion !== 'success') throw new Error(`${use.name} failed:\n${log}`);
  };
  await run(push(), '1', { 'pr-number': NUMBER, wait: true });
  lateMs = RESPONSE_MS;
  const from = github.calls().length;
  const { id } = github.addComment(NUMBER, ALICE.login, `${COMMAND} ${PROMPT}`);
  await run(use.event(id), '2', use.with);
  const sentAt = agent.posts().at(-1)?.at ?? 0;
  const times = github
    .calls()
    .slice(from)
    .map(({ request }) => request.at);
  return [longestChain(times.filter((at) => at < sentAt)), times.length];
}

/** The most calls of which each begins after the response to the one before. */
function longestChain(times: readonly number[]): number {
  const chains: number[] = [];
  for (const at of times) {
    const earlier = times.map((other, index) =>
      other + RESPONSE_MS <= at ? (chains[index] ?? 0) : 0,
    );
    chains.push(1 + Math.max(0, ...earlier));
  }
  return Math.max(0, ...chains);
}
