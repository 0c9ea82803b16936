// When to poll a job next: as this action does, at fixed intervals, and as comparable actions do.

import { nextPollMs } from '../src/job/schedule.ts';
import { DOUBT_INTERVAL_MS } from '../src/turn.ts';

/** In seconds. */
export interface Strategy {
  readonly name: string;
  /** Of whom: the action itself, a peer, or a plain interval to compare with. */
  readonly kind: 'own' | 'peer' | 'fixed';
  readonly how: string;
  /** Until the next poll, after so many seconds and polls. */
  readonly next: (elapsed: number, polls: number) => number;
  /** From the poll that finds the end to the one after which it is acted on. */
  readonly afterEnd?: number;
}

export const OWN: Strategy = {
  name: 'this action',
  kind: 'own',
  how: 'a twentieth of the time so far, from 2 to 30 s',
  next: (elapsed) => nextPollMs(elapsed * 1000) / 1000,
};

/**
 * The same, but never sooner than a job is polled that has not started on the message: that one cannot
 * end yet, so to see later that it has started wastes nothing.
 */
export const AT_LEAST_5_S: Pick<Strategy, 'next'> = {
  next: (elapsed, polls) => Math.max(DOUBT_INTERVAL_MS / 1000, OWN.next(elapsed, polls)),
};

// What each does if no interval is set, as its code says at the commit named. Jitter is left
// out: it changes no average by much.
const PEERS: readonly Strategy[] = [
  // src/internal/deployment.js at cd2ce8f, v5.0.0.
  peer('deploy-pages 5.0', 'every 5 s', () => 5),
  // The same file at 0143e11, in no release so far.
  peer('deploy-pages, unreleased', 'from 5 s, half as long again each time, to 30 s', (_, polls) =>
    Math.min(30, 5 * 1.5 ** polls),
  ),
  // code-build.js at d72652c: when the build has ended, it gets the logs again after 15 s.
  {
    ...peer('aws-codebuild-run-build', 'every 30 s, and once more 15 s after the end', () => 30),
    afterEnd: 15,
  },
  // entrypoint.sh at 224756e, after v1.6.5.
  peer('trigger-workflow-and-wait', 'every 10 s', () => 10),
  // action.yml at 3b8be5b, after v1.9.0.
  peer('wait-on-check-action', 'every 10 s', () => 10),
  // internal/cloud/retry.go at 6fc0085, after v1.4.0.
  peer('tfc-workflows-tooling (Terraform)', '2, 4, 6, then every 7 s', (_, polls) =>
    Math.min(7, 2 * (polls + 1)),
  ),
];

export const STRATEGIES: readonly Strategy[] = [OWN, ...[5, 10, 15, 30].map(fixed), ...PEERS];

export function fixed(seconds: number): Strategy {
  const how = `every ${seconds} s`;
  return { name: `a fixed ${seconds} s`, kind: 'fixed', how, next: () => seconds };
}

function peer(name: string, how: string, next: Strategy['next']): Strategy {
  return { name, kind: 'peer', how, next };
}
