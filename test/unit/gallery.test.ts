import { describe, expect, it } from 'vitest';
import { type Kind, WORDS } from '../../src/labels.ts';
import { renderLedger } from '../../src/report/comment.ts';
import { renderSummary } from '../../src/report/summary.ts';
import type { JobState } from '../../src/turn.ts';
import {
  comments,
  fleetOf,
  LEAST_ROOM,
  ledgerOf,
  mixedFleet,
  SITE,
  summaries,
} from '../sim/demo/exhibits.ts';
import { forgedIn, type Rendered, rendered } from '../sim/rendered.ts';

// Each state of the comment and of the summary, for 1 to 500 jobs, rendered as on GitHub.

const COUNTS = [1, 5, 60, 500];
const KINDS = Object.keys(WORDS) as readonly Kind[];
/** The comment does not show skipped messages. */
const SHOWN = KINDS.filter((kind) => kind !== 'skipped');
const ENDED = KINDS.filter((kind) => kind !== 'sending' && kind !== 'working');
const HEADING =
  /^<h([23])><span aria-hidden="true">(?:❌|⚠️|⏱️|⏹️|🗄️|⏳|📨|✅|⏭️)<\/span> [^\n]+<\/h\1>\n/u;

function isOwn(href: string): boolean {
  return href.startsWith('https://github.com/octo-org/docs/');
}

/** The problems of a text of ours. */
function problemsOf({ skeleton, text, ...shown }: Rendered): readonly unknown[] {
  const opened = skeleton.match(/<details>/g)?.length ?? 0;
  const closed = skeleton.match(/<\/details>/g)?.length ?? 0;
  return [
    ...forgedIn({ skeleton, text, ...shown }, isOwn),
    ...(HEADING.test(skeleton) ? [] : ['the heading']),
    ...(opened === closed ? [] : ['a fold']),
    // Broken Markdown and missing values are visible as text.
    ...(text.match(/[|*`\][]|<\/?\w|- \w|undefined|null|NaN/g) ?? []),
  ];
}

/** The number of jobs in the tables, and the number of jobs that are not shown according to the text. */
function countJobs({ skeleton, text }: Rendered): { shown: number; notShown: number } {
  const rows = skeleton.match(/<tr>\n<td>/g)?.length ?? 0;
  const [, notShown = '0'] = /(\d+) more jobs are not shown/.exec(text) ?? [];
  return { shown: rows, notShown: Number(notShown) };
}

const kinds = (of: readonly Kind[]) =>
  COUNTS.flatMap((count) => of.map((kind) => [count, kind] as const));

describe('the comment', () => {
  const cases = kinds(SHOWN).flatMap(([count, kind]) =>
    [0, 10].map((earlier) => [count, kind, earlier] as const),
  );

  function check(states: readonly JobState[], earlier: number): void {
    const markdown = renderLedger(ledgerOf(states, earlier), SITE, LEAST_ROOM);
    expect(markdown.length).toBeLessThanOrEqual(LEAST_ROOM);
    const shown = rendered(markdown);
    expect(problemsOf(shown)).toEqual([]);
    const jobs = countJobs(shown);
    if (states.length > 1) expect(jobs.shown + jobs.notShown).toBe(states.length);
    const title = /(\d+) earlier messages?/.exec(shown.text);
    expect(title?.[1] ?? '0').toBe(String(earlier));
  }

  it.each(cases)('shows %i jobs, %s, with %i earlier messages', (count, kind, earlier) => {
    check(fleetOf(kind, count), earlier);
  });

  it.each([5, 60, 500])('shows %i jobs of all kinds', (count) => {
    for (const isOpen of [true, false]) check(mixedFleet(count, isOpen), 10);
  });

  it.each([700, 1000, 3000, 6000, 18_000])(
    'has at most %i characters if that is the limit',
    (limit) => {
      for (const states of [fleetOf('failed', 1), mixedFleet(60), fleetOf('completed', 500)]) {
        const text = renderLedger(ledgerOf(states, 10), SITE, limit);
        expect(text.length).toBeLessThanOrEqual(limit);
        expect(problemsOf(rendered(text)).filter((problem) => problem !== 'the heading')).toEqual(
          [],
        );
      }
    },
  );

  it('counts the earlier messages for which it has no room', () => {
    const text = renderLedger(ledgerOf(fleetOf('completed', 1), 200), SITE, 6000);
    const listed = rendered(text).skeleton.match(/<li><span/g)?.length ?? 0;
    expect(text).toContain(`<summary>200 earlier messages</summary>`);
    expect(text).toContain(`- ${200 - listed} more are not shown for lack of room.`);
  });
});

describe('the job summary', () => {
  it.each(kinds(ENDED))('shows %i jobs, %s', (count, kind) => {
    const states = fleetOf(kind, count);
    const parts = { commentUrls: [] };
    const shown = rendered(renderSummary({ ...parts, states }));
    expect(problemsOf(shown)).toEqual([]);
    if (count > 1) expect(countJobs(shown)).toEqual({ shown: count, notShown: 0 });
  });
});

it.each([...comments(), ...summaries()])(
  'the gallery shows "$name" without problems',
  ({ markdown }) => {
    expect(problemsOf(rendered(markdown))).toEqual([]);
  },
);
