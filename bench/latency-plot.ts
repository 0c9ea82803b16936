// The time to the message against the latency of every response.

import { LATENCIES, type Line } from './latency.ts';
import { type Axis, BOTTOM, COLOURS, circle, draw, polyline, text, xOf, yOf } from './svg.ts';

const STEP_MS = 250;
/** The labels are in a column to the right of the lines, which may be higher than the lines. */
const ROOM_FOR_LABELS = 1.4;
const ROOM_ABOVE = 1.1;
const LABEL_HEIGHT = 19;

export function drawLatency(lines: readonly Line[]): string {
  const longest = Math.max(...lines.flatMap(({ toMessage }) => toMessage));
  const steps = Math.max(1, Math.ceil((longest * ROOM_ABOVE) / STEP_MS));
  const x: Axis = {
    title: 'latency of each response of GitHub and the API (ms)',
    max: Math.max(...LATENCIES) * ROOM_FOR_LABELS,
    ticks: LATENCIES.map((ms) => [ms, String(ms)] as const),
  };
  const y: Axis = {
    title: 'until the message is sent (ms)',
    max: steps * STEP_MS,
    ticks: Array.from({ length: steps + 1 }, (_, step) => [step * STEP_MS, String(step * STEP_MS)]),
  };
  const frame = {
    title: 'Time to the message against the latency of every response',
    subtitle: 'From the start of the process. Steeper: more responses before the message.',
    ...{ x, y },
  };
  const marks: string[] = [];
  // The lowest label is also above the axis.
  let above = BOTTOM + 14;
  for (const { name, kind, toMessage } of lines.toSorted(
    (one, other) => endOf(one) - endOf(other),
  )) {
    const places = toMessage.map((ms, index) => ({
      x: xOf(x, LATENCIES[index] ?? 0),
      y: yOf(y, ms),
    }));
    const end = { x: xOf(x, Math.max(...LATENCIES)), y: yOf(y, endOf({ toMessage })) };
    above = Math.min(end.y + 5, above - LABEL_HEIGHT);
    const style = `fill="${COLOURS[kind]}"${kind === 'own' ? ' font-weight="600"' : ''}`;
    marks.push(
      polyline(places, `stroke="${COLOURS[kind]}" stroke-width="2.5"`),
      ...places.map((place) => circle(place.x, place.y, 5, COLOURS[kind])),
      text(name.replaceAll('`', ''), end.x + 14, above, 'start', style),
    );
  }
  return draw(frame, marks);
}

function endOf({ toMessage }: Pick<Line, 'toMessage'>): number {
  return toMessage.at(-1) ?? 0;
}
