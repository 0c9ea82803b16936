import { duration } from '../clock.ts';
import { elapsedMs, type Job, labelOf } from '../job/job.ts';
import { countLabels, isUnderway, LABELS } from '../job/labels.ts';
import type { Runtime } from '../runner/environment.ts';
import { sentences } from '../text.ts';

// The log. With one job, each change is a line; with many, the message and the end of each are, and
// one line a minute.

const HEARTBEAT_MS = 60_000;

interface LoggedRun extends Pick<Runtime, 'log' | 'clock'> {
  readonly jobs: readonly Job[];
  readonly deadline: number;
}

export class JobLog {
  readonly #run: LoggedRun;
  readonly #warned = new Set<string>();
  #spokeAt: number;

  constructor(run: LoggedRun) {
    this.#run = run;
    this.#spokeAt = run.clock.now();
  }

  /** `level`: of the line with several jobs. */
  say(job: Job, text: string, level: 'debug' | 'info' = 'debug'): void {
    if (this.#run.jobs.length > 1) this.#run.log[level](`Job ${job.id}: ${text}`);
    else this.#speak(text);
  }

  /** Each warning is an annotation once, for however many jobs. */
  warn(job: Job, text: string): void {
    if (this.#warned.has(text)) return;
    this.#warned.add(text);
    this.#run.log.warning(this.#run.jobs.length > 1 ? `Job ${job.id}: ${text}` : text);
  }

  /** Shows once a minute that the run continues. `text` is for a single job. */
  beat(text: string): void {
    const now = this.#run.clock.now();
    if (now - this.#spokeAt < HEARTBEAT_MS) return;
    const left = `time-out in ${duration(this.#run.deadline - now)}`;
    if (this.#run.jobs.length === 1) {
      this.#speak(`${text}; ${left}.`);
      return;
    }
    const labels = this.#run.jobs.map(labelOf);
    const done = labels.filter((label) => !isUnderway(label)).length;
    const all = `${done} of ${labels.length} jobs done (${countLabels(labels)})`;
    this.#speak(`${all}; ${left}.`);
  }

  ended(job: Job): void {
    // With one job, the result follows at once.
    if (this.#run.jobs.length === 1) return;
    const ended = this.#run.jobs.filter(({ end }) => end !== undefined).length;
    const elapsed = elapsedMs(job);
    const said = `[${ended}/${this.#run.jobs.length}] ${LABELS[labelOf(job)].word} ${job.id}`;
    const after =
      elapsed === undefined || job.end?.result === 'sent' ? '' : `after ${duration(elapsed)}`;
    this.#run.log.info(sentences(said, after, job.record?.prLink ?? ''));
  }

  #speak(text: string): void {
    this.#spokeAt = this.#run.clock.now();
    this.#run.log.info(text);
  }
}
