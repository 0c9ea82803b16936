// The last step of `npm run build`: ncc has bundled src/ and its packages into lib/bundle, and rolldown
// makes dist/ of it. It takes each file on its own, removes what is not used, imports included, and
// minifies the rest: ncc would not minify the file that is loaded later. The licences are collected here
// too, because ncc only knows those of one file.

import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type OutputChunk, rolldown } from 'rolldown';

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

/** A file of lib/bundle, as it is in dist/. */
export async function minify(file: string): Promise<OutputChunk> {
  await using build = await rolldown({
    cwd: BUNDLE,
    input: `./${file}`,
    platform: 'node',
    // ncc has left these out, as src/ does not need them, but it keeps their imports.
    external: [/^@actions\//, 'undici'],
    treeshake: { moduleSideEffects: [{ external: true, sideEffects: false }] },
    // ncc moves comments like these away from what they belong to.
    checks: { invalidAnnotation: false },
    plugins: [{ name: 'leave-out', transform: { handler: leaveOut } }],
  });
  const { output } = await build.generate({
    format: 'esm',
    // Node keeps a source with nothing but ASCII in half the memory.
    charset: 'ascii',
    minify: true,
    // It is not written; bench/ uses it.
    sourcemap: 'hidden',
  });
  return output[0];
}

/**
 * Makes `undefined` of each file that the build leaves out, where ncc keeps a `require` that would
 * fail. So a package may name such a file when it starts, as long as it never uses it.
 */
function leaveOut(code: string): { code: string; map: null } {
  const requires = /__WEBPACK_EXTERNAL_createRequire\(import\.meta\.url\)\("\.[^"]*"\)/g;
  // No line moves, so the map stays as it is.
  return { code: code.replaceAll(requires, 'undefined'), map: null };
}

async function main(): Promise<void> {
  const stats: Stats = JSON.parse(
    readFileSync(join(import.meta.dirname, 'lib/stats.json'), 'utf8'),
  );
  rmSync(DIST, { recursive: true, force: true });
  mkdirSync(DIST);
  // Not all files of the folder: those of earlier builds stay there.
  for (const { name } of stats.assets) writeFileSync(join(DIST, name), (await minify(name)).code);
  copyFileSync(join(BUNDLE, 'package.json'), join(DIST, 'package.json'));
  writeFileSync(join(DIST, 'licenses.txt'), renderLicences(filesOf(stats.modules)));
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

if (import.meta.main) await main();
