import type { JobRecord } from '../../src/agent/wire.ts';

/** A job record with defaults for what a test does not care about. */
export function record(parts: Partial<JobRecord> = {}): JobRecord {
  return {
    id: 'job-1',
    status: 'completed',
    prLink: null,
    model: 'sonnet',
    source: null,
    createdAt: null,
    archivedAt: null,
    ...parts,
  };
}
