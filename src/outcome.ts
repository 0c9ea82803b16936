/** What became of the message; `unknown`: it may or may not have arrived. In order of weight. */
export const DELIVERIES = ['unknown', 'sent', 'not-sent'] as const;
export type Delivery = (typeof DELIVERIES)[number];

/** What became of a job in this run, from worst to best. */
export const OUTCOMES = [
  'error',
  'cancelled',
  'failed',
  'archived',
  'timed-out',
  'active',
  'sent',
  'completed',
  'skipped',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The outcomes that `fail-on` may list; `error` and `cancelled` always fail the step. */
export const FAIL_ON = [
  'failed',
  'archived',
  'timed-out',
  'skipped',
  'active',
  'completed',
] as const satisfies readonly Outcome[];

/** The statuses that the service documents; any other counts as "not final". */
export const STATUSES = ['active', 'completed', 'archived', 'failed'] as const;
export type Status = (typeof STATUSES)[number];

/** The facts of one job at the end of a run, or as far as they are known by then. */
export interface JobResult {
  readonly jobId: string;
  /** Whether nothing was to be sent, but only looked. */
  readonly isLook: boolean;
  readonly delivery: Delivery;
  readonly result: Outcome;
  /** Whether the final status surely belongs to this message; null unless waited for. */
  readonly confirmed: boolean | null;
  readonly status: string | null;
  /** Checked: an https link to a pull request on a known code host. */
  readonly prLink: string | null;
  /** Null where it is not known what the job showed before the message. */
  readonly prLinkChange: 'created' | 'updated' | 'none' | null;
  readonly model: string | null;
  readonly source: { readonly repository: string; readonly ref: string | null } | null;
  readonly createdAt: string | null;
  readonly archivedAt: string | null;
  /** Seconds from the answer to the message; null when none was sent. */
  readonly elapsedSeconds: number | null;
  /** How often the job was looked at, the look before the send included. */
  readonly polls: number;
  /** One sentence for every result that is not plain success; else empty. */
  readonly reason: string;
  /** What a later attempt of the same run needs in order to go on. */
  readonly resumption: Resumption;
  /** What happened when, in order; for the timeline of the summary. */
  readonly milestones: readonly Milestone[];
}

/** Where a turn stands. */
export interface Resumption {
  /** What the look before the message saw, if there was one. */
  readonly base: {
    readonly status: string | null;
    readonly prLink: string | null;
    readonly archivedAt: string | null;
  } | null;
  /** When the service answered the message; null if it has not. */
  readonly sentAt: Date | null;
  /** Whether anything was seen that only this message can have caused. */
  readonly evidence: boolean;
}

export interface Milestone {
  readonly at: Date;
  /** `sent`, or a status of the job that was seen anew. */
  readonly what: string;
}

/** The result that stands for all: the first, in input order, of the worst. */
export function worst(results: readonly JobResult[]): JobResult | undefined {
  return worstFirst(results)[0];
}

/**
 * By result, and of the same result first what has a reason: it is not plain success. What is
 * left equal stays in input order.
 */
export function worstFirst(results: readonly JobResult[]): readonly JobResult[] {
  const rank = ({ result, reason }: JobResult): number =>
    OUTCOMES.indexOf(result) + (reason === '' ? 0.5 : 0);
  return results.toSorted((one, other) => rank(one) - rank(other));
}

/** The delivery that stands for all: the first of unknown, sent, not-sent that occurs. */
export function overallDelivery(results: readonly JobResult[]): Delivery {
  return (
    DELIVERIES.find((delivery) => results.some((result) => result.delivery === delivery)) ??
    'not-sent'
  );
}

/** Whether the step fails: `error` and `cancelled` always do, the others if they are listed. */
export function failsStep(results: readonly JobResult[], failOn: ReadonlySet<Outcome>): boolean {
  return results.some(
    ({ result }) => result === 'error' || result === 'cancelled' || failOn.has(result),
  );
}

/** How many jobs came to each result, the worst first: `1 failed, 2 skipped`. */
export function countOutcomes(results: readonly JobResult[]): string {
  return OUTCOMES.map((result) => ({
    result,
    count: results.filter((job) => job.result === result).length,
  }))
    .filter(({ count }) => count > 0)
    .map(({ result, count }) => `${count} ${result}`)
    .join(', ');
}

/** A job of which nothing but its id is known yet. */
export function unknownJob(
  jobId: string,
  ended: Pick<JobResult, 'delivery' | 'result' | 'reason'>,
): JobResult {
  return {
    jobId,
    isLook: false,
    confirmed: null,
    status: null,
    prLink: null,
    prLinkChange: null,
    model: null,
    source: null,
    createdAt: null,
    archivedAt: null,
    elapsedSeconds: null,
    polls: 0,
    resumption: { base: null, sentAt: null, evidence: false },
    milestones: [],
    ...ended,
  };
}
