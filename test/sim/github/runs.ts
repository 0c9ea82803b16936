// Runs of workflows and check runs, by REST. Each job is a check run, too, with the same ID. The
// logs of jobs are on another host, to which GitHub redirects.

import { crc32 } from 'node:zlib';
import type { Answer, JournalEntry, Reply } from '../agent.ts';
import { SERVER_URL } from './repository.ts';

export interface WorkflowRunOptions {
  readonly id: number;
  readonly jobs: readonly RunJobOptions[];
  /** The commit whose list of runs shows it. Default: none does. */
  readonly sha?: string;
  readonly name?: string;
  readonly path?: string;
  readonly event?: string;
  /** Default: `failure`. Null: it is in progress. */
  readonly conclusion?: string | null;
}

export interface RunJobOptions {
  readonly name: string;
  /** Default: `failure`. */
  readonly conclusion?: string;
  /** What the other host answers. Default: an empty log. */
  readonly log?: string | Reply;
  readonly annotations?: readonly AnnotationOptions[];
}

/** A check of an app that is no job. */
export interface CheckRunOptions {
  readonly sha: string;
  readonly name: string;
  readonly id?: number;
  readonly app?: string;
  /** Default: `failure`. Null: it is in progress. */
  readonly conclusion?: string | null;
  readonly title?: string | null;
  readonly summary?: string | null;
  readonly text?: string | null;
  readonly annotations?: readonly AnnotationOptions[];
}

export interface AnnotationOptions {
  readonly message: string;
  readonly path?: string;
  readonly line?: number;
  readonly level?: 'failure' | 'warning' | 'notice';
  readonly title?: string;
}

/** What makes the URL of a log a secret. */
export const SIGNATURE = 'sig-canary-51c0de';

/** IDs of apps: that of GitHub Actions is the real one. */
const APPS: Readonly<Record<string, number>> = { 'github-actions': 15_368, mintlify: 90_001 };

interface Job extends RunJobOptions {
  readonly id: number;
  readonly run: WorkflowRunOptions;
}

export function openRuns(
  given: readonly WorkflowRunOptions[],
  repository: string,
  appChecks: readonly CheckRunOptions[] = [],
) {
  const page = `${SERVER_URL}/${repository}`;
  /** The newest attempts of runs, the newest runs first. */
  const all: WorkflowRunOptions[] = [];
  const jobsOf = new Map<number, readonly Job[]>();
  /** The oldest first. */
  const checks: (CheckRunOptions & { readonly id: number })[] = [];
  let lastId = 0;
  given.forEach(addRun);
  appChecks.forEach(addCheck);

  /** Also a further attempt of one. */
  function addRun(run: WorkflowRunOptions): void {
    const earlier = all.findIndex(({ id }) => id === run.id);
    if (earlier === -1) all.unshift(run);
    else all[earlier] = run;
    const numbered = run.jobs.map((job) => ({ ...job, run, id: ++lastId }));
    jobsOf.set(run.id, numbered);
  }

  function addCheck(check: CheckRunOptions): void {
    lastId = check.id ?? lastId + 1;
    checks.push({ ...check, id: lastId });
  }

  function toRun({ id, sha, conclusion = 'failure', ...run }: WorkflowRunOptions) {
    const { name = 'CI', path = '.github/workflows/ci.yml', event = 'pull_request' } = run;
    return {
      ...{ id, name, path, event, workflow_id: crc32(path), head_sha: sha, conclusion },
      status: conclusion === null ? 'in_progress' : 'completed',
      html_url: `${page}/actions/runs/${id}`,
      head_repository: { full_name: repository },
    };
  }

  function toCheck(check: CheckRunOptions & { readonly id: number }, url: string) {
    const { id, name, sha, app = 'mintlify', conclusion = 'failure' } = check;
    const { title = null, summary = null, text = null, annotations = [] } = check;
    return {
      ...{ id, name, head_sha: sha, conclusion, html_url: url, details_url: url },
      status: conclusion === null ? 'in_progress' : 'completed',
      app: { id: APPS[app] ?? crc32(app), slug: app },
      output: { title, summary, text, annotations_count: annotations.length },
    };
  }

  /** The newest first. */
  function checksOn(sha: string) {
    const jobs = all.filter((run) => run.sha === sha).flatMap(({ id }) => jobsOf.get(id) ?? []);
    const ofApps = checks.filter((one) => one.sha === sha);
    return [
      ...ofApps.map((one) => toCheck(one, `${page}/runs/${one.id}`)),
      ...jobs.map(({ run, ...job }) => {
        const url = `${page}/actions/runs/${run.id}/job/${job.id}`;
        return toCheck({ ...job, sha, app: 'github-actions' }, url);
      }),
    ].sort((one, other) => other.id - one.id);
  }

  function find(id: number) {
    return [...jobsOf.values()].flat().find((job) => job.id === id);
  }

  return {
    addRun,
    addCheck,
    /** https://docs.github.com/en/rest/actions/workflow-runs#list-workflow-runs-for-a-repository */
    listRuns(query: URLSearchParams): Answer {
      const found = all.filter(({ sha }) => sha !== undefined && sha === query.get('head_sha'));
      const workflow_runs = pageOf(found, query).map(toRun);
      return { body: { total_count: found.length, workflow_runs } };
    },
    /** https://docs.github.com/en/rest/actions/workflow-runs#get-a-workflow-run */
    findRun(id: number): Answer | undefined {
      const run = all.find((one) => one.id === id);
      return run && { body: toRun(run) };
    },
    /** https://docs.github.com/en/rest/checks/runs#list-check-runs-for-a-git-reference */
    listChecks(sha: string, query: URLSearchParams): Answer {
      const found = checksOn(sha);
      return { body: { total_count: found.length, check_runs: pageOf(found, query) } };
    },
    /** https://docs.github.com/en/rest/checks/runs#list-check-run-annotations */
    listAnnotations(id: number, query: URLSearchParams): Answer | undefined {
      const check = checks.find((one) => one.id === id) ?? find(id);
      const body = pageOf(check?.annotations ?? [], query).map(
        ({ path = '.github', line = 1, level = 'failure', title = '', message }) => ({
          ...{ path, start_line: line, end_line: line, annotation_level: level },
          ...{ title, message, raw_details: null },
        }),
      );
      return check && { body };
    },
    redirect(id: number, origin: string): Answer | undefined {
      const job = find(id);
      const location = `${origin}/logs/${id}?${SIGNATURE}`;
      return job && { status: 302, headers: { location, 'content-type': 'binary' } };
    },
    /** What the other host answers. */
    download({ path }: JournalEntry): Reply {
      const job = find(Number(/^\/logs\/(\d+)\?/.exec(path)?.[1]));
      const { log = '' } = job ?? {};
      return typeof log === 'string' ? { body: log } : log;
    },
  };
}

function pageOf<T>(all: readonly T[], query: URLSearchParams): readonly T[] {
  const size = Math.min(Number(query.get('per_page') ?? 30), 100);
  const end = Number(query.get('page') ?? 1) * size;
  return all.slice(end - size, end);
}
