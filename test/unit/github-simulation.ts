// Runs on the simulated GitHub, in time that stands still while GitHub is at work.

import {
  type GitHubOptions as ClientOptions,
  connectOnce,
  type GitHub,
} from '../../src/github/api.ts';
import { EPOCH, type VirtualClock, virtualClock } from '../model/clock.ts';
import { hanging } from '../sim/agent.ts';
import {
  type GitHubOptions,
  type GitHub as SimulatedGitHub,
  startGitHub,
} from '../sim/github/server.ts';

/** A conversation that is there unless a test says otherwise. */
export const NUMBER = 7;
export const ACTIONS = 'github-actions[bot]';

export interface GitHubSimulation extends AsyncDisposable {
  readonly github: SimulatedGitHub;
  readonly clock: VirtualClock;
  /** What a client is made with. */
  readonly connection: ClientOptions;
  /** A client of its own. */
  connect(): Promise<GitHub>;
  /** Lets time pass until the work is done. */
  drive<T>(work: Promise<T>): Promise<T>;
  /** Lets so many milliseconds pass. */
  pass(ms: number): Promise<void>;
  /** Seconds since the beginning. */
  seconds(): number;
  /** The names of all calls so far. */
  names(): readonly string[];
}

/** Looks at a call for which it is taken to wait for nothing but time: GitHub does not answer it. */
const PATIENCE = 300;
/** The same where the simulated GitHub lets all calls hang. */
const PATIENCE_WITH_HANGING = 20;

export async function simulateGitHub(options: GitHubOptions = {}): Promise<GitHubSimulation> {
  const clock = virtualClock(0);
  const github = await startGitHub({
    issues: [{ number: NUMBER, pullRequest: true }],
    clock: clock.seen,
    ...options,
  });
  let underWay = 0;
  let looks = 0;

  async function busy<T>(work: Promise<T>): Promise<T> {
    underWay += 1;
    looks = 0;
    try {
      return await work;
    } finally {
      underWay -= 1;
      looks = 0;
    }
  }

  function isBusy(asked: number): boolean {
    looks = asked === 0 ? 0 : looks + 1;
    const most = hanging.size >= underWay ? PATIENCE_WITH_HANGING : PATIENCE;
    return underWay > 0 && looks < most;
  }

  const { signal } = new AbortController();
  const { token, repository, apiUrl, graphqlUrl } = github;
  const connection: ClientOptions = {
    ...{ token, repository, apiUrl, graphqlUrl, env: {} },
    ...{ clock: clock.seen, redact: (text) => text },
    ...{ signal, deferTierUp() {} },
  };

  return {
    github,
    clock,
    connection,
    async connect() {
      const client = await busy(connectOnce(connection)());
      return {
        readComments: (...given) => busy(client.readComments(...given)),
        createComment: (...given) => busy(client.createComment(...given)),
        updateComment: (...given) => busy(client.updateComment(...given)),
        deleteComment: (...given) => busy(client.deleteComment(...given)),
        react: (...given) => busy(client.react(...given)),
        removeReaction: (...given) => busy(client.removeReaction(...given)),
        collaborator: (...given) => busy(client.collaborator(...given)),
      };
    },
    drive: (work) => clock.drive(work, isBusy),
    pass: (ms) => clock.drive(clock.sleep(ms, signal), isBusy),
    seconds: () => Math.round((clock.seen.now() - EPOCH) / 1000),
    names: () => github.calls().map(({ name }) => name),
    [Symbol.asyncDispose]: () => github[Symbol.asyncDispose](),
  };
}
