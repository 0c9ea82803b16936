// The one function behind all commands of the toolkit. The public import would be
//   import * as core from '@actions/core';
// whose job summary, which is not used, loads Node's `fs/promises`: 2 % of the time to the first byte.

export { issueCommand } from '../../node_modules/@actions/core/lib/command.js';
