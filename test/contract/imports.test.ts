import { globSync, readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');

interface Module {
  readonly file: string;
  readonly text: string;
  /** Packages by name or as `package/file`, own modules by their path below src/. */
  readonly imports: readonly string[];
}

const modules: readonly Module[] = globSync('**/*.ts', { cwd: SRC }).map((path) => {
  const file = path.replaceAll(sep, '/');
  const text = readFileSync(join(SRC, file), 'utf8');
  const imports = [
    ...text.matchAll(/(?:from|import)\s*(?:\(\s*(?:\/\*.*?\*\/\s*)?)?'([^']+)'/g),
  ].map(([, name = '']) =>
    name.startsWith('.')
      ? relative(SRC, resolve(SRC, file, '..', name))
          .replaceAll(sep, '/')
          .replace(/^.*node_modules\//, '')
      : name,
  );
  return { file, text, imports };
});

function importersOf(test: (name: string) => boolean): readonly string[] {
  return modules
    .filter(({ imports }) => imports.some(test))
    .map(({ file }) => file)
    .sort();
}

describe('each outside thing has one owner', () => {
  it.each([
    ['@actions/core', ['console.ts']],
    ['undici', ['agent/http.ts', 'agent/undici.d.ts']],
    ['@actions/github', ['github/api.ts']],
    ['@octokit/core', ['github/api.ts']],
    ['node:fs', ['files.ts']],
  ])('%s', (name, owners) => {
    const isOfIt = (imported: string): boolean => `${imported}/`.startsWith(`${name}/`);
    expect(importersOf(isOfIt)).toEqual(owners);
  });

  it('zod, where text from outside becomes a type', () => {
    expect(importersOf((name) => name.startsWith('zod'))).toEqual([
      'agent/wire.ts',
      'github/api.ts',
      'github/event.ts',
      'github/ledger.ts',
      'inputs.ts',
    ]);
  });

  it('the process, in index.ts only', () => {
    const users = modules.filter(({ text }) => /\bprocess\.\w/.test(text));
    expect(users.map(({ file }) => file)).toEqual(['index.ts']);
  });
});

describe('arrows point one way', () => {
  const forbidden: readonly (readonly [string, RegExp, RegExp])[] = [
    [
      'agent/ knows nothing of GitHub',
      /^agent\//,
      /^(github|report)\/|^(run|reporter|authorize|errand|follow-up|ending|plan)\.ts$/,
    ],
    [
      'github/ knows nothing of the service',
      /^github\//,
      /^(agent|report)\/|^(run|reporter|authorize|errand|follow-up|ending|plan)\.ts$/,
    ],
    [
      'report/ only makes texts',
      /^report\//,
      /^(run|reporter|index|authorize|errand|follow-up|ending)\.ts$|^@actions|^undici/,
    ],
    ['nothing imports index.ts', /./, /^index\.ts$/],
    ['only index.ts imports run.ts', /^(?!index\.ts$)/, /^run\.ts$/],
  ];
  it.each(forbidden)('%s', (_, from, to) => {
    const crossing = modules
      .filter(({ file }) => from.test(file))
      .flatMap(({ file, imports }) =>
        imports.filter((name) => to.test(name)).map((name) => `${file} -> ${name}`),
      );
    expect(crossing).toEqual([]);
  });

  it('there is no cycle', () => {
    const graph = new Map(modules.map(({ file, imports }) => [file, imports]));
    const walk = (file: string, path: readonly string[]): readonly string[] =>
      path.includes(file)
        ? [[...path, file].join(' -> ')]
        : (graph.get(file) ?? []).flatMap((next) => walk(next, [...path, file]));
    expect(walk('index.ts', [])).toEqual([]);
  });
});
