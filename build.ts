// `npm run build` makes dist/ of src/ in four stages: compile, bundle, shrink, collectLicences.
// Each says what it is for and what it is worth; bench/README.md says how that was measured, and
// what else was tried. The same sources become the same bytes in any folder.

import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';

/** What ncc tells about a bundle: its files, and the modules in them. */
interface Stats {
  readonly assets: readonly { readonly name: string }[];
  readonly modules: readonly BundledModule[];
}
interface BundledModule {
  readonly nameForCondition?: string;
  readonly modules?: readonly BundledModule[];
}

const ROOT = import.meta.dirname;
const BUNDLE = join(ROOT, 'lib/bundle');
const DIST = join(ROOT, 'dist');

/** A table of 33 KB, of which the parser of Markdown needs nothing to find what is hidden. */
const NAMES_OF_CHARACTERS = 'decode-named-character-reference';

compile();
const { assets, modules } = bundle();
// Not all files of dist/ and lib/bundle: those of earlier builds may be there.
rmSync(DIST, { recursive: true, force: true });
mkdirSync(DIST);
for (const { name } of assets) writeFileSync(join(DIST, name), await shrink(name));
// It says that the files are ES modules.
copyFileSync(join(BUNDLE, 'package.json'), join(DIST, 'package.json'));
writeFileSync(join(DIST, 'licenses.txt'), collectLicences(filesOf(modules)));

/**
 * Stage 1: src/ becomes JavaScript in lib/. ncc would do this itself if TypeScript 7 had a compiler
 * that JavaScript can call, as its earlier versions had.
 */
function compile(): void {
  runTool('typescript/bin/tsc', '--project', 'tsconfig.build.json');
}

/**
 * Stage 2: lib/ and the packages that it uses become a few files in lib/bundle, so that a job has
 * nothing to install. Besides the first, a run loads only what it needs: what reads the event and
 * files, if the message carries something of them; the parser of Markdown, if a text may hide
 * something; and GitHub's client, to ask GitHub. In one file, the first byte of the message would
 * come 18 % later.
 */
function bundle(): Stats {
  // Packages import these, but no run uses them: HTTP/2, undici's second parser of HTTP/1, what
  // sends the data of forms, a second HTTP client, all of undici, and the names of characters in
  // HTML. The first parser is there twice: without the faster one, undici takes the one that runs on
  // all machines. With all of them, the archive has 180 KB more, and the first byte comes later.
  const parsers = ['../milo/simd.js', '../milo/no-simd.js', '../llhttp/llhttp_simd-wasm.js'];
  const forms = ['../web/fetch/body.js', '../web/fetch/formdata', '../web/webidl'];
  const packages = ['@actions/http-client', 'undici', NAMES_OF_CHARACTERS];
  const leftOut = ['./client-h2.js', ...parsers, ...forms, ...packages];
  runTool(
    '@vercel/ncc/dist/ncc/cli.js',
    ...['build', 'lib/index.js', '--out', 'lib/bundle', '--stats-out', 'lib/stats.json', '--quiet'],
    ...leftOut.flatMap((name) => ['--external', name]),
  );
  return JSON.parse(readFileSync(join(ROOT, 'lib/stats.json'), 'utf8'));
}

/**
 * Stage 3: rolldown makes a file of dist/ of each file of lib/bundle. It removes what is not used,
 * imports included, and minifies the rest, which makes the archive that each job downloads 145 KB
 * smaller. ncc's own `--minify` skips the file that is loaded later.
 */
async function shrink(file: string): Promise<string> {
  await using build = await rolldown({
    cwd: BUNDLE,
    input: `./${file}`,
    platform: 'node',
    // ncc has left these out, as src/ does not need them, but it keeps their imports.
    external: [/^@actions\//, 'undici'],
    treeshake: { moduleSideEffects: [{ external: true, sideEffects: false }] },
    // Its parser is left out.
    transform: { define: { 'process.env.UNDICI_USE_MILO': 'undefined' } },
    // ncc moves comments like these away from what they belong to.
    checks: { invalidAnnotation: false },
    plugins: [
      {
        name: 'leave-out',
        resolveId: (id) => (id === NAMES_OF_CHARACTERS ? id : null),
        load: (id) =>
          id === NAMES_OF_CHARACTERS ? 'export let decodeNamedCharacterReference;' : null,
        transform: { handler: leaveOut },
      },
    ],
  });
  const { output } = await build.generate({
    format: 'esm',
    // Node keeps a source with nothing but ASCII in half the memory.
    charset: 'ascii',
    minify: true,
  });
  return output[0].code;
}

/**
 * Makes `undefined` of each file that the build leaves out, where ncc keeps a `require` that would
 * fail. So a package may name such a file when it starts, as long as it never uses it.
 */
function leaveOut(code: string): string {
  const requires = /__WEBPACK_EXTERNAL_createRequire\(import\.meta\.url\)\("\.[^"]*"\)/g;
  return code.replaceAll(requires, 'undefined');
}

/** Stage 4: the licences of all packages in dist/. ncc only knows those of index.js. */
function collectLicences(files: readonly string[]): string {
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

/** Runs a tool by its file, and ends the build if it fails: it has said why. */
function runTool(file: string, ...args: readonly string[]): void {
  const path = join(ROOT, 'node_modules', file);
  const { status } = spawnSync(process.execPath, [path, ...args], { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}
