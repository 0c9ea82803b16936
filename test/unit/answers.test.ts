import { describe, expect, it } from 'vitest';
import { readRecord, readRefusal } from '../../src/agent/job-record.ts';
import { isFinal } from '../../src/turn.ts';
import { record } from './record.ts';

const unchanged = (text: string): string => text;
const serverUrl = 'https://github.com';

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
  it('reads a complete record, and ignores unknown fields', () => {
    const read = readRecord(JSON.stringify({ ...FULL, extra: 1 }), unchanged, serverUrl);
    expect(read).toEqual({ kind: 'ok', value: { ...FULL, linkProblem: null } });
  });

  it('returns null for fields that are missing or have the wrong type', () => {
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
      expect(readRecord(JSON.stringify(body), unchanged, serverUrl)).toEqual({
        kind: 'ok',
        value: bare,
      });
    }
  });

  it('removes secrets, even if they are escaped', () => {
    const redact = (text: string): string => text.replaceAll('mint_key', '***');
    const body = '{"id":"job-1","model":"a mint\\u005fkey b"}';
    expect(readRecord(body, redact, serverUrl)).toMatchObject({
      value: { model: 'a *** b' },
    });
  });

  it('keeps an unknown status', () => {
    expect(readRecord('{"id":"job-1","status":"queued"}', unchanged, serverUrl)).toMatchObject({
      value: { status: 'queued' },
    });
  });

  it('ignores the names of prototypes', () => {
    const body =
      '{"id":"job-1","__proto__":{"status":"failed"},"constructor":{"prototype":{"x":1}}}';
    expect(readRecord(body, unchanged, serverUrl)).toMatchObject({ value: { status: null } });
    expect('x' in {}).toBe(false);
  });

  it('accepts brackets in strings, and many lists', () => {
    const body = JSON.stringify({
      ...FULL,
      x: '[{'.repeat(200),
      y: Array(200).fill([]),
      z: '\\"[',
    });
    expect(readRecord(body, unchanged, serverUrl).kind).toBe('ok');
  });

  it.each([
    ['', 'an empty body'],
    ['{"id":"jö', 'invalid JSON (10 bytes)'],
    ['[]', 'JSON that is not a job record'],
    ['null', 'JSON that is not a job record'],
    ['"x"', 'JSON that is not a job record'],
    ['7', 'JSON that is not a job record'],
    ['{}', 'JSON that is not a job record'],
    ['{"id":7}', 'JSON that is not a job record'],
    [`{"id":"job-1","x":${'['.repeat(100)}`, 'invalid JSON (118 bytes)'],
  ])('refuses %j', (body, why) => {
    expect(readRecord(body, unchanged, serverUrl)).toEqual({ kind: 'problem', problem: why });
  });
});

it.each([
  ['{"error":"no"}', 'no'],
  ['{"message":"no"}', 'no'],
  ['{"error":7}', ''],
  ['<html>', ''],
  ['null', ''],
])('readRefusal of %s returns "%s"', (body, error) => {
  expect(readRefusal(body, unchanged)).toEqual(error === '' ? [] : [error]);
});

it.each<[unknown, readonly string[]]>([
  [
    ['one', 'two'],
    ['one', 'two'],
  ],
  [[{ code: 'too_big', path: ['prompt'], message: 'is too long' }], ['prompt: is too long']],
  [[{ path: ['a', 0, 'b'], message: 'no' }], ['a.0.b: no']],
  [
    [{ path: 'prompt', message: 'no' }, { message: 'nor this' }],
    ['no', 'nor this'],
  ],
  [[{ field: 'prompt' }], []],
  [[7, null, ['x']], []],
  [{ prompt: ['is too long'] }, []],
  [null, []],
])('readRefusal with the details %j', (details, expected) => {
  for (const body of [
    { error: 'no', details },
    { message: 'no', details },
  ]) {
    const read = readRefusal(JSON.stringify(body), unchanged);
    expect(read).toEqual(['no', ...expected]);
  }
});

it('readRefusal removes secrets from each text', () => {
  const body = { error: 'a key', details: ['key', { path: ['key'], message: 'key' }] };
  const read = readRefusal(JSON.stringify(body), (text) => text.replaceAll('key', '***'));
  expect(read).toEqual(['a ***', '***', '***: ***']);
});

it.each([
  ['completed', true],
  ['failed', true],
  ['archived', true],
  ['active', false],
  ['COMPLETED', false],
  [null, false],
])('isFinal of %s is %s', (status, expected) => {
  expect(isFinal(status)).toBe(expected);
});
