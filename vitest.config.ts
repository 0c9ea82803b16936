import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest test begins first: at the end it would be left over alone. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLongest = ({ moduleId }: TestSpecification): boolean =>
      moduleId.endsWith('/fleet.test.ts');
    return sorted.toSorted((one, other) => Number(isLongest(other)) - Number(isLongest(one)));
  }
}

// biome-ignore lint/style/noDefaultExport: vitest takes its configuration from a default export.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Generous: a test that is slow on a loaded machine is no failure.
    testTimeout: 60_000,
    // Most of a scenario is another process, or waiting for one.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    maxConcurrency: 4,
    hookTimeout: 60_000,
  },
});
