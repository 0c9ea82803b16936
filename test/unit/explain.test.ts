import { expect, it } from 'vitest';
import { explain } from '../../src/agent/explain.ts';
import type { Answer } from '../../src/agent/http.ts';
import { systemClock } from '../../src/clock.ts';
import { reasonToText, sentence } from '../../src/reason.ts';

const REFUSAL: Answer = {
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
  ['a message that is sent again', 'send', true, [], `to the message. ${LIMIT}.`],
  ['a message that is given up', 'send', false, [], `to the message. ${LIMIT}; try again later.`],
  [
    'a message that may come later',
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
])('a 429 to %s', (_, doing, isRetried, retryAfter, words) => {
  const said = explain({ ...REFUSAL, retryAfter }, doing, isRetried, CONTEXT);
  expect(reasonToText(said)).toBe(`The API answered 429 ${words}`);
});
