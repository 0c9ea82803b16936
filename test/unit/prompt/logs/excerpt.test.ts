import { expect, it } from 'vitest';
import { findErrors } from '../../../../src/prompt/logs/excerpt.ts';
import { type Output, quoteOutputs, toOutput } from '../../../../src/prompt/logs/quote-outputs.ts';

function outputOf(text: string): Output {
  return toOutput('A', text, (same) => same);
}

/** What a message has of a log, in one line: `(what the title says) a|b`. */
function quoted(lines: readonly string[]): string {
  const [title = '', ...rest] = quoteOutputs([outputOf(lines.join('\n'))]).split('\n\n');
  const shown = rest.join('\n\n').split('\n').slice(1, -1);
  return `${title.slice(2, -1)}|${shown.map((line) => line.slice(2)).join('|')}`;
}

function times<T>(count: number, formatPreview: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => formatPreview(index));
}

/** Lines that say nothing of errors. */
const passed = (count: number): readonly string[] => times(count, (index) => `test ${index} ok`);

it.each([
  ...['Error: no heading', 'TypeError: x is not a function', 'java.lang.IllegalStateException: x'],
  ...['##[error]no heading', 'docs/a.md:12 MD001 Heading levels'],
  ...['docs/a.md:16:8 - Unknown word (x)', '✖ 3 problems', '✗ [404] https://a.b/'],
  ...['[503] https://a.b/', "  12:3  ✓ error  Incorrect term: 'id'  terminology"],
  'ERR_PNPM_OUTDATED_LOCKFILE  Cannot install',
  ...['FAILED tests/test_a.py::test_a - assert False', "npm error Omission script: 'docs'"],
  ...['bash: vale: No such file or directory', "a.yaml can't resolve $ref ./schemas/Money.yaml"],
  'error: /docs/a.md',
])('a line says what failed: %j', (line) => {
  expect(findErrors(outputOf(`a\n${line}`).text).all).toEqual([1]);
});

it.each([
  ...['0 errors, 3 files', 'Found no problems', 'tests/test_a.py::test_fails_on_error PASSED'],
  ...['  ✓ fails on an error (3 ms)', 'test fails_on_error ... ok'],
  ...['warning: error in the configuration is ignored', '    at Object.error (a.js:12:3)'],
  ...['  File "a.py", line 3, in fail', '##[error]Process completed with exit code 1.'],
  'npm error Lifecycle script failed with exit code 1',
  ...['make: *** [Makefile:12: html] Error 2', 'Downloading a.md'],
  ...['[200] https://a.b/guides/errors#fail', 'Linting rate-limit-errors.mdx'],
])('a line does not say what failed: %j', (line) => {
  const text = `Error: a\n${line}`;
  expect(findErrors(outputOf(text).text).all).toEqual([0]);
});

it.each<[string, readonly string[], readonly number[]]>([
  ['without errors', ['checking', '[warn] docs/a.md', '[warn] Code style issues'], [1, 2]],
  ['that count as errors', ['a.md:3: WARNING: b', 'failed (warnings treated as errors)'], [0, 1]],
  ['beside errors', ['warning: a', 'Error: b'], [1]],
])('what failed, warnings %s', (_, lines, telling) => {
  expect(findErrors(lines.join('\n')).all).toEqual(telling);
});

it.each<[string, string, string]>([
  ['a reader sees it soon', 'a|b|Error: c|d', ''],
  ['a reader would look for it', 'a|b|c|d|e|Error: in 3|Error: in 7|f', 'Error: in 3'],
  ['the best stands below others', 'a.md:1|b|c|d|e|error: f|g', 'error: f'],
])('what is shown of a short log, if %s', (_, lines, best) => {
  const first = best && `(what says that something failed comes first)|${best}|…`;
  expect(quoted(lines.replace('error: f', '##[error]f').split('|'))).toBe(`${first}|${lines}`);
});

it('of a long log: one of each kind, what is beside it, the others of them, and the end', () => {
  const links = times(300, (index) => `✗ [404] https://a.b/${'x'.repeat(60)}/${index}`);
  const before = [...passed(5000), ...links, 'fatal: one'];
  const shown = quoted([...before, ...passed(900), 'fatal: two', ...passed(900)]);
  expect(shown).toMatch(
    /^\(what says that something failed comes first; [\d,]+ of 7102 lines, chosen; “…” stands for the others\)\|✗[^|]*\|…\|fatal: one\|…\|fatal: two\|…\|test 4992 ok\|/,
  );
  expect(shown).toMatch(/\/299\|fatal: one\|test 0 ok\|.*\|fatal: two\|test 0.*\|test 899 ok$/);
  expect(shown.match(/✗/g)?.length).toBeGreaterThan(200);
});

it('shows what comes before all that follows from it, and what it sums up to', () => {
  const links = times(900, (index) => `✗ a.md:${index} links to /${'x'.repeat(60)}`);
  const shown = quoted(['1 of 2 files', 'b.yaml: 0 operations', '', ...links, '900 links']);
  expect(shown).toMatch(/\|1 of 2 files\|b.yaml: 0 operations\|\|✗ a.md:0 .*\|900 links$/);
});

it('shows the name of the file with a place in it', () => {
  const files = times(40, (file) => [
    '',
    `docs/${'abcd'[file % 4]}${file}.md`,
    ...times(90, (index) => `  ${index + 1}:3  error  Word ${'x'.repeat(30)}  Vale`),
  ]);
  const shown = quoted(['Linting', ...files.flat()]);
  expect(shown).toMatch(/^[^|]*\)\|Linting\|\|docs\/a0\.md\| {2}1:3 {2}error/);
  expect(shown).not.toMatch(/…\| {2}\d+:3[^|]*\|docs/);
});

