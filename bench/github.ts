// GitHub's API on localhost, in a separate process. It sends its URLs to its parent.

import { startGitHub } from '../test/sim/github/server.ts';
import { PULLS, TOKEN } from './step.ts';

const { apiUrl, graphqlUrl } = await startGitHub({
  token: TOKEN,
  issues: Array.from({ length: PULLS }, (_, index) => ({ number: index + 1, pullRequest: true })),
});
process.send?.({ apiUrl, graphqlUrl });
process.on('disconnect', () => process.exit());
