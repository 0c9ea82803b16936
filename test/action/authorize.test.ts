import { afterAll, describe, expect, it } from 'vitest';
import {
  ALICE,
  DEPENDABOT,
  event,
  issueComment,
  type Json,
  type Person,
  push,
  RENOVATE,
  review,
  reviewComment,
  type WebhookEvent,
} from '../sim/events.ts';
import type { CollaboratorOptions } from '../sim/github/permissions.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { PULL, simulate } from './scenario.ts';

type Level = 'none' | 'read' | 'triage' | 'write' | 'maintain' | 'admin';
const LEVELS: readonly Level[] = ['none', 'read', 'triage', 'write', 'maintain', 'admin'];
/** Each level in `permission`, the older field of the API. */
const PERMISSIONS = {
  none: 'none',
  read: 'read',
  triage: 'read',
  write: 'write',
  maintain: 'write',
  admin: 'admin',
} as const;

interface Options {
  readonly action?: string;
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
  readonly respond?: GitHubOptions['on'];
  readonly with?: Readonly<Record<string, string>>;
  readonly github?: Readonly<Record<string, string | undefined>>;
  readonly expected: Verdict;
  /** How many permissions are checked, if the test is about it. */
  readonly checks?: number;
}

function collaborator(level: Level, id = ALICE.id): CollaboratorOptions {
  return { id, permission: PERMISSIONS[level], role_name: level };
}

/** Each level on each event, with alternating associations. */
const ASSOCIATIONS = ['NONE', 'FIRST_TIME_CONTRIBUTOR', 'OWNER'];
const byPermission = KINDS.flatMap((kind, row) =>
  LEVELS.map((level, column): Fixture => {
    const association = ASSOCIATIONS[(row + column) % ASSOCIATIONS.length] ?? '';
    return {
      name: `${kind}, ${association}, ${level}`,
      event: EVENTS[kind]({ association }),
      collaborators: { alice: collaborator(level) },
      expected: LEVELS.indexOf(level) >= 3 ? 'sent' : 'skipped',
    };
  }),
);