it('shows no name of a file above a place with its own', () => {
  expect(findErrors('docs/a.md\nb.md:3: error').files.size).toBe(0);
});

it.each([
  ...['docs/a.md', '[docs/a.md]:', '### Errors in docs/a.md', 'FILE: docs/a.md'],
  'FAIL docs/a.test.js',
])('shows the name of the file in “%s” with what is below it', (file) => {
  const lines = times(900, (index) => `  ✗ [404] https://a.b/${'x'.repeat(60)}/${index}`);
  const [, ...rest] = quoted([file, ...lines.slice(0, 2), '', ...lines]).split('|');
  expect(rest.slice(0, 2)).toEqual([file, lines[0]]);
});

it('shows at least a part of a line that has no room', () => {
  const all = times(40, () => outputOf(`a\nError: ${'b'.repeat(900)}\nc`));
  const parts = quoteOutputs(all).match(/^> Error: b+ … \d+ characters are left out … b+$/gm);
  expect(parts).toHaveLength(40);
});

const [good, bad] = ['https://good.example/errors-404', 'https://bad.example/page'];
// “…” stands for many lines that say that all is well, and “@” for the place of the name of the file.
it.each<[string, string, string, string?]>([
  ['lychee', '     [200] GOOD', '…\n\n@[a.mdx]:\n[404] BAD | Not Found\n'],
  [
    'lychee, as Markdown',
    '* [200] <GOOD>',
    '| ⏳ Timeouts | 0 |\n| 🚫 Errors | 0 |\n\n@### Errors in a.mdx\n\n* [404] <BAD> | Not Found\n\n### Errors in b.mdx\n\n* [503] <x> | Gone\n…',
  ],
  ['linkinator', '  [200] GOOD', '…\n@a.html\n  [0] BAD\nERROR: Detected 1'],
  [
    'broken-link-checker',
    '├───OK─── GOOD',
    '…\nFinished! 410 links found. 10 excluded. 0 broken.\n\n@Getting links from: https://a.example/b/\n├─BROKEN─ BAD (HTTP_404)',
  ],
  ['muffet', '\t200\tGOOD', '…\n@https://a.example/b/\n\t404\tBAD\n\ttimeout\tBAD\n…'],
  [
    'markdown-link-check',
    '  [✓] GOOD → Status: 200\n  [✓] #error-handling → Status: 200',
    '…\n\n@FILE: a.md\n  [✖] BAD → Status: 0',
  ],
  [
    'Sphinx linkcheck',
    '(      page: line   12) ok        GOOD',
    'Running Sphinx v8.2.3\n…\n@(     guide: line   12) timeout   BAD - slow\n…',
    '(      page: line   12) redirect  GOOD - permanently to GOOD',
  ],
  [
    'htmltest',
    '  OK --- a.html --> GOOD',
    '…\n@guide/index.html\n  hash does not exist --- guide/index.html --> BAD',
  ],
  [
    'mint broken-links',
    'read GOOD.mdx',
    '…\nfound 1 broken links in 1 files\n\n@guides/a.mdx\n ⎿  BAD\n…',
    '[INFO] rendered GOOD',
  ],
  [
    'Docusaurus',
    '[INFO] rendered GOOD',
    '…\n@- Broken link on source page path = /docs/start:\n   -> linking to BAD',
  ],
  [
    'HTMLProofer',
    'Received a 200 for GOOD',
    '…\n@* In _site/a.html (line 6):\n\n  External link BAD failed (status code 404)',
  ],
  [
    'LinkChecker',
    '10 threads active, 1 URLs checked GOOD',
    "…\n\nURL        `page'\nParent URL https://a.example, line 6, col 9\n@Real URL   BAD\nCheck time 3.3 seconds\nResult     Error: 404 Not Found\n…",
  ],
  ['ruff', 'checked GOOD', '…\n@would reformat BAD.py'],
])('of the report of a link checker, what is broken comes first %s', (...row) => {
  const [, line, report, after = line] = row;
  const many = (of: string) => times(400, (n) => of.replaceAll('GOOD', `${good}/${n}`)).join('\n');
  const log = report.replace('…', many(line)).replace('…', many(after)).replace('@', '');
  const text = quoteOutputs([outputOf(log.replaceAll('BAD', bad))]);
  const before = text.slice(0, text.indexOf(bad));
  expect(before.length).toBeLessThan(text.length / 5);
  expect(before).not.toContain(good);
  expect(before).toContain(/@(.*?)(?:BAD|\n)/.exec(report)?.[1]);
});

// With quadratic time, this test would take minutes.
it.each<[string, (index: number) => string]>([
  ['errors of many kinds', (index) => `Error: ${String.fromCodePoint(0x4e00 + (index % 20_000))}`],
  ['places', (index) => `${index}:3 error`],
  ['names of files', () => 'a.b.c.d.e.f.g'.repeat(70)],
  ['words without an end', () => 'x'.repeat(999)],
  ['numbers', () => '1:'.repeat(499)],
  ['exits', () => 'exit '.repeat(199)],
])('half a megabyte of %s', (_, lineOf) => {
  const size = lineOf(0).length + 1;
  expect(quoted(times(Math.floor(500_000 / size), lineOf)).length).toBeLessThan(20_300);
});
