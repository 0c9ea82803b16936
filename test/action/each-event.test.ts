import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { isCommentEvent, readTrigger } from '../../src/github/event.ts';
import {
  ALICE,
  event,
  issueComment,
  type Person,
  pullRequest,
  RENOVATE,
  review,
  reviewComment,
  type WebhookEvent,
  workflowRun,
} from '../sim/events.ts';
import { JOB, PULL, simulate } from './scenario.ts';

interface Example {
  readonly name: string;
  readonly examples: readonly Readonly<Record<string, unknown>>[];
}
const require = createRequire(import.meta.url);
const definitions: readonly Example[] = require('@octokit/webhooks-examples');
const payloads = definitions.flatMap(({ name, examples }) =>
  examples.map((payload) => ({ name, action: String(payload.action ?? ''), payload })),
);
/** One of each event: what differs between its actions is read in-process. */
const distinct = [...new Map(payloads.map((example) => [example.name, example])).values()];

interface Numbered {
  readonly id?: number;
  readonly number?: number;
  readonly head_ref?: string;
  readonly pull_requests?: readonly {
    readonly number: number;
    readonly base: { readonly repo: { readonly id: number } };
  }[];
}

/** The table of conversations, read from the payload in another way than the code does. */
function expectedPlace(name: string, payload: Readonly<Record<string, unknown>>): number | null {
  const at = (key: string): Numbered => (payload[key] ?? {}) as Numbered;
  if (name === 'issues' || name === 'issue_comment') return at('issue').number ?? null;
  if (/^pull_request(_target|_review|_review_comment)?$/.test(name)) {
    return at('pull_request').number ?? null;
  }
  if (/^(workflow_run|check_run|check_suite)$/.test(name)) {
    const here = at('repository').id;
    return at(name).pull_requests?.find(({ base }) => base.repo.id === here)?.number ?? null;
  }
  if (name === 'merge_group') return Number(at(name).head_ref?.split('/pr-')[1]?.split('-')[0]);
  return null;
}

it.each(payloads)('$name $action names its conversation, or none', ({ name, payload }) => {
  const trigger = readTrigger(name, Buffer.from(JSON.stringify(payload)));
  expect(trigger.conversation).toBe(expectedPlace(name, payload));
});

const MALLORY: Person = { login: 'mallory', id: 2002, type: 'User' };
const ROLES: Readonly<Record<string, { readonly who: Person; readonly allowed?: string }>> = {
  'a stranger': { who: MALLORY },
  'a writer': { who: ALICE },
  'a bot': { who: RENOVATE },
  'an allowed bot': { who: RENOVATE, allowed: `dependabot[bot], ${RENOVATE.login}` },
};
type Role = keyof typeof ROLES;

/** Who is let in without a question. */
type Trusts = 'everybody' | 'people' | 'bots' | 'nobody';
interface Case {
  readonly title: string;
  readonly trusts: Trusts;
  readonly by: (who: Person) => WebhookEvent;
}

/** The list in docs/permissions.md, written down a second time. */
const TRUSTED =
  `push schedule workflow_dispatch repository_dispatch merge_group create delete release
  milestone label page_build branch_protection_rule`.split(/\s+/);

/** Whatever can stand below `on:`, by GitHub's own parser of workflows. */
const IN_WORKFLOWS: readonly string[] = Object.keys(
  JSON.parse(
    readFileSync(
      join(
        import.meta.dirname,
        '../../node_modules/@actions/workflow-parser/dist/workflow-v1.0.min.json',
      ),
      'utf8',
    ),
  ).definitions['on-mapping-strict'].mapping.properties,
);
/** What the parser does not know, or nobody knows yet, and names that are no events at all. */
const OTHERS = ['commit_comment', 'star', 'package', 'member', 'moon_phase', 'Push', 'PUSH ', ''];
const HOSTILE = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];

const comments = { number: PULL, body: 'Please go on.' };
/** Events whose verdict does not hang on their name alone. */
const SPECIAL: Readonly<Record<string, readonly Case[]>> = {
  issue_comment: [special('', 'nobody', (author) => issueComment({ ...comments, author }))],
  pull_request_review: [special('', 'nobody', (author) => review({ ...comments, author }))],
  pull_request_review_comment: [
    special('', 'nobody', (author) => reviewComment({ ...comments, author })),
  ],
  pull_request: [
    special('of a branch', 'bots', (author) => pullRequest({ number: PULL, author })),
    // Anyone can open one between two branches, and bots label what anyone opens.
    special('of a stranger, labeled', 'nobody', (sender) =>
      pullRequest({ number: PULL, author: MALLORY, sender, action: 'labeled' }),
    ),
    special('of a fork', 'nobody', (author) =>
      pullRequest({ number: PULL, author, fork: 'mallory/agents' }),
    ),
    special('of a deleted fork', 'nobody', (author) =>
      pullRequest({ number: PULL, author, fork: null }),
    ),
  ],
  pull_request_target: [
    special('', 'nobody', (author) => pullRequest({ number: PULL, author, target: true })),
  ],
  workflow_run: [
    ...TRUSTED.map((startedBy) =>
      special(`after ${startedBy}`, 'everybody', (sender) => workflowRun({ sender, startedBy })),
    ),
    ...[
      'pull_request',
      'issue_comment',
      'registry_package',
      'workflow_run',
      'moon_phase',
      '__proto__',
    ].map((startedBy) =>
      special(`after ${startedBy}`, 'nobody', (sender) => workflowRun({ sender, startedBy })),
    ),
    ...['mallory/agents', null].map((fork) =>
      special(`after push, of ${fork ?? 'a deleted fork'}`, 'nobody', (sender) =>
        workflowRun({ sender, startedBy: 'push', fork }),
      ),
    ),
  ],
};

