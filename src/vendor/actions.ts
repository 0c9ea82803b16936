// The parts of GitHub's toolkit that are used. The public import would be
//   import * as core from '@actions/core';
//   import { getOctokit } from '@actions/github';
// The job summary of the one, which is not used, loads Node's `fs/promises`, which takes time before the first byte. The
// other includes the lists of all routes, an HTTP client and all of undici: with it, the archive that each job downloads
// has 1.4 times as many bytes.

import type { Octokit } from '@octokit/core';

/** The one function behind all commands of the toolkit. */
export { issueCommand } from '../../node_modules/@actions/core/lib/command.js';
export type { Octokit };

/**
 * GitHub's client: the core of Octokit, with the toolkit's handling of tokens and user agents. Both packages are in one
 * file of dist/, which is only loaded here, in runs that call GitHub. Each call brings its own `fetch`.
 */
export async function getOctokit(
  token: string,
  baseUrl: string,
  userAgent: string,
): Promise<Octokit> {
  const { Octokit } = await import(/* webpackChunkName: "github" */ '@octokit/core');
  const { getAuthString, getUserAgentWithOrchestrationId } = await import(
    /* webpackChunkName: "github" */ '../../node_modules/@actions/github/lib/internal/utils.js'
  );
  // The errors of calls are told by those who make them.
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  return new Octokit({
    baseUrl,
    log,
    auth: getAuthString(token, {}),
    // It is only undefined if it is called without one.
    userAgent: getUserAgentWithOrchestrationId(userAgent) as string,
    request: { log },
  });
}
