// `npm run build` makes dist/ of src/. The same sources become the same bytes in any folder.
//
// 1. tsc makes JavaScript of TypeScript, file by file, in lib/. ncc would do this itself if TypeScript 7 had a compiler that
//    JavaScript can call.
// 2. ncc joins that and the packages that it uses to a few files in lib/bundle, so that a job has nothing to install. What few
//    runs need is in files of its own: the client of GitHub, what reads failures and words of people, the parser of Markdown.
// 3. rolldown makes a file of dist/ of each of them: it removes what is not used, and minifies the rest. ncc's own `--minify`
//    skips the files that are loaded later.
// 4. This script leaves out parts of packages that no run uses, and collects the licences of what is left.
//
// bench/README.md says what that saves, and what else was tried.

import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
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

/**
 * Of undici: HTTP/2, SOCKS, the experimental parser of HTTP/1, the second copy of the other one for fast processors (the first
 * runs on all machines), and the data of forms. Of @actions/github: its HTTP client, and all of undici.
 */
const CONSTANTS = '../llhttp/constants.js';
const LEFT_OUT = [
  CONSTANTS,
  ...['./client-h2.js', './socks5-proxy-agent', './parser-h1.js'],
  ...['../llhttp/llhttp_simd-wasm.js', '../web/fetch/body.js', '../web/fetch/formdata'],
  ...['../web/webidl', '@actions/http-client', 'undici'],
];

/** Small modules instead of large ones: a table of 33 KB for names that few people write, and JSON with numbers that no ID has. */
const REPLACED: Readonly<Record<string, string>> = {
  'decode-named-character-reference': `
    const characters = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\\u00a0' };
    export const decodeNamedCharacterReference = (name) => characters[name] ?? false;`,
  'json-with-bigint': 'export const { parse: JSONParse, stringify: JSONStringify } = JSON;',
};

runTool('typescript/bin/tsc', '--project', 'tsconfig.build.json');
runTool(
  '@vercel/ncc/dist/ncc/cli.js',
  ...['build', 'lib/index.js', '--out', 'lib/bundle', '--stats-out', 'lib/stats.json', '--quiet'],
  ...[...LEFT_OUT, ...Object.keys(REPLACED)].flatMap((name) => ['--external', name]),
);
const stats: Stats = JSON.parse(readFileSync(join(ROOT, 'lib/stats.json'), 'utf8'));
// Not all files of dist/ and lib/bundle: those of earlier builds may be there.
rmSync(DIST, { recursive: true, force: true });
mkdirSync(DIST);
for (const { name } of stats.assets) writeFileSync(join(DIST, name), await shrink(name));
// It says that the files are ES modules.
copyFileSync(join(BUNDLE, 'package.json'), join(DIST, 'package.json'));
writeFileSync(join(DIST, 'licenses.txt'), collectLicences(filesOf(stats.modules)));

async function shrink(file: string): Promise<string> {
  await using build = await rolldown({
    cwd: BUNDLE,
    input: `./${file}`,
    platform: 'node',
    // ncc has left these out, as src/ does not need them, but it keeps their imports.
    external: [/^@actions\//, 'undici'],
    treeshake: { moduleSideEffects: [{ external: true, sideEffects: false }] },
    // As in Node's own copy of undici: without the experimental parser.
    transform: { define: { esbuildDetection: 'true' } },
    // ncc moves comments like these away from what they belong to.
    checks: { invalidAnnotation: false },
    plugins: [
      {
        name: 'leave-out',
        resolveId: (id) => (Object.hasOwn(REPLACED, id) ? id : null),
        load: (id) => REPLACED[id] ?? null,
        transform: { handler: (code) => unpackParser(leaveOut(code)) },
      },
    ],
  });
  // Node keeps a source with nothing but ASCII in half the memory.
  const { output } = await build.generate({ format: 'esm', charset: 'ascii', minify: true });
  return output[0].code;
}

/**
 * Makes `undefined` of each file that is left out, where ncc keeps a `require` that would fail. So a package may name such a
 * file when it starts, as long as it never uses it. Of the constants of the parser, it uses two tables.
 */
function leaveOut(code: string): string {
  const requires = /__WEBPACK_EXTERNAL_createRequire\(import\.meta\.url\)\("(\.[^"]*)"\)/g;
  const { ERROR, TYPE } = createRequire(import.meta.url)('undici/lib/llhttp/constants.js');
  const constants = JSON.stringify({ ERROR, TYPE });
  return code.replaceAll(requires, (_, file) => (file === CONSTANTS ? constants : 'undefined'));
}

/** Puts undici's parser of HTTP/1, which is WebAssembly in base64, into a file of its own: packed, that has 6 KB less. */
function unpackParser(code: string): string {
  const [all = '', before, base64 = ''] = /(const wasmBase64 = )'([^']+)'/.exec(code) ?? [];
  if (all === '') return code;
  writeFileSync(join(DIST, 'llhttp.wasm'), Buffer.from(base64, 'base64'));
  const read = 'readWasm(new URL("llhttp.wasm", import.meta.url))';
  return `import { readFileSync as readWasm } from 'node:fs';\n${code}`
    .replace(all, `${before}''`)
    .replace("Buffer.from(wasmBase64, 'base64')", read);
}

/** The licences of all packages in dist/, each text once. ncc only knows those of index.js. */
function collectLicences(files: readonly string[]): string {
  const roots = new Map<string, Set<string>>();
  for (const file of files) {
    const root = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file)?.[0];
    if (root === undefined) continue;
    const texts = roots.get(root) ?? new Set();
    roots.set(root, texts);
    // A part that comes from elsewhere has its licence beside it.
    for (let folder = dirname(file); folder.startsWith(root); folder = dirname(folder)) {
      for (const name of readdirSync(folder)) {
        if (/^licen[cs]e/i.test(name)) texts.add(readFileSync(join(folder, name), 'utf8').trim());
      }
    }
  }
  const packages = [...roots].map(([root, texts]) => {
    const file = readFileSync(join(root, 'package.json'), 'utf8');
    const { name, version, license } = JSON.parse(file) as Readonly<Record<string, string>>;
    if (texts.size === 0) throw new Error(`${name} has no file with its licence`);
    return { name: `${name} ${version} (${license})`, text: [...texts].sort().join('\n\n') };
  });
  return [...Map.groupBy(packages, ({ text }) => text)]
    .map(
      ([text, all]) =>
        `${all
          .map(({ name }) => name)
          .sort()
          .join('\n')}\n\n${text}\n`,
    )
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
