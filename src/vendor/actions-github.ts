// GitHub's client: Octokit's core, with what the toolkit knows of tokens and user agents. It is loaded
// late, where something is said on GitHub. The public import would be
//   export { getOctokit } from '@actions/github';
// which brings the lists of all routes and of all that has pages, an HTTP client and all of undici:
// dist/ has 770 instead of 433 KB, and the archive that each job downloads 86 KB more.

import { Octokit } from '@octokit/core';
import {
  getAuthString,
  getUserAgentWithOrchestrationId,
} from '../../node_modules/@actions/github/lib/internal/utils.js';

export type { Octokit };

export interface OctokitOptions {
  readonly baseUrl: string;
  readonly userAgent: string;
  readonly log: Octokit['log'];
  /** Stands in for the toolkit's, which is all of undici. */
  readonly fetch: unknown;
}

export function getOctokit(token: string, { fetch, ...options }: OctokitOptions): Octokit {
  return new Octokit({
    ...options,
    auth: getAuthString(token, {}),
    // It is undefined only where none is given.
    userAgent: getUserAgentWithOrchestrationId(options.userAgent) as string,
    request: { fetch, log: options.log },
  });
}
