import { expect, it } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { systemClock } from '../../src/clock.ts';
import { connectGitHub, detailOf, neededFor, whyOf } from '../../src/github/api.ts';
import { virtualClock } from '../model/clock.ts';
import { type GitHub, startGitHub } from '../sim/github/server.ts';

const NUMBER = 7;

function connect(github: GitHub, clock: Clock = systemClock) {
  return connectGitHub({
    token: github.token,
    repository: github.repository,
    apiUrl: github.apiUrl,
    graphqlUrl: github.graphqlUrl,
    userAgent: 'test',
    env: {},
    clock,
    redact: (text) => text,
  });
}
function start(): Promise<GitHub> {
  return startGitHub({ issues: [{ number: NUMBER }] });
}

it('what is not there is null', async () => {
  await using github = await start();
  const client = await connect(github);
  const { id } = await client.createComment(NUMBER, 'x');
  expect(await client.readComment(id)).toMatchObject({ id, body: 'x' });
  await client.deleteComment(id);
  expect(await client.readComment(id)).toBeNull();
  expect(await client.updateComment(id, 'y')).toBeNull();
  expect(await client.collaborator('nobody')).toBeNull();
});

it('once the time for the end of a run is over, nothing more is asked', async () => {
  await using github = await start();
  const clock = virtualClock(0);
  const client = await connect(github, clock.seen);
  client.hurry(1000);
  await clock.drive(clock.sleep(1001, new AbortController().signal));
  await expect(client.createComment(NUMBER, 'x')).rejects.toThrow('the run was ending');
  await expect(client.readComment(1)).rejects.toThrow('the run was ending');
  expect(github.journal).toEqual([]);
});

const coded = (code: unknown, cause?: unknown): Error =>
  Object.assign(new Error('failed', { cause }), { code });

it.each<[unknown, string]>([
  [coded('ECONNREFUSED'), ' (ECONNREFUSED)'],
  [new Error('request', { cause: coded(500, coded('ENOTFOUND')) }), ' (ENOTFOUND)'],
  [
    coded('SELF_SIGNED_CERT_IN_CHAIN'),
    ' (SELF_SIGNED_CERT_IN_CHAIN); NODE_EXTRA_CA_CERTS must name its authority',
  ],
  [coded('::error::no'), ''],
  [new Error('no code'), ''],
  ['no error', ''],
])('the detail of %o is "%s"', (error, detail) => {
  expect(detailOf(error)).toBe(detail);
});

it('of what is no error of GitHub nothing is told, neither its words nor a remedy', () => {
  const error = new TypeError('inner words');
  expect([whyOf(error), neededFor(error)]).toEqual(['an unexpected error', '']);
});
