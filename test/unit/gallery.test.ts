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

// Each state of the comment and of the summary, for 1 to 500 jobs, rendered as GitHub does it.

const COUNTS = [1, 5, 60, 500];
/** What a comment shows: a message that was skipped has no reason there, and is none. */
const KINDS = Object.keys(WORDS) as readonly Kind[];
const SHOWN = KINDS.filter((kind) => kind !== 'skipped');
const ENDED = KINDS.filter((kind) => kind !== 'sending' && kind !== 'working');
const HEADING =
  /^<h([23])><span aria-hidden="true">(?:❌|⚠️|⏱️|⏹️|🗄️|⏳|📨|✅|⏭️)<\/span> [^\n]+<\/h\1>\n/u;

function isOwn(href: string): boolean {
  return href.startsWith('https://github.com/octo-org/docs/');
}

/** What is wrong with a text of ours, whatever it says. */
function problemsOf({ skeleton, text, ...shown }: Rendered): readonly unknown[] {
  const opened = skeleton.match(/<details>/g)?.length ?? 0;
  const closed = skeleton.match(/<\/details>/g)?.length ?? 0;
  return [
    ...forgedIn({ skeleton, text, ...shown }, isOwn),
    ...(HEADING.test(skeleton) ? [] : ['the heading']),
    ...(opened === closed ? [] : ['a fold']),
    // What is no Markdown to GitHub stands there as it is.
    ...(text.match(/[|*`\][]|<\/?\w|- \w|undefined|null|NaN/g) ?? []),
  ];
}

/** How many jobs are shown, and how many are said to be left out. */
function countJobs({ skeleton, text }: Rendered): { shown: number; left: number } {
  const rows = skeleton.match(/<tr>\n<td>/g)?.length ?? 0;
  const [, left = '0'] = /(\d+) more jobs are not shown/.exec(text) ?? [];
  return { shown: rows, left: Number(left) };
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
    if (states.length > 1) expect(jobs.shown + jobs.left).toBe(states.length);
    const title = /(\d+) earlier messages?/.exec(shown.text);
    expect(title?.[1] ?? '0').toBe(String(earlier));
  }

  it.each(cases)('%i jobs, %s, %i earlier messages', (count, kind, earlier) => {
    check(fleetOf(kind, count), earlier);
  });

  it.each([5, 60, 500])('%i jobs of all kinds', (count) => {
    for (const isOpen of [true, false]) check(mixedFleet(count, isOpen), 10);
  });

  it.each([700, 1000, 3000, 6000, 18_000])('keeps a limit of %i characters', (limit) => {
    for (const states of [fleetOf('failed', 1), mixedFleet(60), fleetOf('completed', 500)]) {
      const text = renderLedger(ledgerOf(states, 10), SITE, limit);
      expect(text.length).toBeLessThanOrEqual(limit);
      expect(problemsOf(rendered(text)).filter((problem) => problem !== 'the heading')).toEqual([]);
    }
  });

  it('counts the earlier messages that it has no room for', () => {
    const text = renderLedger(ledgerOf(fleetOf('completed', 1), 200), SITE, 6000);
    const listed = rendered(text).skeleton.match(/<li><span/g)?.length ?? 0;
    expect(text).toContain(`<summary>200 earlier messages</summary>`);
    expect(text).toContain(`- ${200 - listed} more are not shown for lack of room.`);
  });
});

describe('the summary', () => {
  it.each(kinds(ENDED))('%i jobs, %s', (count, kind) => {
    const states = fleetOf(kind, count);
    const parts = { commentUrls: [] };
    const shown = rendered(renderSummary({ ...parts, states }));
    expect(problemsOf(shown)).toEqual([]);
    if (count > 1) expect(countJobs(shown)).toEqual({ shown: count, left: 0 });
  });
});

it.each([...comments(), ...summaries()])(
  'the gallery shows "$name" as it should',
  ({ markdown }) => {
    expect(problemsOf(rendered(markdown))).toEqual([]);
  },
);
