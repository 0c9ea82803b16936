import { existsSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isPassing4xx } from '../../src/agent/retry.ts';
import { TRUSTED_EVENTS } from '../../src/github/authorize.ts';
import { action } from './readme.ts';
import { blocks, documents, files, read } from './workflows.ts';

const ROOT = join(import.meta.dirname, '../..');

describe('the README', () => {
  const [first, second, third] = blocks('yaml').filter(({ document }) => document === 'README.md');

  it('begins with a workflow for comments and reviews that needs no job-id and starts no runner for others', () => {
    const { on } = parse(first?.text ?? '');
    expect(Object.keys(on)).toEqual(['issue_comment', 'pull_request_review']);
    expect(first?.text).toContain('if: startsWith(github.event.comment.body || github');
    expect(first?.text).toContain(' wait: true\n');
    expect(first?.text).not.toContain('job-id');
    expect(first?.text.match(/\bvars\.\w+/g)).toEqual(['vars.AGENT_PROJECT']);
  });

  it('then fixes failed checks with at most twelve lines', () => {
    expect(second?.text).toContain('workflow_run:');
    expect(second?.text.trim().split('\n').length).toBeLessThanOrEqual(12);
  });

  it('then shows a schedule in which the job has time to report the result', () => {
    expect(third?.text).toContain('schedule:');
    const [job, step] = [...(third?.text ?? '').matchAll(/timeout-minutes: (\d+)/g)];
    expect(Number(job?.[1])).toBeGreaterThan(Number(step?.[1]));
  });

  it('names the commands that show and test the action', () => {
    expect(read('README.md')).toMatch(/`npm run demo`[\s\S]*`npm cit`/);
  });

  it('has only pictures that exist', () => {
    const files = [...read('README.md').matchAll(/\bsrc(?:set)?="([^"]+)"/g)].map(
      ([, file = '']) => file,
    );
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });
});

it('the tables have every input, except matrix-leg, which is not for users', () => {
  const tables = read('README.md') + read('docs/inputs.md');
  const missing = Object.keys(action.inputs).filter(
    (name) => !tables.includes(`\n| \`${name}\` |`),
  );
  const what = 'put it below a `##` group of action.yml, then run npm run docs';
  expect(missing, what).toEqual(['matrix-leg']);
});

it('docs/permissions.md lists the events that are not checked', () => {
  const [, list = ''] =
    /^- These events are not checked: (.*?)\.$/ms.exec(read('docs/permissions.md')) ?? [];
  const names = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(names.sort()).toEqual([...TRUSTED_EVENTS].sort());
});

it('docs/delivery.md lists the 4xx that a wait tolerates', () => {
  const [, list = ''] =
    /tolerates temporary errors of the API for [^:]*: (.*?)\./s.exec(read('docs/delivery.md')) ??
    [];
  const listed = [...list.matchAll(/\b4\d\d\b/g)].map(([status]) => Number(status));
  const tolerated = Array.from({ length: 100 }, (_, index) => 400 + index).filter(isPassing4xx);
  const what = 'change “Errors while waiting” in docs/delivery.md, or isPassing4xx';
  expect(listed, what).toEqual(tolerated);
});

describe('the layout in CONTRIBUTING.md', () => {
  const [, layout = ''] = /^src\/\n(.*?)^test\//ms.exec(read('CONTRIBUTING.md')) ?? [];
  /** The lines of each folder by its name, and under '' those of files directly in src/. */
  const folders = Map.groupBy(
    layout.split(/\n(?! {3})/),
    (part) => /^ +(\w+)\//.exec(part)?.[1] ?? '',
  );

  const modules = files('src/**/*.ts').filter(({ name }) => !name.endsWith('.d.ts'));

  it.each(modules)('includes $name', ({ name }) => {
    const [, folder = '', file = ''] = /^src\/(?:(\w+)\/)?(.*)\.ts$/.exec(name) ?? [];
    const text = folders.get(folder)?.join('\n') ?? '';
    const what = 'add it to the layout';
    if (folder === 'vendor') expect(text, what).not.toBe('');
    else expect(text, what).toMatch(RegExp(`(?<![\\w-])${file}(?![\\w-])`));
  });
});

describe.each(documents())('links in $name', ({ name, text }) => {
  const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)].map(
    ([, path, anchor]) => ({ path: path ? posix.join(dirname(name), path) : name, anchor }),
  );

  it('lead to files that exist', () => {
    expect(links.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('lead to headings that exist', () => {
    const broken = links.filter(
      ({ path, anchor }) => anchor !== undefined && !anchorsOf(read(path)).includes(anchor),
    );
    expect(broken).toEqual([]);
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

describe('issue form, which GitHub ignores without an error if it is invalid', () => {
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
