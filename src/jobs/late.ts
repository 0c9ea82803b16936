import type { Late } from '../carried/content.ts';
import { readLogs, readState } from '../carried/read.ts';
import type { About } from '../carried/state.ts';
import type { Job } from '../job/job.ts';
import { conversationOf, isOwnPlace } from './own-pull.ts';
import { type Run, setLate } from './run.ts';

// What is read just before the message, after any wait for earlier work: until then, an agent may have pushed for minutes.

/**
 * Reads the logs of a run that failed or, for a command, the state of the own pull request and the thread that it replies to. Only
 * that state is read anew for a further attempt. Never rejects.
 */
export async function readLate(run: Run, job: Job): Promise<void> {
  const about = aboutOf(run, job);
  const reading = about?.isOwn === true ? undefined : run.reading;
  run.reading = reading ?? read(run, about);
  await run.reading;
}

async function read(run: Run, about: About | null): Promise<void> {
  const { inputs, plan, runtime } = run;
  const now = runtime.clock.now();
  // What is slow must leave time for the message.
  const until = now + (plan.deadline - now) / 2;
  const late: Late | null =
    about === null ? await readLogs(run, until) : await readState(run, about, inputs, until);
  setLate(run, late);
}

/** Null unless it is a command that carries something. */
function aboutOf(run: Run, job: Job): About | null {
  const { asked } = run;
  if (asked === null || asked.kind === 'review') return null;
  const isOwn = run.jobs.length === 1 && isOwnPlace(run, job);
  if (!isOwn && asked.replyTo === null) return null;
  return { asked, isOwn, pull: (isOwn && conversationOf(run)) || asked.conversation };
}
