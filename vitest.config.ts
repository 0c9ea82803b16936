import { defineConfig } from 'vitest/config';

// biome-ignore lint/style/noDefaultExport: vitest takes its configuration from a default export.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Generous: a test that is slow on a loaded machine is no failure.
    testTimeout: 60_000,
    // Most of a scenario is another process, or waiting for one.
    maxWorkers: 2,
    maxConcurrency: 4,
    hookTimeout: 60_000,
  },
});
