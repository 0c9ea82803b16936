import { hintFor, isUnclear, whyOf } from '../github/errors.ts';
import { type End, isTakenUp, type Job, statusOf } from '../job.ts';
import { hasRoomFor, type NoteData, type NoteJob, noteOf } from '../note/data.ts';
import { type Claim, judge, unfinished, type Verdict } from '../note/rerun.ts';
import { endAs, refusedEnd, takenEnd } from '../reasons.ts';
import { type Result, sentences } from '../text.ts';
import { react } from './answer.ts';
import { readChangesBefore } from './changes.ts';
import { openNote } from './comments.ts';
import { endJob, type RunContext } from './context.ts';
import { mustGiveUp, poll } from './poll.ts';

// What comes before any message goes out: what earlier attempts did, the claim of a command, and the note.

/** The jobs that may still get the message. */
export function freshJobs({ jobs }: RunContext): readonly Job[] {
  return jobs.filter(({ end, delivery }) => end === null && delivery === 'open');
}

/**
 * In a re-run, goes by what earlier attempts did: see the table "Re-runs" of docs/note.md. Whatever else may end a job
 * comes later, because it does not tell whether they sent the message.
 */
export async function recall(run: RunContext): Promise<void> {
  if (run.info.attempt === 1) return;
  judgeAll(run, isClaimable(run) ? 'pending' : 'none');
  await claim(run);
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
  if (claim === 'pending') return { kind: 'send' };
  if (notes !== null) return { kind: 'refuse', why: notes.problem };
  const why =
    conversation === null
      ? 'there is no pull request or issue with a comment'
      : '“comment: false” is set';
  return { kind: 'refuse', why };
}

function refuse(run: RunContext, job: Job, why: string): void {
  if (run.inputs.resendOnRerun) {
    const doubt = 'this re-run cannot tell whether an earlier attempt sent it';
    run.jobLog.warn(
      job,
      `The message is sent, although ${doubt}, because ${why} (“resend-on-rerun”).`,
    );
    return;
  }
  job.delivery = 'unknown';
  endJob(run, job, refusedEnd(why));
}

function resume(run: RunContext, job: Job, verdict: Verdict & { kind: 'resume' }): void {
  job.delivery = 'sent';
  continueMessage(run, job, verdict.job);
  run.jobLog.say(job, 'An earlier attempt sent the message; it is not sent again.');
  if (verdict.isOtherPrompt) {
    run.jobLog.warn(
      job,
      'The prompt was another one in the earlier attempt; this one is not sent.',
    );
  }
}

/** With `send: false`: takes over the newest message to the job whose end was not seen. */
export function goOn(run: RunContext, job: Job, notes: Result<readonly NoteData[]> | null): void {
  if (notes?.kind === 'problem') {
    run.jobLog.warn(job, `It is not known whether a message is unfinished: ${notes.problem}.`);
  }
  const found = notes?.kind === 'ok' ? unfinished(notes.value, job.id) : null;
  if (found !== null) continueMessage(run, job, found);
}

/** Continues with a message that an earlier process has sent. */
function continueMessage({ clock }: RunContext, job: Job, sent: NoteJob): void {
  const now = clock.now();
  // The runner of the earlier process may have had another time.
  job.sentAt = Math.min(sent.sentAt, now);
  job.hadEnded = sent.ended ?? false;
  if (sent.base !== undefined) job.base = { status: sent.base };
  job.evidence = sent.evidence || isTakenUp(job, statusOf(job));
}

/** Claims the command, if there is one: only one process may send it. */
export async function claim(run: RunContext): Promise<void> {
  const { asked, info, github, log, signal } = run;
  if (info.attempt === 1) endLate(run);
  if (asked === null || !isClaimable(run) || freshJobs(run).length === 0) return;
  const answer = await react(asked, 'rocket', github, log);
  if (answer.kind === 'added') run.release = answer.takeBack;
  // A cancelled run reports the cancellation, and no problem with its claim or its note.
  if (answer.kind === 'added' || signal.aborted) return;
  if (info.attempt > 1) {
    const why =
      answer.kind === 'failed'
        ? `the 🚀 could not be added: ${whyOf(answer.error)}`
        : 'the command has its 🚀 already, from another run or from an earlier attempt that ended early';
    judgeAll(run, { why });
  } else if (answer.kind === 'failed') {
    endFresh(run, () => endAs('error', explainClaim(answer.error)));
  } else {
    endFresh(run, takenEnd);
  }
}

function explainClaim(error: unknown): string {
  const maybe = isUnclear(error) ? ': this one may have the 🚀 already' : '';
  return sentences(
    `The command could not be claimed by the reaction 🚀: ${whyOf(error)}.`,
    hintFor(error),
    `Write the command again, in a new comment${maybe}.`,
  );
}

/** Ends the jobs whose message is too late. */
function endLate(run: RunContext): void {
  endFresh(run, (job) => mustGiveUp(run, job));
}

function endFresh(run: RunContext, endOf: (job: Job) => End | null): void {
  for (const job of freshJobs(run)) {
    const end = endOf(job);
    if (end !== null) endJob(run, job, end);
  }
}

/** Creates the note: no note, no message. A single job is polled beside that, so that the poll takes no time. */
export async function announce(run: RunContext): Promise<void> {
  endLate(run);
  await Promise.all([createNote(run), pollSingleJob(run)]);
}

async function createNote(run: RunContext): Promise<void> {
  const { conversation, jobs, inputs, about, deadline, log, signal } = run;
  const taking = jobs.filter(({ end }) => end === null);
  if (conversation === null || !inputs.comment || taking.length === 0) return;
  // Without a new message, a wait must not begin after a pause.
  const until = freshJobs(run).length > 0 ? deadline : 0;
  const note = openNote(run, conversation, taking, until);
  const why = hasRoomFor(noteOf(about, taking))
    ? await note.create()
    : 'The comment has no room for so many long job IDs; use fewer jobs in a step.';
  if (why === null) {
    run.note = note;
    log.info(`The comment is ${note.url}.`);
    return;
  }
  if (signal.aborted) return;
  // Earlier messages are still waited for.
  if (freshJobs(run).length === 0) log.warning(why);
  const wayOut =
    'No message is sent without its comment; to send without one, set “comment: false”.';
  endFresh(run, () => endAs('error', `${why} ${wayOut}`));
}

async function pollSingleJob(run: RunContext): Promise<void> {
  const [only, ...others] = freshJobs(run);
  if (only === undefined || others.length > 0 || !run.inputs.wait) return;
  const end = only.baseAt === null ? await poll(run, only) : null;
  // Why there is no comment is the reason, whatever the poll says.
  if (only.end !== null) return;
  if (end !== null) endJob(run, only, end);
  // A message that waits for earlier work reads them after that.
  else if (!only.isWaiting) await readChangesBefore(run, only);
}
