/** The version of package.json; a test holds the two equal. */
const VERSION = '1.0.0';

/** How each request says who makes it. */
export const USER_AGENT = `agent-follow-up/${VERSION}`;
