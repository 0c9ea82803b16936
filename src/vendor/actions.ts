// What is used of GitHub's toolkit. All of `@actions/core` would load Node's `fs/promises` before
// the first byte; with all of `@actions/github`, such as the lists of all routes and a second
// client for HTTP, the archive that each job downloads would have 1.4 times as many bytes.

/** The one function behind all commands of the toolkit. */
export { issueCommand } from '../../node_modules/@actions/core/lib/command.js';

/** Octokit's core with the toolkit's tokens and user agents, in a file of dist/ of its own. */
export async function getOctokit(token: string, baseUrl: string, userAgent: string) {
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
