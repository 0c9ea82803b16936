import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, encode } from '../../src/memory/data.ts';
import {
  copiesOf,
  EMPTY,
  type Ledger,
  type LedgerJob,
  toLedgerJob,
} from '../../src/memory/ledger.ts';
import { redactor } from '../../src/runner/secrets.ts';
import { DELIVERIES, newTurn, RESULTS, type Turn } from '../../src/turn.ts';
import { hostileText } from '../model/hostile.ts';
import { job, ledger, START, turn } from './record.ts';

const LINK = 'https://github.com/octo/agents/pull/7';

/** A turn in which every stored field differs from a new turn. */
const FULL: Turn = turn({
  ...{
    origin: 'review-comment:12',
    leg: '0a1b2c3d',
    mark: 'm',
    owner: 'o',
    ownerLeg: '9f',
    writes: 3,
  },
  ...{ by: 'alice', prompt: 'Go on.\n\u{1f680}', runId: '12345678901234567890', attempt: 7 },
  ...{ delivery: 'sent', result: 'failed', confirmed: false, prLinkChange: 'updated' },
  ...{
    reason: ['Job ', 'j', ' failed: ', 'no'],
    startedAt: START,
    sentAt: START + 1,
    endedAt: START + 2,
  },
  ...{ evidence: true, base: { status: 'completed', prLink: LINK, archivedAt: '2026-11-21' } },
});
const RECORD = {
  status: 'active',
  model: 'opus',
  source: { repository: 'octo/agents', ref: 'main' },
  prLink: LINK,
};

describe('decode returns what was encoded', () => {
  it.each<[string, Ledger]>([
    ['an empty ledger', EMPTY],
    ['the newest dropped run', { jobs: [], trimmed: '12345678901234567890' }],
    ['a job without a record and turns', ledger(job('job-1'))],
    ['a record', ledger({ ...job('job-1'), record: RECORD })],
    [
      'a record without known values',
      ledger({ ...job('a'), record: { status: null, model: null, source: null, prLink: null } }),
    ],
    [
      'a source without a ref',
      ledger({ ...job('a'), record: { ...RECORD, source: { repository: 'r', ref: null } } }),
    ],
    ['every field of a turn', ledger(job('job-1', FULL))],
    [
      'a turn with unknown values',
      ledger(job('a', turn({ by: null, base: null, sentAt: null, confirmed: null }))),
    ],
    [
      'a baseline without known values',
      ledger(job('a', turn({ base: { status: null, prLink: null, archivedAt: null } }))),
    ],
    [
      'a baseline with redacted values',
      ledger(job('a', turn({ base: { status: '***', prLink: '***', archivedAt: null } }))),
    ],
    [
      'empty texts',
      ledger(job('a', turn({ prompt: '', leg: '', origin: '', reason: [''], by: '' }))),
    ],
    [
      'names of JavaScript properties',
      ledger(
        job('__proto__', turn({ prompt: '__proto__', by: 'constructor', reason: ['toString'] })),
        job('constructor'),
      ),
    ],
    ['several jobs and turns', ledger(job('a', FULL, turn()), job('b'), job('c', turn()))],
  ])('%s', (_, original) => {
    expect(decode(encode(original))).toEqual(original);
  });

  it.each(['sending', ...DELIVERIES] as const)('the delivery %s', (delivery) => {
    const original = ledger(job('a', { ...FULL, delivery }));
    expect(decode(encode(original))).toEqual(original);
  });

  it.each(RESULTS)('the result %s', (result) => {
    const original = ledger(job('a', { ...FULL, result }));
    expect(decode(encode(original))).toEqual(original);
  });

  it.each(['created', 'updated', 'none', null] as const)('the change %s', (prLinkChange) => {
    const original = ledger(job('a', { ...FULL, prLinkChange }));
    expect(decode(encode(original))).toEqual(original);
  });

  it('except the result and reason of an open turn, and what only later polls need', () => {
    const open = { ...FULL, result: 'sent', reason: ['The run ended.'], endedAt: null } as const;
    const fromPolls = { wasFinal: true, finalSince: START + 5, seenAt: START + 6 };
    const [first] = decode(encode(ledger(job('a', { ...open, ...fromPolls })))).jobs;
    const { result, reason, wasFinal, finalSince, seenAt } = newTurn(FULL);
    expect(first?.turns).toEqual([
      { ...open, result, reason, ...{ wasFinal, finalSince, seenAt } },
    ]);
  });

  it('except fractions of milliseconds and times before the first turn started', () => {
    const original = turn({ startedAt: START + 0.4, sentAt: START + 1.6, endedAt: START - 5 });
    const [first] = decode(encode(ledger(job('a', original)))).jobs;
    expect(first?.turns).toEqual([
      { ...original, startedAt: START, sentAt: START + 2, endedAt: START },
    ]);
  });

  it.each([
    `${LINK}) [x](http://evil`,
    'https://github.com:x/o/r/pull/1',
    'https://code.example/o/r',
    'https://code.example/o/r/../../pull/1',
  ])('except a link that does not lead to a pull request: %s', (prLink) => {
    const original = ledger({ ...job('a'), record: { ...RECORD, prLink } });
    expect(decode(encode(original)).jobs[0]?.record?.prLink).toBeNull();
  });
});

