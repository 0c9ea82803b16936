// A second place to build in, as the bundle must be the same wherever it is built.

import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** The packages whose code or licence dist/ says it holds. */
export function bundledPackages(): readonly string[] {
  const licences = readFileSync(join(ROOT, 'dist/licenses.txt'), 'latin1');
  return [...licences.matchAll(/^([@a-z]\S*) \d\S* \(.+\)$/gm)].map(([, name = '']) => name);
}

/**
 * Puts there what a build reads. Tools are linked, but for ncc: it numbers the modules by the way
 * from them to its loaders. What gets into dist/ is copied.
 */
export function layOut(folder: string): void {
  const bundled = bundledPackages();
  const copy = (name: string): void =>
    cpSync(join(ROOT, name), join(folder, name), { recursive: true, verbatimSymlinks: true });
  ['src', 'build.ts', 'package.json', 'tsconfig.json', 'tsconfig.build.json'].forEach(copy);
  copy('node_modules/.bin');
  for (const name of globSync(['node_modules/[!.@]*', 'node_modules/@*/*'], { cwd: ROOT })) {
    const isCopied = ['@vercel/ncc', ...bundled].includes(name.replace('node_modules/', ''));
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    if (isCopied) copy(name);
    else symlinkSync(join(ROOT, name), join(folder, name), 'junction');
  }
}
