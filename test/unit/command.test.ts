import { describe, expect, it } from 'vitest';
import { composePrompt } from '../../src/github/command.ts';

describe('composePrompt', () => {
  const place = { path: 'docs/a.md', line: 12, diffHunk: '@@ -1 +1 @@\n+`x`' };
  const hunk = 'The part of the diff around it:\n\n```diff\n@@ -1 +1 @@\n+`x`\n```';
  const where = 'Context: this was written on the file "docs/a.md"';

  it.each([
    ['a comment alone', '', null, 'Go.'],
    ['standing instructions', 'Be brief.', null, 'Be brief.\n\nGo.'],
    ['a place in the code', '', place, `Go.\n\n${where}, line 12. ${hunk}`],
    ['a line that is gone', '', { ...place, line: null }, `Go.\n\n${where}. ${hunk}`],
    ['no diff', '', { ...place, diffHunk: '' }, `Go.\n\n${where}, line 12.`],
  ])('%s', (_, standing, context, prompt) => {
    expect(composePrompt(standing, 'Go.', context)).toBe(prompt);
  });
});
