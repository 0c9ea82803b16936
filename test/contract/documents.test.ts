import { existsSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SEND_RULES } from '../../src/mintlify/retry.ts';
import { isFinal, STATUS_NAMES, STATUSES } from '../../src/mintlify-api.ts';
import { TRUSTED_EVENTS } from '../../src/trigger/authorize.ts';
import { action } from './readme.ts';
import { blocks, documents, files, read } from './workflows.ts';

const ROOT = join(import.meta.dirname, '../..');

describe('the README', () => {
  const shown = blocks('yaml').filter(({ document }) => document === 'README.md');

  it('begins with the workflow of examples/loop.yml, without its time-outs', () => {
    const { on, jobs } = parse(shown[0]?.text ?? '');
    const example = parse(read('examples/loop.yml'));
    const { 'timeout-minutes': _, steps, ...agent } = example.jobs.agent;
    const [{ with: given, ...step }] = steps;
    const { 'timeout-minutes': __, ...inputs } = given;
    expect(on).toEqual(example.on);
    expect(jobs).toEqual({ agent: { ...agent, steps: [{ ...step, with: inputs }] } });
  });

  it('has only pictures that exist', () => {
    const sources = read('README.md').matchAll(/\bsrc(?:set)?="([^"]+)"/g);
    const files = Array.from(sources, ([, file = '']) => file);
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });
});

it('the tables of the reference have every input', () => {
  const what = 'put it below a `##` group of action.yml, then run npm run docs';
  const rows = read('docs/reference.md').matchAll(/^\| `([\w-]+)`/gm);
  const inputs = Object.keys(action.inputs);
  expect(
    Array.from(rows, ([, name]) => name),
    what,
  ).toEqual(expect.arrayContaining(inputs));
});

it('the table of what is sent twice has each rule', () => {
  const row = / \| `([\w-]+)` \| (never|at most twice more) \|$/gm;
  const rows = [...read('docs/delivery.md').matchAll(row)];
  const rules = rows.map(([, delivery, again]) => [delivery, again === 'never' ? 0 : 2]);
  expect(rules).toEqual(Object.values(SEND_RULES).map((rule) => Object.values(rule)));
});

const FINAL = STATUS_NAMES.filter(isFinal);
const NEVER_WORKS = FINAL.filter((status) => STATUSES[status].showsWork === 'never');

it.each<[string, RegExp, readonly string[]]>([
  ['docs/mintlify.md', /^- A job is (`.*?)\. /m, STATUS_NAMES],
  ['docs/delivery.md', /^A \*final\* status \((.*?)\)/m, FINAL],
  ['docs/delivery.md', /another final status except (.*?), and then/, NEVER_WORKS],
  ['docs/permissions.md', /^On these events, nobody is checked: (.*?)\.\s/ms, [...TRUSTED_EVENTS]],
])('the list in %s, at %s, is complete', (document, place, words) => {
  const [, list = ''] = place.exec(read(document)) ?? [];
  const named = [...list.matchAll(/[`"]([\w-]+)[`"]/g)].map(([, word]) => word);
  expect(named.sort(), `change ${list} in ${document}`).toEqual(words.toSorted());
});

it('docs/permissions.md lists what calls to GitHub need', () => {
  const sources = files('src/**/*.ts').map(({ text }) => text);
  const needed = sources.flatMap((text) => [...text.matchAll(/'([a-z-]+: )read'/g)]);
  const missing = needed.filter(([, name]) => !read('docs/permissions.md').includes(`| \`${name}`));
  expect([needed.length > 0, missing]).toEqual([true, []]);
});

it('CONTRIBUTING.md names no file that is gone', () => {
  const paths = [...read('CONTRIBUTING.md').matchAll(/`([\w-]+(?:\/[\w-]+)*\.ts)`/g)];
  const isGone = (path = ''): boolean =>
    !['src', 'test', '.'].some((folder) => existsSync(join(ROOT, folder, path)));
  expect(paths.filter(([, path]) => isGone(path))).toEqual([]);
});

describe.each(documents())('links in $name', ({ name, text }) => {
  const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)].map(
    ([, path, anchor]) => ({ path: path ? posix.join(dirname(name), path) : name, anchor }),
  );

  it('lead to files that exist', () => {
    expect(links.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('lead to headings that exist', () => {
    const isThere = (path: string, anchor?: string): boolean =>
      anchor === undefined || anchorsOf(read(path)).includes(anchor);
    expect(links.filter(({ path, anchor }) => !isThere(path, anchor))).toEqual([]);
  });
});

/** The anchors that GitHub creates from headings. */
function anchorsOf(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
