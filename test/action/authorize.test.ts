import { afterAll, describe, expect, it } from 'vitest';
import {
  ALICE,
  DEPENDABOT,
  event,
  issueComment,
  type Json,
  type Person,
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

/** Each level of someone who re-runs a comment by a writer. */
const byRerunner = LEVELS.map(
  (level): Fixture => ({
    name: `re-run by someone with ${level}`,
    event: EVENTS.issue_comment({}),
    collaborators: { alice: collaborator('write'), bob: collaborator(level, 3) },
    github: { run_attempt: '2', triggering_actor: 'bob' },
    expected: LEVELS.indexOf(level) >= 3 ? 'sent' : 'skipped',
  }),
);

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

const MALLORY: Person = { login: 'mallory', id: 2, type: 'User' };
const OTHER_BOT: Person = { login: 'renovate2[bot]', id: 4, type: 'Bot' };
const rerunBy = (actor: string | undefined) => ({ run_attempt: '2', triggering_actor: actor });
const body = '/agent go';
const marked = '/agent go <!-- agent-follow-up 0 -->';

/** The verdicts by default, with `minimum-permission: none`, and with `allowed-bots`. */
type Verdicts = readonly [standard: Verdict, none: Verdict, bots: Verdict];
type Row = readonly [name: string, Options | WebhookEvent, Verdicts, github?: Fixture['github']];
const always = (verdict: Verdict): Verdicts => [verdict, verdict, verdict];
const comment = (options: Partial<Parameters<typeof issueComment>[0]>): WebhookEvent =>
  issueComment({ number: PULL, body, ...options });

/** `minimum-permission: none` turns off the permission check, `allowed-bots` allows its bots: no more. */
const ROWS: readonly Row[] = [
  ['by a stranger', { author: MALLORY }, ['skipped', 'sent', 'skipped']],
  ['by the writer of another ID', { author: { ...ALICE, id: 999 } }, ['error', 'sent', 'error']],
  ['by a bot', { author: RENOVATE }, ['skipped', 'skipped', 'sent']],
  ['by another bot', { author: OTHER_BOT }, always('skipped')],
  [
    'by a person with the login of the bot',
    { author: { ...RENOVATE, type: 'User' } },
    always('skipped'),
  ],
  ['by a bot, sent by another', { author: RENOVATE, sender: DEPENDABOT }, always('skipped')],
  ['by a writer, sent by a bot', { sender: RENOVATE }, always('skipped')],
  ['by a stranger, sent by a writer', { author: MALLORY, sender: ALICE }, always('skipped')],
  ['edited by a writer', { action: 'edited' }, always('skipped')],
  ['edited by a bot', { author: RENOVATE, action: 'edited' }, always('skipped')],
  ['re-run by the author', {}, always('sent'), rerunBy('Alice')],
  ['re-run by a stranger', {}, ['skipped', 'sent', 'skipped'], rerunBy('mallory')],
  ['re-run by an unknown person', {}, always('error'), rerunBy(undefined)],
  ['re-run by a bot', {}, ['skipped', 'skipped', 'sent'], rerunBy(RENOVATE.login)],
  ['re-run by another bot', {}, always('skipped'), rerunBy(OTHER_BOT.login)],
  ['by a bot, re-run by a stranger', { author: RENOVATE }, always('skipped'), rerunBy('mallory')],
  ['through an app', comment({ viaApp: true }), always('skipped')],
  [
    'by a bot through its app',
    comment({ author: RENOVATE, viaApp: true }),
    ['skipped', 'skipped', 'sent'],
  ],
  ['with the marker of the action', comment({ body: marked }), always('skipped')],
  ['by a bot with the marker', comment({ body: marked, author: RENOVATE }), always('skipped')],
];
const SETTINGS = [
  {},
  { 'minimum-permission': 'none' },
  { 'allowed-bots': `${DEPENDABOT.login}\n  ${RENOVATE.login}` },
];
const byActor = ROWS.flatMap(([name, given, verdicts, github]) => {
  const events = 'payload' in given ? [given] : KINDS.map((kind) => EVENTS[kind](given));
  return events.flatMap((event) =>
    SETTINGS.map(
      (inputs, index): Fixture => ({
        name: `${event.name} ${name}, ${JSON.stringify(inputs)}`,
        event,
        with: inputs,
        ...(github === undefined ? {} : { github }),
        expected: verdicts[index] ?? 'error',
        ...(index === 1 ? { checks: 0 } : {}),
      }),
    ),
  );
});

const NO_COMMAND = { command: '', prompt: 'The workflow wrote this.' };
/** An event that anyone can trigger, and that is not a comment. */
const issues = (sender: unknown, more: Json = {}): WebhookEvent => ({
  name: 'issues',
  payload: { ...event('issues', 'opened').payload, sender, ...more },
});
const renamed = (name: string, { payload }: WebhookEvent): WebhookEvent => ({ name, payload });
const broken = (name: string, payload: string | null): WebhookEvent => ({
  name,
  payload: payload as unknown as Json,
});

/** Payloads that imitate others, and broken ones. Neither helps anyone to trigger the action. */
const HOSTILE: readonly (readonly [string, WebhookEvent, Verdict, number])[] = [
  ['a sender without an ID', issues({ login: 'alice', type: 'User' }), 'error', 0],
  [
    'a sender below __proto__',
    broken('issues', `{"__proto__":{"sender":${JSON.stringify(ALICE)}}}`),
    'error',
    0,
  ],
  ['a login that is a path', issues({ ...MALLORY, login: '../../..' }), 'skipped', 1],
  [
    'a comment in another case',
    renamed('Issue_Comment', comment({ author: MALLORY })),
    'skipped',
    1,
  ],
  ['a push in another case', renamed('Push', issues(MALLORY)), 'skipped', 1],
  ...['issues', 'push', 'moon_phase', ''].flatMap((name) =>
    [null, '{', '7', 'null'].map((payload): readonly [string, WebhookEvent, Verdict, number] => {
      const title = `${name || 'no event'} with the file ${payload ?? 'missing'}`;
      return [title, broken(name, payload), 'error', 0];
    }),
  ),
];
const hostile = HOSTILE.map(
  ([name, event, expected, checks]): Fixture => ({
    ...{ name: `hostile: ${name}`, event, expected, checks, with: NO_COMMAND },
  }),
);

const more: readonly Fixture[] = [
  ...(['triage', 'write', 'admin'] as const).map(
    (level): Fixture => ({
      name: `minimum maintain, has ${level}, without a command`,
      event: EVENTS.issue_comment({}),
      collaborators: { alice: collaborator(level) },
      with: { ...NO_COMMAND, 'minimum-permission': 'maintain' },
      expected: level === 'admin' ? 'sent' : 'skipped',
    }),
  ),
  {
    name: 'an author who lost the permission, re-run by someone who has it',
    event: EVENTS.issue_comment({}),
    collaborators: { alice: collaborator('read'), bob: collaborator('admin', 3) },
    github: rerunBy('bob'),
    expected: 'skipped',
  },
  {
    name: 'issues, re-run by a stranger, minimum-permission: none',
    event: issues(MALLORY),
    with: { ...NO_COMMAND, 'minimum-permission': 'none', 'pr-number': String(PULL) },
    github: rerunBy('mallory'),
    expected: 'sent',
    checks: 0,
  },
];

const KINDS_OF_FIXTURES = [byPermission, byRerunner, byResponse, byActor, hostile, more];
const FIXTURES = KINDS_OF_FIXTURES.flat();
/** One fixture of each kind runs the built action. */
const BUILT = KINDS_OF_FIXTURES.map(([first]) => first?.name);

describe.concurrent('a message is sent only if the author and the re-runner have the permission', () => {
  it.each(FIXTURES)('$name: $expected', async (fixture) => {
    await using sim = await simulate({
      // No comment says that a message was sent, so a re-run sends it if it has the permission.
      with: { command: '/agent', prompt: '', ...fixture.with },
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
    // An earlier attempt may have sent what this one cannot check.
    const isRerun = fixture.github?.run_attempt === '2';
    const unsent = fixture.expected === 'error' && isRerun ? 'unknown' : 'not-sent';
    expect(result.outputs.delivery).toBe(fixture.expected === 'sent' ? 'sent' : unsent);
    expect(sim.agent.journal).toHaveLength(fixture.expected === 'sent' ? 1 : 0);
    const checks = sim.github.journal.filter(({ path }) => path.includes('/collaborators/'));
    expect(checks).toHaveLength(fixture.checks ?? checks.length);
  });
});

afterAll(() => console.info(`Tested authorization with ${FIXTURES.length} fixtures.`));
