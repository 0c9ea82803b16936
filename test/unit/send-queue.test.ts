import { expect, it } from 'vitest';
import { play } from '../model/run.ts';
import { ALL_WELL, type Fleet, type Part, WELL } from '../model/scenario.ts';

function part(id: string, parts: Partial<Part> = {}): Part {
  return {
    job: {
      id,
      earlier: { endsAt: 0, ends: 'completed', link: false },
      ...{ queueMs: 0, showsQueue: false, joins: false, workMs: 5000 },
      ...{ ends: 'completed', newLink: false },
    },
    ...{ posts: ALL_WELL, polls: ALL_WELL, isKnown: false, isReadOnly: false, earlier: null },
    note: 'noted',
    ...parts,
  };
}

it('after the rate limit is reached, jobs that have not started are not polled', async () => {
  const limit = { kind: 'status', status: 429, retryAfter: ['3600'], text: 'too many' } as const;
  const limited = part('a', { posts: { steps: [{ ...WELL, fault: limit }], forEver: true } });
  const fleet: Fleet = {
    order: { wait: true, timeoutMs: 600_000, settleMs: 0, pollIntervalMs: null },
    ...{ onlyWhen: null, startsAt: 0, cancel: { kind: 'never' }, jitter: [0], veto: false },
    ...{ announceMs: 0, isRerun: false, takesPlace: false, isTrusted: true },
    parts: [limited, ...['b', 'c', 'd', 'e', 'f'].map((id) => part(id))],
  };
  const { runs } = await play(fleet);
  expect(
    runs.map(({ result, service }) => [result.result, result.polls, service.posts.length]),
  ).toEqual([
    ['error', 1, 1],
    ...[1, 2, 3].map(() => ['completed', expect.any(Number), 1]),
    ...[4, 5].map(() => ['skipped', 0, 0]),
  ]);
  expect(runs.at(-1)?.result.reason).toMatch(
    /^Nothing was sent to job f, because the API accepts no more messages for now\. The message to job a was not accepted\. .*; try again after 2026-11-21T13:00:00Z \(UTC\)\.$/,
  );
});
