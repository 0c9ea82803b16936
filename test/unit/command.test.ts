import { describe, expect, it } from 'vitest';
import { composePrompt } from '../../src/github/command.ts';

describe('composePrompt', () => {
  const position = { path: 'docs/a.md', line: 12, diffHunk: '@@ -1 +1 @@\n+`x`' };
  const hunk = 'The part of the diff around it:\n\n```diff\n@@ -1 +1 @@\n+`x`\n```';
  const where = 'Context: this was written on the file "docs/a.md"';

  it.each([
    ['a comment without context', '', null, 'Go.'],
    ['the prompt input', 'Be brief.', null, 'Be brief.\n\nGo.'],
    ['a line of the diff', '', position, `Go.\n\n${where}, line 12. ${hunk}`],
    ['a line that no longer exists', '', { ...position, line: null }, `Go.\n\n${where}. ${hunk}`],
    ['a line without a diff', '', { ...position, diffHunk: '' }, `Go.\n\n${where}, line 12.`],
  ])('includes %s', (_, instructions, context, prompt) => {
    expect(composePrompt(instructions, 'Go.', context)).toBe(prompt);
  });
});
