// What the plots share. Each is an SVG without scripts and fonts. It has a light background, because an
// image does not know whether the page is dark.

export const WIDTH = 800;
export const HEIGHT = 470;
export const LEFT = 74;
export const RIGHT = WIDTH - 24;
export const TOP = 84;
export const BOTTOM = HEIGHT - 62;
export const FAINT = '#59636e';
export const COLOURS = { own: '#0969da', peer: '#bc4c00', fixed: FAINT };
const INK = '#1f2328';
const GRID = '#e4e8ec';
/** A white outline that separates letters from lines. */
const HALO = 'paint-order="stroke" stroke="#fff" stroke-width="5" stroke-linejoin="round"';

export type Anchor = 'start' | 'middle' | 'end';

/** The range of an axis, and its labelled values. */
export interface Axis {
  readonly title: string;
  readonly max: number;
  readonly ticks: readonly (readonly [number, string])[];
}

export interface Frame {
  readonly title: string;
  readonly subtitle: string;
  readonly x: Axis;
  readonly y: Axis;
}

export function xOf({ max }: Axis, value: number): number {
  return LEFT + (value / max) * (RIGHT - LEFT);
}

export function yOf({ max }: Axis, value: number): number {
  return BOTTOM - (value / max) * (BOTTOM - TOP);
}

export function draw({ title, subtitle, x, y }: Frame, marks: readonly string[]): string {
  const faint = `fill="${FAINT}"`;
  const parts = [
    `<title id="title">${title}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" rx="6" fill="#fff"/>`,
    text(title, LEFT, 32, 'start', 'font-size="18" font-weight="600"'),
    text(subtitle, LEFT, 56, 'start', faint),
    ...y.ticks.map(([value, name]) => gridLine(yOf(y, value), name, value === 0)),
    ...x.ticks.map(([value, name]) => text(name, xOf(x, value), BOTTOM + 21, 'middle', faint)),
    text(x.title, (LEFT + RIGHT) / 2, HEIGHT - 14, 'middle'),
    `<text transform="translate(20 ${(TOP + BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${y.title}</text>`,
    ...marks,
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="title" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="14" fill="${INK}">
${parts.join('\n')}
</svg>
`;
}

function gridLine(height: number, name: string, isBase: boolean): string {
  const label = text(name, LEFT - 10, height + 5, 'end', `fill="${FAINT}"`);
  return `<path d="M${LEFT} ${round(height)}H${RIGHT}" stroke="${isBase ? FAINT : GRID}"/>${label}`;
}

/** A line through these points. */
export function polyline(
  places: readonly { readonly x: number; readonly y: number }[],
  style: string,
): string {
  const corners = places.map(({ x, y }) => `${round(x)} ${round(y)}`);
  return `<path d="M${corners.join('L')}" fill="none" stroke-linejoin="round" ${style}/>`;
}

export function circle(x: number, y: number, radius: number, colour: string): string {
  return `<circle cx="${round(x)}" cy="${round(y)}" r="${radius}" fill="${colour}" stroke="#fff"/>`;
}

export function text(
  content: string,
  left: number,
  base: number,
  anchor: Anchor = 'start',
  style = '',
): string {
  const place = `x="${round(left)}" y="${round(base)}" text-anchor="${anchor}"`;
  return `<text ${place} ${HALO} ${style}>${content}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
