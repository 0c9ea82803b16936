import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type Agent, type AgentOptions, type PostReply, startAgent } from '../sim/agent.ts';

function start(options: Partial<AgentOptions> = {}): Promise<Agent> {
  return startAgent({ jobs: [{ id: 'job_1' }], ...options });
}

/** Without `body`, a poll. The headers of a message can be others. */
async function call(agent: Agent, body?: unknown, jobId = 'job_1', headers: object = {}) {
  const path = `${agent.url}/v2/agent/${agent.project}/job/${jobId}`;
  const authorization = `Bearer ${agent.apiKey}`;
  const message = {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
  const isPoll = body === undefined;
  const response = await (isPoll
    ? fetch(path, { headers: { authorization, ...headers } })
    : fetch(`${path}/message`, message));
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested here
  return { status: response.status, body: (await response.json()) as any };
}

function manualClock() {
  return {
    at: 0,
    now(): number {
      return this.at;
    },
  };
}

it.each<[number, string, unknown, string, object]>([
  [401, 'a poll with another key', undefined, 'job_1', { authorization: 'Bearer mint_other' }],
  [401, 'a message with another key', { prompt: 'go' }, 'job_1', { authorization: 'mint_other' }],
  [404, 'a poll of another job', undefined, 'job_2', {}],
  [404, 'a message to another job', { prompt: 'go' }, 'job_2', {}],
  [400, 'a message without text', { prompt: '' }, 'job_1', {}],
  [400, 'a message that is no text', { prompt: ['go'] }, 'job_1', {}],
  [400, 'no message', null, 'job_1', {}],
  [400, 'another type', { prompt: 'go' }, 'job_1', { 'content-type': 'text/plain' }],
])('answers %i to %s', async (status, _, body, jobId, headers) => {
  await using agent = await start();
  const refusal = { status, body: { error: expect.any(String) } };
  expect(await call(agent, body, jobId, headers)).toEqual(refusal);
  expect(agent.accepted()).toEqual([]);
});

it('limits the messages per hour', async () => {
  const clock = manualClock();
  const jobs = [{ id: 'job_1' }, { id: 'job_2' }];
  await using agent = await start({ jobs, clock, hourlyLimit: 2 });
  const send = async (id: string) => (await call(agent, { prompt: 'go' }, id)).status;
  expect([await send('job_1'), await send('job_2'), await send('job_1')]).toEqual([200, 200, 429]);
  clock.at = 3_600_000;
  expect(await send('job_1')).toBe(200);
});

it.each<[string, PostReply, number | null, number]>([
  ['a refusal', { status: 503, body: {} }, 503, 0],
  ['an error for an accepted message', { status: 500, body: {}, accept: true }, 500, 1],
  ['a success', { status: 202, body: {} }, 202, 1],
  ['a success for no message', { status: 200, body: {}, accept: false }, 200, 0],
  ['a reset connection', { fault: 'reset', accept: false }, null, 0],
  ['a connection that is closed after the message', { fault: 'end', accept: true }, null, 1],
])('sends a scripted reply: %s', async (_, reply, status, accepted) => {
  await using agent = await start({ onPost: (n) => (n === 1 ? reply : undefined) });
  const answer = await call(agent, { prompt: 'go on' }).catch(() => ({ status: null }));
  expect(answer.status).toBe(status);
  expect(agent.posts()).toMatchObject([{ status, body: '{"prompt":"go on"}' }]);
  expect(agent.accepted('job_1')).toHaveLength(accepted);
  expect((await call(agent)).body.status).toBe(accepted === 1 ? 'active' : 'completed');
  expect((await call(agent, { prompt: 'go on' })).status).toBe(200);
});

it('records complete requests only, with their headers', async () => {
  await using agent = await start({ clock: { now: () => 42 } });
  const socket = connect(Number(new URL(agent.url).port), '127.0.0.1');
  await once(socket, 'connect');
  const path = '/v2/agent/project_1/job/job_1/message';
  socket.write(`POST ${path} HTTP/1.1\r\nHost: agent\r\nContent-Length: 100\r\n\r\n{"prompt":`);
  await sleep(20);
  socket.resetAndDestroy();
  await call(agent, { prompt: 'Grüße' });
  const body = '{"prompt":"Grüße"}';
  expect(agent.journal).toMatchObject([{ method: 'POST', path, body, at: 42, status: 200 }]);
  const [post] = agent.posts();
  expect(post?.headers).toMatchObject({ authorization: `Bearer ${agent.apiKey}` });
});
