import { type Clock, duration } from '../clock.ts';
import { countLabels, type Label, labelOfState } from '../labels.ts';
import { reasonToText } from '../reason.ts';
import type { Log } from '../runner/log.ts';
import { elapsedMs, type JobState } from '../turn.ts';
import type { JobEvent } from './job.ts';

// The log of many jobs: counters while the messages are sent, a line for each job that ends, and the counts
// once a minute. 60 jobs that end within an hour stay under 150 lines; the rest are debug lines.

const HEARTBEAT_MS = 60_000;
/** Messages for each line of the log; if there are many jobs, a tenth of them. */
const COUNTED = 20;
/** Problems with a line of their own. The others are counted once a minute. */
const MOST_PROBLEMS = 2;

/** What the counted messages are called, by the event. */
const COUNTERS = {
  delivered: 'sent',
  resumed: 'sent by an earlier attempt, and not sent again',
} as const;

export class FleetProgress {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #jobs: number;
  readonly #startedAt: number;
  readonly #out = { delivered: 0, resumed: 0 };
  readonly #said = { delivered: 0, resumed: 0 };
  /** Jobs whose message was sent, or that ended without one. */
  readonly #settled = new Set<string>();
  readonly #ended: Label[] = [];
  #beats = 0;
  #problems = 0;
  /** Problems since the last line that counted them. */
  #unsaidProblems: string[] = [];
  #deadline: number | null = null;

  constructor(log: Log, clock: Clock, jobs: number) {
    this.#log = log;
    this.#clock = clock;
    this.#jobs = jobs;
    this.#startedAt = clock.now();
  }

  onEvent(event: JobEvent): void {
    const { jobId, record } = event.state;
    this.#beat();
    switch (event.kind) {
      case 'status':
        this.#log.debug(`Job ${jobId} is ${record?.status ?? 'in an unknown status'}.`);
        break;
      case 'sending':
        this.#log.debug(`Sending the message to job ${jobId}.`);
        break;
      case 'unwanted':
        break;
      case 'delivered':
      case 'resumed':
        this.#log.debug(`The message to job ${jobId} is ${COUNTERS[event.kind]}.`);
        this.#out[event.kind] += 1;
        this.#settle(jobId);
        break;
      case 'held':
        this.#logProblem(
          `The message to job ${jobId} was not accepted. ${reasonToText(event.why)}`,
        );
        break;
      case 'doubted':
        this.#logProblem(
          `${reasonToText(event.why)} Polling to see whether job ${jobId} got the message.`,
        );
        break;
      case 'missed':
        this.#logProblem(`Polling job ${jobId} failed. ${reasonToText(event.why)}`);
        break;
      case 'warning':
        this.#logProblem(event.text, 'warning');
        break;
      case 'waiting':
        this.#deadline ??= this.#clock.now() + event.remainingMs;
        break;
      case 'ended':
        this.#logEnd(event.state);
        this.#settle(jobId);
        break;
    }
  }

  /** Once a minute, even if there were other lines in the meantime. */
  #beat(): void {
    const beats = Math.floor((this.#clock.now() - this.#startedAt) / HEARTBEAT_MS);
    if (beats === this.#beats) return;
    this.#beats = beats;
    const { length: done } = this.#ended;
    const counts = done === 0 ? '' : ` (${countLabels(this.#ended)})`;
    const remainMs = this.#deadline === null ? 0 : this.#deadline - this.#clock.now();
    const remain = remainMs <= 0 ? '' : `, ${duration(remainMs / 1000)} remain`;
    const after = duration((beats * HEARTBEAT_MS) / 1000);
    this.#log.info(
      `After ${after}: ${done} of ${this.#jobs} done${counts}${remain}.${this.#takeProblems()}`,
    );
  }

  #settle(jobId: string): void {
    this.#settled.add(jobId);
    const isLast = this.#settled.size === this.#jobs;
    const step = Math.max(COUNTED, Math.ceil(this.#jobs / 10));
    for (const kind of ['delivered', 'resumed'] as const) {
      const unsaid = this.#out[kind] - this.#said[kind];
      if (unsaid === 0 || (unsaid < step && !isLast)) continue;
      this.#said[kind] = this.#out[kind];
      this.#log.info(`${this.#out[kind]} of ${this.#jobs} ${COUNTERS[kind]}.`);
    }
  }

  #logEnd(state: JobState): void {
    const { jobId, record, turn } = state;
    const label = labelOfState(state);
    this.#ended.push(label);
    // Sent messages are counted instead.
    if (label.kind !== 'sent') {
      const elapsed = elapsedMs(turn, null);
      const words = [
        `[${this.#ended.length}/${this.#jobs}] ${label.word} ${jobId}`,
        elapsed === null ? '' : `after ${duration(elapsed / 1000)}`,
        record?.prLink ?? '',
      ];
      this.#log.info(words.filter((text) => text !== '').join(' '));
    }
    if (this.#ended.length < this.#jobs) return;
    const problems = this.#takeProblems().trim();
    if (problems !== '') this.#log.info(problems);
  }

  #logProblem(text: string, level: 'info' | 'warning' = 'info'): void {
    this.#problems += 1;
    if (this.#problems <= MOST_PROBLEMS) {
      this.#log[level](text);
    } else {
      this.#log.debug(text);
      this.#unsaidProblems.push(text);
    }
  }

  #takeProblems(): string {
    const last = this.#unsaidProblems.at(-1);
    if (last === undefined) return '';
    const { length } = this.#unsaidProblems;
    this.#unsaidProblems = [];
    return length === 1 ? ` ${last}` : ` ${length} more problems, the last: ${last}`;
  }
}
