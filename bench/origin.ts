// The package of each piece of a minified file: the source map leads to a line of the bundle of ncc, and
// the comments and statistics of ncc lead to the package.

import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { minify } from '../build.ts';

export interface Piece {
  /** A package, this action or ncc. */
  readonly origin: string;
  readonly text: string;
}

interface Module {
  readonly id?: number | string | null;
  readonly nameForCondition?: string | null;
}

const OWN = '**this action**';
const RUNTIME = 'ncc’s loader';

export async function originOf(root: string, file: string): Promise<readonly Piece[]> {
  const { code, map } = await minify(file);
  const built = readFileSync(join(root, 'dist', file), 'utf8');
  if (map === null || code !== built) {
    throw new Error(`dist/${file} is not the build of lib/bundle/${file}`);
  }
  const readable = readFileSync(join(root, 'lib/bundle', file), 'utf8');
  const origins = originOfLines(readable, modulesOf(root));
  return piecesOf(built, new SourceMap(JSON.parse(map.toString())), origins);
}

function piecesOf(code: string, map: SourceMap, origins: readonly string[]): readonly Piece[] {
  const pieces: Piece[] = [];
  for (const [line, text] of code.split(/(?<=\n)/).entries()) {
    let start = 0;
    let current = OWN;
    for (let column = 0; column <= text.length; column++) {
      const entry = map.findEntry(line, column);
      const origin = 'originalLine' in entry ? (origins[entry.originalLine] ?? RUNTIME) : RUNTIME;
      if (column < text.length && origin === current) continue;
      if (column > start) pieces.push({ origin: current, text: text.slice(start, column) });
      [start, current] = [column, origin];
    }
  }
  return pieces;
}

/** The package of each line of the bundle. */
function originOfLines(text: string, modules: ReadonlyMap<string, string>): readonly string[] {
  let current = OWN;
  return text.split('\n').map((line) => {
    const id = /^\/\*{3}\/ "?([^"]+)"?:$/.exec(line)?.[1];
    const merged = /^;\/\/ CONCATENATED MODULE: (.+)$/.exec(line)?.[1];
    if (id !== undefined) current = modules.get(id) ?? RUNTIME;
    else if (merged !== undefined) current = packageOf(merged);
    else if (line.startsWith('/******/ \t')) current = RUNTIME;
    return current;
  });
}

/** Packages by the module numbers of ncc. */
function modulesOf(root: string): ReadonlyMap<string, string> {
  const stats: { readonly modules: readonly Module[] } = JSON.parse(
    readFileSync(join(root, 'lib/stats.json'), 'utf8'),
  );
  return new Map(
    stats.modules.map(({ id, nameForCondition }) => [
      String(id),
      packageOf(nameForCondition ?? ''),
    ]),
  );
}

function packageOf(path: string): string {
  if (/[\\/]llhttp[\\/].*wasm/.test(path)) return 'undici: its HTTP parser, in WebAssembly';
  const name = /^.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(path)?.[1];
  if (name !== undefined) return name.replace('\\', '/');
  return /\blib[\\/]/.test(path) ? OWN : RUNTIME;
}
