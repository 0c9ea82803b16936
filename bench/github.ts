// GitHub's API on localhost, in a separate process, with responses that have the given delay in
// milliseconds. Each pull request has a comment with a command. It sends its URLs to its parent, and the ID
// of the first comment.

import { ALICE } from '../test/sim/events.ts';
import { startGitHub } from '../test/sim/github/server.ts';
import { COMMAND, PROMPT, PULLS, TOKEN } from './step.ts';

const [, , latency = '0'] = process.argv;
const github = await startGitHub({
  token: TOKEN,
  collaborators: { [ALICE.login]: { id: ALICE.id, permission: 'write' } },
  trouble: { latencyMs: Number(latency) },
  issues: Array.from({ length: PULLS }, (_, index) => ({
    ...{ number: index + 1, pullRequest: true },
    comments: [{ author: ALICE.login, body: `${COMMAND} ${PROMPT}` }],
  })),
});
const { apiUrl, graphqlUrl } = github;
process.send?.({ apiUrl, graphqlUrl, firstComment: github.comments(1)[0]?.id });
process.on('disconnect', () => process.exit());
