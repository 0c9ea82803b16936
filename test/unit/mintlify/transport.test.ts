import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { NEW_JOB } from '../../../src/job/job.ts';
import { getJob, postMessage } from '../../../src/mintlify/client.ts';
import { type AgentContext, createTransport } from '../../../src/mintlify/transport.ts';
import { SERVICE } from '../../sim/agent.ts';
import { answer, type Behaviour, startFaultServer, whole } from '../../sim/fault-server.ts';
import { recordingRuntime } from '../recording-runtime.ts';

function openTransport(baseUrl: string) {
  return createTransport({
    baseUrl: new URL(baseUrl),
    apiKey: 'mint_key',
    proxy: { url: '', noProxy: '' },
    clock: systemClock,
    signal: new AbortController().signal,
    log: recordingRuntime().runtime.log,
  });
}

it.each(['/v2/../admin', '/v2/./job', '/v2/%2e%2e/admin', '/v2/a b'])(
  'does not request a path that a URL would rewrite: %s',
  async (path) => {
    const transport = openTransport('http://127.0.0.1:1/base/');
    const why = '“the URL parser would rewrite the path”';
    const refused = { kind: 'failure', written: false, why };
    expect(await transport.get(path)).toMatchObject(refused);
    expect(await transport.postOnce(path, {})).toMatchObject(refused);
  },
);

function contextOf(origin: string): AgentContext {
  return {
    ...recordingRuntime().runtime,
    transport: openTransport(origin),
    ...{ where: '“agent.example”', isDefaultUrl: true, projectId: 'project_1' },
    ...{ repositoryUrl: 'https://github.com/octo/agents', deadline: Number.POSITIVE_INFINITY },
  };
}

describe('a poll', () => {
  it('asks for what no cache has kept, below a base URL with a path and a slash', async () => {
    await using server = await startFaultServer({ onRequest: () => answer(whole(200, {})) });
    await getJob(contextOf(`${server.origin}/gateway/v0/`), 'job-1');
    const path = `/gateway/v0${SERVICE.poll('project_1', 'job-1')}`;
    expect(server.journal).toMatchObject([{ path, headers: { 'cache-control': 'no-cache' } }]);
  });

  it.each<[object | string, string]>([
    [{ id: 'job-2' }, 'the record of another job; check the job ID.'],
    [{ id: 'JOB-1' }, 'the record of another job; check the job ID.'],
    [{ error: 'No.' }, 'JSON that is not a job record: “No.”; check the job ID'],
  ])('that returns %j says so', async (body, why) => {
    await using server = await startFaultServer({ onRequest: () => answer(whole(200, body)) });
    const polled = await getJob(contextOf(server.origin), 'job-1');
    expect(polled).toMatchObject({ kind: 'missed', why: expect.stringContaining(why) });
  });
});

describe('the creation of a job', () => {
  async function create(behaviour: Behaviour) {
    await using server = await startFaultServer({ onRequest: () => behaviour });
    const sent = await postMessage(contextOf(server.origin), NEW_JOB, 'Go.', 0);
    expect(server.journal).toMatchObject([
      { method: 'POST', path: SERVICE.create('project_1'), body: '{"prompt":"Go."}' },
    ]);
    return sent;
  }

  it.each([201, 200])('is known by the ID in a response with %i', async (status) => {
    const record = { id: 'new-1', status: 'active' };
    const delivered = { kind: 'delivered', record, warning: '' };
    expect(await create(answer(whole(status, record)))).toEqual(delivered);
  });

  it.each<[string, Behaviour, string]>([
    ['no body', answer(whole(201, '')), 'created a job (201), but returned an empty body.'],
    ['a body without an ID', answer(whole(201, {})), 'returned JSON that is not a job record.'],
    ['an ID that is a path', answer(whole(200, { id: 'a/b' })), 'returned an ID that is not one.'],
    ['502', answer(whole(502, {})), 'answered 502 when the job was to be created.'],
    ['no response', answer('', 'end'), 'was lost after the request was written: “other side'],
  ])('is in doubt after %s', async (_, behaviour, expected) => {
    const why = expect.stringContaining(expected);
    expect(await create(behaviour)).toEqual({ kind: 'doubtful', why });
  });
});
