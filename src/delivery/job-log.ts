import { duration } from '../clock.ts';
import { elapsedMs, type JobState, toLabel } from '../job/job.ts';
import { countLabels, isUnderway, LABELS } from '../job/labels.ts';
import type { Runtime } from '../runner/environment.ts';
import { sentences } from '../text.ts';

// The log. With one job, each change is a line; with many, the message and the end of each are, and
// one line a minute.

const HEARTBEAT_MS = 60_000;

export function openJobLog({ log, clock }: Runtime, jobs: readonly JobState[], deadline: number) {
  const isOnly = jobs.length === 1;
  const warned = new Set<string>();
  let spokeAt = clock.now();
  const speak = (text: string): void => {
    spokeAt = clock.now();
    log.info(text);
  };
  return {
    /** `level`: of the line with several jobs. */
    say(job: JobState, text: string, level: 'debug' | 'info' = 'debug'): void {
      if (isOnly) speak(text);
      else log[level](`Job ${job.id}: ${text}`);
    },

    /** Each warning is an annotation once, for however many jobs. */
    warn(job: JobState, text: string): void {
      if (!warned.has(text)) log.warning(isOnly ? text : `Job ${job.id}: ${text}`);
      warned.add(text);
    },

    /** Shows once a minute that the run continues. `text` is for a single job. */
    beat(text: string): void {
      const now = clock.now();
      if (now - spokeAt < HEARTBEAT_MS) return;
      const labels = jobs.map(toLabel);
      const done = labels.filter((label) => !isUnderway(label)).length;
      const all = `${done} of ${labels.length} jobs done (${countLabels(labels)})`;
      speak(`${isOnly ? text : all}; time-out in ${duration(deadline - now)}.`);
    },

    /** With one job, the result follows at once. */
    ended(job: JobState): void {
      if (isOnly) return;
      const count = jobs.filter(({ end }) => end !== undefined).length;
      const elapsed = job.end?.result === 'sent' ? undefined : elapsedMs(job);
      const said = `[${count}/${jobs.length}] ${LABELS[toLabel(job)].word} ${job.id}`;
      const after = elapsed === undefined ? '' : `after ${duration(elapsed)}`;
      log.info(sentences(said, after, job.record?.prLink ?? ''));
    },
  };
}
