import { type Clock, duration } from '../clock.ts';
import { reasonToText } from '../reason.ts';
import type { Log } from '../runner/log.ts';
import { elapsedMs, type JobState } from '../turn.ts';
import { FleetProgress } from './fleet-progress.ts';
import type { JobEvent } from './job.ts';

/** Milliseconds without a line in the log after which a line shows that the run continues. */
const HEARTBEAT_MS = 60_000;

/** Writes to the log what happens. */
export function createProgress(log: Log, clock: Clock, jobs: number): (event: JobEvent) => void {
  if (jobs === 1) return createJobProgress(log, clock);
  const fleet = new FleetProgress(log, clock, jobs);
  return (event) => fleet.onEvent(event);
}

/** One line for each change, and a heartbeat in between. */
function createJobProgress(log: Log, clock: Clock): (event: JobEvent) => void {
  let spokeAt = clock.now();
  let phase = '';
  return (event) => {
    const now = clock.now();
    const entered = phaseOf(event, phase);
    if (entered !== phase) log.group(entered);
    phase = entered;
    if (event.kind === 'waiting' && now - spokeAt < HEARTBEAT_MS) return;
    const line = lineOf(event, now);
    if (line === '') return;
    spokeAt = now;
    if (event.kind === 'warning') log.warning(line);
    else log.info(line);
  };
}

/** The title of the group that the line of an event belongs to. */
function phaseOf({ kind, state }: JobEvent, current: string): string {
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

/** Empty if there is nothing to say. */
function lineOf(event: JobEvent, now: number): string {
  const { state } = event;
  const { jobId } = state;
  const status = state.record?.status ?? 'in an unknown status';
  const elapsed = elapsedMs(state.turn, now);
  const before = isBeforeMessage(state) ? ' before the message' : '';
  const since = elapsed === null ? before : `, ${seconds(elapsed)} after the message`;
  switch (event.kind) {
    case 'status':
      return `Job ${jobId} is ${status}${since}.`;
    case 'sending':
      return `Sending the message to job ${jobId}.`;
    case 'delivered':
      return `The message to job ${jobId} is delivered.`;
    case 'resumed': {
      const ago = elapsed !== null && elapsed >= 50 ? `, ${seconds(elapsed)} ago` : '';
      return `An earlier attempt sent the message to job ${jobId}${ago}; it is not sent again.`;
    }
    case 'held':
      return `The message to job ${jobId} was not accepted. ${reasonToText(event.why)} ${next(event.afterMs, 'Trying')}`;
    case 'doubted':
      return `${reasonToText(event.why)} Polling for up to ${seconds(event.pollMs)} to see whether job ${jobId} got the message.`;
    case 'missed':
      return `Polling job ${jobId} failed. ${reasonToText(event.why)} ${next(event.afterMs, 'Polling')}`;
    case 'warning':
      return event.text;
    case 'waiting':
      return (
        `Job ${jobId} is still ${status}${since}; ${seconds(event.remainingMs)} remain, ` +
        `the next poll is in ${seconds(event.nextPollMs)}.`
      );
    case 'unwanted':
    case 'ended':
      return '';
  }
}

function next(afterMs: number | null, doing: string): string {
  return afterMs === null
    ? 'No time is left for another.'
    : `${doing} again in ${seconds(afterMs)}.`;
}

function seconds(ms: number): string {
  return duration(ms / 1000);
}
