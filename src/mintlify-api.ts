// What https://www.mintlify.com/docs/api/introduction says about agent jobs, and its dashboard.

export const API_URL = 'https://api.mintlify.com';
export const DASHBOARD_URL = 'https://app.mintlify.com';
export const KEYS_URL = `${DASHBOARD_URL}/settings/organization/api-keys`;
export const USAGE_URL = `${DASHBOARD_URL}/settings/organization/usage`;

/** IDs must be safe in a path: see `isId`. */
export const PATHS = {
  create: (projectId: string) => `/v2/agent/${projectId}/job`,
  poll: (projectId: string, jobId: string) => `${PATHS.create(projectId)}/${jobId}`,
  send: (projectId: string, jobId: string) => `${PATHS.poll(projectId, jobId)}/message`,
};
/** What every key begins with, also within other text. */
export const KEY = /\bmint_/;

export const OTHER_KEYS = /^mint_(dsc|us)_/;

export const MESSAGES_PER_HOUR = 100;

/**
 * Of a job. `showsWork`: whether it proves, in a poll after the message, that the agent has taken
 * that up; `if new`: unless it is the status from before. Anyone can archive a job.
 */
export const STATUSES = {
  active: { isFinal: false, showsWork: 'always' },
  completed: { isFinal: true, showsWork: 'if new' },
  archived: { isFinal: true, showsWork: 'never' },
  failed: { isFinal: true, showsWork: 'if new' },
} as const;

export type Status = keyof typeof STATUSES;
export const STATUS_NAMES = Object.keys(STATUSES) as Status[];
export type FinalStatus = {
  [S in Status]: (typeof STATUSES)[S]['isFinal'] extends true ? S : never;
}[Status];

export function isKnownStatus(status: string | undefined): status is Status {
  return status !== undefined && Object.hasOwn(STATUSES, status);
}

export function isFinal(status: string | undefined): status is FinalStatus {
  return isKnownStatus(status) && STATUSES[status].isFinal;
}
