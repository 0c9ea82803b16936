// What the outputs say, from worst to best.

/** `fails`: whether it fails the step. `isBad`: whether a comment of its own tells it. */
export const RESULTS = {
  error: { fails: 'always', isBad: true },
  cancelled: { fails: 'always', isBad: false },
  failed: { fails: 'by default', isBad: true },
  archived: { fails: 'by default', isBad: true },
  'timed-out': { fails: 'by default', isBad: true },
  sent: { fails: 'never', isBad: false },
  completed: { fails: 'if listed', isBad: false },
  skipped: { fails: 'if listed', isBad: false },
} as const satisfies Readonly<
  Record<string, { fails: 'always' | 'by default' | 'if listed' | 'never'; isBad: boolean }>
>;
export type JobResult = keyof typeof RESULTS;

type Listed = {
  [R in JobResult]: (typeof RESULTS)[R]['fails'] extends 'by default' | 'if listed' ? R : never;
}[JobResult];

export const RESULT_NAMES = Object.keys(RESULTS) as JobResult[];
/** The others always fail the step, or never. */
export const FAIL_ON = RESULT_NAMES.filter((result): result is Listed =>
  ['by default', 'if listed'].includes(RESULTS[result].fails),
);
/** They need a person. */
export const FAILS_BY_DEFAULT = RESULT_NAMES.filter(
  (result) => RESULTS[result].fails === 'by default',
);
