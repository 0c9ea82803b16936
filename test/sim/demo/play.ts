import { createHash } from 'node:crypto';
import { parse } from 'yaml';
import { read, type Workflow } from '../../contract/workflows.ts';
import { type Agent, type JournalEntry, startAgent } from '../agent.ts';
import { issueComment, type Person, review, type WebhookEvent, workflowRun } from '../events.ts';
import type { Comment } from '../github/issues.ts';
import type { Reaction } from '../github/reactions.ts';
import type { CommitChanges } from '../github/repository.ts';
import { type GitHub, startGitHub } from '../github/server.ts';
import { type StepResult, startStep, virtualTime } from '../runner/process.ts';
import { playWorkflow } from '../workflow.ts';
import { API_KEY, JOB, PROJECT, PULL, REPOSITORY, type Run, story, type Written } from './story.ts';

/** Between two runs. */
const BREAK_MS = 600_000;

/** The story after it was played, with everything that people see. */
export interface Played {
  readonly runs: readonly PlayedRun[];
  /** The conversation on the pull request. */
  readonly entries: readonly Entry[];
  readonly agent: Agent;
  readonly github: GitHub;
}

export interface PlayedRun {
  readonly run: Run;
  readonly workflow: Workflow;
  /** Undefined if no runner has started. */
  readonly result: StepResult | undefined;
  /** The message that the agent got; undefined if it got none. */
  readonly message: string | undefined;
}

/** A comment, or a review with its inline comments. */
export interface Entry extends Omit<Comment, 'id' | 'node_id' | 'updated_at' | 'listedAt'> {
  /** That of a comment, or the node ID of a review. */
  readonly id: number | string;
  readonly reactions: readonly Reaction[];
}

/** Gets the events of the story as they happen. */
export interface Viewer {
  begins(): void;
  runStarts(run: Run): void;
  /** A line of the log. */
  line(text: string): void;
  /** A call that changes a page of GitHub. */
  write(request: JournalEntry): void;
  runEnds(played: PlayedRun, entries: readonly Entry[]): void;
}

/** Plays the story with the built action. Without `pace`, as fast as the machine allows. */
export async function play(viewer: Partial<Viewer> = {}, pace?: number): Promise<Played> {
  using time = virtualTime({ pace });
  const reviews: Omit<Entry, 'reactions'>[] = [];
  const changes: Record<string, CommitChanges> = {};
  let head = '';
  let lastCheck = 500;
  await using agent = await startAgent({
    project: PROJECT,
    apiKey: API_KEY,
    clock: time,
    jobs: [],
    create: () => story.job,
    onPost(n) {
      push(commitsFor(n));
      return undefined;
    },
  });
  await using github = await startGitHub({
    repository: REPOSITORY,
    clock: time,
    issues: [{ number: PULL, pullRequest: true, commits: [] }],
    collaborators: story.collaborators,
    changes,
    on(request) {
      if (request.method !== 'GET') viewer.write?.(request);
      return undefined;
    },
  });
  push([commit(0, 0)]);
  viewer.begins?.();

  function commitsFor(n: number): readonly string[] {
    return (story.commits[n - 1] ?? []).map((made, index) => {
      const sha = commit(n, index);
      changes[sha] = made;
      return sha;
    });
  }

  function commit(n: number, index: number): string {
    return createHash('sha1').update(`${n} ${index}`).digest('hex');
  }

  /** Adds commits to the pull request. */
  function push(commits: readonly string[]): void {
    github.push(PULL, ...commits);
    head = commits.at(-1) ?? head;
  }

  /** What happens, and the event of it. */
  function happen({ trigger }: Run): WebhookEvent {
    switch (trigger.kind) {
      case 'event':
        return trigger.event;
      case 'checks': {
        const { by, conclusion, failed } = trigger;
        const id = ++lastCheck;
        github.addRun({ id, sha: head, conclusion, jobs: failed === undefined ? [] : [failed] });
        const page = `${github.serverUrl}/${REPOSITORY}/actions/runs/${id}`;
        return workflowRun({
          ...{ pullRequests: [PULL], sha: head, repository: REPOSITORY },
          sender: personNamed(by),
          fields: { id, html_url: page, conclusion },
        });
      }
      default: {
        const { by, body } = trigger;
        const about = { number: PULL, body, author: personNamed(by), repository: REPOSITORY };
        return trigger.kind === 'comment'
          ? issueComment({ ...about, id: github.addComment(PULL, by, body).id })
          : review({ ...about, id: submit(trigger) });
      }
    }
  }

  function personNamed(login: string): Person {
    const known = Object.entries(story.collaborators).find(([name]) => name === login);
    return { login, id: known?.[1].id ?? 2002, type: known === undefined ? 'Bot' : 'User' };
  }

  function submit({ by, body, inline = [] }: Written): number {
    const id = github.addReview(PULL, by, inline);
    const lines = inline.map(({ path, line, body }) => `> \`${path}\`, line ${line}: ${body}`);
    reviews.push({
      id: `PRR_${id}`,
      ...{ author: by, editor: null },
      body: [body, ...lines].join('\n\n'),
      html_url: `${github.serverUrl}/${REPOSITORY}/pull/${PULL}#pullrequestreview-${id}`,
      created_at: new Date(time.now()).toISOString().replace(/\.\d+/, ''),
      isMinimized: false,
    });
    return id;
  }

  async function runOf(run: Run, runId: number): Promise<PlayedRun> {
    const event = happen(run);
    const before = agent.accepted(JOB).length;
    const { by } = run.trigger;
    const workflow: Workflow = parse(read(`examples/${run.file}.yml`));
    const played = await playWorkflow(workflow, {
      event,
      repository: REPOSITORY,
      vars: { AGENT_PROJECT: PROJECT },
      secrets: { AGENT_API_KEY: API_KEY },
      run: (given, job) =>
        startStep({
          event,
          token: github.token,
          secrets: [API_KEY],
          github: {
            api_url: github.apiUrl,
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
    const message = agent.accepted(JOB)[before]?.prompt;
    return { run, workflow, message, result: played.flatMap(({ results }) => results)[0] };
  }

  function entries(): readonly Entry[] {
    return [...reviews, ...github.comments(PULL)]
      .toSorted((one, other) => one.created_at.localeCompare(other.created_at))
      .map((entry) => ({
        ...entry,
        reactions: github.reactions.filter(({ id }) => id === entry.id),
      }));
  }

  const runs: PlayedRun[] = [];
  for (const run of story.runs) {
    viewer.runStarts?.(run);
    time.skip(BREAK_MS);
    const played = await runOf(run, 1000 + runs.length);
    runs.push(played);
    viewer.runEnds?.(played, entries());
  }
  return { runs, entries: entries(), agent, github };
}
