import { globSync, readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');

/** From top to bottom. A folder, or a file of src/ itself, imports what is further down, and itself. */
const FLOORS = [
  ['index'],
  ['run'],
  ['job', 'report'],
  ['context'],
  ['memory'],
  ['agent', 'github'],
  ['inputs', 'labels'],
  ['turn'],
  ['network', 'reason'],
  ['runner'],
  ['pull-request-link'],
  ['clock', 'result', 'sanitize', 'vendor', 'version'],
];

/** What the floors alone would allow. */
const KEPT_APART: readonly (readonly [string, string, RegExp, RegExp])[] = [
  ['only run, job and report', 'know the run context', /^(?!run|job|report)/, /^context$/],
  ['memory', 'knows nothing of the service', /^memory$/, /^agent$/],
  ['report', 'asks nobody', /^report$/, /^(agent|github|vendor)$/],
];

const OWNERS: Readonly<Record<string, readonly string[]>> = {
  // Of packages only vendor/ knows more than their names.
  '@actions/core': ['vendor/actions-core.ts'],
  '@actions/github': ['vendor/actions-github.ts'],
  '@octokit/core': ['vendor/actions-github.ts'],
  undici: ['vendor/undici-files.d.ts', 'vendor/undici.ts'],
  'vendor/actions-core.ts': ['runner/log.ts'],
  'vendor/actions-github.ts': ['github/api.ts'],
  'vendor/undici.ts': ['agent/http.ts', 'github/fetch.ts', 'index.ts', 'network.ts'],
  'node:fs': ['runner/files.ts'],
  'node:crypto': ['index.ts', 'job/prepare.ts', 'memory/text.ts'],
  'node:zlib': ['memory/data.ts'],
  // Where text from outside becomes a type.
  zod: [
    'agent/job-record.ts',
    ...['github/api.ts', 'github/errors.ts', 'github/event.ts'],
    'memory/data.ts',
  ],
  // Where not all may run at a time.
  'p-limit': ['agent/send-queue.ts'],
};
/** Parts of packages that these offer to everybody. */
const PUBLIC_PARTS = ['zod/mini'];

interface Module {
  readonly file: string;
  /** The folder, or the file of src/ itself without its ending. */
  readonly room: string;
  /** Without comments. */
  readonly text: string;
  /** Packages by name or as `package/file`, own modules by their path below src/. */
  readonly imports: readonly string[];
}

const modules: readonly Module[] = globSync('**/*.ts', { cwd: SRC }).map((path) => {
  const file = path.replaceAll(sep, '/');
  const comments = /\/\*.*?\*\/|^\s*\/\/[^\n]*/gms;
  const text = readFileSync(join(SRC, file), 'utf8').replace(comments, '');
  const names = text.matchAll(/\b(?:from|import|module)\s*\(?\s*'([^']+)'/g);
  const imports = [...names].map(([, name = '']) =>
    name.startsWith('.')
      ? relative(SRC, resolve(SRC, file, '..', name))
          .replaceAll(sep, '/')
          .replace(/^.*node_modules\//, '')
      : name,
  );
  return { file, room: roomOf(file), text, imports };
});

function roomOf(file: string): string {
  return file.replace(/(\.ts|\/.*)$/, '');
}

function isOwn(imported: string): boolean {
  return modules.some(({ file }) => file === imported);
}

function isOfPackage(imported: string): boolean {
  return !isOwn(imported) && !imported.startsWith('node:');
}

function packageOf(imported: string): string {
  const parts = imported.split('/');
  return parts.slice(0, imported.startsWith('@') ? 2 : 1).join('/');
}

/** Each `file -> import` for which the test is true. */
function arrows(test: (from: Module, imported: string) => boolean): readonly string[] {
  return modules.flatMap((from) =>
    from.imports.filter((name) => test(from, name)).map((name) => `${from.file} -> ${name}`),
  );
}

describe('each outside thing has one owner', () => {
  it.each(Object.entries(OWNERS))('%s', (name, owners) => {
    const users = modules.filter(({ imports }) =>
      imports.some((imported) => `${imported}/`.startsWith(`${name}/`)),
    );
    expect(users.map(({ file }) => file).sort()).toEqual(owners);
  });

  it('each package and its module in vendor/', () => {
    const things = modules.flatMap(({ imports }) =>
      imports
        .filter((name) => isOfPackage(name) || roomOf(name) === 'vendor')
        .map((name) => (isOwn(name) ? name : packageOf(name))),
    );
    const owned = Object.keys(OWNERS).filter((name) => !name.startsWith('node:'));
    expect([...new Set(things)].sort()).toEqual(owned.sort());
  });

  it('the files of packages, in vendor/ only', () => {
    const deep = arrows(
      ({ room }, name) =>
        room !== 'vendor' &&
        isOfPackage(name) &&
        ![packageOf(name), ...PUBLIC_PARTS].includes(name),
    );
    expect(deep).toEqual([]);
  });

  it('the process, in index.ts only', () => {
    const users = modules.filter(({ text }) => /\bprocess\.\w/.test(text));
    expect(users.map(({ file }) => file)).toEqual(['index.ts']);
  });
});

describe('arrows point one way', () => {
  const floorOf = (room: string): number => FLOORS.findIndex((rooms) => rooms.includes(room));

  it('from floor to floor', () => {
    const rooms = new Set(modules.map(({ room }) => room));
    expect([...rooms].sort()).toEqual(FLOORS.flat().sort());
    const wrong = arrows(({ room }, name) => {
      const other = roomOf(name);
      return isOwn(name) && other !== room && floorOf(other) <= floorOf(room);
    });
    expect(wrong).toEqual([]);
  });

  it.each(KEPT_APART)('%s %s', (_, __, from, to) => {
    expect(arrows(({ room }, name) => from.test(room) && to.test(roomOf(name)))).toEqual([]);
  });

  it('there is no cycle', () => {
    const graph = new Map(modules.map(({ file, imports }) => [file, imports]));
    const walked = new Set<string>();
    const walk = (file: string, path: readonly string[]): readonly string[] => {
      if (path.includes(file)) return [[...path.slice(path.indexOf(file)), file].join(' -> ')];
      if (walked.has(file)) return [];
      walked.add(file);
      return (graph.get(file) ?? []).flatMap((next) => walk(next, [...path, file]));
    };
    expect(walk('index.ts', [])).toEqual([]);
  });
});
