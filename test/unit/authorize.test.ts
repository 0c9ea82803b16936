import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import type { Collaborator, GitHub } from '../../src/github/api.ts';
import { authorize, getsNoSecrets, isTrusted } from '../../src/github/authorize.ts';
import { GitHubError } from '../../src/github/errors.ts';
import { readTrigger, type Trigger } from '../../src/github/event.ts';
import type { Inputs } from '../../src/inputs.ts';
import { ours, reasonToText, sentence } from '../../src/reason.ts';
import {
  ALICE,
  DEPENDABOT,
  issueComment,
  type Json,
  type Person,
  pullRequest,
  RENOVATE,
  type WebhookEvent,
  workflowRun,
} from '../sim/events.ts';

const MALLORY: Person = { login: 'mallory', id: 2002, type: 'User' };

function triggerOf({ name, payload }: WebhookEvent): Trigger {
  return readTrigger(name, Buffer.from(JSON.stringify(payload)));
}

/** The event with other parts in its payload. An undefined part is removed. */
function changed({ name, payload }: WebhookEvent, parts: Json): WebhookEvent {
  return { name, payload: { ...payload, ...parts } };
}

/** A client of GitHub that only answers which permission a login has. */
function github(collaborator: (login: string) => Promise<Collaborator | null>): GitHub {
  const never = (): never => {
    throw new Error('The test expects no such call.');
  };
  return {
    readComments: never,
    createComment: never,
    updateComment: never,
    deleteComment: never,
    react: never,
    removeReaction: never,
    collaborator,
  };
}
const IDS: Readonly<Record<string, number>> = { alice: ALICE.id, bob: 3 };
const writers = async (login: string): Promise<Collaborator | null> => {
  const id = IDS[login.toLowerCase()];
  return id === undefined ? null : { user: { id, login }, permission: 'write' };
};

