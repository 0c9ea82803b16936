import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { GitHub } from '../../../src/github/client.ts';
import { GitHubError } from '../../../src/github/errors.ts';
import { explain } from '../../../src/job/explain.ts';
import type { Inputs } from '../../../src/runner/inputs.ts';
import { authorize, isTrusted } from '../../../src/trigger/authorize.ts';
import { COMMENT_EVENTS } from '../../../src/trigger/trigger.ts';
import * as on from '../../sim/events.ts';
import { ALICE, COPILOT, type Person, RENOVATE, SHA, type WebhookEvent } from '../../sim/events.ts';

type Collaborator = Awaited<ReturnType<GitHub['collaborator']>>;

const MALLORY: Person = { login: 'mallory', id: 2002, type: 'User' };

/** A client of GitHub that only answers which permission a login has. */
function github(collaborator: (login: string) => Promise<Collaborator>): GitHub {
  return { collaborator } as GitHub;
}

const create = (refType: string, ref: string, sender: Person): WebhookEvent =>
  on.event('create', undefined, { ref, ref_type: refType, sender });

/** All events that GitHub's workflow parser accepts in `on:`. */
const GRAMMAR = '../../../node_modules/@actions/workflow-parser/dist/workflow-v1.0.min.json';
const { definitions } = JSON.parse(readFileSync(join(import.meta.dirname, GRAMMAR), 'utf8'));
const IN_WORKFLOWS = Object.keys(definitions['on-mapping-strict'].mapping.properties);
/** Events that the parser does not know, and names that are not events. */
const OTHERS = ['commit_comment', 'star', 'moon_phase', 'Push', 'PUSH', 'push ', ' push', 'push\n'];
const HOSTILE = ['', 'constructor', '__proto__', 'toString', 'hasOwnProperty'];
/** Those that people without push access cannot start, as in docs/permissions.md. */
const TRUSTED =
  'push schedule workflow_dispatch repository_dispatch merge_group release create delete';

it.each([...IN_WORKFLOWS, ...OTHERS, ...HOSTILE])(
  'every event but those that need push access or a clock is checked %j',
  async (name) => {
    const trusted = TRUSTED.split(' ').includes(name);
    // A comment without its author, or a check without its commit, is no trigger.
    const body = { number: 7, user: { id: MALLORY.id }, id: 1, head_sha: SHA };
    const parts = COMMENT_EVENTS.has(name)
      ? { issue: body, comment: body, review: body }
      : { workflow_run: body, check_run: body };
    for (const sender of [MALLORY, RENOVATE]) {
      const trigger = on.triggerOf({ name, payload: { action: 'created', ...parts, sender } });
      const asked: string[] = [];
      const client = github(async (login) => {
        asked.push(login);
        return null;
      });
      const access = { minimumPermission: 'write', allowedBots: new Set<string>() } as const;
      const info = { attempt: 1, triggeringActor: '' };
      const refusal = await authorize({ trigger, info, inputs: access, github: client });
      expect(refusal?.code).toBe(trusted ? undefined : 'not-allowed');
      expect(asked).toEqual(trusted || sender === RENOVATE ? [] : [MALLORY.login]);
    }
  },
);

const branch = { ref: 'refs/heads/agent/fix' };

it.each<[string, WebhookEvent, boolean]>([
  ['a push to it by a bot', on.push({ ref: 'refs/heads/master', sender: RENOVATE }), true],
  ['a push to another branch', on.push(branch), true],
  ['a push to another branch by a bot', on.push({ ...branch, sender: RENOVATE }), false],
  ['a branch', create('branch', 'agent/fix', ALICE), true],
  ['a branch by a bot', create('branch', 'agent/fix', RENOVATE), false],
  ['a push by nobody', { name: 'push', payload: { ...branch, repository: {} } }, false],
])('isTrusted %s: %j', (_, given, expected) => {
  expect(isTrusted(on.triggerOf(given))).toBe(expected);
});

