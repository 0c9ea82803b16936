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

it('is a first line, what people see, and after a blank line the data', () => {
  expect(composeText(PROJECT, LEDGER, () => 'What people see.')).toBe(BODY);
});

describe('is read', () => {
  it.each<[string, string]>([
    ['as it was written', BODY],
    ['with the line ends of a browser', BODY.replaceAll('\n', '\r\n')],
    ['with some of each', BODY.replace('\n', '\r\n')],
    ['with white space behind', `${BODY}\n \n`],
    ['whatever people see', BODY.replace('What people see.', 'x\n\n<!-- y -->\n')],
    ['without anything to see', `${FIRST}\n${LAST}`],
    [
      'below data that somebody put there',
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

describe('is somebody else’s', () => {
  it.each<[string, string]>([
    ['without anything', ''],
    ['without a line of ours', 'Hello.'],
    ['of another project', BODY.replaceAll(HASH, OTHER)],
    ['with the first line behind something', `> ${BODY}`.replaceAll(LAST, '')],
    ['where it is quoted', `${BODY.replaceAll(/^/gm, '> ')}\n\nI agree.`],
    ['as the usage', renderUsage('/agent')],
    ['with another name', BODY.replaceAll('agent-follow-up', 'agent-follow-upper')],
  ])('%s', (_, body) => {
    expect(readText(body, PROJECT)).toEqual(none);
  });
});

it('is read whatever its project is, if that is wanted', () => {
  expect(readText(BODY, null)).toEqual(LEDGER);
  expect(readText(BODY.replaceAll(HASH, OTHER), null)).toEqual(LEDGER);
  expect(readText(BODY.replace(LAST, ''), null)).toEqual(unreadable);
  expect(readText(BODY.replace(FIRST, ''), null)).toEqual(unreadable);
  expect(readText(BODY.replace(FIRST, FIRST.replace(HASH, OTHER)), null)).toEqual(unreadable);
  for (const body of ['', 'Hello.', renderUsage('/agent')]) {
    expect(readText(body, null)).toEqual(none);
  }
});

describe('cannot be read', () => {
  it.each<[string, string]>([
    ['without the last line', `${FIRST}\nWhat people see.`],
    ['without the first line', `What people see.\n\n${LAST}`],
    ['with something above the first line', `Note:\n${BODY}`],
    ['with something below the last line', `${BODY}\n\nThanks!`],
    ['with something behind the first line', BODY.replace(FIRST, `${FIRST} x`)],
    ['with something behind the last line', `${BODY} x`],
    ['with the last line in another one', BODY.replace(LAST, `x ${LAST}`)],
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
    ['with data that hold nothing', BODY.replace(DATA, 'AAAA')],
  ])('%s', (_, body) => {
    expect(readText(body, PROJECT)).toEqual(unreadable);
  });
});

describe('whatever others write', () => {
  it('above, into and below it makes no other memory of it, and never an error', () => {
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
      fc.property(hostileText, fc.nat(), fc.nat({ max: 5 }), (inserted, where, count) => {
        const at = where % BODY.length;
        const text = readText(BODY.slice(0, at) + inserted + BODY.slice(at + count), PROJECT);
        // zlib checks what it inflates.
        if (typeof text !== 'string') expect(text).toEqual(LEDGER);
      }),
    );
  });

  it('a prompt and a project can hold anything', () => {
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

describe('a notice', () => {
  it('begins like every comment of ours, and remembers nothing', () => {
    const notice = composeNotice('usage', 'What people see.');
    expect(notice).toBe('<!-- agent-follow-up usage -->\nWhat people see.');
    expect(readText(notice, PROJECT)).toEqual(none);
  });
});

describe('however much is remembered', () => {
  const noise = (n: number): string =>
    Array.from({ length: 60 }, (_, at) => ((n + 1) * (at + 7) * 2_654_435_761).toString(36)).join(
      '',
    );
  const many = ledger(
    ...Array.from({ length: 500 }, (_, n) =>
      job(`${noise(n).slice(0, 250)}-${n}`, turn({ prompt: noise(n + 500), mark: noise(n) })),
    ),
  );

  it('data and what people see fit into a comment together', () => {
    expect(fits(many)).toBe(false);
    const kept: Ledger = trim(many, START, fits);
    const limits: number[] = [];
    const body = composeText(PROJECT, kept, (of, limit) => {
      limits.push(limit);
      return renderLedger(of, SITE, limit);
    });
    expect(limits).toEqual([expect.any(Number)]);
    // Half of what is left is enough for some rows.
    expect(limits[0]).toBeGreaterThan(15_000);
    expect(body.length).toBeLessThan(MOST);
    expect(readText(body, PROJECT)).toEqual(kept);
  });
});