describe('random ledgers', () => {
  const text = fc.option(hostileText);
  const time = fc.integer({ min: START, max: START + 1e12 });
  const stored = fc.record({
    ...{
      origin: hostileText,
      leg: hostileText,
      mark: hostileText,
      owner: hostileText,
      ownerLeg: hostileText,
    },
    ...{
      writes: fc.nat(),
      by: text,
      prompt: hostileText,
      promptHash: hostileText,
      runId: hostileText,
    },
    attempt: fc.integer({ min: 1, max: 1e9 }),
    delivery: fc.constantFrom('sending', ...DELIVERIES),
    result: fc.constantFrom(...RESULTS),
    confirmed: fc.option(fc.boolean()),
    prLinkChange: fc.option(fc.constantFrom('created', 'updated', 'none')),
    reason: fc.array(hostileText, { maxLength: 4 }),
    ...{ startedAt: time, sentAt: fc.option(time), endedAt: fc.option(time) },
    evidence: fc.boolean(),
    base: fc.option(fc.record({ status: text, prLink: text, archivedAt: text })),
  });
  const turns: fc.Arbitrary<readonly Turn[]> = fc.array(
    stored.map((one) => {
      const known = { ...newTurn(one), ...one };
      return one.endedAt === null ? { ...known, result: 'error', reason: [] } : known;
    }),
    { maxLength: 3 },
  );
  const record = fc.record({
    ...{ status: text, model: text },
    source: fc.option(fc.record({ repository: hostileText, ref: text })),
    prLink: fc.option(fc.constantFrom(LINK, 'https://a.example:8443/b/c/-/merge_requests/1')),
  });
  const ledgers: fc.Arbitrary<Ledger> = fc.record({
    jobs: fc.array(
      fc.record<LedgerJob>({
        id: fc.stringMatching(/^[\w\-~:@]{1,256}$/),
        record: fc.option(record),
        turns,
      }),
      { maxLength: 3 },
    ),
    trimmed: fc.option(fc.stringMatching(/^\d{1,20}$/)),
  });

  /**
   * The ledger as it is read back: no time is before the start of the first turn, each turn has one copy that
   * counts, and the newest turn is the first.
   */
  function normalize({ jobs, ...rest }: Ledger): Ledger {
    const united = jobs.map(({ id, record, turns }) => toLedgerJob(id, record, turns));
    const first = Math.min(...united.flatMap(copiesOf).map(({ startedAt }) => startedAt));
    const notBeforeFirst = (at: number | null): number | null => at && Math.max(at, first);
    const clamped = (own: Turn): Turn => ({
      ...own,
      ...{ sentAt: notBeforeFirst(own.sentAt), endedAt: notBeforeFirst(own.endedAt) },
    });
    return {
      ...rest,
      jobs: united.map((one) => toLedgerJob(one.id, one.record, copiesOf(one).map(clamped))),
    };
  }

  it('are read back, and can be stored in an HTML comment', () => {
    fc.assert(
      fc.property(ledgers.map(normalize), (original) => {
        const data = encode(original);
        expect(data).toMatch(/^[A-Za-z0-9+/]+={0,2}$/);
        expect(decode(data)).toEqual(original);
      }),
    );
  });
});

it('encode stores a text once, even if it occurs often', () => {
  const noise = Array.from({ length: 500 }, (_, n) => (n * 2_654_435_761).toString(36)).join('');
  const one = ledger(job('a', turn({ prompt: noise })));
  const many = ledger(
    ...Array.from({ length: 100 }, (_, n) => job(`job-${n}`, turn({ prompt: noise }))),
  );
  expect(encode(one).length).toBeGreaterThan(2000);
  expect(encode(many).length).toBeLessThan(encode(one).length + 2000);
});

it('500 jobs with ids of 36 characters and a prompt of 4,000 fill less than half of a comment', () => {
  const prompt = 'Please add error handling examples to each page. '.repeat(80).slice(0, 4000);
  const digits = (n: number): string =>
    ((BigInt(n) * 0x9e3779b97f4a7c15n) % 2n ** 128n).toString(16).padStart(32, '0');
  const jobs = Array.from({ length: 500 }, (_, n) => {
    const id = digits(n * 7919 + 1).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    const sentAt = START + 300 * n;
    const base = { status: 'completed', prLink: null, archivedAt: null };
    return job(id, turn({ ...{ prompt, base, sentAt }, endedAt: null, mark: 'kx81k2z' }));
  });
  expect(encode(ledger(...jobs)).length).toBeLessThan(32_000);
});

