import { startAgent } from '../agent.ts';
import { ALICE, issueComment, type Person } from '../events.ts';
import type { Comment } from '../github/issues.ts';
import type { Reaction } from '../github/reactions.ts';
import { type GitHub, startGitHub } from '../github/server.ts';
import { type StepResult, startStep, virtualTime } from '../runner/process.ts';
import { type LogLine, readLog } from './log.ts';
import { API_KEY, PROJECT, REPOSITORY, type Run, type Story } from './story.ts';

/** A story that was played, with all that the page shows of it. */
export interface Told {
  readonly story: Story;
  readonly runs: readonly ToldRun[];
  readonly conversations: readonly Conversation[];
  readonly checks: Readonly<Record<string, boolean>>;
}

export interface ToldRun {
  readonly run: Run;
  readonly log: readonly LogLine[];
  readonly result: StepResult;
}

/** A pull request on which somebody commented. */
export interface Conversation {
  readonly number: number;
  readonly comments: readonly (Comment & { readonly reactions: readonly Reaction[] })[];
}

/** Is told what happens, as it happens. */
export interface Audience {
  starts(story: Story, addresses: { readonly agent: string; readonly github: string }): void;
  runs(run: Run): void;
  line(line: LogLine): void;
  ended(told: ToldRun, github: GitHub): void;
}

/** Plays a story on the built action; without a pace, as fast as the machine allows. */
export async function tell(
  story: Story,
  audience: Partial<Audience> = {},
  pace?: number,
): Promise<Told> {
  using time = virtualTime({ pace });
  await using agent = await startAgent({
    project: PROJECT,
    apiKey: API_KEY,
    clock: time,
    ...story.agent,
  });
  await using github = await startGitHub({ repository: REPOSITORY, clock: time, ...story.github });
  audience.starts?.(story, { agent: agent.url, github: github.apiUrl });

  const runs: ToldRun[] = [];
  for (const run of story.runs) {
    audience.runs?.(run);
    const log: LogLine[] = [];
    const read = readLog((line) => {
      log.push(line);
      audience.line?.(line);
    });
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
      onLine: read,
    }).result;
    const told = { run, log, result };
    runs.push(told);
    audience.ended?.(told, github);
  }
  const results = runs.map(({ result }) => result);
  return {
    story,
    runs,
    conversations: conversationsOf(story, github),
    checks: story.check({ agent, github, results }),
  };
}

function eventOf({ trigger }: Run, github: GitHub) {
  if (trigger.kind === 'event') return trigger.event;
  const { number, by, body } = trigger;
  const { id } = github.addComment(number, by, body);
  const author: Person = by === ALICE.login ? ALICE : { login: by, id: 2002, type: 'User' };
  return issueComment({ number, body, id, author, repository: REPOSITORY });
}

function conversationsOf({ github: { issues = [] } }: Story, github: GitHub) {
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

/** Whether everything came out as it should. */
export function isGood({ checks }: Told): boolean {
  return Object.values(checks).every((holds) => holds);
}
