import { createHash } from 'node:crypto';
import { ACTION } from '../../contract/workflows.ts';
import { type JournalEntry, startAgent } from '../agent.ts';
import { issueComment, type Person, review, type WebhookEvent, workflowRun } from '../events.ts';
import type { Comment } from '../github/issues.ts';
import type { Reaction } from '../github/reactions.ts';
import { type GitHub, startGitHub } from '../github/server.ts';
import { type StepResult, startStep, virtualTime } from '../runner/process.ts';
import { playWorkflow } from '../workflow.ts';
import {
  API_KEY,
  type FinalState,
  PROJECT,
  REPOSITORY,
  type Run,
  type Scenario,
  type Written,
} from './scenario.ts';

/** Between two runs. */
const BREAK_MS = 600_000;

/** A scenario that was played, with everything that people see. */
export interface PlayedScenario {
  readonly scenario: Scenario;
  readonly runs: readonly PlayedRun[];
  readonly conversations: readonly Conversation[];
  readonly end: FinalState;
  readonly checks: Readonly<Record<string, boolean>>;
}

export interface PlayedRun {
  readonly run: Run;
  /** Undefined if no runner has started. */
  readonly result: StepResult | undefined;
}

/** A pull request that has comments. */
export interface Conversation {
  readonly number: number;
  readonly entries: readonly Entry[];
}

/** A comment, or a review with its inline comments. */
export interface Entry extends Omit<Comment, 'id' | 'node_id' | 'updated_at' | 'listedAt'> {
  /** That of a comment, or the node ID of a review. */
  readonly id: number | string;
  readonly reactions: readonly Reaction[];
}

/** Gets the events of a scenario as they happen. */
export interface Viewer {
  scenarioStarts(
    scenario: Scenario,
    addresses: { readonly agent: string; readonly github: string },
  ): void;
  runStarts(run: Run): void;
  /** A line of the log. */
  line(text: string): void;
  /** A call that changes a page of GitHub. */
  write(request: JournalEntry): void;
  runEnds(played: PlayedRun, conversations: readonly Conversation[]): void;
}

