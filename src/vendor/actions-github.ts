// GitHub's client: the core of Octokit, with the toolkit's handling of tokens and user agents. It is
// only loaded in runs that call GitHub. The public import would be
//   export { getOctokit } from '@actions/github';
// which includes the lists of all routes, an HTTP client and all of undici: dist/ has 806 KB instead
// of 409, and the archive that each job downloads has 103 KB more.

import type { Octokit } from '@octokit/core';

export type { Octokit };

/**
 * Both packages are in one file of dist/, which is only loaded here. If this whole module were imported
 * late instead, ncc would make two files: one of the packages, and one of this module.
 *
 * @param fetch Replaces that of the toolkit, which is all of undici.
 */
export async function getOctokit(
  token: string,
  baseUrl: string,
  userAgent: string,
  fetch: unknown,
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
    request: { fetch, log },
  });
}
