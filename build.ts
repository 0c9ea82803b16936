// `npm run build`: bundles src/ and the parts of packages that it uses into dist/, and into lib/ in a
// readable form.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type OutputChunk, rolldown } from 'rolldown';

const ROOT = import.meta.dirname;

/** The files with code. */
export async function bundle(form: 'readable' | 'minified'): Promise<readonly OutputChunk[]> {
  const build = await rolldown({
    cwd: ROOT,
    input: 'src/index.ts',
    platform: 'node',
    // Left out: what undici loads late and works without; see src/vendor/undici.ts.
    external: ['../milo/simd.js', '../milo/no-simd.js', '../llhttp/llhttp_simd-wasm.js'],
    // Keeps the paths as they are, so that they lead nowhere here either, as on a runner.
    makeAbsoluteExternalsRelative: false,
    // The parts of the toolkit that src/ uses need neither its HTTP client nor all of undici.
    treeshake: { moduleSideEffects: [{ test: UNUSED, sideEffects: false }] },
  });
  const { output } = await build.generate({
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    // Node keeps a source with nothing but ASCII in half the memory.
    charset: 'ascii',
    minify: form === 'minified',
    // It is not written; bench/ uses it.
    sourcemap: 'hidden',
  });
  return output.filter((file) => file.type === 'chunk');
}

/** Modules that are left out if none of their exports are used. */
const UNUSED = /node_modules[\\/](@actions[\\/]|undici[\\/]index\.js$)/;

async function main(): Promise<void> {
  const [minified, readable] = [await bundle('minified'), await bundle('readable')];
  const files = minified.flatMap(({ modules }) => Object.keys(modules));
  const type = `${JSON.stringify({ type: 'module' })}\n`;
  write('lib', readable, {});
  write('dist', minified, { 'package.json': type, 'licenses.txt': renderLicences(files) });
}

function write(
  name: string,
  chunks: readonly OutputChunk[],
  more: Readonly<Record<string, string>>,
): void {
  const folder = join(ROOT, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const { fileName, code } of chunks) writeFileSync(join(folder, fileName), code);
  for (const [file, text] of Object.entries(more)) writeFileSync(join(folder, file), text);
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

if (import.meta.main) await main();
