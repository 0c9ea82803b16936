import { story as comment } from './comment.ts';
import { story as faults } from './faults.ts';
import { story as nudge } from './nudge.ts';
import { story as pullRequest } from './pull-request.ts';
import type { Story } from './story.ts';

export const stories: ReadonlyMap<string, Story> = new Map([
  ['pull-request', pullRequest],
  ['comment', comment],
  ['nudge', nudge],
  ['faults', faults],
]);
