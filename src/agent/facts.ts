import type { Clock } from '../clock.ts';
import type { Delivery, JobResult, Milestone, Outcome } from '../outcome.ts';
import type { Redact } from '../secrets.ts';
import { checkPrLink } from './pr-link.ts';
import { type Base, NO_TURN, type Turn } from './turn.ts';
import { isFinal, isKnownStatus, type JobRecord } from './wire.ts';

/** All that a run has learned of one job by now. */
export interface Facts {
  readonly jobId: string;
  readonly isLook: boolean;
  delivery: Delivery;
  turn: Turn;
  latest: JobRecord | null;
  polls: number;
  readonly milestones: Milestone[];
  /** What was noticed and said already, so that it is said once. */
  readonly said: Set<string>;
}

export function noFacts(jobId: string, isLook: boolean, polls: number): Facts {
  return {
    jobId,
    isLook,
    delivery: 'not-sent',
    turn: NO_TURN,
    latest: null,
    polls,
    milestones: [],
    said: new Set(),
  };
}

export interface End {
  readonly result: Outcome;
  readonly reason: string;
  readonly confirmed?: boolean | null;
}

/** The facts as a result, were the run to end like this now. */
export function resultOf(
  facts: Facts,
  end: End,
  { clock, redact }: { readonly clock: Clock; readonly redact: Redact },
  serverUrl: string,
): JobResult {
  const { latest } = facts;
  const { base, sentAt, evidence } = facts.turn;
  const link = pullRequestOf(facts, serverUrl);
  return {
    jobId: facts.jobId,
    isLook: facts.isLook,
    delivery: facts.delivery,
    result: end.result,
    confirmed: end.confirmed ?? null,
    status: latest?.status ?? null,
    prLink: link.kind === 'link' ? link.url : null,
    prLinkChange: changeOf(base, latest),
    model: latest?.model ?? null,
    source: latest?.source ?? null,
    createdAt: latest?.createdAt ?? null,
    archivedAt: latest?.archivedAt ?? null,
    elapsedSeconds: sentAt === null ? null : Math.round((clock.now() - sentAt) / 100) / 10,
    polls: facts.polls,
    reason: redact(end.reason),
    resumption: {
      base: base && { status: base.status, prLink: base.prLink, archivedAt: base.archivedAt },
      sentAt: sentAt === null ? null : new Date(clock.date().getTime() - (clock.now() - sentAt)),
      evidence,
    },
    milestones: [...facts.milestones],
  };
}

/** Takes in a record. Returns warnings about it that were not given before. */
export function takeIn(
  facts: Facts,
  record: JobRecord,
  clock: Clock,
  serverUrl: string,
): readonly string[] {
  if (facts.latest?.status !== record.status && record.status !== null) {
    facts.milestones.push({ at: clock.date(), what: record.status });
  }
  facts.latest = record;
  const link = pullRequestOf(facts, serverUrl);
  const warnings = [
    isKnownStatus(record.status)
      ? ''
      : `Job ${facts.jobId} has a status that this action does not know; it counts as not final, so a ` +
        'wait may last until timeout-minutes.',
    link.kind === 'refused'
      ? `The pull request link of job ${facts.jobId} is left out: ${link.why}.`
      : '',
  ];
  return warnings.filter((text) => text !== '' && !facts.said.has(text) && facts.said.add(text));
}

export function isBaseFinal({ turn: { base } }: Facts): boolean {
  return base !== null && isFinal(base.status);
}

/** Null where nothing is known from before, or a link that was there is not shown any more. */
function changeOf(base: Base | null, latest: JobRecord | null): JobResult['prLinkChange'] {
  if (base === null || latest === null || latest === base) return null;
  if (latest.prLink === null) return base.prLink === null ? 'none' : null;
  return base.prLink === latest.prLink ? 'updated' : 'created';
}

function pullRequestOf({ latest }: Facts, serverUrl: string): ReturnType<typeof checkPrLink> {
  const repository = latest?.source?.repository ?? null;
  return checkPrLink(latest?.prLink ?? null, { serverUrl, repository });
}
