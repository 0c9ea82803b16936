import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EMPTY, type Ledger } from '../../src/memory/ledger.ts';
import { composeText } from '../../src/memory/text.ts';
import { sentence } from '../../src/reason.ts';
import { newTurn } from '../../src/turn.ts';
import { describeMemory } from './memory.ts';

const STARTED_AT = Date.UTC(2026, 10, 21, 19, 32);
const TURN = newTurn({
  ...{ origin: 'comment:3000000001', leg: '', mark: 'k3v9', runId: '42', attempt: 1 },
  ...{
    by: 'octocat',
    prompt: 'Add a guide — “quickly”.',
    promptHash: '5e1f',
    startedAt: STARTED_AT,
  },
});
const LEDGER: Ledger = {
  jobs: [
    {
      id: 'job_8f41c2',
      record: { status: 'active', model: 'opus', source: null, prLink: null },
      turns: [
        { ...TURN, delivery: 'sent', sentAt: STARTED_AT + 1500, writes: 2 },
        {
          ...{ ...TURN, mark: 'm2', delivery: 'not-sent' as const },
          ...{
            result: 'error' as const,
            reason: sentence`Nothing was sent to ${'j'}.`,
            endedAt: STARTED_AT,
          },
        },
      ],
    },
  ],
  trimmed: '41',
};

function comment(ledger: Ledger): string {
  return composeText('project_1', ledger, () => '### Agent job');
}

it('prints the data of a comment, as docs/memory.md describes', () => {
  const script = join(import.meta.dirname, 'memory.ts');
  const printed = execFileSync(process.execPath, [script], { input: comment(LEDGER) });
  const { jobs, newestDroppedRun } = JSON.parse(printed.toString());
  expect(newestDroppedRun).toBe('41');
  expect(jobs).toMatchObject([
    {
      id: 'job_8f41c2',
      record: { status: 'active', model: 'opus', source: null, prLink: null },
      turns: [
        {
          ...{ origin: 'comment:3000000001', mark: 'k3v9', by: 'octocat', runId: '42', writes: 2 },
          prompt: 'Add a guide — “quickly”.',
          delivery: 'sent',
          result: null,
          startedAt: '2026-11-21T19:32:00.000Z',
          sentAt: '2026-11-21T19:32:01.500Z',
          endedAt: null,
        },
        { delivery: 'not-sent', result: 'error', reason: 'Nothing was sent to j.' },
      ],
    },
  ]);
});

it.each([
  ['a comment without its data', comment(LEDGER).split('\n').slice(0, -1).join('\n'), /edited/],
  [
    'a comment by a later version',
    comment(LEDGER).replace('data 1 ', 'data 2 '),
    /another version/,
  ],
  ['a comment by someone else', 'Thanks!', /not a comment of the action/],
  ['no comment', '', /not a comment of the action/],
])('explains why it cannot read %s', (_, body, why) => {
  expect(() => describeMemory(body)).toThrow(why);
});

it('reads a comment that was saved on GitHub’s page with other line ends', () => {
  const body = `${comment(EMPTY).replaceAll('\n', '\r\n')}\r\n`;
  expect(JSON.parse(describeMemory(body))).toEqual({ jobs: [], newestDroppedRun: null });
});
