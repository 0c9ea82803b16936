// The last step of `npm run build`: makes dist/ of what ncc has bundled into lib/bundle. It minifies
// every file, as ncc does not minify the ones that are loaded later, and gathers the licences of all
// packages, as ncc knows those of one file only.

import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { minifySync } from 'rolldown/utils';

interface Stats {
  readonly assets: readonly { readonly name: string }[];
  readonly modules: readonly BundledModule[];
}
interface BundledModule {
  readonly nameForCondition?: string;
  readonly modules?: readonly BundledModule[];
}

const BUNDLE = join(import.meta.dirname, 'lib/bundle');
const DIST = join(import.meta.dirname, 'dist');
const stats: Stats = JSON.parse(readFileSync(join(import.meta.dirname, 'lib/stats.json'), 'utf8'));

rmSync(DIST, { recursive: true, force: true });
mkdirSync(DIST, { recursive: true });
// Not all that lies in the folder: what an earlier build left there stays.
for (const { name } of stats.assets) {
  writeFileSync(join(DIST, name), minify(name, readFileSync(join(BUNDLE, name), 'utf8')));
}
copyFileSync(join(BUNDLE, 'package.json'), join(DIST, 'package.json'));
writeFileSync(join(DIST, 'licenses.txt'), renderLicences(filesOf(stats.modules)));

function minify(file: string, text: string): string {
  // With nothing but ASCII in it, Node keeps the source in half the memory.
  const { code, errors } = minifySync(file, text, { module: true, codegen: { asciiOnly: true } });
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
  return code;
}

function renderLicences(files: readonly string[]): string {
  const packages = new Map<string, Set<string>>();
  for (const file of files) {
    const root = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file)?.[0];
    if (root === undefined) continue;
    const licences = packages.get(root) ?? new Set();
    packages.set(root, licences);
    // A part that comes from elsewhere has its licence beside it.
    for (let folder = dirname(file); folder.startsWith(root); folder = dirname(folder)) {
      for (const name of readdirSync(folder)) {
        if (/^licen[cs]e/i.test(name)) licences.add(join(folder, name));
      }
    }
  }
  return [...packages]
    .map(([root, licences]) => {
      const { name, version, license } = JSON.parse(
        readFileSync(join(root, 'package.json'), 'utf8'),
      ) as Readonly<Record<string, string>>;
      if (licences.size === 0) throw new Error(`${name} has no file with its licence`);
      const texts = [...licences].sort().map((file) => readFileSync(file, 'utf8').trim());
      return `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`;
    })
    .sort()
    .join(`\n${'-'.repeat(80)}\n\n`)
    .replaceAll('\r\n', '\n');
}

/** Modules that are joined into one have no file; theirs are within. */
function filesOf(modules: readonly BundledModule[]): readonly string[] {
  return modules.flatMap(({ nameForCondition, modules: parts }) =>
    parts === undefined ? [nameForCondition ?? ''] : filesOf(parts),
  );
}
