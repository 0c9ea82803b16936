import type { Polled } from '../agent/client.ts';
import type { Job } from '../job.ts';
import { hasRoomFor, noteOf } from '../note/data.ts';
import { type Claim, judge, type Verdict } from '../note/rerun.ts';
import { type GiveUp, notSentEnd, refusedEnd, takenEnd } from '../reasons.ts';
import { react } from './answer.ts';
import { readChangesBefore } from './changes.ts';
import { endJob, type RunContext } from './context.ts';
import { LEAST_POST_MS, mustGiveUp, pollBefore } from './poll.ts';

// What comes before any message goes out: what earlier attempts did, the claim of a command, and the note.

/** The jobs that may still get the message. */
export function freshJobs({ jobs }: RunContext): readonly Job[] {
  return jobs.filter(({ end, delivery }) => end === null && delivery === 'sending');
}

/** A job whose message an earlier attempt has sent. */
export interface Resumed {
  readonly job: Job;
  /** Whether the earlier attempt saw the end. */
  readonly hasEnded: boolean;
}

/** In a re-run, goes by what earlier attempts did. What a claim decides is left to it. */
export function recall(run: RunContext): readonly Resumed[] {
  if (run.info.attempt === 1) return [];
  return judgeAll(run, isClaimable(run) ? 'ours' : 'none');
}

function isClaimable({ inputs, trigger }: RunContext): boolean {
  return inputs.command !== null && trigger.comment !== null && trigger.comment.kind !== 'review';
}

/** Ends the jobs that get no message in a re-run. Returns those that continue an earlier one. */
function judgeAll(run: RunContext, claim: Claim): readonly Resumed[] {
  const resumed: Resumed[] = [];
  for (const job of freshJobs(run)) {
    const verdict = verdictOn(run, job, claim);
    if (verdict.kind === 'taken') endJob(run, job, takenEnd());
    if (verdict.kind === 'refuse') refuse(run, job, verdict.why);
    if (verdict.kind === 'resume') resumed.push(resume(run, job, verdict));
  }
  return resumed;
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

function resume(run: RunContext, job: Job, verdict: Verdict & { kind: 'resume' }): Resumed {
  const { sentAt, base, evidence = false, ended = false } = verdict.job;
  const now = run.agent.clock.now();
  job.delivery = 'sent';
  // The runner of the earlier attempt may have had another time.
  job.sentAt = Math.min(sentAt ?? now, now);
  job.evidence = evidence;
  if (base !== undefined) job.base = { status: base };
  run.log.say(job, 'An earlier attempt sent the message; it is not sent again.');
  if (verdict.isOtherPrompt) {
    run.log.warn(job, 'The prompt was another one in the earlier attempt; this one is not sent.');
  }
  return { job, hasEnded: ended };
}

/** Claims the command, if there is one: only one process may send it. */
export async function claim(run: RunContext): Promise<void> {
  const { trigger, info, runtime, connect } = run;
  const late = mustGiveUp(run, LEAST_POST_MS);
  if (late !== null) endFresh(run, late);
  const { comment } = trigger;
  if (comment === null || !isClaimable(run) || freshJobs(run).length === 0) return;
  const answer = await react(comment, 'rocket', connect, runtime.log);
  run.claim = answer;
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

/**
 * Creates the note: no note, no message. A single job is polled beside that, so that the poll takes no time.
 * `polls` has the first polls, and gets that one.
 */
export async function announce(run: RunContext, polls: Map<Job, Polled>): Promise<void> {
  if (run.runtime.signal.aborted) endFresh(run, { kind: 'cancelled', why: '' });
  await Promise.all([createNote(run), pollBeside(run, polls)]);
  if (run.runtime.signal.aborted) endFresh(run, { kind: 'cancelled', why: '' });
}

async function createNote(run: RunContext): Promise<void> {
  const { conversation, jobs, inputs, about, agent, runtime } = run;
  const taking = jobs.filter(({ end }) => end === null);
  if (conversation === null || !inputs.comment || taking.length === 0) return;
  const note = run.openNote(conversation, taking, agent.deadline);
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

async function pollBeside(run: RunContext, polls: Map<Job, Polled>): Promise<void> {
  const [only, ...others] = freshJobs(run);
  if (only === undefined || others.length > 0 || !run.inputs.wait) return;
  if (!polls.has(only)) {
    const answer = await pollBefore(run, only);
    if (answer.kind !== 'polled') {
      endJob(run, only, notSentEnd(only, run.inputs, answer));
      return;
    }
    polls.set(only, answer);
  }
  await readChangesBefore(run, only);
}
