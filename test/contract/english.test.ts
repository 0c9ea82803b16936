import { describe, expect, it } from 'vitest';
import { files, type Source } from './workflows.ts';

// The texts use the words and sentence shapes of GitHub's documentation. These phrases crept in before,
// and are hard to read for those who do not expect them.

/** A phrase, and what to write instead. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\bbefalls?\b/i, 'happens to, affects'],
  [/\bleaves? the others alone\b/i, 'does not affect the others'],
  [/\bthose still to come\b/i, 'the remaining ones'],
  [/\bagent (itself )?goes on\b/i, 'the agent keeps working'],
  [/\bbut for\b/i, 'except'],
  [/\banswered the (job|id)\b/i, 'the API returned'],
  [/\bthere twice\b/i, 'sent twice'],
  [/\bmend(s|ed|ing)?\b/i, 'fix'],
  [/\bwhat it brought\b/i, 'the effect'],
  [/\bruns? of others\b/i, 'other runs'],
  [/\brunners? of GitHub\b/i, 'GitHub-hosted runner'],
  [/\bmay command\b/i, 'may run commands'],
  [/\bgo(es|ing)? on (waiting|with)\b/i, 'continue'],
  [/\blook(s|ed|ing)? at\b/i, 'poll, check, get the status of'],
  [/\b(a|the|one|each|base|first|last) looks?\b/i, 'poll'],
  [/(?<!\.)\b[Oo]utcomes?\b/, 'result'],
  [/\b(came|comes) of\b/i, 'the result'],
  [/\b(tells|told) of\b/i, 'describes, notified of'],
  [/\bsays so\b/i, 'reports it'],
  [/\bin (the|its) place of\b/i, 'instead of'],
  [/\banew\b/i, 'again'],
  [/\bsomebody\b/i, 'someone'],
  [/\b(everybody|anybody)\b/i, 'everyone, anyone'],
  [/\bown pull request\b/i, 'the pull request of the job'],
  [/\bwhat stands\b/i, 'what is'],
  [/\bsurely\b/i, 'certainly'],
  [/\bcertainly belongs\b/i, 'what was seen: the API has no message IDs'],
  [/\btexts? of others\b/i, 'text by others'],
  [/\bhosted by GitHub\b/i, 'GitHub-hosted'],
  [/\bauthority of your own\b/i, 'private CA'],
  [/\bby now\b/i, 'already, so far'],
  [/\bdo without\b/i, 'leave out'],
  [/\bhangs? on\b/i, 'is on'],
  [/\bcosts? no\b/i, 'does not use'],
  [/\bthe service (answer|say|accept|take|show|ask|document)/i, 'the API'],
  [/\b(stopped watching|no longer watched)\b/i, 'stopped waiting, no longer polled'],
  [/\b(legs? of (a|the) matrix|legs that)\b/i, 'the jobs of a matrix'],
];

/** The code as well: its texts, and its comments. */
const FILES = [
  '*.md',
  '{docs,bench}/*.md',
  'action.yml',
  'examples/*.yml',
  '.github/**/*.yml',
  'src/**/*.ts',
  'bench/*.{ts,mjs}',
  'test/**/*.{md,ts,mjs}',
];

/** In one line, without what only marks comments and parts of a string. */
function inOneLine(text: string): string {
  return text.replaceAll(/['"`] \+\s+['"`]/g, '').replaceAll(/\s+(?:(?:\/\/|\*|#) )?/g, ' ');
}

function find({ text }: Source, phrases: typeof PHRASES): readonly string[] {
  const line = inOneLine(text);
  return phrases.flatMap(([phrase, instead]) => {
    const at = line.search(phrase);
    return at === -1 ? [] : [`"…${line.slice(Math.max(0, at - 30), at + 40)}…" -> ${instead}`];
  });
}

describe('plain English', () => {
  const sources = FILES.flatMap((pattern) => files(pattern)).filter(
    ({ name }) => name !== 'test/contract/english.test.ts',
  );

  it.each(sources)('in $name', (source) => {
    expect(find(source, PHRASES)).toEqual([]);
  });

  it('phrases are found across lines, in comments and in strings', () => {
    for (const text of [
      'What\n// befalls one',
      "'what be' +\n  'falls one'",
      '> leaves the\n# others alone',
    ]) {
      expect(find({ name: 'a text', text }, PHRASES)).toHaveLength(1);
    }
  });
});
