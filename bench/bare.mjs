// What users would write without the action: one POST with the built-in fetch.

const { env } = process;
const path = `/v2/agent/${env['INPUT_PROJECT-ID']}/job/${env['INPUT_JOB-ID']}/message`;
const response = await fetch(env['INPUT_BASE-URL'] + path, {
  method: 'POST',
  headers: {
    authorization: `Bearer ${env['INPUT_API-KEY']}`,
    'content-type': 'application/json',
  },
  body: JSON.stringify({ prompt: env.INPUT_PROMPT }),
});
await response.json();
