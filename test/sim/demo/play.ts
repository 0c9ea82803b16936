import { parse } from 'yaml';
import { read, type Workflow } from '../../contract/workflows.ts';
import { startAgent } from '../agent.ts';
import type { CommitChanges } from '../github/repository.ts';
import { startGitHub } from '../github/server.ts';
import { type Step, type StepResult, startStep, virtualTime } from '../runner/process.ts';
import { playWorkflow } from '../workflow.ts';
import { commitId, type Entry, openStage, type Triggered } from './stage.ts';
import type { Run, Work } from './story.ts';
import { API_KEY, ISSUE, jobs, OTHER_PULL, PROJECT, PULL, REPOSITORY, story } from './story.ts';

/** Between two runs: all of them take two weeks. */
const BREAK_MS = 9 * 3_600_000;

/** The story after it was played, with everything that people see. */
export type Played = Awaited<ReturnType<typeof play>>;

export interface PlayedRun {
  readonly run: Run;
  readonly workflow: Workflow;
  /** Undefined if no runner has started. */
  readonly result: StepResult | undefined;
  /** The messages that the agent got. */
  readonly messages: readonly string[];
  /** What GitHub mailed of what the action and the agent wrote, in the order of the mails. */
  readonly mails: readonly Mail[];
  /** The conversation in which it was triggered, as it was then. */
  readonly entries: readonly Entry[];
}

/** GitHub mails a new comment as it was then, and a push, but no edit. */
export type Mail =
  | { readonly kind: 'comment'; readonly number: number; readonly body: string }
  | { readonly kind: 'push'; readonly headlines: readonly string[] };

type NamedWorkflow = Workflow & { readonly name: string };

interface Options {
  /** Called after each run. */
  readonly ended?: (played: PlayedRun) => void;
  /** Runs a step. Default: with the built action. */
  readonly start?: (step: Step) => Promise<StepResult>;
}

/** Plays the story. */
export async function play(options: Options = {}) {
  const { ended, start = (step: Step) => startStep(step).result } = options;
  using time = virtualTime();
  const mails: Mail[] = [];
  const changes: Record<string, CommitChanges> = {};
  let now: Run | undefined;

  await using agent = await startAgent({
    project: PROJECT,
    apiKey: API_KEY,
    clock: time,
    jobs: [],
    create: (n) => jobs[n - 1] ?? { id: `job_${n}` },
    onGet: () => now?.api?.get,
    onPost() {
      push(now?.work?.commits);
      return now?.api?.post;
    },
  });
  await using github = await startGitHub({
    repository: REPOSITORY,
    clock: time,
    issues: [
      { number: ISSUE },
      { number: PULL, pullRequest: true, commits: [commitId('', 0)] },
      { number: OTHER_PULL, pullRequest: true },
    ],
    collaborators: story.people,
    changes,
    on(request) {
      const { name = '' } = github.calls().at(-1) ?? {};
      if (name === 'POST issues/#/comments') {
        const number = Number(/\/issues\/(\d+)\//.exec(request.path)?.[1]);
        mails.push({ kind: 'comment', number, body: JSON.parse(request.body).body });
      }
      return undefined;
    },
  });
  const stage = openStage(github, time);

  function push(commits: Work['commits'] = []): void {
    if (commits.length === 0) return;
    const added = commits.map((commit, n) => [commitId(now?.title ?? '', n), commit] as const);
    for (const [id, commit] of added) changes[id] = commit;
    stage.push(added);
    mails.push({ kind: 'push', headlines: commits.map(({ message = '' }) => message) });
  }

  const prompts = () => agent.accepted().map(({ prompt }) => prompt);

  async function playRun(run: Run): Promise<PlayedRun> {
    const triggered = stage.trigger(run);
    const before = [prompts().length, mails.length] as const;
    const workflow: NamedWorkflow = parse(read(`examples/${triggered.file}.yml`));
    const played = await playWorkflow(workflow, {
      event: triggered.event,
      repository: REPOSITORY,
      vars: story.vars,
      secrets: { AGENT_API_KEY: API_KEY },
      run: (given, job) => start(stepOf(triggered, given, { job, workflow: workflow.name })),
    });
    push(run.work?.late);
    if (run.merges === true) stage.merge();
    return {
      ...{ run, workflow, result: played.flatMap(({ results }) => results)[0] },
      messages: prompts().slice(before[0]),
      mails: mails.slice(before[1]),
      entries: stage.entries('on' in run.trigger ? run.trigger.on : undefined),
    };
  }

  function stepOf(
    { event, by, file, id, attempt }: Triggered,
    given: Step['with'],
    names: { readonly job: string; readonly workflow: string },
  ): Step {
    return {
      ...{ event, token: github.token, secrets: [API_KEY], time },
      with: { ...given, 'base-url': agent.url },
      github: {
        api_url: github.apiUrl,
        server_url: github.serverUrl,
        repository: github.repository,
        ...{ actor: by, triggering_actor: by, ...names },
        ...{ run_id: String(id), run_attempt: String(attempt) },
        workflow_ref: `${REPOSITORY}/.github/workflows/${file}.yml@refs/heads/main`,
      },
    };
  }

  const runs: PlayedRun[] = [];
  for (const run of story.runs) {
    now = run;
    time.skip(BREAK_MS);
    const played = await playRun(run);
    runs.push(played);
    ended?.(played);
  }
  return { runs, entries: stage.entries(), agent, github };
}
