import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encode } from '../../src/memory/data.ts';
import { EMPTY, type Ledger, trim } from '../../src/memory/ledger.ts';
import { composeNotice, composeText, fits, readText } from '../../src/memory/text.ts';
import { renderLedger, renderUsage } from '../../src/report/comment.ts';
import { hostileText } from '../model/hostile.ts';
import { job, ledger, START, turn } from './record.ts';

const PROJECT = 'proj-1';
const HASH = createHash('sha256').update(PROJECT).digest('hex').slice(0, 16);
const OTHER = '0'.repeat(16);
const LEDGER = ledger(job('job-1', turn({ prompt: 'Add tests.' })));
const DATA = encode(LEDGER);
const FIRST = `<!-- agent-follow-up ${HASH} -->`;
const LAST = `<!-- agent-follow-up data 1 ${HASH} ${DATA} -->`;
const BODY = `${FIRST}\nWhat people see.\n\n${LAST}`;
const SITE = { repositoryUrl: 'https://github.com/octo/agents' };
const MOST = 65_536;

const unreadable = 'unreadable';
const none = 'none';

it('composeText returns a first line, the visible text, a blank line and the data', () => {
  expect(composeText(PROJECT, LEDGER, () => 'What people see.')).toBe(BODY);
});

describe('readText reads a comment', () => {
  it.each<[string, string]>([
    ['as it was written', BODY],
    ['with the line ends of a browser', BODY.replaceAll('\n', '\r\n')],
    ['with mixed line ends', BODY.replace('\n', '\r\n')],
    ['with white space at the end', `${BODY}\n \n`],
    ['with any visible text', BODY.replace('What people see.', 'x\n\n<!-- y -->\n')],
    ['without visible text', `${FIRST}\n${LAST}`],
    [
      'below data that someone else added',
      BODY.replace('What people see.', `${FIRST}\n${LAST.replace(DATA, encode(EMPTY))}`),
    ],
    [
      'below data of another project',
      BODY.replace('What people see.', `\n${LAST.replace(HASH, OTHER)}\n`),
    ],
  ])('%s', (_, body) => {
    expect(readText(body, PROJECT)).toEqual(LEDGER);
  });
});

describe('readText ignores a comment', () => {
  it.each<[string, string]>([
    ['without text', ''],
    ['without a line of the action', 'Hello.'],
    ['of another project', BODY.replaceAll(HASH, OTHER)],
    ['with text before the first line', `> ${BODY}`.replaceAll(LAST, '')],
    ['that quotes one', `${BODY.replaceAll(/^/gm, '> ')}\n\nI agree.`],
    ['with the usage', renderUsage('/agent')],
    ['with another name', BODY.replaceAll('agent-follow-up', 'agent-follow-upper')],
  ])('%s', (_, body) => {
    expect(readText(body, PROJECT)).toEqual(none);
  });
});

it('readText reads the comments of all projects without a project', () => {
  expect(readText(BODY, null)).toEqual(LEDGER);
  expect(readText(BODY.replaceAll(HASH, OTHER), null)).toEqual(LEDGER);
  expect(readText(BODY.replace(LAST, ''), null)).toEqual(unreadable);
  expect(readText(BODY.replace(FIRST, ''), null)).toEqual(unreadable);
  expect(readText(BODY.replace(FIRST, FIRST.replace(HASH, OTHER)), null)).toEqual(unreadable);
  for (const body of ['', 'Hello.', renderUsage('/agent')]) {
    expect(readText(body, null)).toEqual(none);
  }
});

