// GitHub's client. The public import would be, in the function below,
//   const { getOctokit } = await import(/* webpackChunkName: "github" */ '@actions/github');
// which includes the lists of all routes and of all paginated routes: the second file of dist/ has
// 355 KB instead of 269, and the archive that each job downloads grows by 14 KB, beyond its limit.
// The first byte of the message is sent 2 % later, in runs with a comment only.

import type { Octokit } from '@octokit/core';

export type { Octokit };

/**
 * The core of Octokit, with the toolkit's handling of tokens, proxies and user agents. Both
 * packages are in one file of dist/, which is loaded only now. If this module were imported
 * dynamically instead, the bundler would make a third file, with our own code.
 */
export async function getOctokit(
  token: string,
  options: { readonly baseUrl: string; readonly userAgent: string; readonly log: Octokit['log'] },
): Promise<Octokit> {
  const [{ Octokit }, toolkit] = await Promise.all([
    import(/* webpackChunkName: "github" */ '@octokit/core'),
    import(
      /* webpackChunkName: "github" */ '../../node_modules/@actions/github/lib/internal/utils.js'
    ),
  ]);
  return new Octokit({
    ...options,
    auth: toolkit.getAuthString(token, {}),
    // It is only undefined if it is called without one.
    userAgent: toolkit.getUserAgentWithOrchestrationId(options.userAgent) as string,
    request: { fetch: toolkit.getProxyFetch(options.baseUrl) },
  });
}
