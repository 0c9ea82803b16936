import { type Clock, duration } from '../clock.ts';
import { reasonToText } from '../reason.ts';
import type { Log } from '../runner/log.ts';
import { elapsedMs } from '../turn.ts';
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
  let inPhase = '';

  function say(line: string): void {
    spokeAt = clock.now();
    log.info(line);
  }

  function enter(phase: string): void {
    if (phase === inPhase) return;
    inPhase = phase;
    log.group(phase);
  }

  return (event) => {
    const { jobId, isReadOnly, record, turn } = event.state;
    const status = record?.status ?? null;
    // If it is not known whether the message was delivered, this is neither before nor after it.
    const isBefore = !isReadOnly && turn.delivery === 'not-sent';
    const elapsed = elapsedMs(turn, clock.now());
    const since =
      elapsed !== null
        ? `, ${seconds(elapsed)} after the message`
        : isBefore
          ? ' before the message'
          : '';
    switch (event.kind) {
      case 'status':
        if (inPhase === '') enter(isBefore ? 'Before the message' : 'Polling');
        return say(`Job ${jobId} is ${status ?? 'in an unknown status'}${since}.`);
      case 'sending':
        enter('Message');
        return say(`Sending the message to job ${jobId}.`);
      case 'delivered':
        return say(`The message to job ${jobId} is delivered.`);
      case 'resumed': {
        const ago = elapsed !== null && elapsed >= 50 ? `, ${seconds(elapsed)} ago` : '';
        return say(
          `An earlier attempt sent the message to job ${jobId}${ago}; it is not sent again.`,
        );
      }
      case 'held':
        return say(
          `The message to job ${jobId} was not accepted. ${reasonToText(event.why)} ${next(event.afterMs, 'Trying')}`,
        );
      case 'doubted':
        if (inPhase === '') enter('Polling');
        return say(
          `${reasonToText(event.why)} Polling for up to ${seconds(event.pollMs)} to see whether job ${jobId} got the message.`,
        );
      case 'missed':
        return say(
          `Polling job ${jobId} failed. ${reasonToText(event.why)} ${next(event.afterMs, 'Polling')}`,
        );
      case 'warning':
        spokeAt = clock.now();
        return log.warning(event.text);
      case 'waiting':
        enter('Waiting for the agent');
        if (clock.now() - spokeAt < HEARTBEAT_MS) return;
        return say(
          `Job ${jobId} is still ${status ?? 'in an unknown status'}${since}; ` +
            `${seconds(event.remainingMs)} remain, the next poll is in ${seconds(event.nextPollMs)}.`,
        );
      case 'unwanted':
      case 'ended':
        return;
    }
  };
}

function next(afterMs: number | null, doing: string): string {
  return afterMs === null
    ? 'No time is left for another.'
    : `${doing} again in ${seconds(afterMs)}.`;
}

function seconds(ms: number): string {
  return duration(ms / 1000);
}
