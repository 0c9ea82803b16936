import { untilAborted } from '../clock.ts';
import type { End, Job } from '../job.ts';
import type { FoundNote } from '../note/data.ts';
import { inARow, isAboutSameCommit } from '../note/limit.ts';
import { commentId, readNotes } from '../note/note.ts';
import { endAs, limitEnd, newerCommitEnd, sameCommitEnd, uncountedEnd } from '../reasons.ts';
import { ok, type Result } from '../text.ts';
import { countOf, endJob, type Outcome, openJobs, over, type Run, within } from './context.ts';

// What may stop a message because of others: one message for a commit, nothing about an outdated commit, and at most so
// many messages in a row. It is exact for runs at the same time, because each one counts again below its own note.

/** Ends all jobs if their messages could not be counted. */
export function stopUncounted(run: Run): void {
  const { whyUncounted } = run.plan;
  if (whyUncounted === '') return;
  for (const job of openJobs(run)) endJob(run, job, uncountedEnd(whyUncounted));
}

/** Before the note: ends the jobs that get no message. */
export function stopRepeated(run: Run): void {
  const { plan, trigger, notes } = run;
  stop(run, notes, plan.isAboutHead && trigger.commit?.head !== trigger.commit?.sha);
}

/** After the note: the notes of other runs that came first may have been created since. */
export async function stopOvertaken(run: Run): Promise<void> {
  const { plan, note, github, about, runtime } = run;
  if (!plan.counts || plan.comments.kind !== 'note' || note === null) return;
  if (openJobs(run).length === 0) return;
  const list = readNotes(github, plan.comments.conversation, about.project);
  const found = await untilAborted(list, runtime.signal).catch(() => null);
  // A cancelled run reports that, and needs the time to say so in its comment.
  if (found === null) return;
  if (found.kind === 'problem') return stop(run, found, false);
  // Without an ID, all others count.
  const own = commentId(note.url);
  const before = found.value.filter(({ url }) => !(commentId(url) >= own));
  stop(run, ok(before), false);
  run.story = { ...run.story, count: countOf(run, before) };
}

function stop(run: Run, notes: Result<readonly FoundNote[]>, isOutdated: boolean): void {
  for (const job of openJobs(run)) {
    const end = endOfRepeated(run, job, notes, isOutdated);
    if (end !== null) endJob(run, job, end);
  }
}

/** In the order in which they count: only a message that nothing else stops reaches the limit. */
function endOfRepeated(
  { plan, about }: Run,
  { id }: Job,
  notes: Result<readonly FoundNote[]>,
  isOutdated: boolean,
): End | null {
  if (plan.counts && notes.kind === 'problem') {
    const why = `Nothing was sent, because it is not known what was sent before: ${notes.problem}.`;
    return endAs('error', why);
  }
  const found = plan.counts && notes.kind === 'ok' ? notes.value : [];
  if (isAboutSameCommit(found, about, id)) return sameCommitEnd();
  if (isOutdated) return newerCommitEnd();
  const isFull = plan.limit !== null && inARow(found, about, id).size >= plan.limit;
  return isFull ? limitEnd(plan.limit) : null;
}

/** Milliseconds that the message may be delayed. */
const HEAD_MS = 1000;

/** Just before the message: whether the commit of the event is still the newest. If GitHub does not say, it is. */
export async function isStillHead(run: Run): Promise<Outcome<'yes'>> {
  const { plan, trigger, github } = run;
  if (!plan.isAboutHead || trigger.conversation === null) return { kind: 'yes' };
  const pull = await within(run, HEAD_MS, github.pullRequest(trigger.conversation));
  const isOld = pull !== null && pull.head !== trigger.commit?.sha;
  return isOld ? over(newerCommitEnd()) : { kind: 'yes' };
}