describe('isTrusted', () => {
  const own = { sender: RENOVATE };
  const branch = pullRequest({ number: 7, ...own });
  const run = workflowRun({ startedBy: 'push' });
  const { pull_request, sender } = branch.payload;
  const { workflow_run } = run.payload;
  const headWith = (repo: unknown): Json => ({
    pull_request: { ...(pull_request as Json), head: { repo } },
  });
  const runWith = (parts: Json): Json => ({
    workflow_run: { ...(workflow_run as Json), ...parts },
  });

  const deploymentBy = (type: string): WebhookEvent => ({
    name: 'deployment_status',
    payload: { sender: { login: 'someone', id: 1, type } },
  });

  it.each<[string, WebhookEvent, boolean]>([
    ['a deployment by a person', deploymentBy('User'), true],
    ['a deployment by an app, which also deploys forks', deploymentBy('Bot'), false],
    ['a deployment without a sender', { name: 'deployment', payload: {} }, false],
    ['a pull request from a branch, opened by a bot', branch, true],
    [
      'a pull request to which a bot pushed',
      pullRequest({ number: 7, ...own, action: 'synchronize' }),
      true,
    ],
    [
      'a pull request that a bot labeled',
      pullRequest({ number: 7, ...own, action: 'labeled' }),
      false,
    ],
    [
      'a pull request that a bot reopened',
      pullRequest({ number: 7, ...own, action: 'reopened' }),
      false,
    ],
    ['a pull request event without an action', changed(branch, { action: undefined }), false],
    ['a pull request opened by a person', pullRequest({ number: 7 }), false],
    [
      'a pull request by a login of a person with the type Bot',
      changed(branch, { sender: { ...MALLORY, type: 'Bot' } }),
      false,
    ],
    [
      'a pull request by a login of a bot with the type User',
      changed(branch, { sender: { ...RENOVATE, type: 'User' } }),
      false,
    ],
    [
      'a pull request by a bot with the type in lower case',
      changed(branch, { sender: { ...RENOVATE, type: 'bot' } }),
      false,
    ],
    [
      'a pull request by an organization',
      changed(branch, { sender: { ...MALLORY, type: 'Organization' } }),
      false,
    ],
    ['a pull request without a sender', changed(branch, { sender: undefined }), false],
    [
      'a pull request with a sender that is a string',
      changed(branch, { sender: 'renovate[bot]' }),
      false,
    ],
    [
      'a pull request by a sender with a string as id',
      changed(branch, { sender: { ...RENOVATE, id: '1' } }),
      false,
    ],
    [
      'a pull request from a fork',
      pullRequest({ number: 7, ...own, fork: 'mallory/agents' }),
      false,
    ],
    ['a pull request from a deleted fork', pullRequest({ number: 7, ...own, fork: null }), false],
    ['a pull request without a head', changed(branch, { pull_request: { number: 7 } }), false],
    [
      'a pull request with null as head',
      changed(branch, { pull_request: { number: 7, head: null } }),
      false,
    ],
    [
      'a pull request with a string as id of the head',
      changed(branch, headWith({ id: '1' })),
      false,
    ],
    [
      'a pull request without the ids of the head and the repository',
      changed(branch, { ...headWith({}), repository: {} }),
      false,
    ],
    [
      'a pull request with null as repository of the head and of the event',
      changed(branch, { ...headWith(null), repository: null }),
      false,
    ],
    [
      'a pull request with a string as id of the repository',
      changed(branch, { repository: { id: '186853002' } }),
      false,
    ],
    [
      'the same pull request on pull_request_target',
      { name: 'pull_request_target', payload: branch.payload },
      false,
    ],
    [
      'the same pull request on an event with another name',
      { name: 'Pull_Request', payload: branch.payload },
      false,
    ],
    ['a run after a push', run, true],
    ['a run after a push, sent by anyone', changed(run, { sender: MALLORY }), true],
    ['a run after an event Push in upper case', workflowRun({ startedBy: 'Push' }), false],
    [
      'a run after a pull request, by a bot',
      workflowRun({ startedBy: 'pull_request', sender: RENOVATE }),
      false,
    ],
    ['a run after another run', workflowRun({ startedBy: 'workflow_run' }), false],
    [
      'a run after an event with the name of a JavaScript property',
      workflowRun({ startedBy: 'constructor' }),
      false,
    ],
    ['a run from a fork', workflowRun({ startedBy: 'push', fork: 'mallory/agents' }), false],
    ['a run from a deleted fork', workflowRun({ startedBy: 'push', fork: null }), false],
    [
      'a run with a string as id of the head repository',
      changed(run, runWith({ head_repository: { id: '1' } })),
      false,
    ],
    [
      'a run without a head repository',
      changed(run, runWith({ head_repository: undefined })),
      false,
    ],
    ['a run without an event', changed(run, runWith({ event: undefined })), false],
    ['a run after a list of events', changed(run, runWith({ event: ['push'] })), false],
    ['a run that is null', changed(run, { workflow_run: null }), false],
    [
      'a run with a broken list of pull requests',
      changed(run, runWith({ pull_requests: 'none' })),
      true,
    ],
    [
      'a workflow_run event with push outside of the run',
      { name: 'workflow_run', payload: { event: 'push', sender } },
      false,
    ],
  ])('decides about %s', (_, event, expected) => {
    expect(isTrusted(triggerOf(event))).toBe(expected);
  });

  it.each([
    '',
    'push ',
    ' push',
    'PUSH',
    'push\n',
    'constructor',
    '__proto__',
    'toString',
    'valueOf',
  ])('does not trust an event with the name %j', (event) => {
    expect(isTrusted(triggerOf({ name: event, payload: {} }))).toBe(false);
  });

  it.each([null, Buffer.from('{'), Buffer.from('[]'), Buffer.from('null')])(
    'does not trust an event with a broken file, except a push',
    (file) => {
      for (const event of ['pull_request', 'workflow_run', 'issues', 'issue_comment']) {
        expect(isTrusted(readTrigger(event, file))).toBe(false);
      }
      expect(isTrusted(readTrigger('push', file))).toBe(true);
    },
  );
});