/** Plays a scenario with the built action. Without `pace`, as fast as the machine allows. */
export async function play(
  scenario: Scenario,
  viewer: Partial<Viewer> = {},
  pace?: number,
): Promise<PlayedScenario> {
  using time = virtualTime({ pace });
  const reviews: Omit<Entry, 'reactions'>[] = [];
  const [pull] = scenario.github.issues;
  let head = '';
  let lastCheck = 500;
  await using agent = await startAgent({
    project: PROJECT,
    apiKey: API_KEY,
    clock: time,
    ...scenario.agent,
    onPost(n) {
      push(commitsFor(n));
      return undefined;
    },
  });
  await using github = await startGitHub({
    repository: REPOSITORY,
    clock: time,
    ...scenario.github,
    on(request) {
      if (request.method !== 'GET') viewer.write?.(request);
      return undefined;
    },
  });
  push([commit(0, 0)]);
  viewer.scenarioStarts?.(scenario, { agent: agent.url, github: github.apiUrl });

  function commitsFor(n: number): readonly string[] {
    return Array.from({ length: scenario.commits?.[n - 1] ?? 0 }, (_, index) => commit(n, index));
  }

  function commit(n: number, index: number): string {
    return createHash('sha1').update(`${n} ${index}`).digest('hex');
  }

  /** Adds commits to the first pull request. */
  function push(commits: readonly string[]): void {
    github.push(pull?.number ?? 0, ...commits);
    head = commits.at(-1) ?? head;
  }

  /** What happens, and the event of it. */
  function happen({ trigger }: Run): WebhookEvent {
    switch (trigger.kind) {
      case 'event':
        return trigger.event;
      case 'checks': {
        const { number, by, conclusion, failed } = trigger;
        const id = ++lastCheck;
        github.addRun({ id, jobs: failed === undefined ? [] : [failed] });
        const page = `${github.serverUrl}/${REPOSITORY}/actions/runs/${id}`;
        return workflowRun({
          ...{ pullRequests: [number], sha: head, repository: REPOSITORY },
          sender: personNamed(by),
          fields: { id, html_url: page, conclusion },
        });
      }
      default: {
        const { number, by, body } = trigger;
        const about = { number, body, author: personNamed(by), repository: REPOSITORY };
        return trigger.kind === 'comment'
          ? issueComment({ ...about, id: github.addComment(number, by, body).id })
          : review({ ...about, id: submit(trigger) });
      }
    }
  }

  function personNamed(login: string): Person {
    const type = login.endsWith('[bot]') ? 'Bot' : 'User';
    return { login, id: scenario.github.collaborators[login]?.id ?? 2002, type };
  }

  function submit({ number, by, body, inline = [] }: Written): number {
    const id = github.addReview(number, by, inline);
    const lines = inline.map(({ path, line, body }) => `> \`${path}\`, line ${line}: ${body}`);
    reviews.push({
      id: `PRR_${id}`,
      author: by,
      body: [body, ...lines].join('\n\n'),
      html_url: `${github.serverUrl}/${REPOSITORY}/pull/${number}#pullrequestreview-${id}`,
      created_at: new Date(time.now()).toISOString().replace(/\.\d+/, ''),
      isMinimized: false,
    });
    return id;
  }

  async function runOf(run: Run, runId: number): Promise<StepResult | undefined> {
    const event = happen(run);
    const { by = 'github-actions[bot]' } = run.trigger;
    const played = await playWorkflow(run.workflow, {
      event,
      repository: REPOSITORY,
      vars: { AGENT_PROJECT: PROJECT, ...scenario.vars },
      secrets: { AGENT_API_KEY: API_KEY },
      run: (given, job) =>
        startStep({
          event,
          token: github.token,
          secrets: [API_KEY],
          github: {
            action_repository: ACTION,
            action_ref: 'v1',
            api_url: github.apiUrl,
            graphql_url: github.graphqlUrl,
            server_url: github.serverUrl,
            repository: github.repository,
            actor: by,
            triggering_actor: by,
            job,
            run_id: String(runId),
            workflow_ref: `${REPOSITORY}/.github/workflows/${run.file}.yml@refs/heads/main`,
          },
          with: { ...given, 'base-url': agent.url },
          time,
          onLine: (line) => viewer.line?.(line),
        }).result,
    });
    return played.flatMap(({ results }) => results)[0];
  }

  const runs: PlayedRun[] = [];
  for (const run of scenario.runs) {
    viewer.runStarts?.(run);
    time.skip(BREAK_MS);
    const played = { run, result: await runOf(run, 1000 + runs.length) };
    runs.push(played);
    viewer.runEnds?.(played, conversationsOf(scenario, github, reviews));
  }
  const end = { agent, github, results: runs.map(({ result }) => result) };
  const conversations = conversationsOf(scenario, github, reviews);
  return { scenario, runs, conversations, end, checks: scenario.check(end) };
}

function conversationsOf(
  { github: { issues } }: Scenario,
  github: GitHub,
  reviews: readonly Omit<Entry, 'reactions'>[],
): readonly Conversation[] {
  return issues
    .map(({ number }) => ({
      number,
      entries: [
        ...reviews.filter(({ html_url }) => html_url.includes(`/${number}#`)),
        ...github.comments(number),
      ]
        .toSorted((one, other) => one.created_at.localeCompare(other.created_at))
        .map((entry) => ({
          ...entry,
          reactions: github.reactions.filter(({ id }) => id === entry.id),
        })),
    }))
    .filter(({ entries }) => entries.length > 0);
}

export function allChecksPass({ checks }: PlayedScenario): boolean {
  return Object.values(checks).every((isTrue) => isTrue);
}
