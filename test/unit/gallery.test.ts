import { describe, expect, it } from 'vitest';
import { ACTION_URL } from '../../src/comment/render.ts';
import type { JobState } from '../../src/job/job.ts';
import { LABEL_NAMES, LABELS, type Label } from '../../src/job/labels.ts';
import { DASHBOARD_URL } from '../../src/mintlify-api.ts';
import {
  COMMIT,
  commentOf,
  comments,
  ENDED,
  fleetOf,
  jobOf,
  LEAST_ROOM,
  mixedFleet,
  summaries,
  summaryOf,
} from '../sim/demo/exhibits.ts';
import { forgedIn, type Rendered, rendered } from '../sim/rendered.ts';

// Each state of the comment and of the summary, for 1 to 100 jobs, rendered as on GitHub.

const COUNTS = [1, 5, 30, 100];
const ICONS = Object.values(LABELS).map(({ icon }) => icon);
const HEADING = RegExp(
  `^<h([23])><span aria-hidden="true">(?:${ICONS.join('|')})</span> [^\\n]+</h\\1>\\n`,
  'u',
);

/** References that are texts of ours. */
const OWN = [COMMIT, '#42'];

function isOwn(href: string): boolean {
  const isOurs = href === DASHBOARD_URL || href === ACTION_URL;
  return isOurs || href.startsWith('https://github.com/octo-org/docs/');
}

/** The problems of a text of ours. */
function problemsOf({ skeleton, text, ...shown }: Rendered): readonly unknown[] {
  const opened = skeleton.match(/<details>/g)?.length ?? 0;
  const closed = skeleton.match(/<\/details>/g)?.length ?? 0;
  return [
    ...forgedIn({ skeleton, text, ...shown }, isOwn).filter((one) => !OWN.includes(one)),
    ...(HEADING.test(skeleton) ? [] : [`the heading: ${skeleton.split('\n')[0]}`]),
    ...(opened === closed ? [] : [`${opened} folds are opened, ${closed} are closed`]),
    // Broken Markdown and missing values are visible as text.
    ...(text.match(/.{0,30}([|*`\][]|<\/?\w|- \w|undefined|null|NaN).{0,30}/g) ?? []),
  ];
}

/** The number of jobs in the items, and of those that are left out. */
function countJobs({ skeleton, text }: Rendered): { shown: number; notShown: number } {
  const counts = skeleton.matchAll(/<li><span[^>]*>\S+<\/span> (\d+) /g).map(([, n]) => Number(n));
  const [, left = '0'] = /Jobs not shown for lack of room: (\d+)\./.exec(text) ?? [];
  return { shown: counts.reduce((sum, count) => sum + count, 0), notShown: Number(left) };
}

const kinds = (of: readonly Label[]) =>
  COUNTS.flatMap((count) => of.map((kind) => [count, kind] as const));

describe('the comment', () => {
  function check(jobs: readonly JobState[]): void {
    const markdown = commentOf(jobs);
    expect(markdown.length).toBeLessThanOrEqual(LEAST_ROOM);
    const shown = rendered(markdown);
    expect(problemsOf(shown)).toEqual([]);
    const { shown: named, notShown } = countJobs(shown);
    if (jobs.length > 1) expect(named + notShown).toBe(jobs.length);
  }

  it.each(kinds(LABEL_NAMES))('shows %i jobs, %s', (count, kind) => check(fleetOf(kind, count)));

  it.each([5, 30, 100])('shows %i jobs of all kinds', (count) => {
    for (const isOpen of [true, false]) check(mixedFleet(count, isOpen));
  });
});

it.each(kinds(ENDED))('the job summary shows %i jobs, %s', (count, kind) => {
  const shown = rendered(summaryOf(fleetOf(kind, count)));
  expect(problemsOf(shown)).toEqual([]);
  if (count > 1) expect(countJobs(shown)).toEqual({ shown: count, notShown: 0 });
});

it('only confirmed and plain results are green', () => {
  const green = LABEL_NAMES.filter((kind) => commentOf([jobOf(kind)]).includes('✅'));
  expect(green).toEqual(['completed']);
  expect(summaryOf(fleetOf('unconfirmed', 3))).not.toContain('✅');
});

it.each([...comments(), ...summaries()])(
  'the gallery shows "$name" without problems',
  ({ markdown }) => {
    expect(problemsOf(rendered(markdown))).toEqual([]);
  },
);
