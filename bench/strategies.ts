// When to poll a job next: the strategies of this action and of comparable actions, and fixed intervals.

import { nextPollMs } from '../src/job/schedule.ts';
import { DOUBT_INTERVAL_MS } from '../src/turn.ts';

/** In seconds. */
export interface Strategy {
  readonly name: string;
  /** Whether it is that of this action, of another action, or a fixed interval. */
  readonly kind: 'own' | 'peer' | 'fixed';
  readonly how: string;
  /** Seconds until the next poll, after `elapsed` seconds and `polls` polls. */
  readonly next: (elapsed: number, polls: number) => number;
  /** Seconds from the poll that finds the end until the step acts on it. */
  readonly afterEnd?: number;
}

export const OWN: Strategy = {
  name: 'this action',
  kind: 'own',
  how: 'a twentieth of the time so far, from 2 to 30 s',
  next: (elapsed) => nextPollMs(elapsed * 1000) / 1000,
};

/**
 * The same, but with at least the interval for a job that has not started on the message. That job cannot
 * end yet, so it wastes nothing to find its start later.
 */
export const AT_LEAST_5_S: Pick<Strategy, 'next'> = {
  next: (elapsed, polls) => Math.max(DOUBT_INTERVAL_MS / 1000, OWN.next(elapsed, polls)),
};

// The defaults of each action, from its code at the named commit, without jitter, which changes averages
// only a little.
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
