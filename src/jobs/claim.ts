import { hintFor, isUnclear, whyOf } from '../github/errors.ts';
import { endAs, takenEnd } from '../reasons.ts';
import { sentences } from '../text.ts';
import { type ReactionAnswer, react } from './answer.ts';
import { endJob, openJobs, type Run } from './context.ts';

// The claim of a command: only the process whose 🚀 is new sends it.

/** Ends the jobs if this run must not send the command, or cannot know that. */
export async function claim(run: Run): Promise<void> {
  const jobs = openJobs(run);
  if (jobs.length === 0) return;
  const rocket = await addRocket(run);
  // A cancelled run reports the cancellation, and no problem with its claim.
  if (rocket.kind === 'added' || run.runtime.signal.aborted) return;
  const end = rocket.kind === 'failed' ? endAs('error', explain(rocket.error)) : takenEnd();
  for (const job of jobs) endJob(run, job, end);
}

/** Requested once: a second request would find the reaction of the first. */
export async function addRocket(run: Run): Promise<ReactionAnswer> {
  const { asked, github, runtime } = run;
  /* v8 ignore next -- it is only called for a command */
  if (asked === null) return { kind: 'there' };
  const answer = await react(asked, 'rocket', github, runtime.log);
  if (answer.kind === 'added') run.release = answer.takeBack;
  return answer;
}

function explain(error: unknown): string {
  const maybe = isUnclear(error) ? ': this one may have the 🚀 already' : '';
  return sentences(
    `The command could not be claimed by the reaction 🚀: ${whyOf(error)}.`,
    hintFor(error, 'The comment was deleted, or “github-token” cannot write there.'),
    `Write the command again, in a new comment${maybe}.`,
  );
}
