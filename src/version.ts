/** The version of package.json; a test holds the two equal. */
export const VERSION = '1.0.0';
