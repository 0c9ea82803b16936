import { describe, expect, it } from 'vitest';
import { isFinal, readRecord, readRefusal } from '../../src/agent/wire.ts';
import { record } from './record.ts';

const FULL = {
  id: 'job-1',
  status: 'completed',
  source: { repository: 'https://github.com/octo/agents', ref: 'main' },
  model: 'sonnet',
  prLink: 'https://github.com/octo/agents/pull/1',
  createdAt: '2026-11-21T12:00:00Z',
  archivedAt: null,
};

describe('readRecord', () => {
  it('reads a whole record, and ignores fields that it does not know', () => {
    const read = readRecord(JSON.stringify({ ...FULL, extra: 1 }), 'job-1');
    expect(read).toEqual({ kind: 'record', record: FULL });
  });

  it('takes missing and wrongly typed fields as absent', () => {
    const bare = record({ model: null, status: null });
    for (const body of [
      { id: 'job-1' },
      {
        id: 'job-1',
        status: 7,
        prLink: 1,
        model: {},
        source: 'x',
        createdAt: [],
        archivedAt: true,
      },
      { id: 'job-1', status: 'x'.repeat(4096), model: 'x'.repeat(5000) },
    ]) {
      expect(readRecord(JSON.stringify(body), 'job-1')).toEqual({ kind: 'record', record: bare });
    }
  });

  it('keeps an unknown status', () => {
    expect(readRecord('{"id":"job-1","status":"queued"}', 'job-1')).toMatchObject({
      record: { status: 'queued' },
    });
  });

  it('is not led astray by the names of prototypes', () => {
    const body =
      '{"id":"job-1","__proto__":{"status":"failed"},"constructor":{"prototype":{"x":1}}}';
    expect(readRecord(body, 'job-1')).toMatchObject({ record: { status: null } });
    expect('x' in {}).toBe(false);
  });

  it('knows another job', () => {
    expect(readRecord(JSON.stringify(FULL), 'job-2')).toEqual({ kind: 'other-job' });
  });

  it.each([
    ['', 'invalid JSON (0 bytes)'],
    ['{"id":"jö', 'invalid JSON (10 bytes)'],
    ['[]', 'JSON that is not a job record'],
    ['null', 'JSON that is not a job record'],
    ['"x"', 'JSON that is not a job record'],
    ['7', 'JSON that is not a job record'],
    ['{}', 'JSON that is not a job record'],
    ['{"id":7}', 'JSON that is not a job record'],
  ])('%j', (body, why) => {
    expect(readRecord(body, 'job-1')).toEqual({ kind: 'invalid', why });
  });
});

it.each([
  ['{"error":"no"}', 'no'],
  ['{"error":{"message":"no"}}', 'no'],
  ['{"message":"no"}', 'no'],
  ['{"error":7}', ''],
  ['<html>', ''],
  ['null', ''],
])('readRefusal %s', (body, expected) => {
  expect(readRefusal(body)).toBe(expected);
});

it.each([
  ['completed', true],
  ['failed', true],
  ['archived', true],
  ['active', false],
  ['COMPLETED', false],
  [null, false],
])('isFinal %s', (status, expected) => {
  expect(isFinal(status)).toBe(expected);
});
