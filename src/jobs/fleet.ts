import type { Polled } from '../agent/client.ts';
import type { RunContext } from '../context.ts';
import { isAboutJobs, isBot, isPullRequestEvent } from '../github/event.ts';
import { type Job, STATUSES, type Status, statusOf } from '../job.ts';
import { ownPullRequest } from '../link.ts';
import { hasRoomFor, noteOf } from '../note/data.ts';
import { react } from '../note/reactions.ts';
import { type Claim, judge } from '../note/rerun.ts';
import { readChangesBefore } from './changes.ts';
import { mustGiveUp, pollBefore } from './poll.ts';
import { readJob, resumeJob } from './read.ts';
import { loopEnd, notSentEnd, refusedEnd, sentEnd, takenEnd, unwantedEnd } from './reasons.ts';
import { LEAST_POST_MS, sendMessage } from './send.ts';
import { waitForAgent, waitForEarlierWork } from './wait.ts';
import { endJob, startWork, type Work } from './work.ts';

// All jobs of a step, from the first poll to the end. The way to the message: what earlier attempts did, the
// first poll, the claim of the command, the note, and then each message by itself.

export async function runJobs(context: RunContext): Promise<void> {
  const work = startWork(context);
  const { jobs, inputs } = context;
  if (!inputs.send) {
    await Promise.all(jobs.map((job) => readJob(work, job)));
    return;
  }
  const resumed = recall(work);
  context.save(false);
  const polls = await pollFirst(work);
  if (fresh(work).length > 0) await claim(work, resumed);
  const besides = await announce(work, polls);
  const sends = fresh(work);
  let left = sends.length;
  const onSent = (): void => {
    left -= 1;
    if (left > 0) return;
    if (inputs.wait) context.note?.write();
    context.save(false);
  };
  await Promise.all([
    ...sends.map((job) => sendJob(work, job, besides.get(job) ?? null, onSent)),
    ...resumed.map(({ job, hasEnded }) => resumeJob(work, job, hasEnded)),
  ]);
}

/** The jobs that may still get the message. */
function fresh({ context }: Work): readonly Job[] {
  return context.jobs.filter(({ end, delivery }) => end === null && delivery === 'sending');
}

/** A job whose message an earlier attempt has sent. */
export interface Resumed {
  readonly job: Job;
  /** Whether the earlier attempt saw the end. */
  readonly hasEnded: boolean;
}

/**
 * In a re-run: what became of the message of the earlier attempts. A command whose message is not known to be
 * sent is left to its claim.
 */
function recall(work: Work): Resumed[] {
  const { info, trigger, inputs } = work.context;
  if (info.attempt === 1) return [];
  const isClaimed = inputs.command !== null && trigger.comment?.kind !== 'review';
  return judgeAll(work, isClaimed ? 'ours' : 'none');
}

/** Ends the jobs that get no message in a re-run. Returns those that go on with an earlier one. */
function judgeAll(work: Work, claim: Claim): Resumed[] {
  const { context, log } = work;
  const { notes, about, conversation, inputs } = context;
  const resumed: Resumed[] = [];
  for (const job of fresh(work)) {
    const unknown =
      notes === null
        ? conversation === null
          ? 'there is no pull request or issue with a comment'
          : 'comment is false'
        : notes.kind === 'problem'
          ? notes.problem
          : null;
    const verdict =
      notes?.kind === 'ok'
        ? judge(notes.value, about, job.id, claim)
        : claim === 'ours'
          ? ({ kind: 'send' } as const)
          : ({ kind: 'refuse', why: unknown ?? '' } as const);
    switch (verdict.kind) {
      case 'send':
        break;
      case 'taken':
        endJob(work, job, takenEnd());
        break;
      case 'refuse':
        if (inputs.resendOnRerun) {
          log.warn(
            job,
            `The message is sent, although this re-run cannot tell whether an earlier attempt sent it, because ${verdict.why} (resend-on-rerun).`,
          );
          break;
        }
        job.delivery = 'unknown';
        endJob(work, job, refusedEnd(verdict.why));
        break;
      case 'resume': {
        const { sentAt, base, evidence = false, ended = false } = verdict.job;
        const now = context.agent.clock.now();
        // The runner of the earlier attempt may have had another time.
        Object.assign(job, { delivery: 'sent', evidence, sentAt: Math.min(sentAt ?? now, now) });
        if (base !== undefined) job.base = { status: base };
        log.say(job, 'An earlier attempt sent the message; it is not sent again.');
        if (verdict.isOtherPrompt) {
          log.warn(job, 'The prompt was another one in the earlier attempt; this one is not sent.');
        }
        resumed.push({ job, hasEnded: ended });
      }
    }
  }
  return resumed;
}

/** Whether a bot may have triggered the run on the pull request of the job itself. */
function isByBot({ trigger }: RunContext): boolean {
  return isPullRequestEvent(trigger.event) && trigger.sender !== null && isBot(trigger.sender);
}

/** Polls the jobs if their status or their pull request decides whether they get the message. */
async function pollFirst(work: Work): Promise<ReadonlyMap<Job, Polled>> {
  const { context } = work;
  const { inputs } = context;
  const polls = new Map<Job, Polled>();
  if (inputs.onlyWhen === null && !inputs.whenActiveWait && !isByBot(context)) return polls;
  await Promise.all(
    fresh(work).map(async (job) => {
      const answer = await pollBefore(work, job);
      if (answer.kind !== 'polled') {
        endJob(work, job, notSentEnd(job, inputs, answer));
        return;
      }
      polls.set(job, answer);
      leaveOut(work, job);
    }),
  );
  return polls;
}

