import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PostReply } from '../sim/agent.ts';
import { event, issueComment, type Person, RENOVATE } from '../sim/events.ts';
import { selfSigned, startFaultServer } from '../sim/fault-server.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { JOB, PULL, type Scenario, simulate } from './scenario.ts';

const GUIDE = readFileSync(join(import.meta.dirname, '../../docs/troubleshooting.md'), 'utf8');
/** The messages that the guide explains. */
const TEXTS = [...GUIDE.matchAll(/^\| `(.+?)` \|/gm)].map(([, text = '']) => text);

const MALLORY: Person = { login: 'mallory', id: 1002, type: 'User' };
const COMMAND = { number: PULL, body: '/agent go on' };
const RERUN: Scenario['step'] = { github: { run_attempt: '2' } };

async function run(scenario: Scenario): Promise<StepResult> {
  await using sim = await simulate(scenario);
  return await sim.runHere();
}

/** Answers of the API after the first poll. */
const onPost = (answer: PostReply): Scenario => ({
  agent: { jobs: [{ id: JOB }], onPost: () => answer },
});
const AT_WORK = { jobs: [{ id: JOB, base: { status: 'active' } }] };
const BY_COMMENT: Scenario = {
  with: { 'job-id': '', command: '/agent' },
  step: { event: issueComment(COMMAND) },
};

/** A run that causes each message, by the beginning of the message. */
const CAUSES: Readonly<Record<string, () => Promise<StepResult>>> = {
  'No comment of this action': () => run(BY_COMMENT),
  'Set “job-id” to one': async () => {
    await using sim = await simulate({ agent: { jobs: [{ id: JOB }, { id: 'job-2' }] } });
    await sim.runHere();
    await sim.runHere({ with: { 'job-id': 'job-2' }, step: { github: { run_id: '2' } } });
    return await sim.runHere({
      ...BY_COMMENT,
      step: { ...BY_COMMENT.step, github: { run_id: '3' } },
    });
  },
  'api-key is empty': () => run({ with: { 'api-key': '' } }),
  'The API key is expired': () => run(onPost({ status: 401 })),
  'The API key may lack the write scope': () =>
    run(onPost({ status: 403, body: { error: 'No.' } })),
  'The API requires credits': () => run(onPost({ status: 402 })),
  'Something before the API': () => run(onPost({ status: 403, body: 'error code: 1010' })),
  'but not as the API does': () => run(onPost({ status: 404, body: '<html>Not found</html>' })),
  'The project has no such job': () => run({ with: { 'job-id': 'job-2' } }),
  'The API accepts 100 messages': () =>
    run({ agent: { jobs: [{ id: JOB }], hourlyLimit: 0 }, with: { 'timeout-minutes': '1' } }),
  'The message may have arrived': () => run(onPost({ status: 502 })),
  'The message was not sent within': () =>
    run({ with: { 'when-active': 'wait', 'timeout-minutes': '0.2' }, agent: AT_WORK }),
  'The agent was not seen to be done': () =>
    run({ with: { wait: true, 'timeout-minutes': '0.2', 'when-active': 'send' }, agent: AT_WORK }),
  'The message was delivered': () =>
    run({
      with: { wait: true },
      agent: { jobs: [{ id: JOB }], onGet: (n) => (n <= 2 ? undefined : { status: 503 }) },
    }),
  'Result may be': () =>
    run({ with: { wait: true }, agent: { jobs: [{ id: JOB, turns: [{ steps: [] }] }] } }),
  'lacks the write permission': () =>
    run({
      with: { command: '/agent' },
      github: { collaborators: { mallory: { id: MALLORY.id, permission: 'read' } } },
      step: { event: issueComment({ ...COMMAND, author: MALLORY }) },
    }),
  'To allow it': () => run({ step: { event: event('issues', 'opened', { sender: RENOVATE }) } }),
  'The comment could not': () =>
    run({ github: { issues: [{ number: PULL, pullRequest: true }], readOnly: true } }),
  'It cannot tell whether': () =>
    run({
      github: { on: ({ path }) => (path === '/graphql' ? { status: 500 } : undefined) },
      step: RERUN,
    }),
  'the certificate is not trusted': async () => {
    await using server = await startFaultServer({ tls: await selfSigned() });
    return await run({ with: { 'base-url': server.origin } });
  },
};

describe('the troubleshooting guide', () => {
  it.concurrent.each(TEXTS)('quotes a message of the log or the summary: %s', async (text) => {
    const [, cause] = Object.entries(CAUSES).find(([start]) => text.startsWith(start)) ?? [];
    if (cause === undefined) throw new Error('CAUSES has no run for this message.');
    const { log, summary } = await cause();
    expect(`${log}\n${summary}`).toContain(text);
  });

  it('explains exactly the tested messages', () => {
    expect(TEXTS).toHaveLength(Object.keys(CAUSES).length);
    console.info(`Tested the ${TEXTS.length} messages that the troubleshooting guide explains.`);
  });
});
