// All facts of the service: what its documentation (https://www.mintlify.com/docs/api/introduction) says about agent jobs, and where
// people find things in its dashboard. The shape of its answers is in agent/answers.ts.

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

/** Of a message, and of the creation of a job, which begins with one. */
export function bodyOf(prompt: string): object {
  return { prompt };
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

/** What the requests do. */
export type Doing = keyof typeof PATHS;

/** What to do about a response with an HTTP status, as sentences. */
type Advice = Readonly<Record<number, Readonly<Partial<Record<Doing, string>>>>>;

const NO_CREDITS = 'The API requires credits';
const MORE_CREDITS = `Buy credits or allow overages at ${USAGE_URL}.`;
const NOT_ACCEPTED = `${NO_CREDITS}, so it did not accept the message. ${MORE_CREDITS}`;
const WRONG_JOB = 'The project has no such job; check the job ID and the project ID.';
const MAYBE_WRONG_URL =
  'The project has no such job, or this is not the API; check the job ID, the project ID and the base URL.';
const TOO_MANY =
  `The API accepts ${MESSAGES_PER_HOUR} messages per project and hour (${MESSAGES_PER_HOUR}/h) from all senders ` +
  'together.';

export const ADVICE: Advice = {
  401: always(
    `The API key is expired (keys live 90 days by default) or wrong; create a new admin key at ${KEYS_URL} and store it as ` +
      'the secret.',
  ),
  // The API does not document this status; the documentation says that agents use credits, and how to get more of them.
  402: { poll: `${NO_CREDITS}. ${MORE_CREDITS}`, send: NOT_ACCEPTED, create: NOT_ACCEPTED },
  403: {
    poll: adviseOnScope('read'),
    send: adviseOnScope('write'),
    create: adviseOnScope('write'),
  },
  404: {
    poll: WRONG_JOB,
    send: WRONG_JOB,
    create: 'There is no such project; check the project ID.',
  },
  409: { poll: 'Use another job.', send: 'Use another job.', create: '' },
  429: { poll: 'The API was asked too often.', send: TOO_MANY, create: TOO_MANY },
};

/** What is too large for the API is too large for what stands before it as well, and either may say so. */
export const ADVICE_ON_SIZE: Readonly<Record<number, string>> = {
  413: 'The prompt is too long; make it shorter.',
  414: 'The address is too long; check the job ID and the project ID.',
  431: 'The headers are too large; check that the secret has only the API key.',
};

/** The status that says that the job takes no more messages. */
export const JOB_IS_CLOSED = 409;

/** Comes first if the base URL is another one. */
export const ADVICE_ELSEWHERE: Advice = { 404: { poll: MAYBE_WRONG_URL, send: MAYBE_WRONG_URL } };

function always(advice: string): Readonly<Record<Doing, string>> {
  return { poll: advice, send: advice, create: advice };
}

function adviseOnScope(scope: 'read' | 'write'): string {
  return (
    `The API key may lack the ${scope} scope, or the IP address of this runner may not be on the IP allow list of the key; ` +
    `GitHub-hosted runners rarely are. Check the key at ${KEYS_URL}.`
  );
}
