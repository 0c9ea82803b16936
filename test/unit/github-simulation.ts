// Runs against the simulated GitHub. Time stands still while a request to it is open.

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

/** The conversation that exists by default. */
export const NUMBER = 7;
export const ACTIONS = 'github-actions[bot]';

export interface GitHubSimulation extends AsyncDisposable {
  readonly github: SimulatedGitHub;
  readonly clock: VirtualClock;
  /** The options of a client. */
  readonly connection: ClientOptions;
  /** Creates another client. */
  connect(): Promise<GitHub>;
  /** Lets time pass until the work is done. */
  drive<T>(work: Promise<T>): Promise<T>;
  /** Lets this many milliseconds pass. */
  pass(ms: number): Promise<void>;
  /** Seconds since the start. */
  seconds(): number;
  /** The names of all calls so far. */
  names(): readonly string[];
}

/** After this many checks, an open call is taken to hang: only time can end it. */
const CHECKS_UNTIL_HANGING = 300;
/** The same if the simulated GitHub certainly lets all open calls hang. */
const CHECKS_IF_ALL_HANG = 20;

export async function simulateGitHub(options: GitHubOptions = {}): Promise<GitHubSimulation> {
  const clock = virtualClock(0);
  const github = await startGitHub({
    issues: [{ number: NUMBER, pullRequest: true }],
    clock: clock.seen,
    ...options,
  });
  let openCalls = 0;
  let checks = 0;

  async function counted<T>(call: Promise<T>): Promise<T> {
    openCalls += 1;
    checks = 0;
    try {
      return await call;
    } finally {
      openCalls -= 1;
      checks = 0;
    }
  }

  function isBusy(checksSinceTimePassed: number): boolean {
    checks = checksSinceTimePassed === 0 ? 0 : checks + 1;
    const most = hanging.size >= openCalls ? CHECKS_IF_ALL_HANG : CHECKS_UNTIL_HANGING;
    return openCalls > 0 && checks < most;
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
      const client = await counted(connectOnce(connection)());
      return {
        readComments: (...given) => counted(client.readComments(...given)),
        createComment: (...given) => counted(client.createComment(...given)),
        updateComment: (...given) => counted(client.updateComment(...given)),
        deleteComment: (...given) => counted(client.deleteComment(...given)),
        react: (...given) => counted(client.react(...given)),
        removeReaction: (...given) => counted(client.removeReaction(...given)),
        collaborator: (...given) => counted(client.collaborator(...given)),
      };
    },
    drive: (work) => clock.drive(work, isBusy),
    pass: (ms) => clock.drive(clock.sleep(ms, signal), isBusy),
    seconds: () => Math.round((clock.seen.now() - EPOCH) / 1000),
    names: () => github.calls().map(({ name }) => name),
    [Symbol.asyncDispose]: () => github[Symbol.asyncDispose](),
  };
}
