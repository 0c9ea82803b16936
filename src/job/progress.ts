import { type Clock, duration } from '../clock.ts';
import type { Log } from '../runner/log.ts';
import { elapsedMs } from '../turn.ts';
import type { JobEvent } from './job.ts';

/** Milliseconds without a line after which one says that all is well. */
const HEARTBEAT_MS = 60_000;

/** Tells the log what happens: one line a change, and one heartbeat in between for all jobs. */
export function createProgress(log: Log, clock: Clock, jobs: number): (event: JobEvent) => void {
  let spokeAt = clock.now();
  let inPhase = '';
  let ended = 0;

  function say(line: string): void {
    spokeAt = clock.now();
    log.info(line);
  }

  /** Many jobs are in different phases at the same time: those stand under one title. */
  function enter(phase: string): void {
    const title = jobs === 1 ? phase : `${jobs} jobs`;
    if (title === inPhase) return;
    inPhase = title;
    log.group(title);
  }

  function beat(event: Extract<JobEvent, { kind: 'waiting' }>, since: string): string {
    const { jobId, record } = event.state;
    const status = record?.status ?? null;
    const remain = `${seconds(event.remainingMs)} remain`;
    return jobs === 1
      ? `Job ${jobId} is still ${status ?? 'in an unknown status'}${since}; ${remain}, ` +
          `the next look is in ${seconds(event.nextPollMs)}.`
      : `${ended} of ${jobs} jobs have ended; ${remain} for the others.`;
  }

  return (event) => {
    const { jobId, isLook, record, turn } = event.state;
    const status = record?.status ?? null;
    // While it is not known what became of a message, it is neither before it nor after.
    const isBefore = !isLook && turn.delivery === 'not-sent';
    const elapsed = elapsedMs(turn, clock.now());
    const since =
      elapsed !== null
        ? `, ${seconds(elapsed)} after the message`
        : isBefore
          ? ' before the message'
          : '';
    switch (event.kind) {
      case 'status':
        if (inPhase === '') enter(isBefore ? 'Before the message' : 'Looking');
        return say(`Job ${jobId} is ${status ?? 'in a status of no known form'}${since}.`);
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
          `The message to job ${jobId} was not taken. ${event.why} ${next(event, 'Trying')}`,
        );
      case 'doubted':
        if (inPhase === '') enter('Looking');
        return say(
          `${event.why} Looking for up to ${seconds(event.pollMs)} whether job ${jobId} shows the message.`,
        );
      case 'missed':
        return say(`A look at job ${jobId} failed. ${event.why} ${next(event, 'Looking')}`);
      case 'warning':
        spokeAt = clock.now();
        return log.warning(event.text);
      case 'waiting':
        enter('Waiting for the agent');
        if (clock.now() - spokeAt >= HEARTBEAT_MS) say(beat(event, since));
        return;
      case 'unwanted':
        return;
      case 'ended':
        ended += 1;
        return;
    }
  };
}

function next(
  { afterMs }: Pick<Extract<JobEvent, { kind: 'missed' }>, 'afterMs'>,
  doing: string,
): string {
  return afterMs === null
    ? 'No time is left for another.'
    : `${doing} again in ${seconds(afterMs)}.`;
}

function seconds(ms: number): string {
  return duration(ms / 1000);
}
