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

/** The event with other parts in its payload; undefined leaves one out. */
function changed({ name, payload }: WebhookEvent, parts: Json): WebhookEvent {
  return { name, payload: { ...payload, ...parts } };
}

/** GitHub, of which only this question is asked. */
function github(answer: (login: string) => Promise<Collaborator | null>): GitHub {
  const never = (): never => {
    throw new Error('nobody asked for that');
  };
  return {
    readComments: never,
    createComment: never,
    updateComment: never,
    deleteComment: never,
    react: never,
    removeReaction: never,
    collaborator: answer,
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
  const head = (repo: unknown): Json => ({
    pull_request: { ...(pull_request as Json), head: { repo } },
  });
  const ran = (parts: Json): Json => ({ workflow_run: { ...(workflow_run as Json), ...parts } });

  const deploymentBy = (type: string): WebhookEvent => ({
    name: 'deployment_status',
    payload: { sender: { login: 'someone', id: 1, type } },
  });

  it.each<[string, WebhookEvent, boolean]>([
    ['a deployment by a person', deploymentBy('User'), true],
    ['a deployment by an app, which also deploys forks', deploymentBy('Bot'), false],
    ['a deployment by nobody', { name: 'deployment', payload: {} }, false],
    ['a pull request of a branch by a bot', branch, true],
    ['to which a bot pushed', pullRequest({ number: 7, ...own, action: 'synchronize' }), true],
    ['that a bot labels', pullRequest({ number: 7, ...own, action: 'labeled' }), false],
    ['that a bot opens again', pullRequest({ number: 7, ...own, action: 'reopened' }), false],
    ['of which no action is told', changed(branch, { action: undefined }), false],
    ['the same by a person', pullRequest({ number: 7 }), false],
    [
      'by a person of the type Bot',
      changed(branch, { sender: { ...MALLORY, type: 'Bot' } }),
      false,
    ],
    [
      'by a bot of the type User',
      changed(branch, { sender: { ...RENOVATE, type: 'User' } }),
      false,
    ],
    ['by a type in another case', changed(branch, { sender: { ...RENOVATE, type: 'bot' } }), false],
    [
      'by an organization',
      changed(branch, { sender: { ...MALLORY, type: 'Organization' } }),
      false,
    ],
    ['without a sender', changed(branch, { sender: undefined }), false],
    ['with a sender that is a text', changed(branch, { sender: 'renovate[bot]' }), false],
    [
      'with a sender whose id is a text',
      changed(branch, { sender: { ...RENOVATE, id: '1' } }),
      false,
    ],
    ['of a fork', pullRequest({ number: 7, ...own, fork: 'mallory/agents' }), false],
    ['of a deleted fork', pullRequest({ number: 7, ...own, fork: null }), false],
    ['for which the event tells no head', changed(branch, { pull_request: { number: 7 } }), false],
    ['with a head of null', changed(branch, { pull_request: { number: 7, head: null } }), false],
    ['with a head whose id is a text', changed(branch, head({ id: '1' })), false],
    [
      'with a head whose id is missing, as that of the repository',
      changed(branch, { ...head({}), repository: {} }),
      false,
    ],
    ['with heads of null', changed(branch, { ...head(null), repository: null }), false],
    [
      'with a repository whose id is a text',
      changed(branch, { repository: { id: '186853002' } }),
      false,
    ],
    ['as pull_request_target', { name: 'pull_request_target', payload: branch.payload }, false],
    ['as an event of another name', { name: 'Pull_Request', payload: branch.payload }, false],
    ['a run after a push', run, true],
    ['a run after a push, whoever sent it', changed(run, { sender: MALLORY }), true],
    ['a run after a push in another case', workflowRun({ startedBy: 'Push' }), false],
    [
      'a run after a pull request, by a bot',
      workflowRun({ startedBy: 'pull_request', sender: RENOVATE }),
      false,
    ],
    ['a run after another run', workflowRun({ startedBy: 'workflow_run' }), false],
    ['a run after a prototype', workflowRun({ startedBy: 'constructor' }), false],
    ['a run of a fork', workflowRun({ startedBy: 'push', fork: 'mallory/agents' }), false],
    ['a run of a deleted fork', workflowRun({ startedBy: 'push', fork: null }), false],
    [
      'a run of a head whose id is a text',
      changed(run, ran({ head_repository: { id: '1' } })),
      false,
    ],
    ['a run without a head', changed(run, ran({ head_repository: undefined })), false],
    ['a run without an event', changed(run, ran({ event: undefined })), false],
    ['a run after a list of events', changed(run, ran({ event: ['push'] })), false],
    ['a run of which nothing is told', changed(run, { workflow_run: null }), false],
    ['a run whose lists are broken', changed(run, ran({ pull_requests: 'none' })), true],
    [
      'a push that names a run',
      { name: 'workflow_run', payload: { event: 'push', sender } },
      false,
    ],
  ])('%s: %j', (_, event, expected) => {
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
  ])('never an event of the name %j', (event) => {
    expect(isTrusted(triggerOf({ name: event, payload: {} }))).toBe(false);
  });

  it.each([null, Buffer.from('{'), Buffer.from('[]'), Buffer.from('null')])(
    'never by what a broken file might have said',
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
    ['of a fork', pullRequest({ number: 7, fork: 'mallory/agents' }), true],
    ['of a deleted fork', pullRequest({ number: 7, fork: null }), true],
    ['of a branch', pullRequest({ number: 7 }), false],
    ['of a branch by a bot', pullRequest({ number: 7, sender: RENOVATE }), false],
    ['of a branch by Dependabot', pullRequest({ number: 7, sender: DEPENDABOT }), true],
    [
      'of a branch by somebody with the login of Dependabot',
      pullRequest({ number: 7, sender: { ...DEPENDABOT, type: 'User' } }),
      false,
    ],
    [
      'of Dependabot that a person updated',
      pullRequest({ number: 7, author: DEPENDABOT, sender: ALICE }),
      false,
    ],
    [
      'of a fork, as pull_request_target',
      pullRequest({ number: 7, fork: null, target: true }),
      false,
    ],
    ['that is none', issueComment({ number: 7, body: 'x' }), false],
  ])('a pull request %s', (_, event, expected) => {
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

  /** What came of it, and whom GitHub was asked about. */
  async function judge({ event = comment, attempt = 1, by = '', access = {}, connect }: Run) {
    const asked: string[] = [];
    const client = github((login) => {
      asked.push(login);
      return writers(login);
    });
    const authorization = await authorize(
      triggerOf(event),
      { attempt, triggeringActor: by },
      { minimumPermission: 'write', allowedBots: new Set(), ...access },
      connect ?? (async () => client),
    );
    return { ...authorization, asked };
  }
  async function reasonOf(run: Run): Promise<string> {
    return reasonToText((await judge(run)).reason);
  }
  const issues = (sender: unknown): WebhookEvent => ({ name: 'issues', payload: { sender } });
  const named = (...logins: string[]) => ({ allowedBots: new Set(logins) });
  const nobody = { minimumPermission: 'none' } as const;

  it.each<[string, Run, 'allowed' | 'denied' | 'failed', readonly string[]]>([
    ['a writer', {}, 'allowed', ['alice']],
    ['a stranger', { event: issues(MALLORY) }, 'denied', ['mallory']],
    [
      'a stranger where nobody is asked for',
      { event: issues(MALLORY), access: nobody },
      'allowed',
      [],
    ],
    ['a writer by another id', { event: issues({ ...ALICE, id: 5 }) }, 'failed', ['alice']],
    ['a bot', { event: issues(RENOVATE) }, 'denied', []],
    ['a bot where nobody is asked for', { event: issues(RENOVATE), access: nobody }, 'denied', []],
    [
      'a bot that is named',
      { event: issues(RENOVATE), access: named('renovate[bot]') },
      'allowed',
      [],
    ],
    [
      'a bot that is named in another case',
      { event: issues(RENOVATE), access: named('Renovate[bot]') },
      'denied',
      [],
    ],
    [
      'a bot that is named without its suffix',
      { event: issues(RENOVATE), access: named('renovate') },
      'denied',
      [],
    ],
    [
      'a bot of which a part is named',
      { event: issues(RENOVATE), access: named('[bot]', 'bot', 'ate[bot]') },
      'denied',
      [],
    ],
    [
      'a bot with the login of a writer',
      { event: issues({ ...ALICE, type: 'Bot' }) },
      'denied',
      [],
    ],
    [
      'a bot without the suffix that is named',
      { event: issues({ login: 'Copilot', id: 9, type: 'Bot' }), access: named('Copilot') },
      'allowed',
      [],
    ],
    [
      'a person with the login of a named bot',
      { event: issues({ ...RENOVATE, type: 'User' }), access: named('renovate[bot]') },
      'denied',
      [],
    ],
    [
      'a person who is named',
      { event: issues(MALLORY), access: named('mallory') },
      'denied',
      ['mallory'],
    ],
    ['an organization', { event: issues({ ...ALICE, type: 'Organization' }) }, 'denied', []],
    ['nobody', { event: issues(undefined) }, 'failed', []],
    ['nobody where nobody is asked for', { event: issues(null), access: nobody }, 'failed', []],
    ['somebody without an id', { event: issues({ login: 'alice', type: 'User' }) }, 'failed', []],
    ['somebody whose id is a text', { event: issues({ ...ALICE, id: '1001' }) }, 'failed', []],
    ['somebody without a type', { event: issues({ login: 'alice', id: 1001 }) }, 'failed', []],
    ['re-run by a writer', { attempt: 2, by: 'bob' }, 'allowed', ['alice', 'bob']],
    ['re-run by the same', { attempt: 2, by: 'ALICE' }, 'allowed', ['alice']],
    ['re-run by a stranger', { attempt: 2, by: 'mallory' }, 'denied', ['alice', 'mallory']],
    ['re-run by nobody knows whom', { attempt: 2 }, 'failed', []],
    ['the same where nobody is asked for', { attempt: 2, access: nobody }, 'failed', []],
    ['re-run by a bot', { attempt: 2, by: 'renovate[bot]' }, 'denied', []],
    [
      're-run by a bot where nobody is asked for',
      { attempt: 2, by: 'renovate[bot]', access: nobody },
      'denied',
      [],
    ],
    [
      're-run by a bot that is named',
      { attempt: 2, by: 'renovate[bot]', access: named('renovate[bot]') },
      'allowed',
      ['alice'],
    ],
    [
      're-run by a person who is named',
      { attempt: 2, by: 'mallory', access: named('mallory') },
      'denied',
      ['alice', 'mallory'],
    ],
    [
      'of a bot that is named, re-run by a stranger',
      { event: issues(RENOVATE), attempt: 2, by: 'mallory', access: named('renovate[bot]') },
      'denied',
      ['mallory'],
    ],
    [
      'of a bot that bears the login of the writer who re-ran it',
      {
        event: issues({ login: 'bob', id: 9, type: 'Bot' }),
        attempt: 2,
        by: 'bob',
        access: named('bob'),
      },
      'allowed',
      ['bob'],
    ],
    [
      'a push, re-run by nobody knows whom',
      { event: { name: 'push', payload: {} }, attempt: 2 },
      'allowed',
      [],
    ],
  ])('%s', async (_, run, kind, asked) => {
    expect(await judge(run)).toMatchObject({ kind, asked });
  });

  const other: Collaborator = { user: { id: 3, login: 'bob' }, permission: 'write' };
  it.each([
    ['an answer about somebody else', async () => other, 'failed'],
    ['the same login in another case', writers, 'allowed'],
    ['no collaborator', async () => null, 'denied'],
    ['an account that is gone', async () => ({ ...other, user: null }), 'denied'],
    ['a refusal', () => Promise.reject(new GitHubError(500, 'GitHub answered 500')), 'failed'],
    ['an unexpected error', () => Promise.reject(new TypeError('x')), 'failed'],
  ] as const)('of a re-run, by its login: %s', async (_, answer, kind) => {
    const run = {
      event: issues(RENOVATE),
      access: named('renovate[bot]'),
      attempt: 2,
      by: 'Alice',
    };
    expect(await judge({ ...run, connect: async () => github(answer) })).toMatchObject({ kind });
  });

  it.each([
    ['of ours', new GitHubError(0, 'github-token is empty'), 'github-token is empty'],
    ['that is none', 'whatever', 'an unexpected error'],
    ['of another kind', new TypeError('inner words'), 'an unexpected error'],
  ])('fails where there is no way to GitHub, by an error %s', async (_, thrown, why) => {
    expect(await judge({ connect: () => Promise.reject(thrown) })).toMatchObject({
      kind: 'failed',
      reason: sentence`The permission of ${'alice'} cannot be checked: ${ours(why)}.`,
    });
  });

  it.each<[string, Run, string]>([
    [
      'a stranger',
      { event: issues(MALLORY) },
      'mallory lacks the write permission on this repository (minimum-permission), or github-token cannot read it.',
    ],
    [
      'a bot',
      { event: issues(RENOVATE) },
      '"renovate[bot]" is a bot or app that is not in allowed-bots.',
    ],
  ])('tells whoever set up the workflow why it never sends for %s', async (_, run, words) => {
    expect(await reasonOf(run)).toBe(
      `${words} On the event issues, which people without write access can start, the action sends only for people with minimum-permission and bots in allowed-bots.`,
    );
  });

  it('names only what is missing to a commenter', async () => {
    const event = issueComment({ number: 7, body: 'x', author: MALLORY });
    expect(await reasonOf({ event })).toMatch(/cannot read it\.$/);
  });

  it('says on which event nobody is named', async () => {
    expect(await reasonOf({ event: { name: 'moon\n::error::phase', payload: {} } })).toBe(
      'The event "moon ::error::phase" does not say who started it, so no permission can be checked. Use another event, such as workflow_dispatch or schedule.',
    );
  });
});

describe('GitHub’s own examples of every event, sent by anybody', () => {
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
  ])(
    'nothing about a stranger like %j is believed but on the events of the list',
    async (sender) => {
      let refused = 0;
      for (const event of events) {
        const trigger = triggerOf(changed(event, { sender }));
        const never = async (): Promise<GitHub> => github(async () => null);
        const access = { minimumPermission: 'triage', allowedBots: new Set<string>() } as const;
        const { kind } = await authorize(
          trigger,
          { attempt: 1, triggeringActor: '' },
          access,
          never,
        );
        expect([event.name, kind === 'allowed']).toEqual([event.name, isTrusted(trigger)]);
        if (kind !== 'allowed') refused += 1;
      }
      expect(refused).toBeGreaterThan(events.length / 2);
    },
  );
});
