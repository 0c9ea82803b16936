import { NEW_JOB } from '../../../src/job/job.ts';
import { isSameMessage, type RecordedJob } from '../../../src/ledger/record.ts';
import type { Process, Setup, State } from './process.ts';
import type { IsWrong } from './search.ts';
import { at, type Scenario, type World } from './world.ts';

// What is never to be so, or what is admitted to be possible.

/** Two messages were, or may have been, accepted for what is the same. */
function twice(sameOf: (setup: Setup, job: string) => string): IsWrong {
  return ({ processes }, { setups }) => {
    const all = processes.flatMap(({ accepted }, index) =>
      accepted.map((job) => sameOf(at(setups, index), job)),
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
export const isPassed: IsWrong = ({ processes }, { setups }) =>
  processes.some(({ accepted, note }, index) => {
    const { limit, id } = at(setups, index);
    if (limit === undefined || 'uncounted' in limit || accepted.length === 0) return false;
    const row = rowAbove(note?.number ?? Infinity, processes, setups);
    const runs = row.filter(({ step, run }) => step === id.step && run !== id.run);
    return new Set(runs.map(({ run }) => run)).size >= limit.most;
  });

/** The messages since the last command of a person. */
function rowAbove(number: number, processes: readonly Process[], setups: readonly Setup[]) {
  const sent = processes
    .map((process, index) => ({ ...process, id: at(setups, index).id }))
    .filter(({ accepted, note }) => accepted.length > 0 && (note?.number ?? Infinity) < number)
    .sort((one, other) => (one.note?.number ?? 0) - (other.note?.number ?? 0))
    .map(({ id }) => id);
  return sent.slice(sent.findLastIndex(({ command, byBot }) => command !== '' && !byBot) + 1);
}

/** At the end, not as many were sent. */
export function fewerThan(count: number): IsWrong {
  return ({ processes }) =>
    processes.every((process) => process.at === 'over') &&
    processes.flatMap(({ accepted }) => accepted).length < count;
}

/** A note says `sent` of what no attempt has sent, or `not-sent` of what its process has sent. */
export const isUntrue: IsWrong = (world, scenario) =>
  world.processes.some(({ note, accepted }, index) =>
    (JSON.parse(note?.texts.at(-1) ?? '[]') as readonly RecordedJob[]).some(({ id, delivery }) => {
      if (delivery === 'sent') return !isAccepted(world, scenario, index, id);
      return delivery === 'not-sent' && accepted.includes(id);
    }),
  );

/** Whether an attempt of the message may have been accepted. */
function isAccepted({ processes }: World, { setups }: Scenario, own: number, job: string): boolean {
  const { id, leg } = at(setups, own);
  const what = job.startsWith('new-') ? NEW_JOB : job;
  return processes.some(({ accepted }, index) => {
    const other = at(setups, index);
    const isSame = isSameMessage(id, other.id) && leg === other.leg;
    return isSame && (accepted.includes(job) || accepted.includes(what));
  });
}

/** A process goes on with what was not sent, or refuses what certainly was not sent. */
function withoutCause(state: State): IsWrong {
  return (world, scenario) =>
    world.processes.some(({ jobs }, index) =>
      jobs.some(({ id, is }) => is === state && !isAccepted(world, scenario, index, id)),
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
