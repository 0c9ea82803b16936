import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// As users of the packages have them: micromark's builds for development check themselves, for twice
// the time.
process.env.NODE_ENV = 'production';

/** The longest first: at the end, one of them would be left over alone. */
const LONGEST = ['worlds', 'reruns', 'fleet', 'dist', 'protocol', 'cancelled'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return rank === -1 ? LONGEST.length : rank;
    };
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

// biome-ignore lint/style/noDefaultExport: vitest takes its configuration from a default export.
export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'functions', include: ['test/{unit,contract,model}/**/*.test.ts'] },
      },
      { extends: true, test: { name: 'scenarios', include: ['test/action/**/*.test.ts'] } },
    ],
    // Loading src/ and its packages for each file takes longer than most of its tests, which
    // therefore leave nothing behind.
    isolate: false,
    // Generous: a test that is slow on a loaded machine is no failure.
    testTimeout: 180_000,
    // Most of a scenario is another process, or waiting for one.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    maxConcurrency: 4,
    hookTimeout: 60_000,
  },
});
