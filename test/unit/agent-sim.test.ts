import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { type Agent, type PostReply, startAgent } from '../sim/agent.ts';
import { virtualTime } from '../sim/runner/process.ts';

const LINK = 'https://github.com/octo/agents/pull/7';

function jobUrl(agent: Agent, jobId = 'job_1'): string {
  return `${agent.url}/v2/agent/${agent.project}/job/${jobId}`;
}

function send(agent: Agent, body: unknown = { prompt: 'go on' }, jobId = 'job_1') {
  return fetch(`${jobUrl(agent, jobId)}/message`, {
    method: 'POST',
    headers: { authorization: `Bearer ${agent.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

function poll(agent: Agent, jobId = 'job_1') {
  return fetch(jobUrl(agent, jobId), { headers: { authorization: `Bearer ${agent.apiKey}` } });
}

async function readJob(agent: Agent, jobId?: string): Promise<unknown> {
  return (await poll(agent, jobId)).json();
}

function virtualClock() {
  let time = 0;
  return {
    now: () => time,
    pass(ms: number) {
      time += ms;
    },
  };
}

it('changes its jobs as scripted, by the clock', async () => {
  const clock = virtualClock();
  const turns = [
    {
      answer: { status: 'failed' },
      steps: [
        { afterMs: 20_000, set: { status: 'active', prLink: undefined } },
        { afterMs: 60_000, set: { status: 'completed', prLink: LINK } },
      ],
    },
    { steps: [{ afterMs: 0, set: { status: 'queued' } }] },
  ];
  const jobs = [{ id: 'job_1', base: { model: 'opus' }, turns }, { id: 'job_2' }];
  await using agent = await startAgent({ jobs, clock, pathPrefix: '/gateway' });
  expect(agent.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/gateway$/);

  expect(await (await send(agent)).json()).toEqual({
    id: 'job_1',
    status: 'failed',
    source: { repository: 'https://github.com/octo/agents', ref: 'main' },
    model: 'opus',
    prLink: null,
    createdAt: '2026-01-05T09:00:00.000Z',
    archivedAt: null,
  });
  clock.pass(19_999);
  expect(await readJob(agent)).toMatchObject({ status: 'completed', prLink: null });
  clock.pass(1);
  expect(await readJob(agent)).toMatchObject({ status: 'active' });
  expect(await readJob(agent)).not.toHaveProperty('prLink');
  clock.pass(40_000);
  expect(await readJob(agent)).toMatchObject({ status: 'completed', prLink: LINK });

  for (const prompt of ['second', 'third']) {
    clock.pass(1000);
    expect(await (await send(agent, { prompt })).json()).toMatchObject({ status: 'queued' });
  }
  expect(await readJob(agent, 'job_2')).toMatchObject({ status: 'completed' });
  expect(agent.accepted()).toEqual([
    { jobId: 'job_1', prompt: 'go on', at: 0 },
    { jobId: 'job_1', prompt: 'second', at: 61_000 },
    { jobId: 'job_1', prompt: 'third', at: 62_000 },
  ]);
  expect(agent.accepted('job_2')).toEqual([]);
});

it('refuses what the API refuses, and accepts no such message', async () => {
  await using agent = await startAgent({ jobs: [{ id: 'job_1' }] });
  const url = jobUrl(agent);
  const authorization = `Bearer ${agent.apiKey}`;
  const json = { authorization, 'content-type': 'application/json' };
  const message = { method: 'POST', headers: json, body: '{"prompt":"go"}' };

  const refused: [number, Response][] = [
    [401, await fetch(url)],
    [401, await fetch(url, { headers: { authorization: 'Bearer mint_other' } })],
    [404, await poll(agent, 'job_2')],
    [404, await send(agent, { prompt: 'go' }, 'job_2')],
    [404, await fetch(url.replace(agent.project, 'other'), { headers: json })],
    [404, await fetch(url, message)],
    [404, await fetch(url, { ...message, method: 'PUT' })],
    [400, await send(agent, { prompt: '' })],
    [400, await send(agent, { prompt: ['go'] })],
    [400, await send(agent, null)],
    [400, await fetch(`${url}/message`, { ...message, headers: { authorization } })],
  ];
  for (const [status, response] of refused) {
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error: expect.any(String) });
  }
  expect(agent.accepted()).toEqual([]);
});

it('limits the messages per hour', async () => {
  const clock = virtualClock();
  const jobs = [{ id: 'job_1' }, { id: 'job_2' }];
  await using agent = await startAgent({ jobs, clock, hourlyLimit: 2 });
  const statuses: number[] = [];
  for (const jobId of ['job_1', 'job_2', 'job_1']) {
    statuses.push((await send(agent, { prompt: 'go' }, jobId)).status);
  }
  clock.pass(3_600_000);
  statuses.push((await send(agent)).status);
  expect(statuses).toEqual([200, 200, 429, 200]);
});

it.each<[string, PostReply, number | null, number]>([
  ['a refused message', { status: 503, headers: { 'retry-after': '1' } }, 503, 0],
  ['an error for an accepted message', { status: 500, accept: true }, 500, 1],
  ['a success', { status: 202, body: 'garbage' }, 202, 1],
  ['a success for a message that was not accepted', { status: 200, accept: false }, 200, 0],
  ['a reset connection', { fault: 'reset', accept: false }, null, 0],
  [
    'a connection that was reset after it accepted the message',
    { fault: 'reset', accept: true },
    null,
    1,
  ],
  [
    'a connection that was closed after it accepted the message',
    { fault: 'end', accept: true },
    null,
    1,
  ],
])('sends a scripted reply: %s', async (_, reply, status, accepted) => {
  const jobs = [{ id: 'job_1' }];
  await using agent = await startAgent({ jobs, onPost: (n) => (n === 1 ? reply : undefined) });
  const received = await send(agent).then(
    (response) => response.status,
    () => null,
  );
  expect(received).toBe(status);
  expect(agent.posts()).toMatchObject([{ status, body: '{"prompt":"go on"}' }]);
  expect(agent.accepted('job_1')).toHaveLength(accepted);
  expect(await readJob(agent)).toMatchObject({ status: accepted === 1 ? 'active' : 'completed' });

  expect((await send(agent)).status).toBe(200);
  expect(agent.accepted()).toHaveLength(accepted + 1);
});

it('truncates a response', async () => {
  const headers = { 'content-length': '1000', connection: 'close' };
  const jobs = [{ id: 'job_1' }];
  await using agent = await startAgent({ jobs, onGet: () => ({ headers, body: '{"id"' }) });
  await expect((await poll(agent)).text()).rejects.toThrow('terminated');
});

it('delays responses, and closes open connections when it stops', async () => {
  const delayed = Promise.withResolvers<undefined>();
  await using agent = await startAgent({
    jobs: [{ id: 'job_1' }],
    onGet: (n) => (n === 1 ? delayed.promise : { fault: 'hang' }),
  });
  const slow = poll(agent);
  await vi.waitFor(() => expect(agent.gets()).toMatchObject([{ status: null }]));
  const hung = poll(agent);
  hung.catch(() => {});
  await vi.waitFor(() => expect(agent.gets()).toHaveLength(2));
  delayed.resolve(undefined);
  expect((await slow).status).toBe(200);
  expect(agent.maxSockets).toBe(2);
  expect(new Set(agent.gets().map(({ socket }) => socket)).size).toBe(2);

  await agent[Symbol.asyncDispose]();
  await expect(hung).rejects.toThrow('fetch failed');
  await expect(poll(agent)).rejects.toThrow('fetch failed');
});

it('records only complete requests', async () => {
  await using agent = await startAgent({ jobs: [{ id: 'job_1' }] });
  const socket = connect(Number(new URL(agent.url).port), '127.0.0.1');
  await once(socket, 'connect');
  const path = new URL(`${jobUrl(agent)}/message`).pathname;
  socket.write(`POST ${path} HTTP/1.1\r\nHost: agent\r\nContent-Length: 100\r\n\r\n{"prompt":`);
  await sleep(20);
  socket.resetAndDestroy();
  await once(socket, 'close');
  await sleep(20);
  expect(agent.journal).toEqual([]);
  expect(agent.maxSockets).toBe(1);
});

it('records the bytes and headers of a request', async () => {
  await using agent = await startAgent({ jobs: [{ id: 'job_1' }], clock: { now: () => 42 } });
  await send(agent, { prompt: 'Grüße' });
  const [post] = agent.posts();
  const body = '{"prompt":"Grüße"}';
  expect(post).toMatchObject({ method: 'POST', body, at: 42, status: 200, socket: 1 });
  expect(post?.bodyBytes).toEqual(Buffer.from(body));
  expect(post?.headers).toMatchObject({ authorization: `Bearer ${agent.apiKey}` });
  expect(post?.rawHeaders).toContain(`Bearer ${agent.apiKey}`);
  expect(post?.path).toBe('/v2/agent/project_1/job/job_1/message');
});

it('ignores a hook that resolves after the end of the simulation', async () => {
  const time = virtualTime();
  const hook = Promise.withResolvers<undefined>();
  const agent = await startAgent({
    clock: time,
    jobs: [{ id: 'job_1' }],
    onGet: () => hook.promise,
  });
  const response = poll(agent).catch(() => 'lost');
  await vi.waitFor(() => expect(agent.gets()).toHaveLength(1));
  await agent[Symbol.asyncDispose]();
  time[Symbol.dispose]();
  hook.resolve(undefined);
  expect(await response).toBe('lost');
});
