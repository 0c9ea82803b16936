// Polls and the relative wasted wait.

import {
  type Anchor,
  type Axis,
  COLOURS,
  circle,
  draw,
  FAINT,
  polyline,
  text,
  xOf,
  yOf,
} from './svg.ts';
import { type Compared, costOfIntervals } from './waiting.ts';

const RADII = { own: 8, peer: 5.5, fixed: 4 };
const POLLS: Axis = {
  title: 'polls of one job (requests)',
  max: 160,
  ticks: [0, 20, 40, 60, 80, 100, 120, 140, 160].map((polls) => [polls, String(polls)] as const),
};
const WASTE: Axis = {
  title: 'wasted wait (% of the job’s length)',
  max: 0.3,
  ticks: [0, 5, 10, 15, 20, 25, 30].map((percent) => [percent / 100, `${percent} %`] as const),
};

interface Label {
  /** The strategies whose marks are at this position. */
  readonly of: readonly string[];
  readonly text: string;
  readonly dx: number;
  readonly dy: number;
  readonly anchor?: Anchor;
}

/** Each label is beside its mark, in a free area. */
const LABELS: readonly Label[] = [
  { of: ['this action'], text: 'this action', dx: 14, dy: 6 },
  { of: ['a fixed 30 s'], text: '30 s', dx: 10, dy: -5 },
  { of: ['a fixed 15 s'], text: '15 s', dx: 9, dy: -6 },
  {
    of: ['deploy-pages, unreleased'],
    text: 'deploy-pages, unreleased: 5 to 30 s',
    dx: 11,
    dy: 4,
  },
  {
    of: ['aws-codebuild-run-build'],
    text: 'aws-codebuild-run-build: 30 s, then 15 s',
    dx: 12,
    dy: 5,
  },
  {
    of: ['a fixed 10 s', 'trigger-workflow-and-wait', 'wait-on-check-action'],
    text: '10 s: trigger-workflow-and-wait, wait-on-check-action',
    dx: 9,
    dy: -8,
  },
  {
    of: ['tfc-workflows-tooling (Terraform)'],
    text: 'Terraform: 2 to 7 s',
    dx: -8,
    dy: 23,
  },
  {
    of: ['a fixed 5 s', 'deploy-pages 5.0'],
    text: '5 s: deploy-pages 5.0',
    dx: 14,
    dy: -14,
    anchor: 'middle',
  },
];

export function drawWaiting(costs: readonly Compared[]): string {
  const front = costs.filter(({ isOnFront }) => isOnFront).toSorted((a, b) => a.polls - b.polls);
  const intervals = costOfIntervals();
  const frame = {
    title: 'Polls of a job, and the wait that is wasted after its end',
    subtitle:
      'Average over jobs of 20 s to 60 min, log-uniform. Better is further down and to the left.',
    x: POLLS,
    y: WASTE,
  };
  return draw(frame, [
    line(intervals, `stroke="${FAINT}" stroke-dasharray="2 4" stroke-width="1.5"`),
    label(intervals[0], 'every fixed interval', 12, 8, 'start', `fill="${FAINT}"`),
    line(front, `stroke="${COLOURS.own}" stroke-width="2.5" stroke-opacity="0.45"`),
    label(between(front[1], front[2]), 'Pareto front', -14, 12, 'end', `fill="${COLOURS.own}"`),
    ...costs.toSorted((a, b) => RADII[a.kind] - RADII[b.kind]).map(mark),
    ...LABELS.map((one) => labelOf(one, costs)),
  ]);
}

type Point = Pick<Compared, 'polls' | 'waste'>;

function line(points: readonly Point[], style: string): string {
  const places = points.map(({ polls, waste }) => ({ x: xOf(POLLS, polls), y: yOf(WASTE, waste) }));
  return polyline(places, style);
}

function mark({ kind, polls, waste }: Compared): string {
  return circle(xOf(POLLS, polls), yOf(WASTE, waste), RADII[kind], COLOURS[kind]);
}

function labelOf({ of, text: content, dx, dy, anchor }: Label, costs: readonly Compared[]): string {
  const marks = costs.filter(({ name }) => of.includes(name));
  const kinds = new Set(marks.map(({ kind }) => kind));
  if (marks.length !== of.length) throw new Error(`the plot has no mark for "${content}"`);
  const style = kinds.has('own')
    ? `font-size="16" font-weight="700" fill="${COLOURS.own}"`
    : `fill="${kinds.has('peer') ? COLOURS.peer : FAINT}"`;
  return label(marks[0], content, dx, dy, anchor, style);
}

function label(
  at: Point | undefined,
  content: string,
  dx: number,
  dy: number,
  anchor: Anchor = 'start',
  style = '',
): string {
  if (at === undefined) throw new Error(`the plot has no position for "${content}"`);
  return text(content, xOf(POLLS, at.polls) + dx, yOf(WASTE, at.waste) + dy, anchor, style);
}

function between(one: Point | undefined, other: Point | undefined): Point | undefined {
  if (one === undefined || other === undefined) return undefined;
  return { polls: (one.polls + other.polls) / 2, waste: (one.waste + other.waste) / 2 };
}
