import { createHash } from 'node:crypto';
import type { Clock } from '../agent.ts';
import type { Person, WebhookEvent } from '../events.ts';
import { checkRun, issueComment, review, reviewComment, workflowRun } from '../events.ts';
import type { Reaction } from '../github/graph.ts';
import type { Comment } from '../github/issues.ts';
import type { CommitChanges } from '../github/repository.ts';
import type { WorkflowRunOptions } from '../github/runs.ts';
import type { GitHub } from '../github/server.ts';
import type { Run, Trigger, Written } from './story.ts';
import { APP, ISSUE, issue, PULL, REPOSITORY, story } from './story.ts';

/** The account of the action. */
export const ACTION = 'github-actions[bot]';

/** A run of a workflow, and what has triggered it. */
export interface Triggered {
  readonly event: WebhookEvent;
  readonly by: string;
  readonly file: string;
  readonly id: number;
  readonly attempt: number;
}

/** A comment, or a review with its inline comments. */
export interface Entry extends Omit<Comment, 'id' | 'updated_at' | 'listedAt'> {
  readonly reactions: readonly Reaction[];
}

/** Each commit, with its ID. */
type Commits = readonly (readonly [id: string, commit: CommitChanges])[];

/** The page of the pull request, on which people and checks do what the story says. */
export function openStage(github: GitHub, clock: Clock) {
  /** Reviews and replies in threads, which are no comments of the conversation. */
  const reviews: Omit<Entry, 'reactions'>[] = [];
  const page = `${github.serverUrl}/${REPOSITORY}`;
  let head = commitId('', 0);
  let isMerged = false;
  let lastId = 500;
  let last: Triggered | undefined;
  /** The run of the other workflow that has failed last. */
  let otherId = 0;
  /** The ID of the first comment of the newest thread. */
  let threadId = 0;

  function triggered(one: Trigger): Triggered {
    const made = { id: ++lastId, attempt: 1, file: 'loop' };
    switch (one.kind) {
      case 'event':
        return { ...made, event: one.event, by: one.by, file: one.file };
      case 're-run':
        if (last === undefined) throw new Error('There is no run before it.');
        return { ...last, by: one.by, attempt: last.attempt + 1 };
      case 'checks':
        return { ...made, event: checksEnd(one), by: APP };
      case 'check of an app':
        return { ...made, event: appChecks(one), by: APP };
      default:
        return { ...made, event: write(one), by: one.by };
    }
  }

  function checksEnd(checks: Extract<Trigger, { kind: 'checks' }>): WebhookEvent {
    const { conclusion, failed, other } = checks;
    if (other?.isTrigger === true) return runEnds(otherId, other.name, conclusion);
    if (other !== undefined) {
      otherId = ++lastId;
      addRun(otherId, other.name, { conclusion, jobs: [other.job] });
    }
    const id = ++lastId;
    addRun(id, 'CI', { conclusion, jobs: failed === undefined ? [] : [failed] });
    if (checks.hasPassed === true) addRun(id, 'CI', { conclusion: 'success', jobs: [] });
    return runEnds(id, 'CI', conclusion);
  }

  function addRun(id: number, name: string, run: Pick<WorkflowRunOptions, 'conclusion' | 'jobs'>) {
    const path = pathOf(name);
    github.addRun({ ...run, id, name, path, sha: head });
  }

  function runEnds(id: number, name: string, conclusion: string): WebhookEvent {
    const html_url = `${page}/actions/runs/${id}`;
    const fields = { id, name, conclusion, html_url, path: pathOf(name), run_attempt: 1 };
    return workflowRun({ ...aboutHead(), fields });
  }

  function appChecks({ name, title, annotations }: Extract<Trigger, { kind: 'check of an app' }>) {
    const id = ++lastId;
    github.addCheck({ id, sha: head, name, title, annotations });
    const fields = {
      ...{ id, name, conclusion: 'failure', html_url: `${page}/runs/${id}` },
      app: { id: 90_001, slug: 'mintlify' },
      output: { title, summary: null, text: null, annotations_count: annotations.length },
    };
    return checkRun({ ...aboutHead(), fields });
  }

  function aboutHead() {
    const sender = personNamed(APP);
    return { pullRequests: [PULL], sha: head, repository: REPOSITORY, sender };
  }

  function write(written: Written): WebhookEvent {
    const { by, body, on = PULL } = written;
    const about = {
      ...{ number: on, body, author: personNamed(by), repository: REPOSITORY },
      ...(isMerged && { over: 'merged' as const }),
    };
    if (written.kind === 'review') return review({ ...about, id: submit(written) });
    if (written.kind === 'reply') {
      return reviewComment({ ...about, ...written.place, id: reply(written), replyTo: threadId });
    }
    const { id } = github.addComment(on, by, body);
    const { name, payload } = issueComment({ ...about, id, onPullRequest: on === PULL });
    const topic = on === ISSUE ? issue : story.pull;
    return { name, payload: { ...payload, issue: { ...Object(payload.issue), ...topic } } };
  }

  function submit({ by, body, inline = [] }: Written): number {
    const id = github.addReview(PULL, by, inline, { body });
    threadId = id - 1;
    const lines = inline.map(({ path, line, body }) => `> \`${path}\`, line ${line}: ${body}`);
    show(`PRR_${id}`, `pullrequestreview-${id}`, by, [body, ...lines].join('\n\n'));
    return id;
  }

  function reply({ by, body, place }: Written): number {
    const id = github.addReviewComment(PULL, by, { ...place, body, isReply: true });
    show(`PRRC_${id}`, `discussion_r${id}`, by, body);
    return id;
  }

  function show(node_id: string, fragment: string, author: string, body: string): void {
    reviews.push({
      ...{ node_id, author, body, editor: null, isMinimized: false },
      html_url: `${page}/pull/${PULL}#${fragment}`,
      created_at: new Date(clock.now()).toISOString().replace(/\.\d+/, ''),
    });
  }

  return {
    trigger({ trigger }: Run): Triggered {
      last = triggered(trigger);
      return last;
    },
    /** Adds commits to the pull request. */
    push(commits: Commits): void {
      github.push(PULL, ...commits.map(([id]) => id));
      head = commits.at(-1)?.[0] ?? head;
    },
    merge(): void {
      github.end(PULL, 'merged');
      isMerged = true;
    },
    /** A conversation, the oldest entry first. */
    entries(number = PULL): readonly Entry[] {
      return [...(number === PULL ? reviews : []), ...github.comments(number)]
        .toSorted((one, other) => one.created_at.localeCompare(other.created_at))
        .map((entry) => {
          const reactions = github.reactions.filter(({ id }) => id === entry.node_id);
          return { ...entry, reactions };
        });
    },
  };
}

/** Of the n-th commit for a message. */
export function commitId(message: string, n: number): string {
  return createHash('sha1').update(`${message} ${n}`).digest('hex');
}

function pathOf(workflow: string): string {
  return `.github/workflows/${workflow === 'CI' ? 'ci' : 'deploy'}.yml`;
}

function personNamed(login: string): Person {
  const known = Object.entries(story.people).find(([name]) => name === login);
  return { login, id: known?.[1].id ?? 2009, type: login === APP ? 'Bot' : 'User' };
}
