import { afterAll, describe, expect, it } from 'vitest';
import {
  ALICE,
  issueComment,
  type Person,
  review,
  reviewComment,
  type WebhookEvent,
} from '../sim/events.ts';
import type { CollaboratorOptions, GitHubOptions } from '../sim/github.ts';
import { PULL, stage } from './scenario.ts';

type Level = 'none' | 'read' | 'triage' | 'write' | 'maintain' | 'admin';
const LEVELS: readonly Level[] = ['none', 'read', 'triage', 'write', 'maintain', 'admin'];
/** What the API's oldest field says of each level. */
const OLD = {
  none: 'none',
  read: 'read',
  triage: 'read',
  write: 'write',
  maintain: 'write',
  admin: 'admin',
} as const;

interface Options {
  readonly association?: string;
  readonly author?: Person;
  readonly sender?: Person;
}
type EventKind = 'issue_comment' | 'pull_request_review' | 'pull_request_review_comment';
const EVENTS: Readonly<Record<EventKind, (options: Options) => WebhookEvent>> = {
  issue_comment: (options) => issueComment({ number: PULL, body: '/agent go', ...options }),
  pull_request_review: (options) => review({ number: PULL, body: '/agent go', ...options }),
  pull_request_review_comment: (options) =>
    reviewComment({ number: PULL, body: '/agent go', ...options }),
};
const KINDS = Object.keys(EVENTS) as EventKind[];

type Verdict = 'sent' | 'skipped' | 'error';
interface Fixture {
  readonly name: string;
  readonly event: WebhookEvent;
  readonly collaborators?: Readonly<Record<string, CollaboratorOptions>>;
  readonly answer?: GitHubOptions['on'];
  readonly with?: Readonly<Record<string, string>>;
  readonly facts?: Readonly<Record<string, string>>;
  readonly expected: Verdict;
}

function holding(level: Level, id = ALICE.id): CollaboratorOptions {
  return { id, permission: OLD[level], role_name: level };
}

/** Each level with each association, on one event or another. */
const ASSOCIATIONS = ['NONE', 'FIRST_TIME_CONTRIBUTOR', 'OWNER'];
const byPermission = KINDS.flatMap((kind, row) =>
  LEVELS.map((level, column): Fixture => {
    const association = ASSOCIATIONS[(row + column) % ASSOCIATIONS.length] ?? '';
    return {
      name: `${kind}, ${association}, ${level}`,
      event: EVENTS[kind]({ association }),
      collaborators: { alice: holding(level) },
      expected: LEVELS.indexOf(level) >= 3 ? 'sent' : 'skipped',
    };
  }),
);

const byMinimum = ['triage', 'write', 'maintain', 'admin'].flatMap((minimum) =>
  LEVELS.map(
    (level): Fixture => ({
      name: `at least ${minimum}, has ${level}, and no command`,
      event: EVENTS.issue_comment({}),
      collaborators: { alice: holding(level) },
      with: { 'minimum-permission': minimum, command: '', prompt: 'The workflow wrote this.' },
      expected: LEVELS.indexOf(level) >= LEVELS.indexOf(minimum as Level) ? 'sent' : 'skipped',
    }),
  ),
);

const BOT: Person = { login: 'alice[bot]', id: ALICE.id, type: 'Bot' };
const byActor = KINDS.flatMap((kind): readonly Fixture[] => [
  { name: `${kind} by a bot`, event: EVENTS[kind]({ author: BOT }), expected: 'skipped' },
  { name: `${kind} sent by a bot`, event: EVENTS[kind]({ sender: BOT }), expected: 'skipped' },
  {
    name: `${kind} sent by another`,
    event: EVENTS[kind]({ sender: { login: 'mallory', id: 2, type: 'User' } }),
    expected: 'skipped',
  },
  {
    name: `${kind} by one of the same name with another id`,
    event: EVENTS[kind]({ author: { ...ALICE, id: 999 } }),
    expected: 'error',
  },
  {
    name: `${kind} by a stranger`,
    event: EVENTS[kind]({ author: { login: 'mallory', id: 2, type: 'User' } }),
    expected: 'skipped',
  },
]);

