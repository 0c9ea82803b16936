import { describe, expect, it } from 'vitest';
import { type LogPart, readLog, type Step } from '../../../../src/prompt/logs/failed-steps.ts';

/** A line at a second of 19:32. */
function line(second: number, text: string): string {
  return `2026-11-21T19:32:${String(second).padStart(2, '0')}.1234567Z ${text}\n`;
}

function step(name: string, started: number, completed: number, conclusion = 'failure'): Step {
  const at = (second: number): string => `2026-11-21T19:32:${String(second).padStart(2, '0')}Z`;
  return { name, conclusion, started_at: at(started), completed_at: at(completed) };
}

async function* inChunks(log: string | Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(log);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** What is kept, without the times. */
async function read(log: string | Uint8Array, steps: readonly Step[], size = 65_536) {
  const { parts } = await readLog(inChunks(log, size), steps);
  const textOf = ({ tail }: LogPart): string =>
    tail.text.replaceAll('\r\n', '\n').replace(/^.{27}Z /gm, '');
  return parts.map((part) => [part.step, textOf(part)]);
}

const LOG = [
  line(1, 'set up'),
  line(2, '##[group]Run test'),
  line(3, 'a'),
  'more of a\n',
  line(5, 'b'),
  line(5, '##[error]exit code 1'),
  'more of the error\n',
  line(5, '##[group]Run upload'),
  line(6, 'c'),
  line(6, '##[error]exit code 2'),
  line(7, 'clean up'),
].join('');

const TEST = '##[group]Run test\na\nmore of a\nb\n##[error]exit code 1\nmore of the error\n';

describe('readLog', () => {
  it.each<[string, readonly Step[], readonly [string | null, string][]]>([
    ['a step', [step('test', 2, 5)], [['test', TEST]]],
    [
      'two steps',
      [step('test', 2, 5), step('upload', 6, 6)],
      [
        ['test', TEST],
        ['upload', 'c\n##[error]exit code 2\n'],
      ],
    ],
    [
      'a step whose last second has no error',
      [step('test', 1, 3)],
      [['test', 'set up\n##[group]Run test\na\nmore of a\n']],
    ],
  ])('finds the lines of %s, however they arrive', async (_, steps, expected) => {
    for (const size of [1, 7, 30, 64, 100, 65_536]) {
      expect(await read(LOG, steps, size)).toEqual(expected);
      expect(await read(LOG.replaceAll('\n', '\r\n'), steps, size)).toEqual(expected);
    }
  });

  const whole = LOG.replace(/^.{27}Z /gm, '');
  it.each<[string, readonly Step[]]>([
    ['no failed step', []],
    ['no times', [{ name: 'test', conclusion: 'failure' }]],
    ['no step that failed', [step('test', 2, 5, 'success')]],
    ['one time', [{ ...step('test', 2, 5), completed_at: null }]],
    ['what is no time', [{ ...step('test', 2, 5), started_at: 'yesterday' }]],
    [
      'the time of a step that did not begin',
      [
        {
          ...step('test', 2, 5),
          ...{ started_at: '0001-01-01T00:00:00Z', completed_at: '0001-01-01T00:00:00Z' },
        },
      ],
    ],
    ['times without lines', [step('test', 40, 50)]],
    ['a step before its beginning', [step('test', 5, 2)]],
  ])('takes the whole log for %s', async (_, steps) => {
    expect(await read(LOG, steps)).toEqual([[null, whole]]);
  });

  it('takes the whole log if its lines have no times', async () => {
    expect(await read('a\nb\n', [step('test', 2, 5)])).toEqual([[null, 'a\nb\n']]);
    expect(await read('', [step('test', 2, 5)])).toEqual([[null, '']]);
  });

  it('takes the lines up to the last of several errors in the last second', async () => {
    const log = [
      line(5, 'a'),
      line(5, '##[error]b'),
      line(5, 'c'),
      line(5, '##[error]d'),
      line(5, 'of the next step'),
    ].join('');
    expect(await read(log, [step('test', 5, 5)])).toEqual([
      ['test', 'a\n##[error]b\nc\n##[error]d\n'],
    ]);
    expect(await read(log + line(6, 'e'), [step('test', 5, 6)])).toEqual([
      ['test', 'a\n##[error]b\nc\n##[error]d\nof the next step\ne\n'],
    ]);
    const part = log.slice(0, log.indexOf('of the next') - 29);
    for (const end of [part, part.trimEnd()]) {
      const [[, text] = []] = await read(end, [step('test', 5, 5)]);
      expect(text?.trimEnd()).toBe('a\n##[error]b\nc\n##[error]d');
    }
  });

  it('takes the steps that have lines, up to the third, and names the others', async () => {
    const steps = [1, 2, 40, 3, 5, 6].map((second) => step(`s${second}`, second, second));
    const { parts, without } = await readLog(inChunks(LOG, 100), steps);
    expect(parts.map((part) => part.step)).toEqual(['s1', 's2']);
    expect(without).toEqual(['s40', 's3', 's5', 's6']);
    const none = await readLog(inChunks(LOG, 100), [step('s40', 40, 50)]);
    expect([none.parts[0]?.step, none.without]).toEqual([null, []]);
  });

  it('takes a step from its beginning on, which is in the last second of the step before', async () => {
    const before = line(4, 'of before') + line(5, 'of before');
    const own = [
      line(5, '##[group]Run ./action'),
      line(5, '##[endgroup]'),
      line(5, '##[group]Run inner'),
      line(5, 'a'),
      line(6, '##[error]b'),
    ].join('');
    for (const size of [1, 50, 65_536]) {
      const [[, text] = []] = await read(before + own, [step('test', 5, 6)], size);
      expect(text).toBe(own.replace(/^.{27}Z /gm, ''));
    }
  });

  it.each(['\n', '\r\n'])(
    'leaves out the settings of steps that are not empty, but no lines of scripts except their titles (%j)',
    async (end) => {
      const log = [
        line(1, '##[group]Run cat <<EOF'),
        line(1, '\x1b[36;1mcat <<EOF\x1b[0m'),
        line(1, '\x1b[36;1mcat <<EOF\x1b[0m'),
        line(1, '\x1b[36;1menv:\x1b[0m'),
        line(1, 'shell: /usr/bin/bash -e {0}'),
        line(1, 'env:'),
        line(1, '  KEY: a'),
        'of several lines\n',
        line(1, '  SEARCH_KEY: '),
        line(1, '  OTHER_KEY: '),
        line(1, '  LAST: a'),
        line(1, '##[endgroup]'),
        line(1, 'env:'),
        line(2, '##[group]Run actions/cache@v5'),
        line(2, 'with:'),
        line(2, '  path: a'),
        line(2, 'env:'),
        line(2, '  KEY: a'),
        line(2, 'a line of the program'),
        line(2, '  shell: indented'),
      ].join('');
      const [[, text] = []] = await read(log.replaceAll('\n', end), []);
      expect(text).toBe(
        `##[group]Run cat <<EOF
\x1b[36;1mcat <<EOF\x1b[0m
\x1b[36;1menv:\x1b[0m
env:
  SEARCH_KEY: 
  OTHER_KEY: 
##[endgroup]
env:
##[group]Run actions/cache@v5
with:
  path: a
a line of the program
  shell: indented
`,
      );
    },
  );

  it('takes the steps that failed inside after those that failed', async () => {
    const log = [
      line(1, '##[group]Run vale'),
      line(2, '##[error]a.md:1: typo'),
      line(3, '##[error]Process completed with exit code 1.'),
      line(3, '##[group]Run lychee'),
      line(3, '##[error][notice] A new release of pip is available'),
      line(4, '##[group]Run eslint'),
      line(4, '##[error]b.js:1: no'),
      line(4, '##[error]golangci-lint exit with code 3'),
      line(5, '##[group]Run tell'),
      line(5, '2 of 3 checks failed.'),
      line(5, '##[error]Process completed with exit code 1.'),
      line(6, 'Post job cleanup.'),
      line(6, '##[error]of the cleaning'),
    ].join('');
    const all = [
      step('vale', 1, 3, 'success'),
      step('lychee', 3, 3, 'success'),
      step('eslint', 4, 4, 'success'),
      step('tell', 5, 5),
    ];
    for (const size of [1, 50, 65_536]) {
      const { parts } = await readLog(inChunks(log, size), all);
      expect(parts.map((part) => [part.step, part.isOptional, part.tail.lines])).toEqual([
        ['tell', false, 3],
        ['vale', true, 3],
        ['eslint', true, 3],
      ]);
    }
  });

  it('takes the cancelled step of a job that has reached its time limit', async () => {
    const all = [step('test', 2, 5, 'cancelled'), step('upload', 5, 6, 'success')];
    expect(await read(LOG, all)).toEqual([
      ['test', TEST],
      ['upload', '##[group]Run upload\nc\n##[error]exit code 2\nclean up\n'],
    ]);
  });

  it('says that it keeps only the end of a long line, from the beginning of a word on', async () => {
    const [[, text] = []] = await read(`${'secret '.repeat(100_000)}\n`, []);
    expect(text).toMatch(/^…( secret)+ \n$/);
    expect(text?.length).toBeLessThan(200_000);
  });

  it('counts all lines of a step of which it keeps the end', async () => {
    const log = line(1, 'before') + line(3, 'x'.repeat(70)).repeat(100_000) + line(9, 'after');
    const {
      parts: [part],
    } = await readLog(inChunks(log, 65_536), [step('test', 2, 5)]);
    const { text, lines, isWhole } = part?.tail ?? {};
    expect([lines, isWhole]).toEqual([100_000, false]);
    expect(text?.length).toBeLessThanOrEqual(1_200_000);
  });
});

const units: readonly (readonly [string, string | Uint8Array])[] = [
  ['one line', 'x'],
  ['lines', line(3, 'x'.repeat(70))],
  ['errors in the last second', line(5, '##[error]')],
  ['lines and errors by turns', line(5, '##[error]') + line(5, 'a')],
  ['settings', line(3, '##[group]Run a') + line(3, 'env:') + line(3, '  a')],
  ['seconds by turns', line(2, '') + line(3, '')],
  ['bytes that are not UTF-8', Buffer.from([0xff])],
];

// In linear time: with quadratic time, this test would take minutes.
it.each(units)('reads 10 MB of %s, and keeps only the end', async (_, unit) => {
  const chunk = Buffer.alloc(65_521, Buffer.from(unit));
  async function* log(): AsyncGenerator<Uint8Array> {
    for (let count = 0; count < 153; count += 1) yield chunk;
  }
  const { parts } = await readLog(log(), [step('a', 2, 5), step('b', 3, 5), step('c', 5, 5)]);
  for (const { tail } of parts) expect(tail.text.length).toBeLessThanOrEqual(1_200_000);
});
