import type { Pushed } from '../job/job.ts';
import { blocks, code, dotted } from '../markdown.ts';
import { listSome, plural } from '../text.ts';

// What is told of commits. Over a merge, only their number is true.

/** `3 commits`, as far as that is known. */
export function nameCommits({ count, told }: Pushed): string {
  if (count === undefined) return '';
  if (told !== 'a merge') return plural(count, 'commit');
  return count === 1 ? told : `${plural(count, 'commit')}, with ${told}`;
}

/** `` 1 new commit, by `ben` ``: nobody else has pushed, also not the agent. */
export function nameOthers(count: number, authors: readonly string[]): string {
  const names = authors.map((login) => code(login, 100));
  return `${plural(count, 'new commit')}, by ${listSome(names, MOST_LISTED)}`;
}

const MOST_LISTED = 5;
const LONGEST_HEADLINE = 72;

export function renderCommits({ count, told }: Pushed): string {
  if (told === undefined || told === 'a merge') return '';
  const { files, untouched, headlines, authors } = told;
  const names = files?.map((path) => code(path, 100)) ?? [];
  const also = [...untouched].map(([path, n]) => `${code(path, 100)} (${plural(n, 'comment')})`);
  const changed = dotted(
    [
      names.length === 0 ? '' : `${plural(names.length, 'file')}: ${listSome(names, MOST_LISTED)}.`,
      also.length === 0 ? '' : `Not in these commits: ${listSome(also, MOST_LISTED)}.`,
    ],
    ' ',
  );
  const shown = headlines.map((line) => code(line, LONGEST_HEADLINE)).filter((line) => line !== '');
  const more = shown.length > MOST_LISTED ? ` and ${shown.length - MOST_LISTED} more` : '';
  const lines = `${dotted(shown.slice(0, MOST_LISTED))}${more}`;
  const logins = authors.map((login) => (login === null ? 'somebody' : code(login, 100)));
  const pushed = count === undefined ? 'Commits' : plural(count, 'commit');
  const by = authors.length < 2 ? '' : `${pushed} by ${listSome(logins, MOST_LISTED)}`;
  return blocks([changed, dotted([by, lines], ': ')]);
}
