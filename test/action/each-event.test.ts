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
      // The messages of bots are counted by the comments there.
      with: { 'pr-number': PULL, ...(allowed === undefined ? {} : { 'allowed-bots': allowed }) },
      // A bot may only send to a job whose pull request is another one.
      agent: { jobs: [{ id: JOB, base: { prLink: 'https://github.com/octo/agents/pull/999' } }] },
      step: { event: trigger },
    });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({
      result: sent ? 'sent' : 'skipped',
      delivery: sent ? 'sent' : 'not-sent',
    });
    expect(result.conclusion).toBe('success');
    expect(sim.agent.posts()).toHaveLength(sent ? 1 : 0);
    const checked = sim.github.calls('GET collaborators/*/permission').map(({ login }) => login);
    expect(checked).toEqual(Array(checks).fill(who.login));
    if (!sent) expect(sim.github.journal).toHaveLength(checks);
    expect(result.annotations).toEqual(sent ? [] : [refusalOn(trigger, result.outputs.reason)]);
  });

  function refusalOn({ name }: WebhookEvent, message = '') {
    if (isCommentEvent(name)) return { type: 'notice', message };
    const isBot = message.startsWith('Skipped: ');
    expect(message).toMatch(isBot ? /allowed-bots/ : /minimum-permission/);
    return { type: isBot ? 'notice' : 'warning', message };
  }

  afterAll(() => console.info(`Tested ${NAMES.length} events with ${RUNS.length} runs.`));
});