describe('readText cannot read a comment', () => {
  it.each<[string, string]>([
    ['without the last line', `${FIRST}\nWhat people see.`],
    ['without the first line', `What people see.\n\n${LAST}`],
    ['with text above the first line', `Note:\n${BODY}`],
    ['with text below the last line', `${BODY}\n\nThanks!`],
    ['with text after the first line', BODY.replace(FIRST, `${FIRST} x`)],
    ['with text after the last line', `${BODY} x`],
    ['with text before the last line', BODY.replace(LAST, `x ${LAST}`)],
    ['with the first line of another project', BODY.replace(FIRST, FIRST.replace(HASH, OTHER))],
    ['with the last line of another project', BODY.replace(LAST, LAST.replace(HASH, OTHER))],
    ['of a later version', BODY.replace('data 1', 'data 2')],
    ['of a much later version', BODY.replace('data 1', 'data 1234567890123456789012')],
    ['of an earlier version', BODY.replace('data 1', 'data 0')],
    ['without data', BODY.replace(DATA, '')],
    ['with a part of the data', BODY.replace(DATA, DATA.slice(0, -9))],
    ['with a letter changed', BODY.replace(DATA, `A${DATA.slice(1)}`)],
    ['with data that are redacted', BODY.replace(DATA.slice(4, 12), '***')],
    ['with data over two lines', BODY.replace(DATA, `${DATA.slice(0, 9)}\n${DATA.slice(9)}`)],
    ['with data that cannot be decoded', BODY.replace(DATA, 'AAAA')],
  ])('%s', (_, body) => {
    expect(readText(body, PROJECT)).toEqual(unreadable);
  });
});

describe('for any text by others', () => {
  it('readText never throws and never returns another ledger', () => {
    const pieces = fc.array(
      fc.oneof(
        hostileText,
        fc.constantFrom(FIRST, LAST, DATA, HASH, '\n', '\r\n', '\n\n', `\n${LAST}`, `${FIRST}\n`),
      ),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(pieces, (all) => {
        const text = readText(all.join(''), PROJECT);
        if (typeof text !== 'string') expect(text).toEqual(LEDGER);
      }),
    );
    fc.assert(
      fc.property(hostileText, fc.nat(), fc.nat({ max: 5 }), (inserted, position, count) => {
        const at = position % BODY.length;
        const text = readText(BODY.slice(0, at) + inserted + BODY.slice(at + count), PROJECT);
        // zlib verifies a checksum, so changed data cannot be read.
        if (typeof text !== 'string') expect(text).toEqual(LEDGER);
      }),
    );
  });

  it('composeText writes a comment that readText can read', () => {
    fc.assert(
      fc.property(hostileText, hostileText, (prompt, project) => {
        const put = ledger(job('job-1', turn({ prompt })));
        const body = composeText(project, put, (of) => renderLedger(of, SITE));
        expect(readText(body, project)).toEqual(put);
        expect(readText(body, `${project}x`)).toEqual(none);
        expect(body.match(/<!-- agent-follow-up /g)).toHaveLength(2);
      }),
    );
  });
});

describe('composeNotice', () => {
  it('returns a comment of the action without data', () => {
    const notice = composeNotice('usage', 'What people see.');
    expect(notice).toBe('<!-- agent-follow-up usage -->\nWhat people see.');
    expect(readText(notice, PROJECT)).toEqual(none);
  });
});

describe('for a large ledger', () => {
  const noise = (n: number): string =>
    Array.from({ length: 60 }, (_, at) => ((n + 1) * (at + 7) * 2_654_435_761).toString(36)).join(
      '',
    );
  const many = ledger(
    ...Array.from({ length: 500 }, (_, n) =>
      job(`${noise(n).slice(0, 250)}-${n}`, turn({ prompt: noise(n + 500), mark: noise(n) })),
    ),
  );

  it('the data and the visible text fit into one comment', () => {
    expect(fits(many)).toBe(false);
    const kept: Ledger = trim(many, START, fits);
    const limits: number[] = [];
    const body = composeText(PROJECT, kept, (of, limit) => {
      limits.push(limit);
      return renderLedger(of, SITE, limit);
    });
    expect(limits).toEqual([expect.any(Number)]);
    // The renderer has enough room for some rows.
    expect(limits[0]).toBeGreaterThan(15_000);
    expect(body.length).toBeLessThan(MOST);
    expect(readText(body, PROJECT)).toEqual(kept);
  });
});
