// The simulated API as a separate program. Its job starts on a message after one second and is done
// after four. It writes one line, with its URL.

import { startAgent } from './agent.ts';

const agent = await startAgent({
  project: 'project_1',
  apiKey: 'mint_simulated_key',
  jobs: [
    {
      id: 'job-1',
      base: { prLink: 'https://github.com/octo/docs/pull/42' },
      turns: [
        {
          steps: [
            { afterMs: 1000, set: { status: 'active' } },
            { afterMs: 4000, set: { status: 'completed' } },
          ],
        },
      ],
    },
  ],
});
console.log(`url=${agent.url}`);
