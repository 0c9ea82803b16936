import { globSync, readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');

/** From top to bottom. A folder, or a file directly in src/, imports only from itself and from lower layers. */
const LAYERS = [
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

/** Imports that the layers allow but this forbids. */
const FORBIDDEN: readonly (readonly [string, string, RegExp, RegExp])[] = [
  ['only run, job and report', 'import the run context', /^(?!run|job|report)/, /^context$/],
  ['memory', 'does not import the API', /^memory$/, /^agent$/],
  ['report', 'does not import APIs or packages', /^report$/, /^(agent|github|vendor)$/],
];

const OWNERS: Readonly<Record<string, readonly string[]>> = {
  // Only vendor/ imports packages.
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
  // Modules that validate input from outside.
  zod: [
    'agent/job-record.ts',
    ...['github/api.ts', 'github/errors.ts', 'github/event.ts'],
    'memory/data.ts',
  ],
  // The module that limits how many messages are sent at a time.
  'p-limit': ['agent/send-queue.ts'],
};
/** Public subpaths of packages. */
const PUBLIC_PARTS = ['zod/mini'];

interface Module {
  readonly file: string;
  /** The folder, or for a file directly in src/, its name without extension. */
  readonly part: string;
  /** Without comments. */
  readonly text: string;
  /** Packages by name or as `package/file`, own modules by their path in src/. */
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
  return { file, part: partOf(file), text, imports };
});

function partOf(file: string): string {
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
function importsThat(test: (from: Module, imported: string) => boolean): readonly string[] {
  return modules.flatMap((from) =>
    from.imports.filter((name) => test(from, name)).map((name) => `${from.file} -> ${name}`),
  );
}

describe('only the listed modules import', () => {
  it.each(Object.entries(OWNERS))('%s', (name, owners) => {
    const users = modules.filter(({ imports }) =>
      imports.some((imported) => `${imported}/`.startsWith(`${name}/`)),
    );
    expect(users.map(({ file }) => file).sort()).toEqual(owners);
  });

  it('packages and modules of vendor/ (the list is complete)', () => {
    const imported = modules.flatMap(({ imports }) =>
      imports
        .filter((name) => isOfPackage(name) || partOf(name) === 'vendor')
        .map((name) => (isOwn(name) ? name : packageOf(name))),
    );
    const owned = Object.keys(OWNERS).filter((name) => !name.startsWith('node:'));
    expect([...new Set(imported)].sort()).toEqual(owned.sort());
  });

  it('files of packages (only vendor/ does)', () => {
    const deep = importsThat(
      ({ part }, name) =>
        part !== 'vendor' &&
        isOfPackage(name) &&
        ![packageOf(name), ...PUBLIC_PARTS].includes(name),
    );
    expect(deep).toEqual([]);
  });

  it('process (only index.ts uses it)', () => {
    const users = modules.filter(({ text }) => /\bprocess\.\w/.test(text));
    expect(users.map(({ file }) => file)).toEqual(['index.ts']);
  });
});

describe('imports go one way', () => {
  const layerOf = (part: string): number => LAYERS.findIndex((parts) => parts.includes(part));

  it('from layer to layer', () => {
    const parts = new Set(modules.map(({ part }) => part));
    expect([...parts].sort()).toEqual(LAYERS.flat().sort());
    const wrong = importsThat(({ part }, name) => {
      const other = partOf(name);
      return isOwn(name) && other !== part && layerOf(other) <= layerOf(part);
    });
    expect(wrong).toEqual([]);
  });

  it.each(FORBIDDEN)('%s %s', (_, __, from, to) => {
    expect(importsThat(({ part }, name) => from.test(part) && to.test(partOf(name)))).toEqual([]);
  });

  it('without a cycle', () => {
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