function special(title: string, trusts: Trusts, by: Case['by']): Case {
  return { title, trusts, by };
}

function casesOf(name: string): readonly Case[] {
  const own = Object.hasOwn(SPECIAL, name) ? SPECIAL[name] : undefined;
  if (own !== undefined) return own.map((one) => ({ ...one, title: `${name} ${one.title}` }));
  const example = definitions.find((definition) => definition.name === name)?.examples[0] ?? {};
  const trusts = TRUSTED.includes(name)
    ? 'everybody'
    : /^deployment(_status)?$/.test(name)
      ? 'people'
      : 'nobody';
  const by = (sender: Person) => ({ name, payload: { ...example, sender } });
  return [{ title: name, trusts, by }];
}

/** Where everybody is let in, two are enough to see that nobody is asked for. */
function rolesFor({ trusts }: Case): readonly Role[] {
  return trusts === 'everybody' ? ['a stranger', 'a bot'] : Object.keys(ROLES);
}

function expected(trusts: Trusts, role: Role): { readonly sent: boolean; readonly asked: number } {
  const isBot = ROLES[role]?.who.type === 'Bot';
  const isTrusted = trusts === 'everybody' || trusts === (isBot ? 'bots' : 'people');
  if (isTrusted) return { sent: true, asked: 0 };
  if (isBot) return { sent: ROLES[role]?.allowed !== undefined, asked: 0 };
  return { sent: role === 'a writer', asked: 1 };
}

const NAMES = [...IN_WORKFLOWS, ...OTHERS, ...HOSTILE];
const CASES = NAMES.flatMap(casesOf);
const RUNS = CASES.flatMap((one) => rolesFor(one).map((role) => ({ ...one, role })));

describe.concurrent('on every event, only who may can send', () => {
  it.each(RUNS)('$title by $role', async ({ trusts, by, role }) => {
    const { who, allowed } = ROLES[role] ?? { who: MALLORY };
    const { sent, asked } = expected(trusts, role);
    const trigger = by(who);
    await using sim = await simulate({
      with: { comment: false, ...(allowed === undefined ? {} : { 'allowed-bots': allowed }) },
      step: { event: trigger },
    });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({
      result: sent ? 'sent' : 'skipped',
      delivery: sent ? 'sent' : 'not-sent',
    });
    expect(result.conclusion).toBe('success');
    expect(sim.agent.posts()).toHaveLength(sent ? 1 : 0);
    const calls = sim.github.journal.map(({ path }) => path);
    expect(calls).toEqual(
      Array(asked).fill(`/repos/octo/agents/collaborators/${who.login}/permission`),
    );
    expect(result.annotations).toEqual(sent ? [] : [refusalOn(trigger, result.outputs.reason)]);
  });

  function refusalOn({ name }: WebhookEvent, message = '') {
    if (isCommentEvent(name)) return { type: 'notice', message };
    expect(message).toContain('minimum-permission');
    return { type: 'warning', message };
  }

  // A command on another event is refused before anything of it is read.
  it.each(distinct.filter(({ name }, index) => isCommentEvent(name) || index % 4 === 0))(
    '$name, with a command',
    async ({ name, payload }) => {
      await using sim = await simulate({
        with: { command: '/agent', 'api-key': '' },
        step: { event: { name, payload } },
      });
      const result = await sim.runHere();
      expect(result.conclusion).toBe('success');
      expect(result.outputs.result).toBe('skipped');
      expect([...sim.agent.journal, ...sim.github.journal]).toEqual([]);
    },
  );

  afterAll(() => {
    const distinctNames = new Set(NAMES).size;
    console.info(
      `${NAMES.length} events were tried in ${CASES.length} forms, by ${RUNS.length} runs.`,
    );
    expect(distinctNames).toBe(NAMES.length);
  });
});

it('pull_request_target has the pull request for its conversation', async () => {
  const { payload } = pullRequest({ number: PULL, fork: 'stranger/agents' });
  await using sim = await simulate({ step: { event: { name: 'pull_request_target', payload } } });
  const result = await sim.run();
  expect(result.outputs['comment-url']).toContain(`/pull/${PULL}#`);
});

it('repository_dispatch has that of the job’s own pull request', async () => {
  const prLink = `https://github.com/octo/agents/pull/${PULL}`;
  await using sim = await simulate({
    agent: { jobs: [{ id: JOB, base: { prLink } }] },
    step: { event: event('repository_dispatch') },
  });
  const result = await sim.run();
  expect(result.outputs['comment-url']).toContain(`/pull/${PULL}#`);
});
