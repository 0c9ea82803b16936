import type { Progress } from '../agent/follow.ts';
import type { Clock } from '../clock.ts';
import type { Console } from '../console.ts';
import type { JobResult } from '../outcome.ts';
import { duration } from './markdown.ts';

/** Milliseconds without a line after which one says that all is well. */
const HEARTBEAT_MS = 60_000;

/** What can be told of a job: what happens to it, and how it ended. */
export type News = Progress | { readonly kind: 'ended'; readonly soFar: JobResult };

/** Tells the log what happens: one line a change, and one heartbeat in between for all jobs. */
export function createNarrator(console: Console, clock: Clock, jobs: number): (news: News) => void {
  let spokeAt = clock.now();
  let inPhase = '';
  let ended = 0;

  function say(line: string): void {
    spokeAt = clock.now();
    console.info(line);
  }

  /** Many jobs are in different phases at the same time: those stand under one title. */
  function enter(phase: string): void {
    const title = jobs === 1 ? phase : `${jobs} jobs`;
    if (title === inPhase) return;
    inPhase = title;
    console.group(title);
  }

  function beat(progress: Extract<Progress, { kind: 'waiting' }>, since: string): string {
    const { jobId, status } = progress.soFar;
    const remain = `${seconds(progress.remainingMs)} remain`;
    return jobs === 1
      ? `Job ${jobId} is still ${status ?? 'in an unknown status'}${since}; ${remain}, ` +
          `the next look is in ${seconds(progress.nextLookMs)}.`
      : `${ended} of ${jobs} jobs have ended; ${remain} for the others.`;
  }

  return (news) => {
    const { jobId, status, isLook, delivery, elapsedSeconds } = news.soFar;
    // While it is not known what became of a message, it is neither before it nor after.
    const isBefore = !isLook && delivery === 'not-sent';
    const since =
      elapsedSeconds !== null
        ? `, ${duration(elapsedSeconds)} after the message`
        : isBefore
          ? ' before the message'
          : '';
    switch (news.kind) {
      case 'seen':
        if (inPhase === '') enter(isBefore ? 'Before the message' : 'Looking');
        return say(`Job ${jobId} is ${status ?? 'in a status of no known form'}${since}.`);
      case 'sending':
        enter('Message');
        return say(`Sending the message to job ${jobId}.`);
      case 'delivered':
        return say(`The message to job ${jobId} is delivered.`);
      case 'resumed': {
        const ago = elapsedSeconds ? `, ${duration(elapsedSeconds)} ago` : '';
        return say(
          `An earlier attempt sent the message to job ${jobId}${ago}; it is not sent again.`,
        );
      }
      case 'held':
        return say(
          `The message to job ${jobId} was not taken. ${news.why} ${next(news, 'Trying')}`,
        );
      case 'doubted':
        if (inPhase === '') enter('Looking');
        return say(
          `${news.why} Looking for up to ${seconds(news.lookMs)} whether job ${jobId} shows the message.`,
        );
      case 'missed':
        return say(`A look at job ${jobId} failed. ${news.why} ${next(news, 'Looking')}`);
      case 'warning':
        spokeAt = clock.now();
        return console.warning(news.text);
      case 'waiting':
        enter('Waiting for the agent');
        if (clock.now() - spokeAt >= HEARTBEAT_MS) say(beat(news, since));
        return;
      case 'ended':
        ended += 1;
        return;
    }
  };
}

function next(
  { afterMs }: Pick<Extract<Progress, { kind: 'missed' }>, 'afterMs'>,
  doing: string,
): string {
  return afterMs === null
    ? 'No time is left for another.'
    : `${doing} again in ${seconds(afterMs)}.`;
}

function seconds(ms: number): string {
  return duration(ms / 1000);
}
