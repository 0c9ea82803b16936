// The simulated API as a separate program. Its job is done four seconds after a message. It writes one line, with its URL.

import { startAgent, turnTo } from './agent.ts';

const PULL = 'https://github.com/octo/docs/pull/42';
const agent = await startAgent({
  project: 'project_1',
  apiKey: 'mint_simulated_key',
  jobs: [{ id: 'job-1', base: { prLink: PULL }, turns: [turnTo('completed', 4000)] }],
});
console.log(`url=${agent.url}`);
