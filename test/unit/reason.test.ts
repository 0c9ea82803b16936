import { describe, expect, it } from 'vitest';
import {
  join,
  NO_REASON,
  ours,
  type Reason,
  reasonToText,
  redactReason,
  sentence,
} from '../../src/reason.ts';
import { reasonToMarkdown } from '../../src/report/markdown.ts';
import { escapeCommands } from '../../src/runner/log.ts';
import { FORGERIES } from '../sim/forgeries.ts';
import { forgedIn, rendered } from '../sim/rendered.ts';
import { parseCommands } from '../sim/runner/commands.ts';

it.each<[string, Reason, Reason, string, string]>([
  ['nothing', sentence``, [], '', ''],
  ['only our words', sentence`It failed.`, ['It failed.'], 'It failed.', 'It failed.'],
  [
    'a number',
    sentence`It failed ${3} times.`,
    ['It failed 3 times.'],
    'It failed 3 times.',
    'It failed 3 times.',
  ],
  [
    'a plain word',
    sentence`Job ${'job_1'} failed.`,
    ['Job ', 'job_1', ' failed.'],
    'Job job_1 failed.',
    'Job `job_1` failed.',
  ],
  [
    'text by others',
    sentence`It said: ${'Go "away"'}.`,
    ['It said: ', 'Go "away"', '.'],
    `It said: "Go 'away'".`,
    'It said: `Go "away"`.',
  ],
  [
    'an empty text by others',
    sentence`It said ${''}.`,
    ['It said ', '', '.'],
    'It said .',
    'It said .',
  ],
  ['two texts by others', sentence`${'a b'}${'c'}`, ['', 'a b', '', 'c'], '"a b"c', '`a b` `c`'],
  [
    'a sentence in a sentence',
    sentence`${sentence`Job ${'j'}`} failed.`,
    ['Job ', 'j', ' failed.'],
    'Job j failed.',
    'Job `j` failed.',
  ],
  [
    'a value of our own',
    sentence`It is ${ours('not known')}.`,
    ['It is not known.'],
    'It is not known.',
    'It is not known.',
  ],
  ['an empty reason', sentence`It failed${NO_REASON}.`, ['It failed.'], 'It failed.', 'It failed.'],
])('sentence quotes %s', (_, reason, parts, text, markdown) => {
  expect(reason).toEqual(parts);
  expect(reasonToText(reason)).toBe(text);
  expect(reasonToMarkdown(reason)).toBe(markdown);
});

it('sentence replaces a line break in the source by a space', () => {
  expect(sentence`One ${'x'}
    and two.`).toEqual(['One ', 'x', ' and two.']);
});

it('join leaves out empty sentences', () => {
  expect(join([ours('One.'), NO_REASON, sentence`${'x'} two.`])).toEqual(['One. ', 'x', ' two.']);
  expect(join([sentence`${'x'}`, sentence`${'y'}`], ', ')).toEqual(['', 'x', ', ', 'y']);
  expect(join([NO_REASON, NO_REASON])).toEqual([]);
});

it('redactReason removes secrets from text by others, not from our own words', () => {
  const hide = (text: string): string => text.replaceAll('sent', '***');
  expect(redactReason(sentence`Nothing was sent to ${'sent'}.`, hide)).toEqual([
    'Nothing was sent to ',
    '***',
    '.',
  ]);
});

describe('text by others', () => {
  const problemsOf = (problem: (text: string) => readonly unknown[]): readonly unknown[] =>
    FORGERIES.flatMap(({ name, text }) => {
      const found = problem(text);
      return found.length === 0 ? [] : [[name, found]];
    });

  it.each<[string, (text: string) => Reason]>([
    ['in a sentence', (text) => sentence`The API returned: ${text}. Check it.`],
    ['at the beginning', (text) => sentence`${text} was returned.`],
    ['twice, side by side', (text) => sentence`${text}${text}`],
    ['beside a code span', (text) => sentence`${'a`b'}${text}${'`'}`],
    ['as our own words, from a comment that someone edited', (text) => [text, text, text]],
  ])('has no effect as Markdown or as a command %s', (_, quote) => {
    const found = problemsOf((text) => {
      const shown = rendered(reasonToMarkdown(quote(text)));
      const line = reasonToText(quote(text).map((part, index) => (index % 2 === 1 ? part : '')));
      return [...forgedIn(shown, () => false), ...parseCommands(escapeCommands(line))];
    });
    expect(found).toEqual([]);
  });

  it('does not change the sentence around it', () => {
    const skeletonOf = (text: string): string =>
      rendered(reasonToMarkdown(sentence`It said: ${text}. Check it!`)).skeleton;
    expect(skeletonOf('https://evil.example/')).toBe('<p>It said: <code></code>. Check it!</p>');
    const found = problemsOf((text) => {
      const skeleton = skeletonOf(`x${text}`);
      return skeleton === skeletonOf('https://evil.example/') ? [] : [skeleton];
    });
    expect(found).toEqual([]);
  });
});
