// GitHub's API on localhost, in a separate process. It sends its URL to its parent.

import { startGitHub } from '../test/sim/github/server.ts';
import { PULLS, TOKEN } from './step.ts';

const { apiUrl } = await startGitHub({
  token: TOKEN,
  issues: Array.from({ length: PULLS }, (_, index) => ({ number: index + 1, pullRequest: true })),
});
process.send?.({ apiUrl });
process.on('disconnect', () => process.exit());