/** Ends a job that gets no message because of what the first poll shows. */
function leaveOut(work: Work, job: Job): void {
  const { trigger, inputs, info } = work.context;
  const { onlyWhen } = inputs;
  const status: Status = STATUSES.find((known) => known === statusOf(job)) ?? 'active';
  const number = ownPullRequest(job.record?.prLink, info.repositoryUrl);
  if (isByBot(work.context) && number !== null && number === trigger.conversation) {
    endJob(work, job, loopEnd(trigger.sender?.login ?? ''));
  } else if (onlyWhen !== null && !onlyWhen.has(status)) {
    endJob(work, job, unwantedEnd(job, onlyWhen));
  }
}

/** Claims the command, if there is one. Only this process sends it then. */
async function claim(work: Work, resumed: Resumed[]): Promise<void> {
  const { context } = work;
  const { inputs, trigger, info, runtime, connect } = context;
  const late = mustGiveUp(work, LEAST_POST_MS);
  if (late !== null) {
    for (const job of fresh(work)) endJob(work, job, notSentEnd(job, inputs, late));
    return;
  }
  const { comment } = trigger;
  if (inputs.command === null || comment === null || comment.kind === 'review') return;
  const answer = await react(comment, 'rocket', connect, runtime.log);
  context.claim = answer;
  if (answer.kind === 'there') {
    if (info.attempt > 1) resumed.push(...judgeAll(work, 'taken'));
    else for (const job of fresh(work)) endJob(work, job, takenEnd());
  } else if (answer.kind === 'failed') {
    const again = 'Write the command again, in a new comment';
    const hint = answer.isUnclear
      ? `${again}: this one may have the 🚀 already.`
      : `${again}, once the job has “permissions:” with “pull-requests: write” (on an issue “issues: write”).`;
    const why = `The command could not be claimed by the reaction 🚀: ${answer.why}. ${hint}`;
    for (const job of fresh(work)) {
      endJob(work, job, notSentEnd(job, inputs, { kind: 'refused', why }));
    }
  }
  cancelIfAborted(work);
}

function cancelIfAborted(work: Work): void {
  const { runtime, inputs } = work.context;
  if (!runtime.signal.aborted) return;
  for (const job of fresh(work)) {
    endJob(work, job, notSentEnd(job, inputs, { kind: 'cancelled', why: '' }));
  }
}

/**
 * Creates the note: no note, no message. A single job is polled beside that, so that the poll takes no time.
 * Returns the newest poll of each job.
 */
async function announce(
  work: Work,
  polls: ReadonlyMap<Job, Polled>,
): Promise<ReadonlyMap<Job, Polled>> {
  const { context } = work;
  const { inputs, conversation, runtime, jobs } = context;
  const taking = jobs.filter(({ end }) => end === null);
  const newest = new Map(polls);
  const [only, ...others] = fresh(work);
  const pollBeside = async (): Promise<void> => {
    if (only === undefined || others.length > 0 || !inputs.wait) return;
    if (!polls.has(only)) {
      const answer = await pollBefore(work, only);
      if (answer.kind !== 'polled') {
        endJob(work, only, notSentEnd(only, inputs, answer));
        return;
      }
      newest.set(only, answer);
    }
    await readChangesBefore(context, only);
  };
  const createNote = async (): Promise<void> => {
    if (conversation === null || !inputs.comment || taking.length === 0) return;
    const note = context.openNote(conversation, taking, context.agent.deadline);
    const why = hasRoomFor(noteOf(context.about, taking, false))
      ? await note.create()
      : 'The comment has no room for so many long IDs of jobs: use fewer jobs in a step.';
    if (note.url !== '') context.note = note;
    if (why === null) {
      runtime.log.info(`The comment is ${note.url}.`);
      return;
    }
    const wayOut = 'Without the comment nothing is sent; to send without it, set “comment: false”.';
    for (const job of fresh(work)) {
      endJob(work, job, notSentEnd(job, inputs, { kind: 'refused', why: `${why} ${wayOut}` }));
    }
    // Earlier messages are still waited for.
    if (jobs.some(({ end }) => end === null)) runtime.log.warning(why);
  };
  await Promise.all([createNote(), pollBeside()]);
  cancelIfAborted(work);
  return newest;
}

/** Sends the message to a job, and waits for the agent. */
async function sendJob(
  work: Work,
  job: Job,
  polled: Polled | null,
  onSent: () => void,
): Promise<void> {
  const { inputs, trigger } = work.context;
  let newest = polled;
  if (inputs.whenActiveWait) {
    const waited = await waitForEarlierWork(work, job);
    if (waited !== null && waited.kind !== 'polled') {
      endJob(work, job, notSentEnd(job, inputs, waited));
      onSent();
      return;
    }
    // What came before the end of the earlier work does not count.
    if (waited !== null) await readChangesBefore(work.context, job);
    newest = waited ?? polled;
  }
  const isFromJob = inputs.prNumber === null && isAboutJobs(trigger) && inputs.comment;
  const basePolls = inputs.wait ? 'fresh' : newest !== null || isFromJob ? 'once' : 'none';
  const end = await work.limitSends(() => sendMessage(work, job, basePolls, newest));
  if (end !== null) endJob(work, job, end);
  else if (!inputs.wait) endJob(work, job, sentEnd());
  work.context.note?.touch();
  onSent();
  if (end === null && inputs.wait) endJob(work, job, await waitForAgent(work, job));
}
