import fc from 'fast-check';

/** Texts with a meaning in the runner, Markdown or HTML, or that mislead readers. */
const TOKENS = [
  ...':: ::error:: ::set-output\u3000name=a:: ::add-mask:: ##[ ##[error] ##'.split(' '),
  ...'[ ] # group] %0A %3A ` `` ``` ````` ~~~ | \\ \\| --- <!-- --> --!> --'.split(' '),
  ...'< > & " \' * _ $ > - 1. # [x](y) <img/src=x> </code> </pre> <details>'.split(' '),
  ...'&lt; &#10; @octo #1 octo/agents#2 ![x](https://a.example) https://a.example'.split(' '),
  ...'javascript: text a B 0 . / { }'.split(' '),
  // White space, controls, and characters that are invisible, reorder the line or belong together.
  ...' \n\r\t\v\f\0\b\u00a0\u0085\u1680\u2007\u2028\u2029\u3000\ufeff\u180e\u200b\u200c\u200d',
  ...'\u202e\u2066\u00ad\ufe0f\u2800\u3164\u{e0041}\u{e007f}👩💻\u{10ffff}\ufffd\u0301“”',
  ...['\r\n', '    ', '\u001b[2J', '\ud83d', '\ude00', 'e\u0301'],
];

/** Any except a surrogate. fast-check's own arbitrary takes a second before the first value. */
const codePoint = fc
  .nat({ max: 0x10ffff - 0x800 })
  .map((code) => (code < 0xd800 ? code : code + 0x800));

const join = (parts: readonly string[]): string => parts.join('');
/** Text that attempts to be a command, markup or a link. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.constantFrom(...TOKENS), { maxLength: 25 }).map(join) },
  fc.array(codePoint, { maxLength: 60 }).map((codes) => String.fromCodePoint(...codes)),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 })
    .map((units) => String.fromCharCode(...units)),
);