type Reply = ReturnType<NonNullable<GitHubOptions['on']>>;
const user = { id: ALICE.id, login: 'alice' };
const ANSWERS: readonly (readonly [string, Reply, Verdict])[] = [
  ['403', { status: 403, body: { message: 'no' } }, 'error'],
  ['500', { status: 500, body: {} }, 'error'],
  ['HTML', { status: 200, body: '<html>' }, 'error'],
  ['no JSON', { status: 200, body: '{' }, 'error'],
  ['a lost connection', { fault: 'reset' }, 'error'],
  ['no answer', { fault: 'hang' }, 'error'],
  ['404', { status: 404, body: { message: 'no' } }, 'skipped'],
  ['no user', { body: { permission: 'admin', role_name: 'admin' } }, 'error'],
  ['a user of null', { body: { permission: 'admin', role_name: 'admin', user: null } }, 'skipped'],
  ['another user', { body: { permission: 'admin', user: { ...user, id: 5 } } }, 'error'],
  ['an unknown role', { body: { permission: 'owner', role_name: 'king', user } }, 'skipped'],
  ['a custom role upon write', { body: { permission: 'write', role_name: 'docs', user } }, 'sent'],
  ['the role alone', { body: { permission: 'none', role_name: 'maintain', user } }, 'sent'],
  [
    'permissions that deny what the role says',
    {
      body: {
        permission: 'admin',
        role_name: 'admin',
        user: { ...user, permissions: { pull: true } },
      },
    },
    'skipped',
  ],
  [
    'permissions that allow it',
    {
      body: {
        permission: 'read',
        role_name: 'docs',
        user: { ...user, permissions: { push: true } },
      },
    },
    'sent',
  ],
  [
    'the name of a prototype as role',
    { body: { permission: 'constructor', role_name: '__proto__', user } },
    'skipped',
  ],
];
const byAnswer = ANSWERS.map(
  ([name, reply, expected]): Fixture => ({
    name: `the API answers with ${name}`,
    event: EVENTS.issue_comment({}),
    answer: ({ path }) => (path.includes('/collaborators/') ? reply : undefined),
    expected,
  }),
);

const byRerunner = KINDS.flatMap((kind) =>
  LEVELS.map(
    (level): Fixture => ({
      name: `${kind}, re-run by one with ${level}`,
      event: EVENTS[kind]({}),
      collaborators: { alice: holding('write'), bob: holding(level, 3) },
      facts: { run_attempt: '2', triggering_actor: 'bob' },
      expected: LEVELS.indexOf(level) >= 3 ? 'sent' : 'skipped',
    }),
  ),
);
const more: readonly Fixture[] = [
  {
    name: 're-run by a stranger',
    event: EVENTS.issue_comment({}),
    facts: { run_attempt: '2', triggering_actor: 'mallory' },
    expected: 'skipped',
  },
  {
    name: 're-run by the author',
    event: EVENTS.issue_comment({}),
    facts: { run_attempt: '2', triggering_actor: 'Alice' },
    expected: 'sent',
  },
  {
    name: 'an author who lost the permission, re-run by one who has it',
    event: EVENTS.issue_comment({}),
    collaborators: { alice: holding('read'), bob: holding('admin', 3) },
    facts: { run_attempt: '2', triggering_actor: 'bob' },
    expected: 'skipped',
  },
  {
    name: 'no token to ask with',
    event: EVENTS.issue_comment({}),
    with: { 'github-token': '' },
    expected: 'error',
  },
];

const FIXTURES = [...byPermission, ...byMinimum, ...byActor, ...byAnswer, ...byRerunner, ...more];

describe.concurrent('a message goes out only where author and re-runner hold the permission', () => {
  it.each(FIXTURES)('$name: $expected', async (fixture) => {
    await using scene = await stage({
      with: { command: '/agent', prompt: '', comment: false, ...fixture.with },
      github: {
        issues: [{ number: PULL, pullRequest: true }],
        collaborators: fixture.collaborators ?? { alice: holding('write') },
        ...(fixture.answer === undefined ? {} : { on: fixture.answer }),
      },
      step: {
        event: fixture.event,
        ...(fixture.facts === undefined ? {} : { github: fixture.facts }),
      },
    });
    const result = await scene.run();
    expect(result.outputs.result).toBe(fixture.expected);
    expect(result.conclusion).toBe(fixture.expected === 'error' ? 'failure' : 'success');
    expect(result.outputs.delivery).toBe(fixture.expected === 'sent' ? 'sent' : 'not-sent');
    expect(scene.agent.journal).toHaveLength(fixture.expected === 'sent' ? 1 : 0);
  });
});

afterAll(() => console.info(`The gate was tried with ${FIXTURES.length} fixtures.`));
