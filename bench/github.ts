// GitHub's API on loopback, in a process of its own, with answers that are late by the given
// milliseconds. On each pull request there is a command. It tells its parent where it is, and the id of
// the first command.

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
