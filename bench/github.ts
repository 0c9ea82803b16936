// GitHub's API on loopback, in a process of its own. It tells its parent where it is.

import { startGitHub } from '../test/sim/github/server.ts';
import { PULLS, TOKEN } from './step.ts';

const github = await startGitHub({
  token: TOKEN,
  issues: Array.from({ length: PULLS }, (_, index) => ({ number: index + 1, pullRequest: true })),
});
process.send?.({ apiUrl: github.apiUrl, graphqlUrl: github.graphqlUrl });
process.on('disconnect', () => process.exit());
