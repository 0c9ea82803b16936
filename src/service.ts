// All facts of the service: what its documentation (https://www.mintlify.com/docs/api/introduction) says about agent jobs, and where
// people find things in its dashboard. The shape of its answers is in mintlify/responses.ts.

export const API_URL = 'https://api.mintlify.com';
export const DASHBOARD_URL = 'https://app.mintlify.com';
/** Where admins create and check API keys. */
export const KEYS_URL = `${DASHBOARD_URL}/settings/organization/api-keys`;
/** Where they see and buy credits, and allow overages (https://www.mintlify.com/docs/credits). */
export const USAGE_URL = `${DASHBOARD_URL}/settings/organization/usage`;

/** The version of the API, with which each path begins. */
export const VERSION_PATH = '/v2';

/** IDs must be safe in a path: see `isId`. */
export const PATHS = {
  create: (projectId: string) => `${VERSION_PATH}/agent/${projectId}/job`,
  poll: (projectId: string, jobId: string) => `${PATHS.create(projectId)}/${jobId}`,
  send: (projectId: string, jobId: string) => `${PATHS.poll(projectId, jobId)}/message`,
};

export const KEY_SCHEME = 'Bearer';

export function keyHeaders(apiKey: string): Readonly<Record<string, string>> {
  return { authorization: `${KEY_SCHEME} ${apiKey}` };
}

/** What every key of Mintlify begins with, also within other text. */
export const KEY = /\bmint_/;

/** The keys of two other APIs begin with this. */
export const OTHER_KEYS = /^mint_(dsc|us)_/;

/** What the API accepts in an hour for one project, from all senders together. */
export const MESSAGES_PER_HOUR = 100;

/**
 * The statuses of a job that the API documents; any other counts as "not final". `showsWork`: whether a poll after the message
 * that shows it proves that the agent has taken up the message: `if new`, unless it is the status from before. Anyone can
 * archive a job. The compiler and the tests name what else a new row needs.
 */
export const STATUSES = {
  active: { isFinal: false, showsWork: 'always' },
  completed: { isFinal: true, showsWork: 'if new' },
  archived: { isFinal: true, showsWork: 'never' },
  failed: { isFinal: true, showsWork: 'if new' },
} as const satisfies Readonly<
  Record<string, { isFinal: boolean; showsWork: 'always' | 'if new' | 'never' }>
>;

export type Status = keyof typeof STATUSES;
export const STATUS_NAMES = Object.keys(STATUSES) as Status[];
export type FinalStatus = {
  [S in Status]: (typeof STATUSES)[S]['isFinal'] extends true ? S : never;
}[Status];

export function isKnownStatus(status: string | undefined): status is Status {
  return status !== undefined && Object.hasOwn(STATUSES, status);
}

/** An unknown or missing status never is. */
export function isFinal(status: string | undefined): status is FinalStatus {
  return isKnownStatus(status) && STATUSES[status].isFinal;
}
