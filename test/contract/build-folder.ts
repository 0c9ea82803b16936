// A second folder for a build, because the bundle must be the same in any folder.

import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** The packages in dist/, according to its licenses. */
export function bundledPackages(): readonly string[] {
  const licences = readFileSync(join(ROOT, 'dist/licenses.txt'), 'latin1');
  return [...licences.matchAll(/^([@a-z]\S*) \d\S* \(.+\)$/gm)].map(([, name = '']) => name);
}

/**
 * Fills the folder with what a build reads: copies of the packages that end up in dist/, and links to
 * the tools. ncc is copied, too: it numbers modules by their relative path to its loaders.
 */
export function prepareBuild(folder: string): void {
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
