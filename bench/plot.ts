// Polls and the relative wasted wait, as an SVG that needs no script and no font of its own. It has a
// light background, as an image on a page does not know whether the page is dark.

import { type Compared, costOfIntervals } from './waiting.ts';

const WIDTH = 800;
const HEIGHT = 470;
const LEFT = 74;
const RIGHT = WIDTH - 24;
const TOP = 84;
const BOTTOM = HEIGHT - 62;
const MOST_POLLS = 160;
const MOST_WASTE = 0.3;
const INK = '#1f2328';
const FAINT = '#59636e';
const GRID = '#e4e8ec';
/** Keeps lines away from the letters. */
const HALO = 'paint-order="stroke" stroke="#fff" stroke-width="5" stroke-linejoin="round"';
const COLOURS = { own: '#0969da', peer: '#bc4c00', fixed: FAINT };
const RADII = { own: 8, peer: 5.5, fixed: 4 };

const x = (polls: number): number => LEFT + (polls / MOST_POLLS) * (RIGHT - LEFT);
const y = (waste: number): number => BOTTOM - (waste / MOST_WASTE) * (BOTTOM - TOP);

interface Label {
  /** Whose marks lie in this place, one upon the other. */
  readonly of: readonly string[];
  readonly text: string;
  readonly dx: number;
  readonly dy: number;
  readonly anchor?: 'start' | 'middle' | 'end';
}

/** Each beside its mark, where nothing else is. */
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
  const title = 'Polls of a job, and the wait that is wasted after its end';
  const parts = [
    `<title id="title">${title}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" rx="6" fill="#fff"/>`,
    text(title, LEFT, 32, 'start', 'font-size="18" font-weight="600"'),
    text(
      'Average over jobs of 20 s to 60 min, log-uniform. Better is further down and to the left.',
      ...[LEFT, 56, 'start' as const, `fill="${FAINT}"`],
    ),
    ...[0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3].map(gridLine),
    ...[0, 20, 40, 60, 80, 100, 120, 140, 160].map((polls) =>
      text(String(polls), x(polls), BOTTOM + 21, 'middle', `fill="${FAINT}"`),
    ),
    text('polls of one job (requests)', (LEFT + RIGHT) / 2, HEIGHT - 14, 'middle'),
    `<text transform="translate(20 ${(TOP + BOTTOM) / 2}) rotate(-90)" text-anchor="middle">wasted wait (% of the job’s length)</text>`,
    line(intervals, `stroke="${FAINT}" stroke-dasharray="2 4" stroke-width="1.5"`),
    label(intervals[0], 'every fixed interval', 12, 8, 'start', `fill="${FAINT}"`),
    line(front, `stroke="${COLOURS.own}" stroke-width="2.5" stroke-opacity="0.45"`),
    label(between(front[1], front[2]), 'Pareto front', -14, 12, 'end', `fill="${COLOURS.own}"`),
    ...costs.toSorted((a, b) => RADII[a.kind] - RADII[b.kind]).map(mark),
    ...LABELS.map((one) => labelOf(one, costs)),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="title" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="14" fill="${INK}">
${parts.join('\n')}
</svg>
`;
}

type Point = Pick<Compared, 'polls' | 'waste'>;

function gridLine(waste: number): string {
  const colour = waste === 0 ? FAINT : GRID;
  const style = `fill="${FAINT}"`;
  const percent = text(`${Math.round(100 * waste)} %`, LEFT - 10, y(waste) + 5, 'end', style);
  return `<path d="M${LEFT} ${round(y(waste))}H${RIGHT}" stroke="${colour}"/>${percent}`;
}

function line(points: readonly Point[], style: string): string {
  const corners = points.map(({ polls, waste }) => `${round(x(polls))} ${round(y(waste))}`);
  return `<path d="M${corners.join('L')}" fill="none" stroke-linejoin="round" ${style}/>`;
}

function mark({ kind, polls, waste }: Compared): string {
  const place = `cx="${round(x(polls))}" cy="${round(y(waste))}"`;
  return `<circle ${place} r="${RADII[kind]}" fill="${COLOURS[kind]}" stroke="#fff"/>`;
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
  anchor: Label['anchor'] = 'start',
  style = '',
): string {
  if (at === undefined) throw new Error(`the plot has no place for "${content}"`);
  return text(content, x(at.polls) + dx, y(at.waste) + dy, anchor, style);
}

function between(one: Point | undefined, other: Point | undefined): Point | undefined {
  if (one === undefined || other === undefined) return undefined;
  return { polls: (one.polls + other.polls) / 2, waste: (one.waste + other.waste) / 2 };
}

function text(
  content: string,
  left: number,
  base: number,
  anchor: 'start' | 'middle' | 'end' = 'start',
  style = '',
): string {
  const place = `x="${round(left)}" y="${round(base)}" text-anchor="${anchor}"`;
  return `<text ${place} ${HALO} ${style}>${content}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
