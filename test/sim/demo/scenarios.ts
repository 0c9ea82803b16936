import { scenario as comment } from './comment.ts';
import { scenario as faults } from './faults.ts';
import { scenario as nudge } from './nudge.ts';
import { scenario as pullRequest } from './pull-request.ts';
import type { Scenario } from './scenario.ts';

export const scenarios: ReadonlyMap<string, Scenario> = new Map([
  ['pull-request', pullRequest],
  ['comment', comment],
  ['nudge', nudge],
  ['faults', faults],
]);
