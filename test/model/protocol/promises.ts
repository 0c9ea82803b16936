import { NEW_JOB } from '../../../src/job/job.ts';
import { isSameMessage, type RecordedJob } from '../../../src/ledger/record.ts';
import type { Process, Setup, State } from './process.ts';
import type { World } from './world.ts';

// What is never to be so, or what is admitted to be possible.

export type IsWrong = (world: World) => boolean;

/** Two messages were, or may have been, accepted for what is the same. */
function twice(sameOf: (setup: Setup, job: string) => string): IsWrong {
  return ({ processes }) => {
    const all = processes.flatMap(({ setup, accepted }) =>
      accepted.map((job) => sameOf(setup, job)),
    );
    return new Set(all).size < all.length;
  };
}

export const isTwice = twice(
  ({ id, leg }, job) => `${id.run} ${id.step} ${id.command} ${leg} ${job}`,
);
export const isTwiceInRun = twice(({ id }) => id.run);
export const isTwiceForCommand = twice(({ id }, job) => `${id.command} ${job}`);
export const isTwiceForCommit = twice(({ id }, job) => `${id.commit} ${job}`);
export const isCreatedTwice = twice(({ name }, job) => (job === NEW_JOB ? job : name));

/** A message that the limit may stop has as many before it, as far as their comments are above. */
export const isPassed: IsWrong = ({ processes }) =>
  processes.some(({ setup: { limit, id }, accepted, note }) => {
    if (limit === undefined || 'uncounted' in limit || accepted.length === 0) return false;
    const row = rowAbove(note?.number ?? Infinity, processes);
    const runs = row.filter(({ step, run }) => step === id.step && run !== id.run);
    return new Set(runs.map(({ run }) => run)).size >= limit.most;
  });

/** The messages since the last command of a person. */
function rowAbove(number: number, processes: readonly Process[]) {
  const sent = processes
    .filter(({ accepted, note }) => accepted.length > 0 && (note?.number ?? Infinity) < number)
    .sort((one, other) => (one.note?.number ?? 0) - (other.note?.number ?? 0))
    .map(({ setup }) => setup.id);
  return sent.slice(sent.findLastIndex(({ command, byBot }) => command !== '' && !byBot) + 1);
}

/** At the end, not as many were sent. */
export function fewerThan(count: number): IsWrong {
  return ({ processes }) =>
    processes.every((process) => process.at === 'over') &&
    processes.flatMap(({ accepted }) => accepted).length < count;
}

/** A note says `sent` of what no attempt has sent, or `not-sent` of what its process has sent. */
export const isUntrue: IsWrong = (world) =>
  world.processes.some(({ setup, note, accepted }) =>
    (JSON.parse(note?.texts.at(-1) ?? '[]') as readonly RecordedJob[]).some(({ id, delivery }) => {
      if (delivery === 'sent') return !isAccepted(world, setup, id);
      return delivery === 'not-sent' && accepted.includes(id);
    }),
  );

/** Whether an attempt of the message may have been accepted. */
function isAccepted({ processes }: World, { id, leg }: Setup, job: string): boolean {
  const what = job.startsWith('new-') ? NEW_JOB : job;
  return processes.some(({ setup, accepted }) => {
    const isSame = isSameMessage(id, setup.id) && leg === setup.leg;
    return isSame && (accepted.includes(job) || accepted.includes(what));
  });
}

/** A process goes on with what was not sent, or refuses what certainly was not sent. */
function withoutCause(state: State): IsWrong {
  return (world) =>
    world.processes.some(({ setup, jobs }) =>
      jobs.some(({ id, is }) => is === state && !isAccepted(world, setup, id)),
    );
}

export const isGreen = withoutCause('goes on');
export const isStuck = withoutCause('refused');

export const isRefused: IsWrong = ({ processes }) =>
  processes.some(({ jobs }) => jobs.some(({ is }) => is === 'refused'));

/** A process that only refuses leaves a comment. */
export const isLittered: IsWrong = ({ processes }) =>
  processes.some(
    ({ note, jobs }) => note !== undefined && jobs.every(({ is }) => is === 'refused'),
  );
