import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { isCommentEvent } from '../../src/github/event.ts';
import {
  ALICE,
  event,
  issueComment,
  type Person,
  pullRequest,
  push,
  RENOVATE,
  review,
  reviewComment,
  triggerOf,
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
/** One payload for each event, whatever its action. */
const distinct = [...new Map(payloads.map((example) => [example.name, example])).values()];

interface Numbered {
  readonly number?: number;
}

/** The conversation that the payload names, found in another way than in the code. */
function expectedConversation(
  name: string,
  payload: Readonly<Record<string, unknown>>,
): number | null {
  const at = (key: string): Numbered => (payload[key] ?? {}) as Numbered;
  if (name === 'issues' || name === 'issue_comment') return at('issue').number ?? null;
  if (/^pull_request(_target|_review|_review_comment|_review_thread)?$/.test(name)) {
    return at('pull_request').number ?? null;
  }
  return null;
}

it.each(payloads)('$name $action has the right conversation, or none', ({ name, payload }) => {
  expect(triggerOf({ name, payload }).conversation).toBe(expectedConversation(name, payload));
});

const MALLORY: Person = { login: 'mallory', id: 2002, type: 'User' };
const ROLES: Readonly<Record<string, { readonly who: Person; readonly allowed?: string }>> = {
  'a stranger': { who: MALLORY },
  'a writer': { who: ALICE },
  'a bot': { who: RENOVATE },
  'an allowed bot': { who: RENOVATE, allowed: `dependabot[bot], ${RENOVATE.login}` },
};
type Role = keyof typeof ROLES;

/** Who needs no permission check. */
type Trusts = 'everyone' | 'people' | 'no one';
interface Case {
  readonly title: string;
  readonly trusts: Trusts;
  readonly by: (who: Person) => WebhookEvent;
}

/** A copy of the list in docs/permissions.md. */
const TRUSTED =
  'push schedule workflow_dispatch repository_dispatch merge_group release create delete'.split(
    ' ',
  );

/** All events that GitHub's workflow parser accepts in `on:`. */
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
/** Events that the parser does not know, and names that are not events. */
const OTHERS = ['commit_comment', 'star', 'package', 'member', 'moon_phase', 'Push', 'PUSH ', ''];
const HOSTILE = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];

const comments = { number: PULL, body: 'Please go on.' };
/** Events for which the name alone does not decide who needs a check. */
const SPECIAL: Readonly<Record<string, readonly Case[]>> = {
  issue_comment: [special('', 'no one', (author) => issueComment({ ...comments, author }))],
  pull_request_review: [special('', 'no one', (author) => review({ ...comments, author }))],
  pull_request_review_comment: [
    special('', 'no one', (author) => reviewComment({ ...comments, author })),
  ],
  pull_request: [
    special('of a branch', 'no one', (author) => pullRequest({ number: PULL, author })),
    special('of a fork', 'no one', (author) =>
      pullRequest({ number: PULL, author, fork: 'mallory/agents' }),
    ),
  ],
  pull_request_target: [
    special('', 'no one', (author) => pullRequest({ number: PULL, author, target: true })),
  ],
  // The agent's own bot pushes to branches.
  push: [
    special('to the default branch', 'everyone', (sender) =>
      push({ sender, ref: 'refs/heads/master' }),
    ),
    special('of a tag', 'everyone', (sender) => push({ sender, ref: 'refs/tags/main' })),
    special('to another branch', 'people', (sender) => push({ sender, ref: 'refs/heads/agent' })),
  ],
  create: [
    special('of a tag', 'everyone', (sender) => event('create', undefined, { sender })),
    special('of a branch', 'people', (sender) =>
      event('create', undefined, { sender, ref: 'agent', ref_type: 'branch' }),
    ),
  ],
  workflow_run: ['push', 'schedule', 'pull_request', 'moon_phase'].map((startedBy) =>
    special(`after ${startedBy}`, 'no one', (sender) => workflowRun({ sender, startedBy })),
  ),
};

function special(title: string, trusts: Trusts, by: Case['by']): Case {
  return { title, trusts, by };
}

function casesOf(name: string): readonly Case[] {
  const own = Object.hasOwn(SPECIAL, name) ? SPECIAL[name] : undefined;
  if (own !== undefined) return own.map((one) => ({ ...one, title: `${name} ${one.title}` }));
  const example = definitions.find((definition) => definition.name === name)?.examples[0] ?? {};
  const trusts = TRUSTED.includes(name) ? 'everyone' : 'no one';
  const by = (sender: Person) => ({ name, payload: { ...example, sender } });
  return [{ title: name, trusts, by }];
}

/** If no one is checked, two roles are enough to test it. */
function rolesFor({ trusts }: Case): readonly Role[] {
  return trusts === 'everyone' ? ['a stranger', 'a bot'] : Object.keys(ROLES);
}

function expected(trusts: Trusts, role: Role): { readonly sent: boolean; readonly checks: number } {
  const isBot = ROLES[role]?.who.type === 'Bot';
  const isTrusted = trusts === 'everyone' || (trusts === 'people' && !isBot);
  if (isTrusted) return { sent: true, checks: 0 };
  if (isBot) return { sent: ROLES[role]?.allowed !== undefined, checks: 0 };
  return { sent: role === 'a writer', checks: 1 };
}

const NAMES = [...IN_WORKFLOWS, ...OTHERS, ...HOSTILE];
const CASES = NAMES.flatMap(casesOf);
const RUNS = CASES.flatMap((one) => rolesFor(one).map((role) => ({ ...one, role })));

describe.concurrent('on every event, the message is sent only with permission', () => {
  it.each(RUNS)('$title by $role', async ({ trusts, by, role }) => {
    const { who, allowed } = ROLES[role] ?? { who: MALLORY };
    const { sent, checks } = expected(trusts, role);
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
      Array(checks).fill(`/repos/octo/agents/collaborators/${who.login}/permission`),
    );
    expect(result.annotations).toEqual(sent ? [] : [refusalOn(trigger, result.outputs.reason)]);
  });

  function refusalOn({ name }: WebhookEvent, message = '') {
    if (isCommentEvent(name)) return { type: 'notice', message };
    expect(message).toMatch(/minimum-permission|allowed-bots/);
    return { type: 'warning', message };
  }

  // With a command, the run is skipped before it reads the payload of another event.
  it.each(distinct.filter(({ name }, index) => isCommentEvent(name) || index % 4 === 0))(
    '$name is skipped with a command',
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

  afterAll(() => console.info(`Tested ${NAMES.length} events with ${RUNS.length} runs.`));
});

const PR_LINK = `https://github.com/octo/agents/pull/${PULL}`;

it.each<[string, WebhookEvent]>([
  ['the pull request of', pullRequest({ number: PULL, fork: 'alice/agents', target: true })],
  ['the pull request of the job on', event('repository_dispatch')],
])('the comment is on %s $1.name', async (_, event) => {
  await using sim = await simulate({
    agent: { jobs: [{ id: JOB, base: { prLink: PR_LINK } }] },
    step: { event },
  });
  const result = await sim.run();
  expect(result.outputs['comment-url']).toContain(`/pull/${PULL}#`);
});
