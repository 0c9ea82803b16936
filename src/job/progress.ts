import { type Clock, duration } from '../clock.ts';
import { countLabels, type Label, labelOfState } from '../labels.ts';
import { reasonToText } from '../reason.ts';
import type { Log } from '../runner/log.ts';
import { elapsedMs, type JobState } from '../turn.ts';
import type { JobEvent } from './job.ts';

// Writes to the log what happens. With one job, each change is a line. With many jobs there are counters
// while the messages are sent, a line for each job that ends, and the counts once a minute: 60 jobs that end
// within an hour stay under 150 lines; the rest are debug lines.

/** Milliseconds after which a line shows that the run continues. */
const HEARTBEAT_MS = 60_000;

export function createProgress(
  log: Log,
  clock: Clock,
  jobs: number,
): (event: JobEvent, state: JobState) => void {
  if (jobs === 1) return createJobProgress(log, clock);
  const fleet = new FleetProgress(log, clock, jobs);
  return (event, state) => fleet.onEvent(event, state);
}

/** The heartbeat comes after a minute without a line. */
function createJobProgress(log: Log, clock: Clock): (event: JobEvent, state: JobState) => void {
  let spokeAt = clock.now();
  let phase = '';
  return (event, state) => {
    const now = clock.now();
    const entered = phaseOf(event.kind, state, phase);
    if (entered !== phase) log.group(entered);
    phase = entered;
    if (event.kind === 'waiting' && now - spokeAt < HEARTBEAT_MS) return;
    const line = describe(event, state, now);
    if (line === '') return;
    spokeAt = now;
    if (event.kind === 'warning') log.warning(line);
    else log.info(line);
  };
}

/** The title of the group that the line of an event belongs to. */
function phaseOf(kind: JobEvent['kind'], state: JobState, current: string): string {
  switch (kind) {
    case 'sending':
      return 'Message';
    case 'waiting':
      return 'Waiting for the agent';
    case 'status':
    case 'doubted':
      if (current !== '') return current;
      return isBeforeMessage(state) ? 'Before the message' : 'Polling';
    default:
      return current;
  }
}

/** If it is not known whether the message was delivered, this is neither before nor after it. */
function isBeforeMessage({ isReadOnly, turn }: JobState): boolean {
  return !isReadOnly && turn.delivery === 'not-sent';
}

/** The line for an event, and in it the times at `now` unless that is null. Empty if there is none. */
function describe(event: JobEvent, state: JobState, now: number | null): string {
  const { jobId } = state;
  const status = state.record?.status ?? 'in an unknown status';
  switch (event.kind) {
    case 'status':
      return `Job ${jobId} is ${status}${since(state, now)}.`;
    case 'sending':
      return `Sending the message to job ${jobId}.`;
    case 'delivered':
      return `The message to job ${jobId} is delivered.`;
    case 'resumed': {
      const elapsed = elapsedMs(state.turn, now);
      const ago = elapsed !== null && elapsed >= 50 ? `, ${seconds(elapsed)} ago` : '';
      return `An earlier attempt sent the message to job ${jobId}${ago}; it is not sent again.`;
    }
    case 'held': {
      const next = now === null ? '' : nextIn(event.afterMs, 'Trying');
      return `The message to job ${jobId} was not accepted. ${reasonToText(event.why)}${next}`;
    }
    case 'doubted': {
      const span = now === null ? '' : `for up to ${seconds(event.pollMs)} `;
      return `${reasonToText(event.why)} Polling ${span}to see whether job ${jobId} got the message.`;
    }
    case 'missed': {
      const next = now === null ? '' : nextIn(event.afterMs, 'Polling');
      return `Polling job ${jobId} failed. ${reasonToText(event.why)}${next}`;
    }
    case 'warning':
      return event.text;
    case 'waiting':
      return (
        `Job ${jobId} is still ${status}${since(state, now)}; ${seconds(event.remainingMs)} remain, ` +
        `the next poll is in ${seconds(event.nextPollMs)}.`
      );
    case 'withdrawn':
    case 'ended':
      return '';
  }
}

function since(state: JobState, now: number | null): string {
  if (now === null) return '';
  const elapsed = elapsedMs(state.turn, now);
  if (elapsed !== null) return `, ${seconds(elapsed)} after the message`;
  return isBeforeMessage(state) ? ' before the message' : '';
}

function nextIn(afterMs: number | null, doing: string): string {
  return afterMs === null
    ? ' No time is left for another.'
    : ` ${doing} again in ${seconds(afterMs)}.`;
}

function seconds(ms: number): string {
  return duration(ms / 1000);
}

/** Messages for each line of the log; if there are many jobs, a tenth of them. */
const COUNTED = 20;
/** Problems with a line of their own. The others are counted once a minute. */
const MOST_PROBLEMS = 2;

/** What the counted messages are called, by the event. */
const COUNTERS = {
  delivered: 'sent',
  resumed: 'sent by an earlier attempt, and not sent again',
} as const;

class FleetProgress {
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

  onEvent(event: JobEvent, state: JobState): void {
    const { jobId } = state;
    this.#beat();
    switch (event.kind) {
      case 'status':
      case 'sending':
        this.#log.debug(describe(event, state, null));
        break;
      case 'delivered':
      case 'resumed':
        this.#log.debug(`The message to job ${jobId} is ${COUNTERS[event.kind]}.`);
        this.#out[event.kind] += 1;
        this.#settle(jobId);
        break;
      case 'held':
      case 'doubted':
      case 'missed':
      case 'warning':
        this.#logProblem(
          describe(event, state, null),
          event.kind === 'warning' ? 'warning' : 'info',
        );
        break;
      case 'waiting':
        this.#deadline ??= this.#clock.now() + event.remainingMs;
        break;
      case 'ended':
        this.#logEnd(state);
        this.#settle(jobId);
        break;
      case 'withdrawn':
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
    const remain = remainMs <= 0 ? '' : `, ${seconds(remainMs)} remain`;
    const after = seconds(beats * HEARTBEAT_MS);
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
        elapsed === null ? '' : `after ${seconds(elapsed)}`,
        record?.prLink ?? '',
      ];
      this.#log.info(words.filter((text) => text !== '').join(' '));
    }
    if (this.#ended.length < this.#jobs) return;
    const problems = this.#takeProblems().trim();
    if (problems !== '') this.#log.info(problems);
  }

  #logProblem(text: string, level: 'info' | 'warning'): void {
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