describe('getsNoSecrets', () => {
  it.each<[string, WebhookEvent, boolean]>([
    ['a pull request from a fork', pullRequest({ number: 7, fork: 'mallory/agents' }), true],
    ['a pull request from a deleted fork', pullRequest({ number: 7, fork: null }), true],
    ['a pull request from a branch', pullRequest({ number: 7 }), false],
    ['a pull request from a branch, by a bot', pullRequest({ number: 7, sender: RENOVATE }), false],
    [
      'a pull request from a branch, by Dependabot',
      pullRequest({ number: 7, sender: DEPENDABOT }),
      true,
    ],
    [
      'a pull request from a branch, by a person with the login of Dependabot',
      pullRequest({ number: 7, sender: { ...DEPENDABOT, type: 'User' } }),
      false,
    ],
    [
      'a pull request of Dependabot that a person updated',
      pullRequest({ number: 7, author: DEPENDABOT, sender: ALICE }),
      false,
    ],
    [
      'a pull request from a fork, on pull_request_target',
      pullRequest({ number: 7, fork: null, target: true }),
      false,
    ],
    ['a comment', issueComment({ number: 7, body: 'x' }), false],
  ])('decides about %s', (_, event, expected) => {
    expect(getsNoSecrets(triggerOf(event))).toBe(expected);
  });
});