const IDS: Readonly<Record<string, number>> = { alice: ALICE.id, bob: 3 };
const writers = async (login: string): Promise<Collaborator> => {
  const id = IDS[login.toLowerCase()];
  return id === undefined ? null : { id, login, permission: 'write' };
};
interface Run {
  readonly event?: WebhookEvent;
  readonly attempt?: number;
  readonly by?: string;
  readonly access?: Partial<Inputs>;
  readonly collaborator?: (login: string) => Promise<Collaborator>;
}
const comment = on.issueComment({ number: 7, body: 'x' });
const issues = (sender: unknown): WebhookEvent => ({ name: 'issues', payload: { sender } });
const allowing = (...logins: string[]) => ({ allowedBots: new Set(logins) });
const noCheck = { minimumPermission: 'none' } as const;
const copilot = { event: issues(COPILOT), access: allowing('copilot') };
const renovate = { event: issues(RENOVATE), access: allowing('renovate[bot]') };
const named = (sender: Person): Run => ({
  event: issues({ ...sender, login: 'renovate' }),
  access: allowing('renovate'),
});
const renamed: Run = {
  ...{ attempt: 2, by: 'bob' },
  collaborator: async (login) =>
    login === 'bob' ? { id: 3, login: 'eve', permission: 'write' } : writers(login),
};

/** The authorization, and the logins whose permission was requested. */
async function authorizeRun(run: Run) {
  const { event: of = comment, attempt = 1, by = '', access = {}, collaborator = writers } = run;
  const requested: string[] = [];
  const client = github((login) => {
    requested.push(login);
    return collaborator(login);
  });
  const refusal = await authorize({
    trigger: on.triggerOf(of),
    info: { attempt, triggeringActor: by },
    inputs: { minimumPermission: 'write', allowedBots: new Set(), ...access },
    github: client,
  });
  const said = refusal === undefined ? '' : explain(refusal);
  return { code: refusal?.code, requested, said };
}

it.each<[string, Run, 'not-allowed' | 'unchecked' | undefined, readonly string[]]>([
  ['the login with another ID', { event: issues({ ...ALICE, id: 5 }) }, 'not-allowed', ['alice']],
  ['a bot, without a check', { event: issues(RENOVATE), access: noCheck }, 'not-allowed', []],
  ['it without its suffix', { ...renovate, access: allowing('renovate') }, undefined, []],
  ['a person of that name', named(MALLORY), 'not-allowed', ['renovate']],
  ['parts of a bot', { ...renovate, access: allowing('[bot]', 'ate[bot]') }, 'not-allowed', []],
  ['an organization', named({ ...RENOVATE, type: 'Organization' }), 'not-allowed', []],
  ['an ID that is a text', { event: issues({ ...ALICE, id: '1001' }) }, 'unchecked', []],
  ['a re-run by a writer', { attempt: 2, by: 'bob' }, undefined, ['alice', 'bob']],
  ['a re-run by a login that has a new owner', renamed, 'not-allowed', ['alice', 'bob']],
  ['a re-run by the author', { attempt: 2, by: 'ALICE' }, undefined, ['alice']],
  ['a re-run by nobody', { attempt: 2 }, 'unchecked', []],
  ['a re-run by a bot', { attempt: 2, by: 'renovate[bot]', access: noCheck }, 'not-allowed', []],
  ['a re-run by a bot of one word', { ...copilot, attempt: 2, by: 'copilot' }, undefined, []],
  ['a trusted event, re-run by nobody', { event: on.schedule(), attempt: 2 }, undefined, []],
])('authorize decides about %s', async (_, run, code, requested) => {
  expect(await authorizeRun(run)).toMatchObject({ code, requested });
});

const failing = (status: number, words = 'No'): Run => ({
  collaborator: () => Promise.reject(new GitHubError(status, words)),
});
const PUSH = 'Must have push access to view collaborator';
const unknown = 'The permission of “alice” cannot be checked: No. ';
it.each<[string, Run, string]>([
  ['a stranger', { event: issues(MALLORY) }, '“mallory” lacks the write permission on this rep'],
  ['an event', { event: issues(MALLORY) }, 'On the event “issues”, this is checked because'],
  ['an error', failing(401), `${unknown}Check “github-token”`],
  ['a token that may not ask', failing(403, PUSH), `${PUSH}. Check “github-token”`],
  ['a rate limit', failing(429), `${unknown}This is a rate limit of GitHub`],
])('authorize explains what to do about %s', async (_, run, words) => {
  expect((await authorizeRun(run)).said).toContain(words);
});

it.each<[string, Run]>([
  ['a bot', { event: issues(RENOVATE) }],
  ['a commenter', { event: on.issueComment({ number: 7, body: 'x', author: MALLORY }) }],
])('authorize does not explain why %s is checked', async (_, run) => {
  const { code, said } = await authorizeRun(run);
  expect([code, said.includes('On the event')]).toEqual(['not-allowed', false]);
});
