import { expect, it } from 'vitest';
import { explain } from '../../src/agent/explain.ts';
import type { Answer } from '../../src/agent/http.ts';
import { systemClock } from '../../src/clock.ts';
import { reasonToText, sentence } from '../../src/reason.ts';

const RATE_LIMITED: Answer = {
  kind: 'answer',
  status: 429,
  contentType: '',
  requestId: '',
  locationHost: '',
  retryAfter: [],
  date: '',
  body: { kind: 'ok', value: '' },
};
const CONTEXT = {
  where: sentence`${'agent.example'}`,
  clock: { ...systemClock, now: () => Date.UTC(2026, 10, 21, 11) },
  redact: (text: string) => text,
};
const LIMIT = 'The API accepts 100 messages per project and hour (100/h) from all senders together';

it.each<[string, 'send' | 'poll', boolean, readonly string[], string]>([
  ['a message that will be sent again', 'send', true, [], `to the message. ${LIMIT}.`],
  [
    'a message that will not be sent again',
    'send',
    false,
    [],
    `to the message. ${LIMIT}; try again later.`,
  ],
  [
    'a message with retry-after',
    'send',
    false,
    ['3600'],
    `to the message. ${LIMIT}; try again after 2026-11-21T12:00:00Z (UTC).`,
  ],
  [
    'a poll',
    'poll',
    false,
    [],
    'when the job was polled. The API was polled too often; a longer poll-interval-seconds may help.',
  ],
])('explain describes a 429 response to %s', (_, doing, isRetried, retryAfter, words) => {
  const reason = explain({ ...RATE_LIMITED, retryAfter }, doing, isRetried, CONTEXT);
  expect(reasonToText(reason)).toBe(`The API answered 429 ${words}`);
});
