// Which package each piece of a minified file comes from, according to the source map of the bundler.

import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { bundle } from '../build.ts';

export interface Piece {
  /** A package, this action or the bundler. */
  readonly origin: string;
  readonly text: string;
}

const OWN = '**this action**';
const RUNTIME = 'the bundler';

/** The pieces of each file with code in dist/. */
export async function originOf(root: string): Promise<ReadonlyMap<string, readonly Piece[]>> {
  const chunks = await bundle('minified');
  const pieces = chunks.map(({ fileName, code, map }) => {
    const built = readFileSync(join(root, 'dist', fileName), 'utf8');
    if (map === null || code !== built) {
      throw new Error(`dist/${fileName} is not what src/ builds`);
    }
    return [fileName, piecesOf(built, new SourceMap(JSON.parse(map.toString())))] as const;
  });
  return new Map(pieces);
}

function piecesOf(code: string, map: SourceMap): readonly Piece[] {
  const pieces: Piece[] = [];
  for (const [line, text] of code.split(/(?<=\n)/).entries()) {
    let start = 0;
    let current = RUNTIME;
    for (let column = 0; column <= text.length; column++) {
      const entry = map.findEntry(line, column);
      const origin = 'originalSource' in entry ? originOfFile(entry.originalSource) : RUNTIME;
      if (column < text.length && origin === current) continue;
      if (column > start) pieces.push({ origin: current, text: text.slice(start, column) });
      [start, current] = [column, origin];
    }
  }
  return pieces;
}

function originOfFile(path: string): string {
  if (/[\\/]llhttp[\\/].*wasm/.test(path)) return 'undici: its HTTP parser, in WebAssembly';
  const name = /^.*node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(path)?.[1];
  if (name !== undefined) return name.replace('\\', '/');
  return /\bsrc[\\/]/.test(path) ? OWN : RUNTIME;
}
