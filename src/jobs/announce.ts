import type { Job } from '../job.ts';
import { hasRoomFor, type NoteJob, noteOf } from '../note/data.ts';
import { type Claim, judge, type Verdict } from '../note/rerun.ts';
import { CANCELLED, type GiveUp, notSentEnd, refusedEnd, takenEnd } from '../reasons.ts';
import { react } from './answer.ts';
import { readChangesBefore } from './changes.ts';
import { openNote } from './comments.ts';
import { endJob, type RunContext } from './context.ts';
import { LEAST_POST_MS, mustGiveUp, pollBefore } from './poll.ts';

// What comes before any message goes out: what earlier attempts did, the claim of a command, and the note.

/** The jobs that may still get the message. */
export function freshJobs({ jobs }: RunContext): readonly Job[] {
  return jobs.filter(({ end, delivery }) => end === null && delivery === 'sending');
}

/** In a re-run, goes by what earlier attempts did. What a claim decides is left to it. */
export function recall(run: RunContext): void {
  if (run.info.attempt > 1) judgeAll(run, isClaimable(run) ? 'ours' : 'none');
}

function isClaimable({ asked }: RunContext): boolean {
  return asked !== null && asked.kind !== 'review';
}

/** Ends the jobs that get no message in a re-run. Others continue an earlier one. */
function judgeAll(run: RunContext, claim: Claim): void {
  for (const job of freshJobs(run)) {
    const verdict = verdictOn(run, job, claim);
    if (verdict.kind === 'taken') endJob(run, job, takenEnd());
    if (verdict.kind === 'refuse') refuse(run, job, verdict.why);
    if (verdict.kind === 'resume') resume(run, job, verdict);
  }
}

function verdictOn(run: RunContext, { id }: Job, claim: Claim): Verdict {
  const { notes, about, conversation } = run;
  if (notes?.kind === 'ok') return judge(notes.value, about, id, claim);
  if (claim === 'ours') return { kind: 'send' };
  if (notes !== null) return { kind: 'refuse', why: notes.problem };
  const why =
    conversation === null ? 'there is no pull request or issue with a comment' : 'comment is false';
  return { kind: 'refuse', why };
}

function refuse(run: RunContext, job: Job, why: string): void {
  if (run.inputs.resendOnRerun) {
    const doubt = 'this re-run cannot tell whether an earlier attempt sent it';
    run.log.warn(job, `The message is sent, although ${doubt}, because ${why} (resend-on-rerun).`);
    return;
  }
  job.delivery = 'unknown';
  endJob(run, job, refusedEnd(why));
}

function resume(run: RunContext, job: Job, verdict: Verdict & { kind: 'resume' }): void {
  job.delivery = 'sent';
  takeOver(run, job, verdict.job);
  run.log.say(job, 'An earlier attempt sent the message; it is not sent again.');
  if (verdict.isOtherPrompt) {
    run.log.warn(job, 'The prompt was another one in the earlier attempt; this one is not sent.');
  }
}

/** Continues with a message that an earlier process has sent. */
export function takeOver({ agent }: RunContext, job: Job, sent: NoteJob): void {
  const now = agent.clock.now();
  // The runner of the earlier process may have had another time.
  job.sentAt = Math.min(sent.sentAt ?? now, now);
  job.evidence = sent.evidence ?? false;
  job.hadEnded = sent.ended ?? false;
  if (sent.base !== undefined) job.base = { status: sent.base };
}

/** Claims the command, if there is one: only one process may send it. */
export async function claim(run: RunContext): Promise<void> {
  const { asked, info, runtime, connect } = run;
  const late = mustGiveUp(run, LEAST_POST_MS);
  if (late !== null) endFresh(run, late);
  if (asked === null || !isClaimable(run) || freshJobs(run).length === 0) return;
  const answer = await react(asked, 'rocket', connect, runtime.log);
  if (answer.kind === 'added') run.release = answer.remove;
  // A cancelled run reports the cancellation, and no problem with its claim or its note.
  if (answer.kind === 'added' || runtime.signal.aborted) return;
  if (answer.kind === 'failed') {
    const maybe = answer.isUnclear ? ': this one may have the 🚀 already' : '';
    const hint = `Write the command again, in a new comment${maybe}.`;
    const why = `The command could not be claimed by the reaction 🚀: ${answer.why} ${hint}`;
    endFresh(run, { kind: 'refused', why });
  } else if (info.attempt > 1) {
    judgeAll(run, 'taken');
  } else {
    for (const job of freshJobs(run)) endJob(run, job, takenEnd());
  }
}

function endFresh(run: RunContext, cause: GiveUp): void {
  for (const job of freshJobs(run)) endJob(run, job, notSentEnd(job, run.inputs, cause));
}

/** Creates the note: no note, no message. A single job is polled beside that, so that the poll takes no time. */
export async function announce(run: RunContext): Promise<void> {
  if (run.runtime.signal.aborted) endFresh(run, CANCELLED);
  await Promise.all([createNote(run), pollBeside(run)]);
  if (run.runtime.signal.aborted) endFresh(run, CANCELLED);
}

async function createNote(run: RunContext): Promise<void> {
  const { conversation, jobs, inputs, about, agent, runtime } = run;
  const taking = jobs.filter(({ end }) => end === null);
  if (conversation === null || !inputs.comment || taking.length === 0) return;
  const note = openNote(run, conversation, taking, agent.deadline);
  const why = hasRoomFor(noteOf(about, taking, false))
    ? await note.create()
    : 'The comment has no room for so many long job IDs; use fewer jobs in a step.';
  if (why === null) {
    run.note = note;
    runtime.log.info(`The comment is ${note.url}.`);
    return;
  }
  if (runtime.signal.aborted) return;
  // Earlier messages are still waited for.
  if (freshJobs(run).length === 0) runtime.log.warning(why);
  const wayOut =
    'No message is sent without its comment; to send without one, set “comment: false”.';
  endFresh(run, { kind: 'refused', why: `${why} ${wayOut}` });
}

async function pollBeside(run: RunContext): Promise<void> {
  const [only, ...others] = freshJobs(run);
  if (only === undefined || others.length > 0 || !run.inputs.wait) return;
  if (only.baseAt === null) {
    const answer = await pollBefore(run, only);
    if (answer.kind !== 'polled') {
      endJob(run, only, notSentEnd(only, run.inputs, answer));
      return;
    }
  }
  await readChangesBefore(run, only);
}
