import { expect, it } from 'vitest';
import { turnTo } from '../sim/agent.ts';
import * as on from '../sim/events.ts';
import type { WorkflowRunOptions } from '../sim/github/runs.ts';
import { COMMAND, JOB, LINK, PULL, type Scenario, simulate, WRITER } from './scenario.ts';

// How many calls a run makes, and which wait for others. The simulations respond in rounds: when all
// calls of one have arrived. A call that waited for another one of its round would never be made.

/** Names of calls: those of the simulated GitHub, `poll` and `message`. */
type Round = readonly string[];

const CREATE = 'POST issues/#/comments';
const EDIT = 'PATCH issues/comments/#';
const REACT = 'react';
const PERMISSION = 'GET collaborators/*/permission';
/** A run that is done hides older comments. */
const HIDE: readonly Round[] = [['list'], ['minimize']];
/** The agent has changed nothing, which a comment of its own tells. */
const TELL: readonly Round[] = [[CREATE], ...HIDE];
const HEAD = 'GET pulls/#';
/** It redirects to another host. */
const LOG = 'GET actions/jobs/#/logs';
const CHECKS = 'GET commits/*/check-runs';
const ANNOTATIONS = 'GET check-runs/#/annotations';
const POLL = 'poll';
/** The own comment, and the list that shows it. */
const NOTED: readonly Round[] = [[CREATE], ['list']];
const ASKED: readonly Round[] = [[PERMISSION], ['list'], [REACT, POLL]];
const STATE: readonly Round[] = [['said'], ['GET actions/runs', CHECKS, PERMISSION]];
const MESSAGE = 'message';

interface Case {
  readonly name: string;
  readonly event: (commandId: number) => on.WebhookEvent;
  /** It waits, unless this says otherwise. */
  readonly with?: Scenario['with'];
  /** The rounds before the message, which has its own round. */
  readonly before: readonly Round[];
  /** Those after the last poll. */
  readonly after: readonly Round[];
  /** The runs on the pull request of the job, which is that of the event, and has a thread of bob. */
  readonly own?: readonly WorkflowRunOptions[];
  /** Whether another run of the repository comments just before this one. */
  readonly isOvertaken?: boolean;
}

const ASKING = { author: on.ALICE.login, body: '/agent Add examples.' };
const byCommand = (id: number): on.WebhookEvent =>
  on.issueComment({ number: PULL, body: ASKING.body, id });
const byCheck = (): on.WebhookEvent => on.workflowRun({ pullRequests: [PULL] });
const annotated = (name: string) => ({ name, annotations: [{ message: 'a' }] });

const CASES: readonly Case[] = [
  { name: 'elsewhere', event: () => on.push(), before: [[POLL], [POLL]], after: [] },
  {
    name: 'by a person on a pull request, waiting',
    event: () => on.pullRequest({ number: PULL }),
    before: [[PERMISSION], [POLL], ...NOTED, [POLL]],
    // The comment is edited when the message is out, which nothing waits for.
    after: [[EDIT], [EDIT], ...HIDE],
  },
  {
    name: 'a command that waits',
    event: byCommand,
    with: COMMAND,
    // 👀, which nothing waits for. 🎉 comes after the comment is up to date.
    before: [...ASKED, ...NOTED, ['said'], ['GET actions/runs', CHECKS], [POLL]],
    after: [[EDIT], [EDIT], ...TELL, [REACT]],
  },
  {
    name: 'a command on the own pull request where a run failed: one more, then its runs, its checks and the author of a thread at once, and one for a log and annotations',
    event: byCommand,
    with: COMMAND,
    own: [{ id: 41, sha: on.SHA, jobs: [annotated('links')] }],
    before: [...ASKED, ...NOTED, ...STATE, [LOG, ANNOTATIONS], [POLL, HEAD]],
    after: [[EDIT], [HEAD], [EDIT], ...TELL, [REACT]],
  },
  {
    name: 'a review that waits',
    event: () => on.review({ number: PULL, body: ASKING.body }),
    with: COMMAND,
    before: [[PERMISSION], ['review'], ['list'], [REACT, POLL], ...NOTED, ['said'], [POLL]],
    after: [[EDIT], [EDIT], ...TELL, [REACT]],
  },
  {
    name: 'about a commit, waiting',
    event: byCheck,
    before: [[PERMISSION], ['list'], [POLL], ...NOTED, [POLL, HEAD]],
    after: [[EDIT], [EDIT], ...HIDE],
  },
  {
    name: 'about a run that failed, waiting: one more for its pull request, one for runs and checks, and one for all logs and annotations',
    event: () =>
      on.workflowRun({ pullRequests: [PULL], fields: { id: 41, conclusion: 'failure' } }),
    own: [
      { id: 41, sha: on.SHA, jobs: ['a', 'b', 'c', 'd'].map(annotated) },
      { id: 42, sha: on.SHA, path: 'docs.yml', jobs: ['e', 'f', 'g', 'h'].map(annotated) },
    ],
    before: [
      ...[[PERMISSION], ['list', HEAD], [POLL], ...NOTED, ['GET actions/runs', CHECKS]],
      ...[
        [...Array(8).fill(LOG), ...Array(8).fill(ANNOTATIONS)],
        [POLL, HEAD],
      ],
    ],
    after: [[EDIT], [HEAD], ['GET actions/runs'], [EDIT], ...TELL],
  },
  {
    name: 'about a commit with a limit and without job-id, and another run comments: one more',
    event: byCheck,
    with: { 'max-messages': 3, 'job-id': '', wait: false },
    own: [],
    before: [[PERMISSION], ['list'], [POLL], ...NOTED, [HEAD]],
    after: [[EDIT], ...HIDE],
    isOvertaken: true,
  },
];

