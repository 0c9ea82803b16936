import { scenario as everyNight } from './every-night.ts';
import type { Scenario } from './scenario.ts';
import { scenario as story } from './story.ts';

/** The first one is played if none is named. */
export const scenarios: ReadonlyMap<string, Scenario> = new Map([
  ['story', story],
  ['every-night', everyNight],
]);
