import { describe, expect, it } from 'vitest';
import {
  ALICE,
  event,
  issueComment,
  type Json,
  type Person,
  RENOVATE,
  type WebhookEvent,
} from '../sim/events.ts';
import type { CollaboratorOptions } from '../sim/github/permissions.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { callNames, PULL, simulate } from './scenario.ts';

// Which permission a person needs is a table in unit/authorize.test.ts. This is the way from an event and from the answers of
// GitHub to the message.

type Verdict = 'sent' | 'skipped' | 'error';

const MALLORY: Person = { login: 'mallory', id: 2, type: 'User' };
/** Each level in `permission`, the older field of the API. */
const LEVELS = {
  none: 'none',
  read: 'read',
  triage: 'read',
  write: 'write',
  maintain: 'write',
  admin: 'admin',
} as const;
type Level = keyof typeof LEVELS;

function collaborator(level: Level, id = ALICE.id): CollaboratorOptions {
  return { id, permission: LEVELS[level], role_name: level };
}

const comment = (more: Partial<Parameters<typeof issueComment>[0]> = {}): WebhookEvent =>
  issueComment({ number: PULL, body: '/agent go', ...more });

interface Fixture {
  readonly event?: WebhookEvent;
  readonly collaborators?: Readonly<Record<string, CollaboratorOptions>>;
  readonly on?: GitHubOptions['on'];
  readonly with?: Readonly<Record<string, string>>;
  /** Who re-runs it. */
  readonly by?: string | undefined;
  readonly isBuilt?: boolean;
}

/** Runs the action, which sends a message only if it should. */
async function expectVerdict(expected: Verdict, fixture: Fixture): Promise<void> {
  const { collaborators = { alice: collaborator('write') }, on } = fixture;
  const isRerun = 'by' in fixture;
  const github = isRerun ? { run_attempt: '2', triggering_actor: fixture.by } : {};
  await using sim = await simulate({
    // No comment says that a message was sent, so a re-run sends it if it has the permission.
    with: { command: '/agent', prompt: '', ...fixture.with },
    github: { issues: [{ number: PULL, pullRequest: true }], collaborators, ...(on && { on }) },
    step: { event: fixture.event ?? comment(), github },
  });
  const result = await (fixture.isBuilt ? sim.run() : sim.runHere());
  expect(result.outputs.result).toBe(expected);
  expect(result.conclusion).toBe(expected === 'error' ? 'failure' : 'success');
  // An earlier attempt may have sent what this one cannot check.
  const unsent = isRerun ? 'unknown' : 'not-sent';
  expect(result.outputs.delivery).toBe(expected === 'sent' ? 'sent' : unsent);
  if (expected === 'sent') {
    expect(sim.agent.posts()).toHaveLength(1);
  } else {
    expect(sim.agent.journal).toEqual([]);
    expect(new Set(callNames(sim.github))).not.toContain('POST issues/#/comments');
  }
}

describe('a comment is sent if its author has the permission, whatever GitHub calls the author', () => {
  const associations = ['NONE', 'FIRST_TIME_CONTRIBUTOR', 'OWNER'];
  it.each((['triage', 'write'] as const).map((level, row) => [level, row] as const))(
    '%s',
    async (level, row) => {
      const event = comment({ association: associations[row % 3] ?? '' });
      const collaborators = { alice: collaborator(level) };
      const expected = level === 'write' ? 'sent' : 'skipped';
      await expectVerdict(expected, { event, collaborators, isBuilt: true });
    },
  );
});

type Reply = ReturnType<NonNullable<GitHubOptions['on']>>;
const user = { id: ALICE.id, login: 'alice' };
const permits = (permissions: Json): Reply => ({
  body: { permission: 'read', role_name: 'docs', user: { ...user, permissions } },
});

describe('no clear answer of GitHub means no message', () => {
  it.each<[string, Reply, Verdict]>([
    ['403', { status: 403, body: { message: 'no' } }, 'error'],
    ['no response', { fault: 'hang' }, 'error'],
    ['404', { status: 404, body: { message: 'no' } }, 'skipped'],
    ['another user', { body: { user: { ...user, id: 5, permissions: { admin: true } } } }, 'error'],
    // Neither the role, which may be custom, nor the older field `permission` counts.
    ['only the role', { body: { permission: 'admin', role_name: 'admin', user } }, 'error'],
    ['permissions that allow it', permits({ pull: true, push: true }), 'sent'],
  ])('%s', async (_, reply, expected) => {
    const on = ({ path }: { path: string }) =>
      path.includes('/collaborators/') ? reply : undefined;
    await expectVerdict(expected, { on });
  });
});

/** The verdicts by default, with `minimum-permission: none`, and with `allowed-bots`. */
type Verdicts = readonly [standard: Verdict, none: Verdict, bots: Verdict];
const always = (verdict: Verdict): Verdicts => [verdict, verdict, verdict];
const SETTINGS = [
  {},
  { 'minimum-permission': 'none' },
  { 'allowed-bots': `dependabot[bot]\n  ${RENOVATE.login}` },
];
const labeled = event('issues', 'labeled', { issue: { number: PULL }, sender: RENOVATE });

describe('“minimum-permission: none” and “allowed-bots” let in no more than they say', () => {
  it.each<[string, Fixture, Verdicts]>([
    [
      'a comment by a stranger',
      { event: comment({ author: MALLORY }) },
      ['skipped', 'sent', 'skipped'],
    ],
    ['another ID', { event: comment({ author: { ...ALICE, id: 9 } }) }, ['error', 'sent', 'error']],
    ['a comment by a bot', { event: comment({ author: RENOVATE }) }, always('skipped')],
    [
      'an event by a bot',
      { event: labeled, with: { prompt: 'Go.' } },
      ['skipped', 'skipped', 'sent'],
    ],
    ['a re-run by a stranger', { by: 'mallory' }, ['skipped', 'sent', 'skipped']],
    ['a re-run by nobody', { by: undefined }, always('error')],
    ['a re-run by a bot', { by: RENOVATE.login }, ['skipped', 'skipped', 'sent']],
  ])('%s', async (_, fixture, verdicts) => {
    for (const [index, expected] of verdicts.entries()) {
      await expectVerdict(expected, { ...fixture, with: { ...SETTINGS[index], ...fixture.with } });
    }
  });
});
