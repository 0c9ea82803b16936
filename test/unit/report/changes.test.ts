import { expect, it } from 'vitest';
import { parseComparison } from '../../../src/report/changes.ts';

type Compared = Parameters<typeof parseComparison>[0];

const RANGE = { before: 'a', after: 'b' };
const ON_C = new Map([['s3cret/c.md', 2]]);
const redact = (text: string): string => text.replaceAll('s3cret', '***');

function commit(message = 'Say more', login: string | null = 'mintlify[bot]', parents = 1) {
  const type = login?.endsWith('[bot]') ? 'Bot' : 'User';
  const author = login === null ? null : { login, type };
  return { parents: Array(parents).fill({}), commit: { message }, author };
}
const MERGE = commit('Merge main', 'mintlify[bot]', 2);
const files = (...names: readonly string[]) => names.map((filename) => ({ filename }));

function change(more: number, parts: Partial<Compared> = {}) {
  const { commits = [commit()], total_commits = commits.length } = parts;
  const compared = { status: 'ahead', files: files('a.md'), ...parts, commits, total_commits };
  return parseComparison(compared, { more, range: RANGE, commentsOn: ON_C, redact });
}

// As git has them: `more` is what `git rev-list --count main..HEAD` has more.
it.each<[string, number, Partial<Compared>, number | undefined, string]>([
  ['two plain commits', 2, { commits: [commit(), commit()] }, 2, 'commits'],
  ['a commit and a merge of main', 2, { commits: [commit(), commit(), MERGE] }, 2, 'a merge'],
  ['a merge of main alone', 1, { commits: [commit(), MERGE] }, 1, 'a merge'],
  ['a merge of another branch', 3, { commits: [commit(), commit(), MERGE] }, 3, 'a merge'],
  ['more commits than GitHub lists', 260, { total_commits: 260 }, 260, ''],
  ['a merge with more commits than that', 1, { commits: [MERGE], total_commits: 260 }, 1, ''],
  ['a base that has got some of them', 0, {}, undefined, 'commits'],
])('counts what the pull request has more: %s', (_, more, parts, count, told) => {
  const found = change(more, parts);
  expect(found).toMatchObject({ kind: 'commits', ...RANGE, count });
  const known = found.kind === 'commits' ? found.told : undefined;
  expect(typeof known === 'object' ? 'commits' : (known ?? '')).toBe(told);
});

it.each(['diverged', 'behind', 'identical'])('tells nothing else if the branch is %s', (status) => {
  expect(change(5, { status })).toEqual({ kind: 'rewritten' });
});

it('tells what people have pushed apart, also their merges', () => {
  const commits = [commit('Fix', 's3cret'), commit('Merge main', 's3cret', 2)];
  const byOthers = { count: 1, authors: ['***'] };
  expect(change(1, { commits })).toEqual({ kind: 'none', byOthers });
  expect(change(0, { commits })).toMatchObject({ byOthers: { count: 2 } });
  expect(change(300, { commits, total_commits: 300 })).toMatchObject({ kind: 'commits' });
});

it('tells the files, the first lines and the authors, without secrets', () => {
  const commits = [
    commit('\nAdd s3cret codes\r\n\nAs asked.'),
    commit('Link it', 'anna'),
    commit('', 's3cret'),
    commit('Fix', null),
    commit('Fix'),
  ];
  expect(change(5, { commits, files: files('s3cret.md', 'b.md') })).toMatchObject({
    told: {
      files: ['***.md', 'b.md'],
      headlines: ['Add *** codes', 'Link it', '', 'Fix', 'Fix'],
      authors: ['mintlify[bot]', 'anna', '***', null],
    },
  });
});

it.each<[string, Compared['files'], readonly string[], boolean]>([
  ['another file', files('a.md'), ['***/c.md'], true],
  ['the file', files('s3cret/c.md'), [], true],
  ['the file, renamed', [{ filename: 'd.md', previous_filename: 's3cret/c.md' }], [], true],
  ['more files than GitHub lists', files(...Array(300).fill('a.md')), [], false],
  ['files that cannot be read', null, [], false],
])('the commits change %s', (_, changed, untouched, isKnown) => {
  const found = change(1, { files: changed });
  const told = found.kind === 'commits' && typeof found.told === 'object' ? found.told : undefined;
  expect([...(told?.untouched.keys() ?? [])]).toEqual(untouched);
  expect(told?.files !== undefined).toBe(isKnown);
});
