import { describe, expect, it } from 'vitest';
import {
  countLabels,
  inWords,
  type Label,
  labelOf,
  labelOfEarlier,
  labelOfStatus,
  WORDS,
} from '../../src/labels.ts';
import type { Turn, TurnResult } from '../../src/turn.ts';
import { turn } from './record.ts';

function toText({ icon, title, detail }: Label): string {
  return `${icon} ${title}${detail === '' ? '' : `: ${detail}`}`;
}

const open = { endedAt: null };
const IN_DOUBT = 'the message may or may not have been delivered';

describe('the label of a message', () => {
  it.each<[TurnResult, Partial<Turn>, string | null, string, string]>([
    ['sent', open, null, '⏳ Agent is working', 'working'],
    [
      'error',
      { ...open, delivery: 'sending' },
      null,
      '⏳ Sending the message to the agent',
      'sending',
    ],
    [
      'error',
      { ...open, delivery: 'unknown' },
      null,
      '⏳ Sending the message to the agent',
      'sending',
    ],
    ['completed', {}, null, '✅ Agent completed', 'completed'],
    [
      'completed',
      { prLinkChange: 'none' },
      null,
      '✅ Agent completed: no files changed',
      'completed, no files changed',
    ],
    [
      'completed',
      { prLinkChange: 'created' },
      null,
      '✅ Agent completed: pull request created',
      'completed, pull request created',
    ],
    [
      'completed',
      { prLinkChange: 'updated' },
      null,
      '✅ Agent completed: pull request updated',
      'completed, pull request updated',
    ],
    [
      'completed',
      { confirmed: false, prLinkChange: 'created' },
      null,
      '✅ Agent completed: unconfirmed',
      'completed, unconfirmed',
    ],
    ['failed', { confirmed: true }, null, '❌ Agent failed', 'failed'],
    [
      'failed',
      { confirmed: false },
      null,
      '❌ Agent failed: possibly on an earlier message',
      'failed, possibly on an earlier message',
    ],
    ['archived', {}, null, '🗄️ Agent job archived', 'archived'],
    [
      'timed-out',
      { delivery: 'not-sent' },
      'active',
      '⏱️ Wait timed out: message not sent',
      'timed out, message not sent',
    ],
    [
      'timed-out',
      {},
      'active',
      '⏱️ Wait timed out: the agent is still working',
      'timed out, the agent is still working',
    ],
    [
      'timed-out',
      {},
      null,
      '⏱️ Wait timed out: the agent may still be working',
      'timed out, the agent may still be working',
    ],
    ['timed-out', {}, 'completed', '⏱️ Wait timed out: not confirmed', 'timed out, not confirmed'],
    ['active', {}, null, '⏳ Agent is working', 'working'],
    ['sent', {}, null, '📨 Message sent to the agent', 'sent'],
    ['skipped', { delivery: 'not-sent' }, null, '⏭️ Message skipped', 'skipped'],
    [
      'cancelled',
      {},
      null,
      '⏹️ Run cancelled: stopped waiting, the agent keeps working',
      'cancelled, stopped waiting, the agent keeps working',
    ],
    [
      'cancelled',
      { delivery: 'not-sent' },
      null,
      '⏹️ Run cancelled: message not sent',
      'cancelled, message not sent',
    ],
    [
      'cancelled',
      { delivery: 'unknown' },
      null,
      `⏹️ Run cancelled: ${IN_DOUBT}`,
      `cancelled, ${IN_DOUBT}`,
    ],
    [
      'error',
      {},
      null,
      '⚠️ Result unknown: the job can no longer be polled',
      'unknown, the job can no longer be polled',
    ],
    ['error', { delivery: 'not-sent' }, null, '⚠️ Message not sent', 'not sent'],
    ['error', { delivery: 'sending' }, null, '⚠️ Message not sent', 'not sent'],
    [
      'error',
      { delivery: 'unknown' },
      null,
      `⚠️ Result unknown: ${IN_DOUBT}`,
      `unknown, ${IN_DOUBT}`,
    ],
  ])('%s, %j, %s: %s', (result, parts, status, heading, words) => {
    const label = labelOf(turn({ ...parts, result }), status);
    expect(toText(label)).toBe(heading);
    expect(inWords(label)).toBe(words);
  });
});

it.each<[TurnResult, string | null, string]>([
  ['error', null, '⚠️ Result unknown: the job could not be polled'],
  ['active', 'active', '⏳ Agent is working'],
  ['completed', 'completed', '✅ Agent completed'],
  ['timed-out', 'active', '⏱️ Wait timed out: the agent is still working'],
  ['cancelled', null, '⏹️ Run cancelled: stopped waiting, the agent keeps working'],
])('the label of a job that is only polled, %s, %s: %s', (result, status, heading) => {
  const polled = turn({ result, delivery: 'not-sent', prLinkChange: 'updated' });
  expect(toText(labelOf(polled, status, true))).toBe(heading);
});

it.each([
  ['active', 'working'],
  ['completed', 'completed'],
  ['archived', 'archived'],
  ['failed', 'failed'],
  ['paused', 'unknown'],
  [null, 'unknown'],
])('the label of a job without a message, with the status %s: %s', (status, word) => {
  expect(labelOfStatus(status).word).toBe(word);
});

it.each<[Partial<Turn>, string]>([
  [{ result: 'failed' }, 'failed'],
  [{ ...open, delivery: 'sent' }, 'sent'],
  [{ ...open, delivery: 'sending' }, 'unknown'],
  [{ ...open, delivery: 'unknown' }, 'unknown'],
])('the label of an earlier message, %j, says only what is known: %s', (parts, word) => {
  expect(labelOfEarlier(turn(parts)).word).toBe(word);
});

it('countLabels puts the labels that need attention first', () => {
  const labels = (['completed', 'failed', 'timed-out', 'completed'] as const).map((result) =>
    labelOf(turn({ result }), null),
  );
  expect(countLabels(labels)).toBe('1 failed, 1 timed out, 2 completed');
  expect(countLabels(labels, ' · ')).toBe('1 failed · 1 timed out · 2 completed');
  expect(Object.keys(WORDS).slice(0, 5)).toEqual([
    'failed',
    'unknown',
    'not-sent',
    'timed-out',
    'cancelled',
  ]);
});
