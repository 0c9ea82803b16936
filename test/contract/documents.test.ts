import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { TRUSTED_EVENTS } from '../../src/github/authorize.ts';
import { blocks, documents, files, read } from './workflows.ts';

const ROOT = join(import.meta.dirname, '../..');

it('the scenario in test/README.md is one that runs', () => {
  const [scenario, ...others] = blocks('ts').filter(
    ({ document }) => document === 'test/README.md',
  );
  expect(others).toEqual([]);
  expect(scenario?.text).toBe(read('test/action/busy-service.test.ts'));
});

it('the README names the events on which nobody is asked for', () => {
  const [, list = ''] =
    /^- Not checked are events .*?: (.*?)\. All other/ms.exec(read('README.md')) ?? [];
  const names = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(names).toEqual([...TRUSTED_EVENTS, 'workflow_run', 'pull_request']);
});

describe('the house in CONTRIBUTING.md', () => {
  const [, house = ''] = /^src\/\n(.*?)^test\//ms.exec(read('CONTRIBUTING.md')) ?? [];
  /** The lines of each folder, by its name; those of the files in src/ itself by ''. */
  const rooms = Map.groupBy(
    house.split(/\n(?! {3})/),
    (part) => /^ +(\w+)\//.exec(part)?.[1] ?? '',
  );

  const modules = files('src/**/*.ts').filter(({ name }) => !name.endsWith('.d.ts'));

  it.each(modules)('names $name', ({ name }) => {
    const [, folder = '', file = ''] = /^src\/(?:(\w+)\/)?(.*)\.ts$/.exec(name) ?? [];
    const text = rooms.get(folder)?.join('\n') ?? '';
    if (folder === 'vendor') expect(text).not.toBe('');
    else expect(text).toMatch(RegExp(`(?<![\\w-])${file}(?![\\w-])`));
  });
});

it.each(documents())('links in $name lead to files that are there', ({ name, text }) => {
  const targets = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path = '']) => path);
  expect(targets.filter((path) => !existsSync(join(ROOT, dirname(name), path)))).toEqual([]);
});

describe('issue forms, which GitHub drops without a word if they are wrong', () => {
  const forms = files('.github/ISSUE_TEMPLATE/*.yml').filter(
    ({ name }) => !name.endsWith('config.yml'),
  );

  it.each(forms)('$name', ({ text }) => {
    const { name, description, body } = parse(text);
    expect([name, description]).toEqual([expect.any(String), expect.any(String)]);
    const ids = body.map(({ id }: { id: string }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { type, id, attributes } of body) {
      expect(['textarea', 'input', 'dropdown']).toContain(type);
      expect(id).toMatch(/^[\w-]+$/);
      expect(attributes.label).toEqual(expect.any(String));
      expect(attributes.options !== undefined).toBe(type === 'dropdown');
    }
  });
});
