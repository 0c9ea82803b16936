// What the runner sets for a step with the action, as far as the bench needs it.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const ACTION = join(import.meta.dirname, '../dist/index.js');
export const TOKEN = 'ghs_0123456789abcdef';
/** The pull requests in the simulated GitHub: each step that comments uses the next one. */
export const PULLS = 2000;

/** The files of the runner, for several steps in a row. */
export class StepFolder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'bench-'));
  /** The files to which a step writes. */
  readonly written = ['output', 'summary'].map((file) => join(this.path, file));

  /** Returns the environment of a step that only sends, and empties the files. `more` wins. */
  prepare(baseUrl: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
    for (const file of this.written) writeFileSync(file, '');
    writeFileSync(join(this.path, 'event'), '{}');
    return {
      ...{ 'INPUT_PROJECT-ID': 'project_1', 'INPUT_JOB-ID': 'job-1', 'INPUT_BASE-URL': baseUrl },
      ...{ 'INPUT_API-KEY': 'mint_0123456789abcdef', INPUT_PROMPT: 'Add error handling examples.' },
      ...{ INPUT_COMMENT: 'false', INPUT_WAIT: 'false', 'INPUT_GITHUB-TOKEN': TOKEN },
      ...{ GITHUB_EVENT_NAME: 'workflow_dispatch', GITHUB_EVENT_PATH: join(this.path, 'event') },
      ...{ GITHUB_OUTPUT: join(this.path, 'output'), GITHUB_WORKSPACE: this.path },
      ...{ GITHUB_STEP_SUMMARY: join(this.path, 'summary'), GITHUB_REPOSITORY: 'octo/agents' },
      ...{ GITHUB_RUN_ID: '1', GITHUB_RUN_ATTEMPT: '1', ...more },
    };
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}
