import type { GitHub } from '../github/api.ts';
import type { Claim } from '../github/reactions.ts';
import type { TimeLimit } from '../github/time-limit.ts';
import type { Inputs } from '../inputs.ts';
import type { RunInfo } from '../runner/environment.ts';
import type { Runtime } from '../runner/runtime.ts';
import type { JobState } from '../turn.ts';
import type { LedgerJob } from './ledger.ts';
import type { CommentText } from './text.ts';

/** What the comments of a run need. */
export interface MemoryContext
  extends Pick<Runtime, 'clock' | 'log' | 'random' | 'signal'>,
    Pick<Inputs, 'comment' | 'wait'>,
    Pick<RunInfo, 'attempt'> {
  readonly text: CommentText;
  /** The random name of this process. */
  readonly owner: string;
  readonly connect: () => Promise<GitHub>;
  /** For a command: whether this run may send its message. It never rejects. */
  readonly claim: () => Promise<Claim>;
  /** The state of a job, given all messages that were sent to it. */
  readonly review: (state: JobState, job: LedgerJob) => JobState;
  /** For the end of a run. */
  readonly timeLimit: TimeLimit;
}
