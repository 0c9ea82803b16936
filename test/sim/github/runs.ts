// Runs of workflows, by REST. The logs of their jobs are on another host, to which GitHub redirects.

import type { Answer, JournalEntry, Reply } from '../agent.ts';
import { SERVER_URL } from './repository.ts';

export interface WorkflowRunOptions {
  readonly id: number;
  /** Default: 1. */
  readonly attempt?: number;
  readonly jobs: readonly RunJobOptions[];
  /** The commit whose list of runs shows it. Default: none does. */
  readonly sha?: string;
  /** Default: `CI`. */
  readonly name?: string;
  /** Default: `.github/workflows/ci.yml`. */
  readonly path?: string;
  /** Default: `pull_request`. */
  readonly event?: string;
  /** Default: `failure`. Null: it is in progress. */
  readonly conclusion?: string | null;
  /** Default: our own. */
  readonly headRepository?: string;
}

export interface RunJobOptions {
  readonly name: string;
  /** Default: `failure`. */
  readonly conclusion?: string;
  /** Default: none. */
  readonly steps?: readonly RunStep[];
  /** What the other host answers. Default: an empty log. */
  readonly log?: string | Reply;
}

export interface RunStep {
  readonly name: string;
  /** Default: `failure`. */
  readonly conclusion?: string;
  /** ISO 8601, in whole seconds. */
  readonly started_at?: string;
  readonly completed_at?: string;
}

export interface RunActions {
  addRun(run: WorkflowRunOptions): void;
}

/** What makes the URL of a log a secret. */
export const SIGNATURE = 'sig-canary-51c0de';

const FAILED = { status: 'completed', conclusion: 'failure' };

export function openRuns(given: readonly WorkflowRunOptions[], repository: string) {
  const all: WorkflowRunOptions[] = [];
  const jobsOf = new Map<string, readonly (RunJobOptions & { readonly id: number })[]>();
  let lastId = 0;
  given.forEach(addRun);

  function addRun(run: WorkflowRunOptions): void {
    const { id, attempt = 1, jobs } = run;
    all.unshift(run);
    jobsOf.set(
      keyOf(id, attempt),
      jobs.map((job) => ({ ...job, id: ++lastId })),
    );
  }

  function toRun({ id, attempt = 1, sha, conclusion = 'failure', ...run }: WorkflowRunOptions) {
    return {
      ...{ id, run_attempt: attempt, head_sha: sha, conclusion, name: run.name ?? 'CI' },
      status: conclusion === null ? 'in_progress' : 'completed',
      path: run.path ?? '.github/workflows/ci.yml',
      event: run.event ?? 'pull_request',
      html_url: `${SERVER_URL}/${repository}/actions/runs/${id}`,
      head_repository: { full_name: run.headRepository ?? repository },
    };
  }

  function find(id: number) {
    return [...jobsOf.values()].flat().find((job) => job.id === id);
  }

  return {
    addRun,
    /** https://docs.github.com/en/rest/actions/workflow-runs#list-workflow-runs-for-a-repository */
    listRuns(query: URLSearchParams): Answer {
      const found = all.filter(({ sha }) => sha !== undefined && sha === query.get('head_sha'));
      const size = Number(query.get('per_page') ?? 30);
      return {
        body: { total_count: found.length, workflow_runs: found.slice(0, size).map(toRun) },
      };
    },
    /** https://docs.github.com/en/rest/actions/workflow-jobs#list-jobs-for-a-workflow-run-attempt */
    list(run: number, attempt: number, query: URLSearchParams): Answer | undefined {
      const jobs = jobsOf.get(keyOf(run, attempt));
      const size = Math.min(Number(query.get('per_page') ?? 30), 100);
      const end = Number(query.get('page') ?? 1) * size;
      const page = jobs?.slice(end - size, end).map(({ log: _, ...job }) => ({
        ...{ ...FAILED, ...job, run_id: run, run_attempt: attempt },
        steps: (job.steps ?? []).map((step, index) => ({ ...FAILED, number: index + 1, ...step })),
      }));
      return page && { body: { total_count: jobs?.length, jobs: page } };
    },
    redirect(id: number, origin: string): Answer | undefined {
      const job = find(id);
      const location = `${origin}/logs/${id}?${SIGNATURE}`;
      return job && { status: 302, headers: { location } };
    },
    /** What the other host answers. */
    download({ path }: JournalEntry): Reply {
      const { log = '' } = find(Number(/^\/logs\/(\d+)\?/.exec(path)?.[1])) ?? {};
      return typeof log === 'string' ? { body: log } : log;
    },
  };
}

function keyOf(run: number, attempt: number): string {
  return `${run} ${attempt}`;
}