/** Responds in rounds. Polls that belong to no round get a response at once. */
function respondInRounds(rounds: readonly Round[]) {
  const unexpected: string[] = [];
  let done = 0;
  let missing = [...(rounds[0] ?? [])];
  let waiting: (() => void)[] = [];
  return {
    unexpected,
    get done() {
      return done;
    },
    async arrive(name: string): Promise<undefined> {
      const index = missing.indexOf(name);
      if (index === -1) {
        if (name !== POLL) unexpected.push(`${name} in round ${done + 1}`);
        return;
      }
      missing.splice(index, 1);
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      if (missing.length === 0) {
        done += 1;
        missing = [...(rounds[done] ?? [])];
        for (const respond of waiting) respond();
        waiting = [];
      }
      await promise;
    },
  };
}

const counted = CASES.map((one) => ({
  ...one,
  calls: [...one.before, ...one.after].flat().filter((name) => name !== POLL).length,
}));

it.each(counted)(
  '$name: $calls calls to GitHub',
  async ({ name, with: inputs, event, before, after, own, isOvertaken = false, calls }) => {
    let rounds = respondInRounds([]);
    await using sim = await simulate({
      github: {
        issues: [{ number: PULL, pullRequest: true, comments: [ASKING] }],
        collaborators: { alice: WRITER, bob: { ...WRITER, id: 1002 } },
        runs: own ?? [],
        on(request) {
          const call = sim.github.calls().find((one) => one.request === request);
          const isNow = isOvertaken && call?.name === CREATE && call.nth === 2;
          if (isNow) sim.github.addComment(PULL, 'github-actions[bot]', 'Preview deployed.');
          return rounds.arrive(call?.name ?? '');
        },
      },
      agent: {
        // No comment is edited just because time passes.
        jobs: [
          { id: JOB, turns: [turnTo('completed', 20_000)], base: { prLink: own ? LINK : null } },
        ],
        onGet: () => rounds.arrive(POLL),
        onPost: () => rounds.arrive(MESSAGE),
      },
    });
    if (own !== undefined) sim.github.addReview(PULL, 'bob', [{ body: 'Shorter.' }]);
    // An earlier run of the step leaves a comment that names the job.
    const earlier = { event: on.push(), github: { run_id: '1' } };
    await sim.runHere({ step: earlier, with: { 'pr-number': PULL, wait: true } });
    const made = sim.github.calls().length;
    const expected = [...before, [MESSAGE], ...after];
    rounds = respondInRounds(expected);
    const id = sim.github.comments(PULL)[0]?.id ?? 0;
    const step = { event: event(id), github: { run_id: '2' } };
    const given = { with: { wait: true, ...inputs }, step };
    const result = await (name === 'elsewhere' ? sim.run(given) : sim.runHere(given));

    expect(result.outputs.delivery).toBe('sent');
    expect(rounds.unexpected).toEqual([]);
    expect(rounds.done).toBe(expected.length);
    expect(sim.github.calls().length - made).toBe(calls);
  },
);
