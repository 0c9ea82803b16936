import type { Job } from '../job/job.ts';
import type { FoundNote } from '../note/data.ts';

/**
 * The number of the pull request of a job. While the agent works, its record names none: then it is the newest number that a
 * note of the conversation has recorded. `notes`: the oldest first.
 */
export function ownPull(
  { id, record }: Pick<Job, 'id' | 'record'>,
  notes: readonly FoundNote[],
): number | undefined {
  const recorded = notes.flatMap(({ jobs }) => jobs.filter((job) => job.id === id));
  return record?.prNumber ?? recorded.findLast(({ prNumber }) => prNumber !== undefined)?.prNumber;
}
