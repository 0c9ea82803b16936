// Loads in advance what a step would load late, for which it would wait in real time.

import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { getOctokit } from '../../../src/vendor/actions.ts';
import { REPOSITORY_ROOT } from './process.ts';

await getOctokit('x', 'https://x.example', 'x');
for (const file of globSync('src/*/**/*.ts', { cwd: REPOSITORY_ROOT })) {
  await import(pathToFileURL(join(REPOSITORY_ROOT, file)).href);
}
