import { expect, it } from 'vitest';
import type { RecordedJob } from '../../../src/ledger/record.ts';
import { changeOf, unseenBefore } from '../../../src/report/changes.ts';
import { found, job } from '../record.ts';

type Compared = Parameters<typeof changeOf>[0];

const RANGE = { before: 'a', after: 'b' };
const ON_C = new Map([['s3cret/c.md', 2]]);
const redact = (text: string): string => text.replaceAll('s3cret', '***');

function commit(message = 'Say more', login: string | null = 'mintlify[bot]', parents = 1) {
  const author = login === null ? null : { login };
  return { parents: Array(parents).fill({}), commit: { message }, author };
}
const MERGE = commit('Merge main', 'mintlify[bot]', 2);
const files = (...names: readonly string[]) => names.map((filename) => ({ filename }));

function change(more: number, parts: Partial<Compared> = {}) {
  const { commits = [commit()], total_commits = commits.length } = parts;
  const compared = { status: 'ahead', files: files('a.md'), ...parts, commits, total_commits };
  return changeOf(compared, more, RANGE, ON_C, redact);
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
  [
    'the file under another name',
    [{ filename: 'd.md', previous_filename: 's3cret/c.md' }],
    [],
    true,
  ],
  ['more files than GitHub lists', files(...Array(300).fill('a.md')), [], false],
  ['files that cannot be read', null, [], false],
])('the commits change %s', (_, changed, untouched, isKnown) => {
  const found = change(1, { files: changed });
  const told = found.kind === 'commits' && typeof found.told === 'object' ? found.told : undefined;
  expect([...(told?.untouched.keys() ?? [])]).toEqual(untouched);
  expect(told?.files !== undefined).toBe(isKnown);
});

const [OLD, NOW] = ['a', 'b'].map((digit) => digit.repeat(40)) as [string, string];
const TIMED_OUT = { result: 'timed-out', confirmed: false, at: 1 } as const;
const IDLE = { base: { status: 'completed' } };

it.each<[string, Partial<RecordedJob>, Parameters<typeof job>[0], boolean]>([
  ['a message that timed out', { ended: TIMED_OUT }, {}, true],
  ['a run that was killed', {}, IDLE, true],
  ['a run that may still wait', {}, { ...IDLE, waitedMs: 1 }, false],
  ['one beside which this one was sent', {}, { base: { status: 'active' } }, false],
  ['one whose end was seen', { ended: { ...TIMED_OUT, result: 'completed' } }, IDLE, false],
  ['another pull request', { ended: TIMED_OUT, head: { number: 8, sha: OLD } }, {}, false],
  ['the same head', { ended: TIMED_OUT, head: { number: 7, sha: NOW } }, {}, false],
  ['one whose re-run went on, and timed out', { ended: TIMED_OUT, head: undefined }, {}, true],
  ['another job', { ended: TIMED_OUT, id: 'job-2' }, {}, false],
])('knows what was pushed since an earlier message: %s', (_, noted, parts, isUnseen) => {
  const now = job({ ...parts, head: { number: 7, sha: NOW, commits: 2 } });
  const head = { number: 7, sha: OLD };
  const last: RecordedJob = { id: 'job-1', delivery: 'sent', head, ...noted };
  const unsent: RecordedJob = { id: 'job-1', delivery: 'not-sent', ended: TIMED_OUT };
  const first: RecordedJob = { ...last, head };
  const notes = [first, last, unsent].map((one) => found({ jobs: [one] }));
  expect(unseenBefore(now, notes)).toEqual(isUnseen ? { before: OLD, after: NOW } : undefined);
});
