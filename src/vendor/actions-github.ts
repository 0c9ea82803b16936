// GitHub's client. The public import would be, in the function below,
//   const { getOctokit } = await import(/* webpackChunkName: "github" */ '@actions/github');
// which brings the lists of all routes and of all that has pages: the second file of dist/ has 355
// instead of 269 KB, and the archive that each job downloads grows by 14 KB, beyond what it may have.
// The first byte of the message leaves 2 % later, in runs with a comment only.

import type { Octokit } from '@octokit/core';

export type { Octokit };

export interface OctokitOptions {
  readonly baseUrl: string;
  readonly userAgent: string;
  readonly log: Octokit['log'];
  /** Stands in for the toolkit's, which is all of undici once more. */
  readonly fetch: unknown;
}

/**
 * Octokit's core, with what the toolkit knows of tokens, proxies and user agents. Both are in one
 * file of dist/, which is loaded only now. If instead this module were imported late, the bundler
 * would make two files of it: one of packages, and one of what is our own.
 */
export async function getOctokit(
  token: string,
  { fetch, ...options }: OctokitOptions,
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
    // It is undefined only where none is given.
    userAgent: toolkit.getUserAgentWithOrchestrationId(options.userAgent) as string,
    request: { fetch, log: options.log },
  });
}
