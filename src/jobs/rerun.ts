import { whyOf } from '../github/errors.ts';
import { doubted, ended, type Job, learned, resumed } from '../job.ts';
import type { FoundNote } from '../note/data.ts';
import { type Claim, judge, type Verdict } from '../note/rerun.ts';
import { doneEnd, refusedEnd, takenEnd } from '../reasons.ts';
import { listing } from '../text.ts';
import { addRocket } from './claim.ts';
import { endJob, openJobs, type Run } from './context.ts';

// A re-run: it sends a message only if no earlier attempt can have sent it, and otherwise goes on with that.

/**
 * Goes by what earlier attempts did: see the table "Re-runs" of docs/note.md. Whatever else may end a job
 * comes later, because it does not tell whether they sent the message.
 */
export async function followEarlierAttempts(run: Run): Promise<void> {
  judgeAll(run, run.plan.claims ? 'pending' : 'none');
  if (!run.plan.claims || openJobs(run).length === 0) return;
  const rocket = await addRocket(run);
  // A cancelled run reports the cancellation, and no problem with its claim.
  if (rocket.kind === 'added' || run.runtime.signal.aborted) return;
  const why =
    rocket.kind === 'failed'
      ? `the 🚀 could not be added: ${whyOf(rocket.error)}`
      : 'the command has its 🚀 already, from another run or from an earlier attempt that ended early';
  judgeAll(run, { why });
}

/** Ends the jobs that get no message in this re-run. Others continue an earlier one. */
function judgeAll(run: Run, claim: Claim): void {
  for (const job of openJobs(run)) {
    const verdict = verdictOn(run, job, claim);
    switch (verdict.kind) {
      case 'send':
        break;
      case 'taken':
        endJob(run, job, takenEnd());
        break;
      case 'refuse':
        doubted(job);
        endJob(run, job, refusedEnd(verdict.why, remedyOf(run, job, verdict.notes)));
        break;
      case 'resume':
        resume(run, job, verdict);
    }
  }
}

function verdictOn({ notes, about }: Run, { id }: Job, claim: Claim): Verdict {
  if (notes.kind === 'ok') return judge(notes.value, about, id, claim);
  return claim === 'pending' ? { kind: 'send' } : { kind: 'refuse', why: notes.problem, notes: [] };
}

/** What people do who want the message to be sent all the same. */
function remedyOf({ plan }: Run, { id }: Job, notes: readonly FoundNote[]): string {
  if (plan.claims) return 'To send the message all the same, write the command in a new comment.';
  if (notes.length === 0) return 'To send the message all the same, start a new run.';
  // Without its comment, another job in it that got the message would get it again.
  const others = notes.flatMap(({ jobs }) => jobs).filter((other) => other.id !== id);
  if (others.some(({ delivery }) => delivery !== 'not-sent')) {
    return 'To send the message all the same, start a new run with this job alone.';
  }
  const urls = listing(notes.map(({ url }) => url));
  return `To send the message all the same, delete ${urls} and re-run the workflow.`;
}

/** Goes on with what an earlier attempt has sent. If that attempt saw the end, this is the end. */
function resume(run: Run, job: Job, { job: sent, isOutdone }: Verdict & { kind: 'resume' }): void {
  const { runtime, inputs, info, log } = run;
  const now = runtime.clock.now();
  const { base = null, isOurs = false, prNumber, ended: earlier } = sent;
  // The runner of the earlier attempt may have had another time.
  const at = Math.min(sent.sentAt, now);
  // If another message was sent before the end was seen, an end is perhaps that of its work.
  const isClear = !isOutdone || earlier !== undefined;
  resumed(job, at, isClear ? base : null, isClear && isOurs);
  log.say(job, 'An earlier attempt sent the message; it is not sent again.');
  if (earlier === undefined) return;
  const pull = prNumber && { prLink: `${info.repositoryUrl}/pull/${prNumber}`, prNumber };
  learned(job, { id: job.id, status: earlier.result, ...pull });
  const end = doneEnd(job, earlier.confirmed ? 'confirmed' : 'unconfirmed', inputs.settleMs);
  ended(job, end, Math.min(earlier.at, now));
  log.ended(job);
}
