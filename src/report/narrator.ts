import type { Progress } from '../agent/follow.ts';
import type { Clock } from '../clock.ts';
import type { Console } from '../console.ts';
import { duration } from './markdown.ts';

/** Milliseconds without a line after which one says that all is well. */
const HEARTBEAT_MS = 60_000;

/** Tells the log what happens: one line a change, and a heartbeat in between. */
export function createNarrator(console: Console, clock: Clock): (progress: Progress) => void {
  let spokeAt = clock.now();
  let inPhase = '';

  function say(line: string): void {
    spokeAt = clock.now();
    console.info(line);
  }

  function enter(phase: string): void {
    if (phase === inPhase) return;
    inPhase = phase;
    console.group(phase);
  }

  return (progress) => {
    const { jobId, status, elapsedSeconds } = progress.soFar;
    const since =
      elapsedSeconds === null
        ? ' before the message'
        : `, ${duration(elapsedSeconds)} after the message`;
    switch (progress.kind) {
      case 'seen':
        if (inPhase === '') enter('Before the message');
        return say(`Job ${jobId} is ${progress.status ?? 'in a status of no known form'}${since}.`);
      case 'sending':
        enter('Message');
        return say(`Sending the message to job ${jobId}.`);
      case 'delivered':
        return say(`The message to job ${jobId} is delivered.`);
      case 'resumed':
        return say(`An earlier attempt sent the message to job ${jobId}${since}; not sent again.`);
      case 'held':
        return say(`The message was not taken. ${progress.why} ${next(progress, 'Trying')}`);
      case 'missed':
        return say(`A look at job ${jobId} failed. ${progress.why} ${next(progress, 'Looking')}`);
      case 'warning':
        spokeAt = clock.now();
        return console.warning(progress.text);
      case 'waiting':
        enter('Waiting for the agent');
        if (clock.now() - spokeAt < HEARTBEAT_MS) return;
        return say(
          `Job ${jobId} is still ${status ?? 'in an unknown status'}${since}; ` +
            `${seconds(progress.remainingMs)} remain, the next look is in ${seconds(progress.nextLookMs)}.`,
        );
    }
  };
}

function next({ afterMs }: Extract<Progress, { afterMs: number }>, doing: string): string {
  return `${doing} again in ${seconds(afterMs)}.`;
}

function seconds(ms: number): string {
  return duration(ms / 1000);
}
