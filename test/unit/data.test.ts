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

/** A turn in which nothing is as in a new one, as far as it is stored. */
const FULL: Turn = turn({
  ...{
    origin: 'review-comment:12',
    leg: '0a1b2c3d',
    mark: 'm',
    owner: 'o',
    ownerLeg: '9f',
    ownerPromptHash: 'a8',
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

describe('what is remembered is read back', () => {
  it.each<[string, Ledger]>([
    ['nothing', EMPTY],
    ['what was dropped', { jobs: [], trimmed: '12345678901234567890' }],
    ['a job without anything', ledger(job('job-1'))],
    ['a record', ledger({ ...job('job-1'), record: RECORD })],
    [
      'a record of which nothing is known',
      ledger({ ...job('a'), record: { status: null, model: null, source: null, prLink: null } }),
    ],
    [
      'a source without a ref',
      ledger({ ...job('a'), record: { ...RECORD, source: { repository: 'r', ref: null } } }),
    ],
    ['every field of a turn', ledger(job('job-1', FULL))],
    [
      'what is not known',
      ledger(job('a', turn({ by: null, base: null, sentAt: null, confirmed: null }))),
    ],
    [
      'a base of which nothing is known',
      ledger(job('a', turn({ base: { status: null, prLink: null, archivedAt: null } }))),
    ],
    [
      'a base whose link cannot be compared',
      ledger(job('a', turn({ base: { status: '***', prLink: '***', archivedAt: null } }))),
    ],
    [
      'empty texts',
      ledger(job('a', turn({ prompt: '', leg: '', origin: '', reason: [''], by: '' }))),
    ],
    [
      'what means something to JavaScript',
      ledger(
        job('__proto__', turn({ prompt: '__proto__', by: 'constructor', reason: ['toString'] })),
        job('constructor'),
      ),
    ],
    ['several jobs and turns', ledger(job('a', FULL, turn()), job('b'), job('c', turn()))],
  ])('%s', (_, put) => {
    expect(decode(encode(put))).toEqual(put);
  });

  it.each(['sending', ...DELIVERIES] as const)('the delivery %s', (delivery) => {
    const put = ledger(job('a', { ...FULL, delivery }));
    expect(decode(encode(put))).toEqual(put);
  });

  it.each(RESULTS)('the result %s', (result) => {
    const put = ledger(job('a', { ...FULL, result }));
    expect(decode(encode(put))).toEqual(put);
  });

  it.each(['created', 'updated', 'none', null] as const)('the change %s', (prLinkChange) => {
    const put = ledger(job('a', { ...FULL, prLinkChange }));
    expect(decode(encode(put))).toEqual(put);
  });

  it('but not what would be true if the run ended now, nor what the next polls will see', () => {
    const open = { ...FULL, result: 'sent', reason: ['The run ended.'], endedAt: null } as const;
    const seen = { wasFinal: true, finalSince: START + 5, seenAt: START + 6 };
    const [first] = decode(encode(ledger(job('a', { ...open, ...seen })))).jobs;
    const { result, reason, wasFinal, finalSince, seenAt } = newTurn(FULL);
    expect(first?.turns).toEqual([
      { ...open, result, reason, ...{ wasFinal, finalSince, seenAt } },
    ]);
  });

  it('times in whole milliseconds, and none before all turns began', () => {
    const put = turn({ startedAt: START + 0.4, sentAt: START + 1.6, endedAt: START - 5 });
    const [first] = decode(encode(ledger(job('a', put)))).jobs;
    expect(first?.turns).toEqual([{ ...put, startedAt: START, sentAt: START + 2, endedAt: START }]);
  });

  it.each([
    `${LINK}) [x](http://evil`,
    'https://github.com:x/o/r/pull/1',
    'https://code.example/o/r',
    'https://code.example/o/r/../../pull/1',
  ])('a link only if it is one: not %s', (prLink) => {
    const put = ledger({ ...job('a'), record: { ...RECORD, prLink } });
    expect(decode(encode(put)).jobs[0]?.record?.prLink).toBeNull();
  });
});

describe('whatever is put in', () => {
  const text = fc.option(hostileText);
  const time = fc.integer({ min: START, max: START + 1e12 });
  const stored = fc.record({
    ...{
      origin: hostileText,
      leg: hostileText,
      mark: hostileText,
      owner: hostileText,
      ownerLeg: hostileText,
      ownerPromptHash: hostileText,
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
   * Times count from the first beginning of a turn: none can lie before it. Of each turn one copy counts, and
   * the newest turn comes first.
   */
  function inOrder({ jobs, ...rest }: Ledger): Ledger {
    const united = jobs.map(({ id, record, turns }) => toLedgerJob(id, record, turns));
    const first = Math.min(...united.flatMap(copiesOf).map(({ startedAt }) => startedAt));
    const since = (at: number | null): number | null => at && Math.max(at, first);
    const clamped = (own: Turn): Turn => ({
      ...own,
      ...{ sentAt: since(own.sentAt), endedAt: since(own.endedAt) },
    });
    return {
      ...rest,
      jobs: united.map((one) => toLedgerJob(one.id, one.record, copiesOf(one).map(clamped))),
    };
  }

  it('comes back, and fits into an HTML comment', () => {
    fc.assert(
      fc.property(ledgers.map(inOrder), (put) => {
        const data = encode(put);
        expect(data).toMatch(/^[A-Za-z0-9+/]+={0,2}$/);
        expect(decode(data)).toEqual(put);
      }),
    );
  });
});

it('stands as one text, however often it occurs', () => {
  const noise = Array.from({ length: 500 }, (_, n) => (n * 2_654_435_761).toString(36)).join('');
  const one = ledger(job('a', turn({ prompt: noise })));
  const many = ledger(
    ...Array.from({ length: 100 }, (_, n) => job(`job-${n}`, turn({ prompt: noise }))),
  );
  expect(encode(one).length).toBeGreaterThan(2000);
  expect(encode(many).length).toBeLessThan(encode(one).length + 2000);
});

it('500 jobs with ids of 36 characters and a prompt of 4,000 take less than half of a comment', () => {
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

/** Sets a value in nested arrays, if the indexes lead to one; each of them is taken for one that is there. */
function setAt(parts: unknown, path: readonly number[], value: unknown): void {
  let at = parts;
  for (const [step, index] of path.entries()) {
    if (!Array.isArray(at) || at.length === 0) return;
    const place = index % at.length;
    if (step === path.length - 1) at[place] = value;
    at = at[place];
  }
}

describe('what this action cannot have written is refused', () => {
  const pack = (value: unknown): string =>
    deflateSync(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64');
  const TEXTS = ['origin', '', 'mark', 'owner', '1', 'alice', 'Go.', 'reason', 'completed'];
  // origin, leg, mark, owner, ownerLeg, writes, run, attempt, by, prompt, delivery, result, confirmed, change,
  // reason, started, sent, ended, evidence, base, promptHash, ownerPromptHash
  const TURN = [0, 1, 2, 3, 1, 1, 4, 1, 5, 6, 2, 7, 1, 2, [7], 0, 10, 20, 1, [8, -1, -1], 6, 6];
  const PARTS = [START, TEXTS, [['job-1', [8, -1, -1, -1, ''], [TURN]]], null];

  /** The same with another value at a place, which is reached by these indexes. */
  function changed(path: readonly number[], value: unknown): string {
    const parts: unknown = structuredClone(PARTS);
    setAt(parts, path, value);
    return pack(parts);
  }
  const inRecord = (at: number, value: unknown) => changed([2, 0, 1, at], value);
  const inTurn = (at: number, value: unknown) => changed([2, 0, 2, 0, at], value);

  it('unless nothing is changed', () => {
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
    ['nothing', ''],
    ['no base64', '*'.repeat(50)],
    ['a part of it', pack(PARTS).slice(0, 40)],
    ['bits that are not deflated', Buffer.from('hello').toString('base64')],
    ['the wrong form of deflate', deflateRawSync(JSON.stringify(PARTS)).toString('base64')],
    ['gzip', gzipSync(JSON.stringify(PARTS)).toString('base64')],
    ['no JSON', pack('hello')],
    ['half of it', pack(JSON.stringify(PARTS).slice(0, -3))],
    ['an object', pack({ jobs: [], trimmed: null })],
    ['null', pack(null)],
    ['a number', pack(7)],
    ['an empty array', pack([])],
    ['a part too few', pack(PARTS.slice(0, 3))],
    ['a part too many', pack([...PARTS, 1])],
    ['deep brackets', pack('['.repeat(1e6))],
    ['more than a comment can stand for', deflateSync(Buffer.alloc(9e6, 0x20)).toString('base64')],
    ['an epoch that is none', changed([0], 'now')],
    ['an epoch before there was time', changed([0], -1)],
    ['an epoch beyond all days', changed([0], 9e15)],
    ['texts that are none', changed([1], [1, 2])],
    ['no list of texts', changed([1], { 0: 'origin', length: 9 })],
    ['a run that is none', changed([3], 'x')],
    ['a run that is a number', changed([3], 7)],
    ['a run of too many digits', changed([3], '1'.repeat(21))],
    ['a job that is none', changed([2, 0], 'job-1')],
    ...['../x', '..', '.', '', 'a/b', 'a b', 'a\n', 'x'.repeat(257), 7, null].map(
      (id): [string, string] => [
        `the id ${JSON.stringify(id)?.slice(0, 20)}`,
        changed([2, 0, 0], id),
      ],
    ),
    ['a record that is none', changed([2, 0, 1], [0])],
    ['a status that is text', inRecord(0, 'completed')],
    ['a model beyond all texts', inRecord(1, 9)],
    ['turns that are none', changed([2, 0, 2], null)],
    ['a turn that is too short', changed([2, 0, 2, 0], TURN.slice(1))],
    ['a turn that is too long', changed([2, 0, 2, 0], [...TURN, 0])],
    ['no origin', inTurn(0, -1)],
    ['an origin beyond all texts', inTurn(0, 9)],
    ['an index below all', inTurn(1, -2)],
    ['an index between', inTurn(2, 0.5)],
    ['an index that is a name', inTurn(2, 'length')],
    ['an index of a prototype', inTurn(3, '__proto__')],
    ['an index that is null', inTurn(3, null)],
    ['a count that is none', inTurn(5, 1.5)],
    ['a count of nothing', inTurn(5, -1)],
    ['an attempt before the first', inTurn(7, 0)],
    ['an attempt that no number holds', inTurn(7, 1e300)],
    ['a delivery below all', inTurn(10, -7)],
    ['a delivery that is a word', inTurn(10, 'sent')],
    ['a time that is text', inTurn(15, '2026')],
    ['a time before the epoch', inTurn(16, -2)],
    ['a time beyond all days', inTurn(17, 9e15)],
    ['a base that is none', inTurn(19, [8, -1])],
    ['a base beyond all texts', inTurn(19, [8, -1, 77])],
    ['a base of words', inTurn(19, ['completed', null, null])],
  ])('%s', (_, data) => {
    expect(() => decode(data)).toThrow();
  });

  it.each<[string, string, Partial<Turn>]>([
    ['delivery', inTurn(10, 99), { delivery: 'unknown' }],
    ['no delivery', inTurn(10, -1), { delivery: 'unknown' }],
    ['result', inTurn(11, 99), { result: 'error', endedAt: null }],
    ['answer to whether it is confirmed', inTurn(12, 99), { confirmed: null }],
    ['change of the link', inTurn(13, 99), { prLinkChange: null }],
    ['beginning', inTurn(15, -1), { startedAt: START }],
    ['answer to whether it was seen', inTurn(18, 99), { evidence: false }],
  ])('but a word that this version does not know means the least: %s', (_, data, parts) => {
    expect(decode(data).jobs[0]?.turns[0]).toMatchObject(parts);
  });

  it('whatever it is, it becomes a ledger that can be written, or an error', () => {
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

describe('what is a secret by now is taken out of what was read', () => {
  const SECRET = 'mint_s3cret_7f3a9c';
  const redact = redactor([SECRET, 'completed', 'job-1', 'run:1']);
  const held = `a ${SECRET} b`;

  it('from every text that others wrote', () => {
    const full: Ledger = ledger({
      id: 'job-1',
      record: {
        ...{ status: held, model: held, prLink: `https://x.example/${SECRET}` },
        source: { repository: held, ref: held },
      },
      turns: [
        turn({
          ...{ by: held, prompt: held, reason: ['It said ', held] },
          base: { status: held, prLink: held, archivedAt: held },
        }),
      ],
    });
    const clean = decode(encode(full), redact);
    expect(JSON.stringify(clean)).not.toContain(SECRET);
    expect(JSON.stringify(clean).match(/a \*\*\* b/g)).toHaveLength(10);
  });

  it('but from no word, id or key of ours', () => {
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
