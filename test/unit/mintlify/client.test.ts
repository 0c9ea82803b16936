import { expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { NEW_JOB } from '../../../src/job/job.ts';
import { getJob, postMessage, readRecord } from '../../../src/mintlify/client.ts';
import { type AgentContext, createTransport } from '../../../src/mintlify/transport.ts';
import { ok } from '../../../src/value-or-problem.ts';
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

const redact = (text: string): string => text.replaceAll('s3cret', '***');
const REPOSITORY = 'https://github.com/octo/agents';
const FULL = { id: 'job-1', status: 'completed', prLink: `${REPOSITORY}/pull/1` };

function read(body: string, hide = redact) {
  return readRecord(ok(body), { redact: hide, repositoryUrl: REPOSITORY });
}

it.each<[string, object, object]>([
  ['reads every field, and no other', { ...FULL, extra: 1 }, { ...FULL, prNumber: 1 }],
  ['leaves out a status of another type', { id: 'a', status: 7 }, { id: 'a' }],
  ['leaves out an invisible status', { id: 'a', status: ' \u200b\n' }, { id: 'a' }],
  ...[
    [' needs\n input ', 'needs input'],
    ['x'.repeat(300), `${'x'.repeat(199)}…`],
    ['Completed\n', 'completed'],
    ['Failed\u200b', 'failed'],
  ].map(([status, shown]): [string, object, object] => [
    `reads the status ${JSON.stringify(status)}`,
    { id: 'a', status },
    { id: 'a', status: shown },
  ]),
  ['takes "" for no link', { id: 'a', prLink: '' }, { id: 'a', prLink: null, prNumber: null }],
  ...[
    ['http://b.example/o/r/pull/1', 'it is not a plain https link'],
    [{ toString: 1 }, 'it is not a URL'],
  ].map(([prLink, linkProblem]): [string, object, object] => [
    `says why a link is left out: ${linkProblem}`,
    { id: 'a', prLink },
    { id: 'a', linkProblem },
  ]),
  ['removes secrets', { id: 'a', status: 's3cret' }, { id: 'a', status: '***' }],
])('readRecord %s', (_, body, value) => {
  expect(read(JSON.stringify(body))).toEqual({ kind: 'ok', value });
});

it('readRecord removes secrets that are escaped, but keeps the words of the API', () => {
  const hide = (text: string): string => text.replaceAll('active', '***');
  const readStatus = (status: string) => read(`{"id":"a","status":"${status}"}`, hide);
  expect(readStatus('active')).toMatchObject({ value: { status: 'active' } });
  expect(readStatus('in\\u0061ctive')).toMatchObject({ value: { status: 'in***' } });
});

const NO_RECORD = 'JSON that is not a job record';
it.each([
  ['', 'an empty body'],
  ['{"id":"jö', 'invalid JSON (10 bytes)'],
  [`{"id":"a","x":${'['.repeat(1e6)}`, 'invalid JSON (1000014 bytes)'],
  ['null', NO_RECORD],
  ['{"id":7}', NO_RECORD],
  ['{"error":"No s3cret job."}', `${NO_RECORD}: “No *** job.”`],
])('readRecord refuses %.20j', (body, problem) => {
  expect(read(body)).toEqual({ kind: 'problem', problem });
});

function contextOf(origin: string): AgentContext {
  return {
    ...recordingRuntime({ redact }).runtime,
    transport: openTransport(origin),
    ...{ baseUrl: new URL(origin), projectId: 'project_1' },
    ...{ repositoryUrl: REPOSITORY, deadline: Number.POSITIVE_INFINITY },
  };
}

it('a poll asks for what no cache has kept, below a base URL with a path and a slash', async () => {
  await using server = await startFaultServer({ onRequest: () => answer(whole(200, {})) });
  await getJob(contextOf(`${server.origin}/gateway/v0/`), 'job-1');
  const path = `/gateway/v0${SERVICE.poll('project_1', 'job-1')}`;
  expect(server.journal).toMatchObject([{ path, headers: { 'cache-control': 'no-cache' } }]);
});

it.each<[object | string, string]>([
  [{ id: 'JOB-1' }, 'the record of another job; check the job ID.'],
  [{ error: 'No.' }, 'JSON that is not a job record: “No.”; check the job ID'],
])('a poll that returns %j says so', async (body, why) => {
  await using server = await startFaultServer({ onRequest: () => answer(whole(200, body)) });
  const polled = await getJob(contextOf(server.origin), 'job-1');
  expect(polled).toMatchObject({ kind: 'missed', why: expect.stringContaining(why) });
});

async function create(behaviour: Behaviour) {
  await using server = await startFaultServer({ onRequest: () => behaviour });
  const message = { jobId: NEW_JOB, prompt: 'Go.', failed: 0 };
  const sent = await postMessage(contextOf(server.origin), message);
  const path = SERVICE.create('project_1');
  expect(server.journal).toMatchObject([{ method: 'POST', path, body: '{"prompt":"Go."}' }]);
  return sent;
}

it.each([201, 200])('the ID in a response with %i names the created job', async (status) => {
  const record = { id: 'new-1', status: 'active' };
  const delivered = { kind: 'delivered', record, warning: '' };
  expect(await create(answer(whole(status, record)))).toEqual(delivered);
});

it.each<[string, Behaviour, string]>([
  ['no body', answer(whole(201, '')), '201 to the creation, but returned an empty body.'],
  ['a body without an ID', answer(whole(201, {})), 'returned JSON that is not a job record.'],
  ['an ID that is a path', answer(whole(200, { id: 'a/b' })), 'returned an ID that is not one.'],
  ['an ID with a secret', answer(whole(200, { id: 's3cret' })), 'an ID that is not one.'],
  ['502', answer(whole(502, {})), 'answered 502 when the job was to be created.'],
  ['no response', answer('', 'end'), 'was lost after the request was written: “other side'],
])('the creation of a job is in doubt after %s', async (_, behaviour, expected) => {
  const why = expect.stringContaining(expected);
  expect(await create(behaviour)).toEqual({ kind: 'doubtful', why });
});
