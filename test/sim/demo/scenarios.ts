import { scenario as everyNight } from './every-night.ts';
import type { Scenario } from './scenario.ts';
import { scenario as story } from './story.ts';

export const scenarios: ReadonlyMap<string, Scenario> = new Map([
  ['story', story],
  ['every-night', everyNight],
]);
