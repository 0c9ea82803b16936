import { expect, it } from 'vitest';
import { escapeCommands } from '../../src/runner/log.ts';

it.each([
  ['plain text', 'plain text'],
  ['a\nb', 'a\n  | b'],
  ['a\r\nb', 'a\n  | b'],
  ['a\rb', 'a\n  | b'],
  ['a\u2028b\u0085c', 'a\n  | b\n  | c'],
  ['::error::x', '  | ::error::x'],
  [' \u00a0\u3000::error::x', '  |  \u00a0\u3000::error::x'],
  ['ok\n::set-output name=status::x', 'ok\n  | ::set-output name=status::x'],
  ['x ##[add-mask]e', 'x ##\\[add-mask]e'],
  ['##\u200b[add-mask]e', '##\\[add-mask]e'],
  ['#\0#[add-mask]e', '##\\[add-mask]e'],
  ['\u001b[2Jgone', '[2Jgone'],
  ['tab\tstays', 'tab\tstays'],
])('escapeCommands of %j is %j', (text, expected) => {
  expect(escapeCommands(text)).toBe(expected);
});