const byMinimum = ['triage', 'write', 'maintain', 'admin'].flatMap((minimum) =>
  LEVELS.map(
    (level): Fixture => ({
      name: `minimum ${minimum}, has ${level}, without a command`,
      event: EVENTS.issue_comment({}),
      collaborators: { alice: collaborator(level) },
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
    name: `${kind} with another sender`,
    event: EVENTS[kind]({ sender: { login: 'mallory', id: 2, type: 'User' } }),
    expected: 'skipped',
  },
  {
    name: `${kind} by someone of the same name with another ID`,
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
const permits = (permissions: Json): Reply => ({
  body: { permission: 'read', role_name: 'docs', user: { ...user, permissions } },
});
const RESPONSES: readonly (readonly [string, Reply, Verdict])[] = [
  ['403', { status: 403, body: { message: 'no' } }, 'error'],
  ['500', { status: 500, body: {} }, 'error'],
  ['HTML', { status: 200, body: '<html>' }, 'error'],
  ['invalid JSON', { status: 200, body: '{' }, 'error'],
  ['a lost connection', { fault: 'reset' }, 'error'],
  ['no response', { fault: 'hang' }, 'error'],
  ['404', { status: 404, body: { message: 'no' } }, 'skipped'],
  ['no user', { body: { permission: 'admin', role_name: 'admin' } }, 'error'],
  ['a null user', { body: { permission: 'admin', role_name: 'admin', user: null } }, 'skipped'],
  ['another user', { body: { user: { ...user, id: 5, permissions: { admin: true } } } }, 'error'],
  // Neither the role, which may be custom, nor the older field `permission` counts.
  ['only the role', { body: { permission: 'admin', role_name: 'admin', user } }, 'error'],
  ['permissions that deny it', permits({ pull: true }), 'skipped'],
  ['permissions that allow it', permits({ pull: true, push: true }), 'sent'],
  ['permissions of another name', permits({ constructor: true, king: true }), 'skipped'],
];
const byResponse = RESPONSES.map(
  ([name, reply, expected]): Fixture => ({
    name: `the check ends with ${name}`,
    event: EVENTS.issue_comment({}),
    respond: ({ path }) => (path.includes('/collaborators/') ? reply : undefined),
    expected,
  }),
);

const byRerunner = KINDS.flatMap((kind) =>
  LEVELS.map(
    (level): Fixture => ({
      name: `${kind}, re-run by someone with ${level}`,
      event: EVENTS[kind]({}),
      collaborators: { alice: collaborator('write'), bob: collaborator(level, 3) },
      github: { run_attempt: '2', triggering_actor: 'bob' },
      expected: LEVELS.indexOf(level) >= 3 ? 'sent' : 'skipped',
    }),
  ),
);
const more: readonly Fixture[] = [
  {
    name: 're-run by a stranger',
    event: EVENTS.issue_comment({}),
    github: { run_attempt: '2', triggering_actor: 'mallory' },
    expected: 'skipped',
  },
  {
    name: 're-run by the author',
    event: EVENTS.issue_comment({}),
    github: { run_attempt: '2', triggering_actor: 'Alice' },
    expected: 'sent',
  },
  {
    name: 'an author who lost the permission, re-run by someone who has it',
    event: EVENTS.issue_comment({}),
    collaborators: { alice: collaborator('read'), bob: collaborator('admin', 3) },
    github: { run_attempt: '2', triggering_actor: 'bob' },
    expected: 'skipped',
  },
  {
    name: 'no token',
    event: EVENTS.issue_comment({}),
    with: { 'github-token': '' },
    expected: 'error',
  },
  ...KINDS.map(
    (kind): Fixture => ({
      name: `${kind}, re-run by an unknown person`,
      event: EVENTS[kind]({}),
      github: { run_attempt: '2', triggering_actor: undefined, actor: 'alice' },
      expected: 'error',
      checks: 0,
    }),
  ),
];

const MALLORY: Person = { login: 'mallory', id: 2, type: 'User' };
const NO_COMMAND = { command: '', prompt: 'The workflow wrote this.' };
/** An event that anyone can trigger, and that is not a comment. */
const issues = (sender: unknown, more: Json = {}): WebhookEvent => ({
  name: 'issues',
  payload: { ...event('issues', 'opened').payload, sender, ...more },
});
const BOTS = `${DEPENDABOT.login}\n  ${RENOVATE.login}`;

/** Fixtures that share inputs, without a permission check by default. */
function withInputs(
  name: string,
  inputs: NonNullable<Fixture['with']>,
  fixtures: readonly Fixture[],
): readonly Fixture[] {
  return fixtures.map((fixture) => ({
    checks: 0,
    ...fixture,
    name: `${name}, ${fixture.name}`,
    with: { ...inputs, ...fixture.with },
  }));
}

/** `minimum-permission: none` turns off the permission check, but no other rule. */
const withoutMinimum = withInputs('minimum-permission: none', { 'minimum-permission': 'none' }, [
  ...KINDS.flatMap((kind): readonly Fixture[] => [
    { name: `${kind} by a stranger`, event: EVENTS[kind]({ author: MALLORY }), expected: 'sent' },
    { name: `${kind} by a bot`, event: EVENTS[kind]({ author: RENOVATE }), expected: 'skipped' },
    {
      name: `${kind} with another sender`,
      event: EVENTS[kind]({ author: MALLORY, sender: ALICE }),
      expected: 'skipped',
    },
    { name: `${kind}, edited`, event: EVENTS[kind]({ action: 'edited' }), expected: 'skipped' },
    {
      name: `${kind}, re-run by an unknown person`,
      event: EVENTS[kind]({}),
      github: { run_attempt: '2', triggering_actor: '' },
      expected: 'error',
    },
  ]),
  {
    name: 'a comment with the marker of the action',
    event: issueComment({
      number: PULL,
      body: '/agent go <!-- agent-follow-up 0 -->',
      author: MALLORY,
    }),
    expected: 'skipped',
  },
  {
    name: 'a comment through an app',
    event: issueComment({ number: PULL, body: '/agent go', author: MALLORY, viaApp: true }),
    expected: 'skipped',
  },
  {
    name: 'a command without a token, which cannot be claimed',
    event: EVENTS.issue_comment({ author: MALLORY }),
    with: { 'github-token': '' },
    expected: 'error',
  },
  { name: 'issues by a stranger', event: issues(MALLORY), with: NO_COMMAND, expected: 'sent' },
  { name: 'issues by a bot', event: issues(RENOVATE), with: NO_COMMAND, expected: 'skipped' },
  { name: 'issues without a sender', event: issues(null), with: NO_COMMAND, expected: 'error' },
  {
    name: 'issues, re-run by a stranger',
    event: issues(MALLORY),
    with: NO_COMMAND,
    github: { run_attempt: '2', triggering_actor: 'mallory' },
    expected: 'sent',
  },
]);

/** `allowed-bots` allows the bots that it lists, and changes no other rule. */
const byAllowedBots = withInputs('allowed-bots', { 'allowed-bots': BOTS }, [
  ...KINDS.flatMap((kind): readonly Fixture[] => [
    { name: `${kind} by one of them`, event: EVENTS[kind]({ author: RENOVATE }), expected: 'sent' },
    {
      name: `${kind} by one of them, edited`,
      event: EVENTS[kind]({ author: RENOVATE, action: 'edited' }),
      expected: 'skipped',
    },
    {
      name: `${kind} by one of them, with another one as the sender`,
      event: EVENTS[kind]({ author: RENOVATE, sender: DEPENDABOT }),
      expected: 'skipped',
    },
    {
      name: `${kind} by a person, with one of them as the sender`,
      event: EVENTS[kind]({ author: ALICE, sender: RENOVATE }),
      expected: 'skipped',
    },
    {
      name: `${kind} by a person with the login of one of them`,
      event: EVENTS[kind]({ author: { ...RENOVATE, type: 'User' } }),
      expected: 'skipped',
    },
    {
      name: `${kind} by another bot`,
      event: EVENTS[kind]({ author: { login: 'renovate2[bot]', id: 4, type: 'Bot' } }),
      expected: 'skipped',
    },
  ]),
  {
    name: 'a comment by one of them through its app',
    event: issueComment({ number: PULL, body: '/agent go', author: RENOVATE, viaApp: true }),
    expected: 'sent',
  },
  {
    name: 'a comment by a writer through an app',
    event: issueComment({ number: PULL, body: '/agent go', viaApp: true }),
    expected: 'skipped',
  },
  {
    name: 'a comment by one of them with the marker of the action',
    event: issueComment({
      number: PULL,
      body: '/agent go <!-- agent-follow-up 0 -->',
      author: RENOVATE,
    }),
    expected: 'skipped',
  },
  {
    name: 'a comment by one of them, re-run by the same bot',
    event: EVENTS.issue_comment({ author: RENOVATE }),
    github: { run_attempt: '2', triggering_actor: RENOVATE.login },
    expected: 'sent',
  },
  {
    name: 'a comment by a writer, re-run by one of them',
    event: EVENTS.issue_comment({}),
    github: { run_attempt: '2', triggering_actor: RENOVATE.login },
    expected: 'sent',
    checks: 1,
  },
  {
    name: 'a comment by a writer, re-run by another bot',
    event: EVENTS.issue_comment({}),
    github: { run_attempt: '2', triggering_actor: 'renovate2[bot]' },
    expected: 'skipped',
  },
  {
    name: 'a comment by one of them, re-run by a stranger',
    event: EVENTS.issue_comment({ author: RENOVATE }),
    github: { run_attempt: '2', triggering_actor: 'mallory' },
    expected: 'skipped',
    checks: 1,
  },
]);

/** Payloads that imitate others, and broken ones. Neither helps anyone to trigger the action. */
const hostile: readonly Fixture[] = (
  [
    ['a sender without an ID', issues({ login: 'alice', type: 'User' }), 'error', 0],
    ['a sender with a string as ID', issues({ ...ALICE, id: '1001' }), 'error', 0],
    ['a sender with another ID', issues({ ...ALICE, id: 1002 }), 'error', 1],
    ['a sender without a type', issues({ login: 'alice', id: ALICE.id }), 'error', 0],
    ['a sender that is an array', issues([ALICE]), 'error', 0],
    ['no sender', issues(undefined), 'error', 0],
    [
      'a sender below __proto__',
      { name: 'issues', payload: `{"__proto__":{"sender":${JSON.stringify(ALICE)}}}` },
      'error',
      0,
    ],
    ['a writer of the type Bot', issues({ ...ALICE, type: 'Bot' }), 'skipped', 0],
    ['a bot of the type User', issues({ ...RENOVATE, type: 'User' }), 'skipped', 0],
    ['a type in another case', issues({ ...ALICE, type: 'user' }), 'skipped', 0],
    ['a login that is a path', issues({ ...MALLORY, login: '../../..' }), 'skipped', 1],
    ['a login that is empty', issues({ ...MALLORY, login: '' }), 'skipped', 1],
    ['no action', issues(MALLORY, { action: undefined }), 'skipped', 1],
    [
      'a comment without an action',
      {
        name: 'issue_comment',
        payload: { ...EVENTS.issue_comment({}).payload, action: undefined },
      },
      'skipped',
      0,
    ],
    [
      'a comment event in another case',
      { name: 'Issue_Comment', payload: EVENTS.issue_comment({ author: MALLORY }).payload },
      'skipped',
      1,
    ],
    [
      'a push in another case',
      { name: 'Push', payload: push({ sender: MALLORY }).payload },
      'skipped',
      1,
    ],
    ['an event about an organization', issues({ ...ALICE, type: 'Organization' }), 'skipped', 0],
    ...['issues', 'pull_request', 'push', 'moon_phase', 'constructor', ''].flatMap((name) =>
      [null, '{', '7', 'null'].map((payload): readonly [string, WebhookEvent, Verdict, number] => [
        `${name || 'no event'} with the file ${payload ?? 'missing'}`,
        { name, payload: payload as unknown as Json },
        'error',
        0,
      ]),
    ),
    ['release with a broken file', { name: 'release', payload: '{' as unknown as Json }, 'sent', 0],
  ] as readonly (readonly [string, WebhookEvent, Verdict, number])[]
).map(([name, event, expected, checks]) => ({
  name: `hostile: ${name}`,
  event,
  expected,
  checks,
  with: NO_COMMAND,
}));

const FIXTURES: readonly Fixture[] = [
  ...byPermission,
  ...byMinimum,
  ...byActor,
  ...byResponse,
  ...byRerunner,
  ...more,
  ...withoutMinimum,
  ...byAllowedBots,
  ...hostile,
];

/** One fixture of each kind runs the built action. */
const BUILT = [byPermission, byMinimum, byActor, byResponse, byRerunner, withoutMinimum]
  .concat([byAllowedBots, hostile])
  .map(([first]) => first?.name);

describe.concurrent('a message is sent only if the author and the re-runner have the permission', () => {
  it.each(FIXTURES)('$name: $expected', async (fixture) => {
    await using sim = await simulate({
      // Without a comment, a re-run sends the message if it has the permission.
      with: {
        ...{ command: '/agent', prompt: '', comment: false, 'resend-on-rerun': true },
        ...fixture.with,
      },
      github: {
        issues: [{ number: PULL, pullRequest: true }],
        collaborators: fixture.collaborators ?? { alice: collaborator('write') },
        ...(fixture.respond === undefined ? {} : { on: fixture.respond }),
      },
      step: {
        event: fixture.event,
        ...(fixture.github === undefined ? {} : { github: fixture.github }),
      },
    });
    // The first comment on the simulated GitHub has the ID in the event.
    if (fixture.event.name === 'issue_comment') sim.github.addComment(PULL, 'alice', '/agent');
    else sim.github.addReviewComment(PULL, 'alice', '/agent');
    const isBuilt = BUILT.includes(fixture.name);
    const result = await (isBuilt ? sim.run() : sim.runHere());
    expect(result.outputs.result).toBe(fixture.expected);
    expect(result.conclusion).toBe(fixture.expected === 'error' ? 'failure' : 'success');
    expect(result.outputs.delivery).toBe(fixture.expected === 'sent' ? 'sent' : 'not-sent');
    expect(sim.agent.journal).toHaveLength(fixture.expected === 'sent' ? 1 : 0);
    const checks = sim.github.journal.filter(({ path }) => path.includes('/collaborators/'));
    expect(checks).toHaveLength(fixture.checks ?? checks.length);
  });
});

afterAll(() => console.info(`Tested authorization with ${FIXTURES.length} fixtures.`));
