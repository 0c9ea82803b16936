import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { simulate } from './scenario.ts';

const ROOT = join(import.meta.dirname, '../..');

it('the action runs from the files that the runner downloads', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'archive-'));
  try {
    const archive = execFileSync('git', ['archive', 'HEAD'], { cwd: ROOT, maxBuffer: 2 ** 28 });
    execFileSync('tar', ['-x', '-f', '-', '-C', folder], { input: archive });
    expect(readdirSync(folder).sort()).toEqual(['LICENSE', 'action.yml', 'dist', 'package.json']);
    await using sim = await simulate({ with: { wait: true }, step: { action: folder } });
    const result = await sim.run();
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
