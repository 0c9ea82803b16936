import { isFinal } from '../mintlify-api.ts';
import { pullRequestName } from '../pull-request.ts';
import { quote } from '../text.ts';
import { A_RUN, explain, type RunFacts } from './explain.ts';
import { type JobState, toDelivery, toLabel } from './job.ts';
import { byAttention, isBad, LABELS } from './labels.ts';
import {
  ALWAYS_FAIL,
  type JobResult,
  type Outcome,
  RESULT_NAMES,
  STOP_REASONS,
  type Stop,
  stop,
} from './stop-reasons.ts';

export function toOutcome(job: JobState, stopped: Stop, facts: RunFacts, wait: boolean): Outcome {
  const { code } = stopped;
  const { result, label } = STOP_REASONS[code];
  const delivery = toDelivery(job);
  const known = isFinal(result) ? !code.endsWith('-unconfirmed') : undefined;
  // After a wait that saw no end, nothing is confirmed.
  const isOpen = wait && delivery !== 'not-sent' && result !== 'skipped';
  const confirmed = known ?? (isOpen ? false : undefined);
  const isKnown = result === 'skipped' || isFinal(result) || delivery === 'sent';
  const unsent = delivery === 'unknown' ? 'delivery unknown' : 'not-sent';
  return {
    ...{ code, result, explanation: explain(stopped, facts) },
    label: isKnown || (label === 'closed' && delivery === 'not-sent') ? label : unsent,
    ...(confirmed !== undefined && { confirmed }),
  };
}

/** What is true if the process is killed now. */
export function outcomeNow(job: JobState, wait: boolean): Outcome {
  if (job.end !== undefined) return job.end;
  const phase = toDelivery(job) === 'unknown' ? 'during' : 'before';
  const isSent = job.message.kind === 'sent';
  const early = stop('ended-early', { phase, jobId: job.id });
  const why = isSent ? stop(wait ? 'ended-in-wait' : 'sent') : early;
  return toOutcome(job, why, A_RUN, wait);
}

export type Ended = JobState & { readonly end: Outcome };

export function endedNow(jobs: readonly JobState[], wait: boolean): readonly Ended[] {
  return jobs.map((job) => ({ ...job, end: outcomeNow(job, wait) }));
}

export function worstFirst(ended: readonly Ended[]): readonly Ended[] {
  return ended.toSorted(
    (one, other) =>
      RESULT_NAMES.indexOf(one.end.result) - RESULT_NAMES.indexOf(other.end.result) ||
      byAttention(toLabel(one), toLabel(other)),
  );
}

export function failing(ended: readonly Ended[], failOn: ReadonlySet<JobResult>): readonly Ended[] {
  return ended.filter(({ end: { result } }) => ALWAYS_FAIL.includes(result) || failOn.has(result));
}

/** How many need attention, or are like the worst one, and the reason of the first of them. */
export function overallReason(main: Ended, ended: readonly Ended[]): string {
  const { id, end, record } = main;
  if (ended.length === 1 || end.explanation === '') return end.explanation;
  const label = toLabel(main);
  const { word } = LABELS[label];
  const labels = ended.map(toLabel);
  const like = labels.filter((one) => (isBad(label) ? isBad(one) : LABELS[one].word === word));
  const words = like.every((one) => LABELS[one].word === word) ? word : 'need attention';
  const first = like.length === 1 ? '' : 'first ';
  const prLink = record?.prLink;
  const pull = prLink ? `, ${pullRequestName(prLink, Boolean(record.prNumber))}` : '';
  const which = `${first}${quote(id, 256)}${pull}`;
  return `${like.length} of ${ended.length} jobs ${words} (${which}): ${end.explanation}`;
}