describe('authorize', () => {
  interface Run {
    readonly event?: WebhookEvent;
    readonly attempt?: number;
    readonly by?: string;
    readonly access?: Partial<Inputs>;
    readonly connect?: () => Promise<GitHub>;
  }
  const comment = issueComment({ number: 7, body: 'x' });

  /** The authorization, and the logins whose permission was requested. */
  async function authorizeRun({
    event = comment,
    attempt = 1,
    by = '',
    access = {},
    connect,
  }: Run) {
    const requested: string[] = [];
    const client = github((login) => {
      requested.push(login);
      return writers(login);
    });
    const authorization = await authorize(
      triggerOf(event),
      { attempt, triggeringActor: by },
      { minimumPermission: 'write', allowedBots: new Set(), ...access },
      connect ?? (async () => client),
    );
    return { ...authorization, requested };
  }
  async function reasonOf(run: Run): Promise<string> {
    return reasonToText((await authorizeRun(run)).reason);
  }
  const issues = (sender: unknown): WebhookEvent => ({ name: 'issues', payload: { sender } });
  const allowing = (...logins: string[]) => ({ allowedBots: new Set(logins) });
  const noCheck = { minimumPermission: 'none' } as const;

  it.each<[string, Run, 'allowed' | 'denied' | 'failed', readonly string[]]>([
    ['a person with write access', {}, 'allowed', ['alice']],
    ['a person without access', { event: issues(MALLORY) }, 'denied', ['mallory']],
    [
      'a person without access if minimum-permission is none',
      { event: issues(MALLORY), access: noCheck },
      'allowed',
      [],
    ],
    [
      'a person with the login, but not the id, of someone with write access',
      { event: issues({ ...ALICE, id: 5 }) },
      'failed',
      ['alice'],
    ],
    ['a bot', { event: issues(RENOVATE) }, 'denied', []],
    [
      'a bot if minimum-permission is none',
      { event: issues(RENOVATE), access: noCheck },
      'denied',
      [],
    ],
    [
      'a bot in allowed-bots',
      { event: issues(RENOVATE), access: allowing('renovate[bot]') },
      'allowed',
      [],
    ],
    [
      'a bot that is in allowed-bots in another case',
      { event: issues(RENOVATE), access: allowing('Renovate[bot]') },
      'denied',
      [],
    ],
    [
      'a bot that is in allowed-bots without its suffix',
      { event: issues(RENOVATE), access: allowing('renovate') },
      'denied',
      [],
    ],
    [
      'a bot if parts of its login are in allowed-bots',
      { event: issues(RENOVATE), access: allowing('[bot]', 'bot', 'ate[bot]') },
      'denied',
      [],
    ],
    [
      'a bot with the login of a person with write access',
      { event: issues({ ...ALICE, type: 'Bot' }) },
      'denied',
      [],
    ],
    [
      'a bot in allowed-bots without a suffix in its login',
      { event: issues({ login: 'Copilot', id: 9, type: 'Bot' }), access: allowing('Copilot') },
      'allowed',
      [],
    ],
    [
      'a person with the login of a bot in allowed-bots',
      { event: issues({ ...RENOVATE, type: 'User' }), access: allowing('renovate[bot]') },
      'denied',
      [],
    ],
    [
      'a person in allowed-bots',
      { event: issues(MALLORY), access: allowing('mallory') },
      'denied',
      ['mallory'],
    ],
    ['an organization', { event: issues({ ...ALICE, type: 'Organization' }) }, 'denied', []],
    ['an event without a sender', { event: issues(undefined) }, 'failed', []],
    [
      'an event without a sender if minimum-permission is none',
      { event: issues(null), access: noCheck },
      'failed',
      [],
    ],
    ['a sender without an id', { event: issues({ login: 'alice', type: 'User' }) }, 'failed', []],
    ['a sender with a string as id', { event: issues({ ...ALICE, id: '1001' }) }, 'failed', []],
    ['a sender without a type', { event: issues({ login: 'alice', id: 1001 }) }, 'failed', []],
    [
      'a re-run by another person with write access',
      { attempt: 2, by: 'bob' },
      'allowed',
      ['alice', 'bob'],
    ],
    [
      'a re-run by the same login in another case',
      { attempt: 2, by: 'ALICE' },
      'allowed',
      ['alice'],
    ],
    [
      'a re-run by a person without access',
      { attempt: 2, by: 'mallory' },
      'denied',
      ['alice', 'mallory'],
    ],
    ['a re-run without an actor', { attempt: 2 }, 'failed', []],
    [
      'a re-run without an actor if minimum-permission is none',
      { attempt: 2, access: noCheck },
      'failed',
      [],
    ],
    ['a re-run by a bot', { attempt: 2, by: 'renovate[bot]' }, 'denied', []],
    [
      'a re-run by a bot if minimum-permission is none',
      { attempt: 2, by: 'renovate[bot]', access: noCheck },
      'denied',
      [],
    ],
    [
      'a re-run by a bot in allowed-bots',
      { attempt: 2, by: 'renovate[bot]', access: allowing('renovate[bot]') },
      'allowed',
      ['alice'],
    ],
    [
      'a re-run by a person in allowed-bots',
      { attempt: 2, by: 'mallory', access: allowing('mallory') },
      'denied',
      ['alice', 'mallory'],
    ],
    [
      'a run of a bot in allowed-bots, re-run by a person without access',
      { event: issues(RENOVATE), attempt: 2, by: 'mallory', access: allowing('renovate[bot]') },
      'denied',
      ['mallory'],
    ],
    [
      'a run of a bot in allowed-bots, re-run by a person with the same login and write access',
      {
        event: issues({ login: 'bob', id: 9, type: 'Bot' }),
        attempt: 2,
        by: 'bob',
        access: allowing('bob'),
      },
      'allowed',
      ['bob'],
    ],
    [
      'a push, re-run without an actor',
      { event: { name: 'push', payload: {} }, attempt: 2 },
      'allowed',
      [],
    ],
  ])('decides about %s', async (_, run, kind, requested) => {
    expect(await authorizeRun(run)).toMatchObject({ kind, requested });
  });

  const other: Collaborator = { user: { id: 3, login: 'bob' }, permission: 'write' };
  it.each([
    ['the account is another one', async () => other, 'failed'],
    ['the account has the same login in another case', writers, 'allowed'],
    ['the person is not a collaborator', async () => null, 'denied'],
    ['the account was deleted', async () => ({ ...other, user: null }), 'denied'],
    [
      'GitHub returns an error',
      () => Promise.reject(new GitHubError(500, 'GitHub answered 500')),
      'failed',
    ],
    ['an unexpected error occurs', () => Promise.reject(new TypeError('x')), 'failed'],
  ] as const)('decides about the actor of a re-run if %s', async (_, collaborator, kind) => {
    const run = {
      event: issues(RENOVATE),
      access: allowing('renovate[bot]'),
      attempt: 2,
      by: 'Alice',
    };
    expect(await authorizeRun({ ...run, connect: async () => github(collaborator) })).toMatchObject(
      { kind },
    );
  });

  it.each([
    ['a GitHubError', new GitHubError(0, 'github-token is empty'), 'github-token is empty'],
    ['a string', 'whatever', 'an unexpected error'],
    ['another error', new TypeError('inner words'), 'an unexpected error'],
  ])('fails if it cannot connect to GitHub because of %s', async (_, thrown, why) => {
    expect(await authorizeRun({ connect: () => Promise.reject(thrown) })).toMatchObject({
      kind: 'failed',
      reason: sentence`The permission of ${'alice'} cannot be checked: ${ours(why)}.`,
    });
  });

  it.each<[string, Run, string]>([
    [
      'a person without access',
      { event: issues(MALLORY) },
      'mallory lacks the write permission on this repository (minimum-permission), or github-token cannot read it.',
    ],
    [
      'a bot',
      { event: issues(RENOVATE) },
      '"renovate[bot]" is a bot or app that is not in allowed-bots.',
    ],
  ])('explains on issues why it never sends for %s', async (_, run, words) => {
    expect(await reasonOf(run)).toBe(
      `${words} On the event issues, which people without write access can start, the action sends only for people with minimum-permission and bots in allowed-bots.`,
    );
  });

  it('only names the missing permission if a comment triggered the run', async () => {
    const event = issueComment({ number: 7, body: 'x', author: MALLORY });
    expect(await reasonOf({ event })).toMatch(/cannot read it\.$/);
  });

  it('names the event if it has no sender', async () => {
    expect(await reasonOf({ event: { name: 'moon\n::error::phase', payload: {} } })).toBe(
      'The event "moon ::error::phase" does not say who started it, so no permission can be checked. Use another event, such as workflow_dispatch or schedule.',
    );
  });
});

describe('with GitHub’s own examples of every event, authorize', () => {
  const definitions: readonly { readonly name: string; readonly examples: readonly Json[] }[] =
    createRequire(import.meta.url)('@octokit/webhooks-examples');
  const events = definitions.flatMap(({ name, examples }) =>
    examples.map((payload): WebhookEvent => ({ name, payload })),
  );

  it.each([
    MALLORY,
    RENOVATE,
    { ...MALLORY, type: 'Bot' },
    { ...RENOVATE, type: 'User' },
    undefined,
  ])('allows a sender such as %j on trusted events only', async (sender) => {
    let refused = 0;
    for (const event of events) {
      const trigger = triggerOf(changed(event, { sender }));
      const never = async (): Promise<GitHub> => github(async () => null);
      const access = { minimumPermission: 'triage', allowedBots: new Set<string>() } as const;
      const { kind } = await authorize(trigger, { attempt: 1, triggeringActor: '' }, access, never);
      expect([event.name, kind === 'allowed']).toEqual([event.name, isTrusted(trigger)]);
      if (kind !== 'allowed') refused += 1;
    }
    expect(refused).toBeGreaterThan(events.length / 2);
  });
});
