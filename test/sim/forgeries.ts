// Texts that forge a command of the runner, a link, a mention or a line of the action.

import { composeReply } from '../../src/ledger/marker.ts';

/** White_Space of Unicode, which .NET trims before it searches for `::`, and similar characters. */
const SPACES =
  '\t\n\v\f\r\u0020\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009' +
  '\u200a\u2028\u2029\u202f\u205f\u3000\u180e\u200b\u2060\ufeff\u001c\u001f';

/** Characters that the action removes. What they separated may then form a command. */
const SPLITTERS =
  '\0\u0007\u001b\u007f\u009b\u00ad\u034f\u061c\u200b\u200c\u200d\u200e\u2060\ufe0f\ufeff';

const RUNNER: Readonly<Record<string, string>> = {
  'an error': '::error::forged',
  'an output': '::set-output name=status::forged',
  'a mask on a letter': '::add-mask::e',
  'a mask in the middle of a line': 'all is well ##[add-mask]e',
  'the end of all commands, ended': '::stop-commands::forged\n::add-mask::x\n::forged::',
  'a command after a lone carriage return': 'ok\r::error::forged',
  'a command after CR LF': 'ok\r\n::error::forged\r\n',
  'a command in percent signs': 'ok%0A::error::forged%0D::error::forged',
  'a command in a JSON string': '{"error":"\\n::error::forged ##[error]forged"}',
  'a value of the output file': 'status=forged\nstatus<<EOF\nforged\nEOF',
  'a delimiter of the toolkit': 'x\nghadelimiter_0\nstatus<<ghadelimiter_0\nforged\nghadelimiter_0',
  'a line like those of the action':
    'ok\nThe message to job job-1 is delivered.\nJob job-1: Completed.',
};

const SCREEN: Readonly<Record<string, string>> = {
  'a cleared screen': '\u001b[2J\u001b[Hforged',
  'backspaces over the line': `all is well${'\b'.repeat(11)}forged`,
  'a NUL': 'all\0is\0well\0::error::forged',
  'a reversed line': '\u202edegrof si siht\u202c',
  'tags that spell a command': `ok${[...'::error::forged'].map(toTag).join('')}`,
  'variation selectors that hide bytes': `ok${'\u{e0100}\ufe00\u{e01ef}'.repeat(20)}`,
  'nothing visible': '\u200b\u2060\u3164\u2800\u00a0',
  'a lone high surrogate': 'a\ud800b',
  'surrogates the wrong way round': '\udf89\ud83c ##[error]forged',
};

const MARKDOWN: Readonly<Record<string, string>> = {
  'a link': '[forged](https://evil.example/login)',
  'an image': '![forged](https://evil.example/pixel.png)',
  'a mention': '@octocat please check',
  'a reference to an issue': 'fixes #1, closes #99999',
  'a code span that closes early': 'x` @octocat [forged](https://evil.example) `x',
  'runs of backticks of each length': '` `` ``` ```` ````` @octocat `````` ``````` #1',
  'backslashes before backticks': '\\` @octocat \\`` #1 \\',
  'a fence that closes early': 'x\n```\n@octocat [forged](https://evil.example)\n```\nx',
  'an indented fence': 'x\n   ```\n@octocat #1\n\t```',
  'a fence after other line ends': 'x\r```\r@octocat #1\u2028```\u2028#1\u0085```\u0085#1\v```\f#1',
  'a table break': 'x | @octocat | [forged](https://evil.example) |\n| --- | --- |\n| #1 | x |',
};

const HTML: Readonly<Record<string, string>> = {
  'an HTML link': '<a href="https://evil.example">forged</a>',
  'the end of the fold': '</details>\n\n@octocat\n\n<details open><summary>forged</summary>',
  'the end of a comment': '--> @octocat [forged](https://evil.example) <!--',
  'a comment that stays open': '<!-- forged',
  'a comment by the action': composeReply({ step: '', message: '', by: 'person' }, '@octocat'),
  'the last line of a comment by the action':
    'ok\n<!-- agent-follow-up {"version":1,"jobs":[]} -->',
  'character references': '&lt;b&gt; &#64;octocat &commat;octocat &#35;1 &#x60; &#10;&#10;# forged',
};

/** URLs that resemble the link to a pull request. */
const ADDRESSES: Readonly<Record<string, string>> = {
  'a link that continues': 'https://github.com/octo/agents/pull/1](https://evil.example)',
  'a link that closes early':
    'https://github.com/octo/agents/pull/1)@octocat[forged](//evil.example',
  'a link with a user': 'https://github.com@evil.example/octo/agents/pull/1',
  'a link with a query': 'https://github.com/octo/agents/pull/1?x=](//evil.example)&y=@octocat#1',
  'a link to a script in disguise': 'java\tscript:alert(1)//github.com/octo/agents/pull/1',
  'a link with letters of another script': 'https://gіthub.com/octo/agents/pull/1',
};

const LONG: Readonly<Record<string, string>> = {
  'many backticks': '`'.repeat(4096),
  'a command behind the cut': `${'x'.repeat(198)}\n::error::forged ##[error]forged`,
  'a mention behind the cut': `${'`'.repeat(190)} ${'x'.repeat(900)} @octocat #1`,
  'a text of 100,000 characters': '`@octocat` ##[error]\n'.repeat(5000),
};

const NAMED = { ...RUNNER, ...SCREEN, ...MARKDOWN, ...HTML, ...ADDRESSES, ...LONG };

export const FORGERIES: readonly { readonly name: string; readonly text: string }[] = [
  ...Object.entries(NAMED).map(([name, text]) => ({ name, text })),
  ...Array.from(SPACES, (space) => ({
    name: `commands after ${codePoint(space)}`,
    text: `${space}::error::forged${space}::warning::forged\n${space}${space}::set-output name=status::x`,
  })),
  ...Array.from(SPLITTERS, (splitter) => ({
    name: `commands split by ${codePoint(splitter)}`,
    text: `x #${splitter}#[error]x ##${splitter}[error]x\n:${splitter}:error:${splitter}:x\n::er${splitter}ror::x`,
  })),
];

/** The text without what an environment variable cannot contain. */
export function forEnvironment(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

function codePoint(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

function toTag(character: string): string {
  return String.fromCodePoint(0xe0000 + character.charCodeAt(0));
}
