import { expect, it } from 'vitest';
import { changeOf } from '../../src/jobs/changes.ts';

const RANGE = { before: 'a', after: 'b' };
const [PLAIN, MERGE] = [{ parents: [{}] }, { parents: [{}, {}] }];
const OTHER = [{ filename: 'a.md' }];

it.each<[string, Partial<Parameters<typeof changeOf>[0]>, readonly string[]]>([
  ['another file', {}, ['c.md']],
  ['the file', { files: [{ filename: 'c.md' }] }, []],
  ['the file under another name', { files: [{ filename: 'd.md', previous_filename: 'c.md' }] }, []],
  ['perhaps what a merge brought', { commits: [PLAIN, MERGE], total_commits: 2 }, []],
  ['more files than GitHub lists', { files: Array.from({ length: 300 }, () => OTHER).flat() }, []],
  ['files that cannot be read', { files: null }, []],
  ['more commits than GitHub lists', { total_commits: 2 }, []],
])('the commits change %s', (_, parts, untouched) => {
  const compared = { status: 'ahead', total_commits: 1, commits: [PLAIN], files: OTHER, ...parts };
  const change = changeOf(compared, RANGE, new Map([['c.md', 2]]));
  expect(change).toMatchObject({ kind: 'commits', count: compared.total_commits, ...RANGE });
  expect(change.kind === 'commits' && [...(change.untouched?.keys() ?? [])]).toEqual(untouched);
});

it.each(['diverged', 'behind', 'identical'])('tells no number if the branch is %s', (status) => {
  const compared = { status, total_commits: 5, commits: [PLAIN], files: [] };
  expect(changeOf(compared, RANGE, new Map([['c.md', 1]]))).toEqual({ kind: 'rewritten' });
});
