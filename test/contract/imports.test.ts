import { globSync, readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');

/** From top to bottom. A folder, or a file in src/, imports only from itself and from below. */
const LAYERS =
  `index / run / report / delivery / plan / prompt / comment / ledger / context / trigger
  / github mintlify / runner / job / markdown / mintlify-api pull-request / text clock vendor
  / value-or-problem`
    .split('/')
    .map((layer) => layer.trim().split(' '));

/** The only modules that import each thing. Only vendor/ imports other files of packages. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@actions/core': ['vendor/actions.ts'],
  '@actions/github': ['vendor/actions.ts'],
  '@octokit/core': ['vendor/actions.ts'],
  undici: ['vendor/undici-files.d.ts', 'vendor/undici.ts'],
  'vendor/actions.ts': ['github/client.ts', 'runner/logger.ts'],
  'vendor/undici.ts': ['runner/http.ts'],
  'node:fs': ['runner/files.ts'],
  'node:crypto': ['index.ts', 'ledger/record.ts'],
  // Where shapes come in from outside.
  'zod/mini': [
    ...['github/checks.ts', 'github/conversation.ts'],
    ...['github/responses.ts', 'ledger/marker.ts', 'ledger/record.ts'],
    'mintlify/client.ts',
  ],
  'p-limit': ['delivery/deliver.ts'],
  // A run loads the parser only for a text that may hide something.
  micromark: ['prompt/sanitize/visible-text.ts'],
  'micromark-extension-gfm-footnote': ['prompt/sanitize/visible-text.ts'],
  'micromark-extension-gfm-table': ['prompt/sanitize/visible-text.ts'],
};

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

/** Each `file -> import` for which the test is true. */
function importsThat(test: (from: Module, imported: string) => boolean): readonly string[] {
  return modules.flatMap((from) =>
    from.imports.filter((name) => test(from, name)).map((name) => `${from.file} -> ${name}`),
  );
}

it.each(Object.entries(OWNERS))('only the listed modules import %s', (name, owners) => {
  const users = modules.filter(({ imports }) =>
    imports.some((imported) => `${imported}/`.startsWith(`${name}/`)),
  );
  expect(users.map(({ file }) => file).sort()).toEqual(owners);
});

it('all packages and modules of vendor/ have owners', () => {
  const unowned = importsThat((_, name) => {
    const isOutside = !isOwn(name) && !name.startsWith('node:');
    const owned = Object.keys(OWNERS).some((owner) => `${name}/`.startsWith(`${owner}/`));
    return (isOutside || partOf(name) === 'vendor') && !owned;
  });
  expect(unowned).toEqual([]);
});

it('only index.ts uses process', () => {
  const users = modules.filter(({ text }) => /\bprocess\.\w/.test(text));
  expect(users.map(({ file }) => file)).toEqual(['index.ts']);
});

it('nothing loads the locales of Node, which takes 15 ms', () => {
  const users = modules.filter(({ text }) => /\bIntl\b|\.toLocale|\.localeCompare/.test(text));
  expect(users.map(({ file }) => file)).toEqual([]);
});

it('imports go from layer to layer, one way', () => {
  const layerOf = (part: string): number => LAYERS.findIndex((parts) => parts.includes(part));
  const parts = new Set(modules.map(({ part }) => part));
  expect([...parts].sort()).toEqual(LAYERS.flat().sort());
  const wrong = importsThat(({ part }, name) => {
    const other = partOf(name);
    return isOwn(name) && other !== part && layerOf(other) <= layerOf(part);
  });
  expect(wrong).toEqual([]);
});

it('comment/ and ledger/ do not import the API of the agent', () => {
  const isBelow = (part: string): boolean => part === 'comment' || part === 'ledger';
  const wrong = importsThat(({ part }, name) => isBelow(part) && partOf(name) === 'mintlify');
  expect(wrong).toEqual([]);
});

it('one name of a function, a constant or a type means one thing', () => {
  const defined = /^(?:export )?(?:async )?(?:function|const|let|class|interface|type) (\w+)/gm;
  const places = modules.flatMap(({ file, text }) =>
    [...text.matchAll(defined)].map(([, name = '']) => ({ name, file })),
  );
  const clashes = [...Map.groupBy(places, ({ name }) => name)]
    .filter(([, all]) => new Set(all.map(({ file }) => file)).size > 1)
    .map(([name, all]) => `${name}: ${all.map(({ file }) => file).join(', ')}`);
  expect(clashes).toEqual([]);
});

it('imports have no cycle', () => {
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