/** Sets a value in nested arrays, if the indexes lead to one. Indexes that are too large wrap around. */
function setAt(parts: unknown, path: readonly number[], value: unknown): void {
  let at = parts;
  for (const [step, index] of path.entries()) {
    if (!Array.isArray(at) || at.length === 0) return;
    const position = index % at.length;
    if (step === path.length - 1) at[position] = value;
    at = at[position];
  }
}

describe('decode', () => {
  const pack = (value: unknown): string =>
    deflateSync(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64');
  const TEXTS = ['origin', '', 'mark', 'owner', '1', 'alice', 'Go.', 'reason', 'completed'];
  // origin, leg, mark, owner, ownerLeg, writes, run, attempt, by, prompt, delivery, result, confirmed, change,
  // reason, started, sent, ended, evidence, base, promptHash
  const TURN = [0, 1, 2, 3, 1, 1, 4, 1, 5, 6, 2, 7, 1, 2, [7], 0, 10, 20, 1, [8, -1, -1], 6];
  const PARTS = [START, TEXTS, [['job-1', [8, -1, -1, -1, ''], [TURN]]], null];

  /** The same data with another value at the position that these indexes lead to. */
  function changed(path: readonly number[], value: unknown): string {
    const parts: unknown = structuredClone(PARTS);
    setAt(parts, path, value);
    return pack(parts);
  }
  const inRecord = (at: number, value: unknown) => changed([2, 0, 1, at], value);
  const inTurn = (at: number, value: unknown) => changed([2, 0, 2, 0, at], value);

  it('reads the unchanged data', () => {
    const read = decode(pack(PARTS));
    expect(read).toMatchObject({
      trimmed: null,
      jobs: [
        {
          ...{ id: 'job-1', record: { status: 'completed' } },
          turns: [
            {
              ...{ origin: 'origin', leg: '', mark: 'mark', owner: 'owner', by: 'alice' },
              ...{ delivery: 'sent', result: 'completed', confirmed: true, prLinkChange: 'none' },
              ...{ sentAt: START + 10, endedAt: START + 20, evidence: true },
            },
          ],
        },
      ],
    });
    expect(decode(encode(read))).toEqual(read);
  });

  it.each<[string, string]>([
    ['an empty text', ''],
    ['a text that is not base64', '*'.repeat(50)],
    ['truncated base64', pack(PARTS).slice(0, 40)],
    ['bytes that are not deflated', Buffer.from('hello').toString('base64')],
    ['the wrong form of deflate', deflateRawSync(JSON.stringify(PARTS)).toString('base64')],
    ['gzip', gzipSync(JSON.stringify(PARTS)).toString('base64')],
    ['a text that is not JSON', pack('hello')],
    ['truncated JSON', pack(JSON.stringify(PARTS).slice(0, -3))],
    ['an object', pack({ jobs: [], trimmed: null })],
    ['null', pack(null)],
    ['a number', pack(7)],
    ['an empty array', pack([])],
    ['an array without its last value', pack(PARTS.slice(0, 3))],
    ['an array with an extra value', pack([...PARTS, 1])],
    ['a million nested arrays', pack('['.repeat(1e6))],
    [
      'more data than a comment can contain',
      deflateSync(Buffer.alloc(9e6, 0x20)).toString('base64'),
    ],
    ['an epoch that is a string', changed([0], 'now')],
    ['a negative epoch', changed([0], -1)],
    ['an epoch beyond the range of dates', changed([0], 9e15)],
    ['texts that are numbers', changed([1], [1, 2])],
    ['an object instead of the array of texts', changed([1], { 0: 'origin', length: 9 })],
    ['a run that is not a number', changed([3], 'x')],
    ['a run that is a number instead of a string', changed([3], 7)],
    ['a run with too many digits', changed([3], '1'.repeat(21))],
    ['a job that is a string', changed([2, 0], 'job-1')],
    ...['../x', '..', '.', '', 'a/b', 'a b', 'a\n', 'x'.repeat(257), 7, null].map(
      (id): [string, string] => [
        `the id ${JSON.stringify(id)?.slice(0, 20)}`,
        changed([2, 0, 0], id),
      ],
    ),
    ['a record that is too short', changed([2, 0, 1], [0])],
    ['a status that is a string instead of an index', inRecord(0, 'completed')],
    ['a model with an index beyond the texts', inRecord(1, 9)],
    ['turns that are null', changed([2, 0, 2], null)],
    ['a turn that is too short', changed([2, 0, 2, 0], TURN.slice(1))],
    ['a turn that is too long', changed([2, 0, 2, 0], [...TURN, 0])],
    ['a turn without an origin', inTurn(0, -1)],
    ['an origin with an index beyond the texts', inTurn(0, 9)],
    ['an index below -1', inTurn(1, -2)],
    ['an index that is a fraction', inTurn(2, 0.5)],
    ['an index that is the name of a property', inTurn(2, 'length')],
    ['an index that is __proto__', inTurn(3, '__proto__')],
    ['an index that is null', inTurn(3, null)],
    ['a count that is a fraction', inTurn(5, 1.5)],
    ['a negative count', inTurn(5, -1)],
    ['an attempt that is 0', inTurn(7, 0)],
    ['an attempt that is not a safe integer', inTurn(7, 1e300)],
    ['a delivery below -1', inTurn(10, -7)],
    ['a delivery that is a string', inTurn(10, 'sent')],
    ['a time that is a string', inTurn(15, '2026')],
    ['a time before the epoch', inTurn(16, -2)],
    ['a time beyond the range of dates', inTurn(17, 9e15)],
    ['a baseline that is too short', inTurn(19, [8, -1])],
    ['a baseline with an index beyond the texts', inTurn(19, [8, -1, 77])],
    ['a baseline with a string instead of an index', inTurn(19, ['completed', null, null])],
  ])('refuses %s', (_, data) => {
    expect(() => decode(data)).toThrow();
  });

  it.each<[string, string, Partial<Turn>]>([
    ['an unknown delivery', inTurn(10, 99), { delivery: 'unknown' }],
    ['a missing delivery', inTurn(10, -1), { delivery: 'unknown' }],
    ['an unknown result', inTurn(11, 99), { result: 'error', endedAt: null }],
    ['an unknown value of confirmed', inTurn(12, 99), { confirmed: null }],
    ['an unknown change of the link', inTurn(13, 99), { prLinkChange: null }],
    ['a missing start', inTurn(15, -1), { startedAt: START }],
    ['an unknown value of evidence', inTurn(18, 99), { evidence: false }],
  ])('reads the weakest value instead of %s', (_, data, parts) => {
    expect(decode(data).jobs[0]?.turns[0]).toMatchObject(parts);
  });

  it('returns a ledger that can be written, or throws, for any changed data', () => {
    const leaf = fc.oneof(
      fc.integer({ min: -3, max: 12 }),
      fc.constantFrom(null, true, 1e300, -1e300, 0.5, 'x', '__proto__', '7', {}, []),
      fc.maxSafeInteger(),
    );
    const edits = fc.array(
      fc.tuple(fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 5 }), leaf),
      { minLength: 1, maxLength: 3 },
    );
    fc.assert(
      fc.property(edits, (all) => {
        const parts: unknown = structuredClone(PARTS);
        for (const [path, value] of all) setAt(parts, path, value);
        let read: Ledger;
        try {
          read = decode(pack(parts));
        } catch {
          return;
        }
        expect(decode(encode(read)).jobs.map(({ id }) => id)).toEqual(
          read.jobs.map(({ id }) => id),
        );
        for (const { startedAt, sentAt, endedAt } of read.jobs.flatMap(({ turns }) => turns)) {
          for (const time of [startedAt, sentAt, endedAt]) {
            if (time !== null) expect(new Date(time).toISOString()).toMatch(/^\d{4}-/);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('decode redacts what is now a secret', () => {
  const SECRET = 'mint_s3cret_7f3a9c';
  const redact = redactor([SECRET, 'completed', 'job-1', 'run:1']);
  const leaky = `a ${SECRET} b`;

  it('in every text by others', () => {
    const full: Ledger = ledger({
      id: 'job-1',
      record: {
        ...{ status: leaky, model: leaky, prLink: `https://x.example/${SECRET}` },
        source: { repository: leaky, ref: leaky },
      },
      turns: [
        turn({
          ...{ by: leaky, prompt: leaky, reason: ['It said ', leaky] },
          base: { status: leaky, prLink: leaky, archivedAt: leaky },
        }),
      ],
    });
    const clean = decode(encode(full), redact);
    expect(JSON.stringify(clean)).not.toContain(SECRET);
    expect(JSON.stringify(clean).match(/a \*\*\* b/g)).toHaveLength(10);
  });

  it('but not in words, ids and keys of the action', () => {
    const own = ledger({
      id: 'job-1',
      record: { status: 'completed', model: null, source: null, prLink: null },
      turns: [
        turn({
          ...{ origin: 'run:1:job:step', promptHash: 'ajob-1', result: 'completed' },
          base: { status: 'completed', prLink: null, archivedAt: null },
        }),
      ],
    });
    for (const read of [{ ...own, trimmed: '7' }, ledger(job('job-1', turn()))]) {
      expect(decode(encode(read), redact)).toEqual(read);
    }
  });
});
