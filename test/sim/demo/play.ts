import { createHash } from 'node:crypto';
import { type JournalEntry, startAgent } from '../agent.ts';
import { ALICE, issueComment, type Person } from '../events.ts';
import type { Comment } from '../github/issues.ts';
import type { Reaction } from '../github/reactions.ts';
import { type GitHub, startGitHub } from '../github/server.ts';
import { type StepResult, startStep, virtualTime } from '../runner/process.ts';
import { API_KEY, PROJECT, REPOSITORY, type Run, type Scenario } from './scenario.ts';

/** A scenario that was played, with everything that people see. */
export interface PlayedScenario {
  readonly scenario: Scenario;
  readonly runs: readonly PlayedRun[];
  readonly conversations: readonly Conversation[];
  readonly checks: Readonly<Record<string, boolean>>;
}

export interface PlayedRun {
  readonly run: Run;
  readonly result: StepResult;
}

/** A pull request that has comments. */
export interface Conversation {
  readonly number: number;
  readonly comments: readonly (Comment & { readonly reactions: readonly Reaction[] })[];
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
  const titles = new Map<string, string>();
  await using agent = await startAgent({
    project: PROJECT,
    apiKey: API_KEY,
    clock: time,
    ...scenario.agent,
    onPost(n, request) {
      github.push(scenario.github.issues[0]?.number ?? 0, ...commitsFor(n));
      return scenario.agent.onPost?.(n, request);
    },
  });
  await using github = await startGitHub({
    repository: REPOSITORY,
    clock: time,
    messageOf: (sha) => titles.get(sha) ?? 'docs: first draft',
    ...scenario.github,
    on(request) {
      if (request.method !== 'GET') viewer.write?.(request);
      return undefined;
    },
  });
  viewer.scenarioStarts?.(scenario, { agent: agent.url, github: github.apiUrl });

  function commitsFor(n: number): readonly string[] {
    const { [n - 1]: added = [] } = scenario.commits ?? [];
    return added.map((title) => {
      const sha = createHash('sha1').update(`${n} ${title}`).digest('hex');
      titles.set(sha, title);
      return sha;
    });
  }

  const runs: PlayedRun[] = [];
  for (const run of scenario.runs) {
    viewer.runStarts?.(run);
    const result = await startStep({
      event: eventOf(run, github),
      token: github.token,
      secrets: [API_KEY],
      github: {
        action_repository: 'OWNER/agent-follow-up',
        action_ref: 'v1',
        api_url: github.apiUrl,
        graphql_url: github.graphqlUrl,
        server_url: github.serverUrl,
        repository: github.repository,
        actor: ALICE.login,
        ...run.github,
      },
      with: { 'project-id': PROJECT, 'api-key': API_KEY, ...run.with, 'base-url': agent.url },
      time,
      onLine: (line) => viewer.line?.(line),
    }).result;
    const played = { run, result };
    runs.push(played);
    viewer.runEnds?.(played, conversationsOf(scenario, github));
  }
  const results = runs.map(({ result }) => result);
  return {
    scenario,
    runs,
    conversations: conversationsOf(scenario, github),
    checks: scenario.check({ agent, github, results }),
  };
}

function eventOf({ trigger }: Run, github: GitHub) {
  if (trigger.kind === 'event') return trigger.event;
  const { number, by, body } = trigger;
  const { id } = github.addComment(number, by, body);
  const author: Person = by === ALICE.login ? ALICE : { login: by, id: 2002, type: 'User' };
  return issueComment({ number, body, id, author, repository: REPOSITORY });
}

function conversationsOf({ github: { issues } }: Scenario, github: GitHub) {
  return issues
    .map(({ number }) => ({
      number,
      comments: github.comments(number).map((comment) => ({
        ...comment,
        reactions: github.reactions.filter(({ id }) => id === comment.id),
      })),
    }))
    .filter(({ comments }) => comments.length > 0);
}

export function allChecksPass({ checks }: PlayedScenario): boolean {
  return Object.values(checks).every((isTrue) => isTrue);
}
