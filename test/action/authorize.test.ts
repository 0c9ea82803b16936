import { afterAll, describe, expect, it } from 'vitest';
import {
  ALICE,
  DEPENDABOT,
  event,
  issueComment,
  type Json,
  type Person,
  pullRequest,
  push,
  RENOVATE,
  review,
  reviewComment,
  type WebhookEvent,
  workflowRun,
} from '../sim/events.ts';
import type { CollaboratorOptions } from '../sim/github/permissions.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { PULL, simulate } from './scenario.ts';

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
  readonly answer?: GitHubOptions['on'];
  readonly with?: Readonly<Record<string, string>>;
  readonly facts?: Readonly<Record<string, string | undefined>>;
  readonly expected: Verdict;
  /** How often GitHub is asked for a permission, where that is not plain. */
  readonly asked?: number;
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
  ...KINDS.map(
    (kind): Fixture => ({
      name: `${kind}, re-run by nobody knows whom`,
      event: EVENTS[kind]({}),
      facts: { run_attempt: '2', triggering_actor: undefined, actor: 'alice' },
      expected: 'error',
      asked: 0,
    }),
  ),
];

const MALLORY: Person = { login: 'mallory', id: 2, type: 'User' };
const NO_COMMAND = { command: '', prompt: 'The workflow wrote this.' };
/** An event that outsiders can start, and that is no comment. */
const issues = (sender: unknown, more: Json = {}): WebhookEvent => ({
  name: 'issues',
  payload: { ...event('issues', 'opened').payload, sender, ...more },
});
const BOTS = `${DEPENDABOT.login}\n  ${RENOVATE.login}`;

/** Fixtures that share inputs, in which nobody is asked for unless they say so. */
function under(
  name: string,
  inputs: NonNullable<Fixture['with']>,
  fixtures: readonly Fixture[],
): readonly Fixture[] {
  return fixtures.map((fixture) => ({
    asked: 0,
    ...fixture,
    name: `${name}, ${fixture.name}`,
    with: { ...inputs, ...fixture.with },
  }));
}

/** `minimum-permission: none` lifts that rule, and no other. */
const withoutMinimum = under('minimum-permission: none', { 'minimum-permission': 'none' }, [
  ...KINDS.flatMap((kind): readonly Fixture[] => [
    { name: `${kind} by a stranger`, event: EVENTS[kind]({ author: MALLORY }), expected: 'sent' },
    { name: `${kind} by a bot`, event: EVENTS[kind]({ author: RENOVATE }), expected: 'skipped' },
    {
      name: `${kind} sent by another`,
      event: EVENTS[kind]({ author: MALLORY, sender: ALICE }),
      expected: 'skipped',
    },
    { name: `${kind}, edited`, event: EVENTS[kind]({ action: 'edited' }), expected: 'skipped' },
    {
      name: `${kind}, re-run by nobody knows whom`,
      event: EVENTS[kind]({}),
      facts: { run_attempt: '2', triggering_actor: '' },
      expected: 'error',
    },
  ]),
  {
    name: 'a comment with our marker',
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
    name: 'a comment without a token to ask with',
    event: EVENTS.issue_comment({ author: MALLORY }),
    with: { 'github-token': '' },
    expected: 'sent',
  },
  { name: 'issues by a stranger', event: issues(MALLORY), with: NO_COMMAND, expected: 'sent' },
  { name: 'issues by a bot', event: issues(RENOVATE), with: NO_COMMAND, expected: 'skipped' },
  { name: 'issues by nobody', event: issues(null), with: NO_COMMAND, expected: 'error' },
  {
    name: 'issues, re-run by a stranger',
    event: issues(MALLORY),
    with: NO_COMMAND,
    facts: { run_attempt: '2', triggering_actor: 'mallory' },
    expected: 'sent',
  },
]);

