// GitHub's client: the core of Octokit, with the toolkit's handling of tokens and user agents. It is
// only loaded in runs that call GitHub. The public import would be
//   export { getOctokit } from '@actions/github';
// which includes the lists of all routes, an HTTP client and all of undici: dist/ has 806 KB instead
// of 409, and the archive that each job downloads has 103 KB more.

import type { Octokit } from '@octokit/core';

export type { Octokit };

interface OctokitOptions {
  readonly baseUrl: string;
  readonly userAgent: string;
  readonly log: Octokit['log'];
  /** Replaces that of the toolkit, which is all of undici. */
  readonly fetch: unknown;
}

/**
 * Both packages are in one file of dist/, which is only loaded here. If this whole module were imported
 * late instead, ncc would make two files: one of the packages, and one of this module.
 */
export async function getOctokit(
  token: string,
  { fetch, ...options }: OctokitOptions,
): Promise<Octokit> {
  const { Octokit } = await import(/* webpackChunkName: "github" */ '@octokit/core');
  const { getAuthString, getUserAgentWithOrchestrationId } = await import(
    /* webpackChunkName: "github" */ '../../node_modules/@actions/github/lib/internal/utils.js'
  );
  return new Octokit({
    ...options,
    auth: getAuthString(token, {}),
    // It is only undefined if it is called without one.
    userAgent: getUserAgentWithOrchestrationId(options.userAgent) as string,
    request: { fetch, log: options.log },
  });
}
