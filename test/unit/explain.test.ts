import { expect, it } from 'vitest';
import { explain } from '../../src/agent/explain.ts';
import type { Answer } from '../../src/agent/http.ts';
import { reasonToText } from '../../src/reason.ts';

type Subject = Parameters<typeof explain>[1];

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
const SUBJECT: Subject = {
  doing: 'send',
  where: 'agent.example',
  retryAt: null,
  isRetried: false,
  redact: (text) => text,
};
const LIMIT = 'The API accepts 100 messages per project and hour (100/h) from all senders together';

it.each<[string, Partial<Subject>, string]>([
  ['a message that is sent again', { isRetried: true }, `to the message. ${LIMIT}.`],
  ['a message that is given up', {}, `to the message. ${LIMIT}; try again later.`],
  [
    'a message that may come later',
    { retryAt: new Date(Date.UTC(2026, 10, 21, 12)) },
    `to the message. ${LIMIT}; try again after 2026-11-21T12:00:00Z (UTC).`,
  ],
  [
    'a poll',
    { doing: 'poll' },
    'when the job was polled. The API was polled too often; a longer poll-interval-seconds may help.',
  ],
])('a 429 to %s', (_, subject, words) => {
  const said = explain(REFUSAL, { ...SUBJECT, ...subject });
  expect(reasonToText(said)).toBe(`The API answered 429 ${words}`);
});