/** `allowed-bots` lifts the rule against bots, for those that it names, and no other. */
const byAllowedBots = under('allowed-bots', { 'allowed-bots': BOTS }, [
  ...KINDS.flatMap((kind): readonly Fixture[] => [
    { name: `${kind} by it`, event: EVENTS[kind]({ author: RENOVATE }), expected: 'sent' },
    {
      name: `${kind} by it, edited`,
      event: EVENTS[kind]({ author: RENOVATE, action: 'edited' }),
      expected: 'skipped',
    },
    {
      name: `${kind} by it, sent by another bot of the list`,
      event: EVENTS[kind]({ author: RENOVATE, sender: DEPENDABOT }),
      expected: 'skipped',
    },
    {
      name: `${kind} by a person, sent by it`,
      event: EVENTS[kind]({ author: ALICE, sender: RENOVATE }),
      expected: 'skipped',
    },
    {
      name: `${kind} by one of its login who is a person`,
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
    name: 'a comment by it through its app',
    event: issueComment({ number: PULL, body: '/agent go', author: RENOVATE, viaApp: true }),
    expected: 'sent',
  },
  {
    name: 'a comment by a writer through an app',
    event: issueComment({ number: PULL, body: '/agent go', viaApp: true }),
    expected: 'skipped',
  },
  {
    name: 'a comment by it with our marker',
    event: issueComment({
      number: PULL,
      body: '/agent go <!-- agent-follow-up 0 -->',
      author: RENOVATE,
    }),
    expected: 'skipped',
  },
  {
    name: 'a comment by it, re-run by it',
    event: EVENTS.issue_comment({ author: RENOVATE }),
    facts: { run_attempt: '2', triggering_actor: RENOVATE.login },
    expected: 'sent',
  },
  {
    name: 'a comment by a writer, re-run by it',
    event: EVENTS.issue_comment({}),
    facts: { run_attempt: '2', triggering_actor: RENOVATE.login },
    expected: 'sent',
    asked: 1,
  },
  {
    name: 'a comment by a writer, re-run by another bot',
    event: EVENTS.issue_comment({}),
    facts: { run_attempt: '2', triggering_actor: 'renovate2[bot]' },
    expected: 'skipped',
  },
  {
    name: 'a comment by it, re-run by a stranger',
    event: EVENTS.issue_comment({ author: RENOVATE }),
    facts: { run_attempt: '2', triggering_actor: 'mallory' },
    expected: 'skipped',
    asked: 1,
  },
]);

const branch = pullRequest({ number: PULL });
const ofBranch = (more: Json): WebhookEvent => ({
  name: 'pull_request',
  payload: { ...branch.payload, sender: RENOVATE, ...more },
});
const pull = branch.payload.pull_request as Json;
const run = workflowRun({ startedBy: 'push', sender: MALLORY });
const afterPush = (more: Json): WebhookEvent => ({
  name: 'workflow_run',
  payload: { ...run.payload, workflow_run: { ...(run.payload.workflow_run as Json), ...more } },
});
/** Payloads that want to look like others, and broken ones: none of them lets anybody in. */
const hostile: readonly Fixture[] = (
  [
    ['a sender without an id', issues({ login: 'alice', type: 'User' }), 'error', 0],
    ['a sender whose id is a text', issues({ ...ALICE, id: '1001' }), 'error', 0],
    ['a sender of another id', issues({ ...ALICE, id: 1002 }), 'error', 1],
    ['a sender without a type', issues({ login: 'alice', id: ALICE.id }), 'error', 0],
    ['a sender that is a list', issues([ALICE]), 'error', 0],
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
    [
      'a branch by a stranger of the type Bot',
      ofBranch({ sender: { ...MALLORY, type: 'Bot' } }),
      'skipped',
      0,
    ],
    [
      'a bot, and a head that is gone',
      ofBranch({ pull_request: { ...pull, head: { repo: null } } }),
      'skipped',
      0,
    ],
    [
      'a bot, and a head whose id is a text',
      ofBranch({ pull_request: { ...pull, head: { repo: { id: '186853002' } } } }),
      'skipped',
      0,
    ],
    ['a bot, and no head at all', ofBranch({ pull_request: 7 }), 'skipped', 0],
    ['a bot, and no repository', ofBranch({ repository: undefined }), 'skipped', 0],
    ['a run after a pull request', afterPush({ event: 'pull_request' }), 'skipped', 1],
    ['a run without an event', afterPush({ event: undefined }), 'skipped', 1],
    ['a run after a list of events', afterPush({ event: ['push'] }), 'skipped', 1],
    ['a run whose head is gone', afterPush({ head_repository: null }), 'skipped', 1],
    [
      'a run whose head has a text for an id',
      afterPush({ head_repository: { id: '1' } }),
      'skipped',
      1,
    ],
    ...['issues', 'pull_request', 'workflow_run', 'moon_phase', 'constructor', ''].flatMap((name) =>
      [null, '{', '7', 'null', ''].map(
        (payload): readonly [string, WebhookEvent, Verdict, number] => [
          `${name || 'no event'} with the file ${payload ?? 'missing'}`,
          { name, payload: payload as unknown as Json },
          'error',
          0,
        ],
      ),
    ),
    ['push with a broken file', { name: 'push', payload: '{' as unknown as Json }, 'sent', 0],
  ] as readonly (readonly [string, WebhookEvent, Verdict, number])[]
).map(([name, event, expected, asked]) => ({
  name: `hostile: ${name}`,
  event,
  expected,
  asked,
  with: NO_COMMAND,
}));

const FIXTURES: readonly Fixture[] = [
  ...byPermission,
  ...byMinimum,
  ...byActor,
  ...byAnswer,
  ...byRerunner,
  ...more,
  ...withoutMinimum,
  ...byAllowedBots,
  ...hostile,
];

/** One of each kind runs what is built. */
const BUILT = [byPermission, byMinimum, byActor, byAnswer, byRerunner, withoutMinimum]
  .concat([byAllowedBots, hostile])
  .map(([first]) => first?.name);

describe.concurrent('a message goes out only where author and re-runner hold the permission', () => {
  it.each(FIXTURES)('$name: $expected', async (fixture) => {
    await using sim = await simulate({
      // Nothing is remembered here, and what re-runs send is what they were allowed to.
      with: {
        ...{ command: '/agent', prompt: '', comment: false, 'resend-on-rerun': true },
        ...fixture.with,
      },
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
    // The first comment there has the ID of the event.
    if (fixture.event.name === 'issue_comment') sim.github.addComment(PULL, 'alice', '/agent');
    else sim.github.addReviewComment(PULL, 'alice', '/agent');
    const isBuilt = BUILT.includes(fixture.name);
    const result = await (isBuilt ? sim.run() : sim.runHere());
    expect(result.outputs.result).toBe(fixture.expected);
    expect(result.conclusion).toBe(fixture.expected === 'error' ? 'failure' : 'success');
    expect(result.outputs.delivery).toBe(fixture.expected === 'sent' ? 'sent' : 'not-sent');
    expect(sim.agent.journal).toHaveLength(fixture.expected === 'sent' ? 1 : 0);
    const asked = sim.github.journal.filter(({ path }) => path.includes('/collaborators/'));
    expect(asked).toHaveLength(fixture.asked ?? asked.length);
  });
});

afterAll(() => console.info(`Authorization was tried with ${FIXTURES.length} fixtures.`));
