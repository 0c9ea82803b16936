import { deflateSync, inflateSync } from 'node:zlib';
import * as z from 'zod/mini';
import { isLink } from '../pull-request-link.ts';
import { redactReason } from '../reason.ts';
import type { Redact } from '../runner/secrets.ts';
import { DELIVERIES, newTurn, RESULTS, redactStatus, type Turn } from '../turn.ts';
import { copiesOf, type Ledger, type LedgerJob, type LedgerRecord, toLedgerJob } from './ledger.ts';

// A ledger as data: arrays by position, in which each text occurs once, deflated and in base64.
// docs/memory.md describes the format.

/** `sending` is written before the message is sent. */
const STORED_DELIVERIES = ['sending', ...DELIVERIES] as const;
const LINK_CHANGES = ['created', 'updated', 'none'] as const;
const TRUTHS = [false, true] as const;
/** Null, as an index or a time. */
const NULL = -1;

/** Bytes. Our own data is never larger. */
const INFLATED_LIMIT = 8 * 1024 * 1024;

/** An index of a text, or of a word in a list. */
const index = z.int().check(z.gte(NULL));
/** Milliseconds. An epoch plus a time must not exceed the range of `Date`. */
const LAST_TIME = Date.UTC(5000);
const epochTime = z.int().check(z.gte(0), z.lte(LAST_TIME));
/** Milliseconds since the epoch of the data. */
const time = z.int().check(z.gte(NULL), z.lte(LAST_TIME));
/** The links were checked before, but people who may edit comments may have changed them. */
const link = z.catch(z.string().check(z.refine(isLink)), '');

/** One schema per position, so that each has its own type. */
const turnTuple = z.tuple([
  index, // origin
  index, // leg
  index, // mark
  index, // owner
  index, // ownerLeg
  z.int().check(z.gte(0)), // writes
  index, // run
  z.int().check(z.gte(1)), // attempt
  index, // by
  index, // prompt
  index, // delivery
  index, // result
  index, // confirmed
  index, // prLinkChange
  z.array(index), // reason, in its parts
  time, // startedAt
  time, // sentAt
  time, // endedAt
  index, // evidence
  z.nullable(z.tuple([index, index, index])), // base: status, prLink, archivedAt
  index, // promptHash
  index, // ownerPromptHash
]);
/** status, model, repository, ref, prLink */
const recordTuple = z.tuple([index, index, index, index, link]);
const jobTuple = z.tuple([
  z.string().check(z.regex(/^(?!\.{1,2}$)[\w\-.~:@]{1,256}$/)),
  z.nullable(recordTuple),
  z.array(turnTuple),
]);
const ledgerTuple = z.tuple([
  epochTime,
  z.array(z.string()),
  z.array(jobTuple),
  z.nullable(z.string().check(z.regex(/^\d{1,20}$/))),
]);

export function encode({ jobs, trimmed }: Ledger): string {
  const starts = jobs.flatMap(copiesOf).map(({ startedAt }) => Math.floor(startedAt));
  const epoch = Math.min(Date.UTC(2100), ...starts);
  const texts = new Map<string, number>();

  function put(text: string | null): number {
    if (text === null) return NULL;
    const known = texts.get(text) ?? texts.size;
    texts.set(text, known);
    return known;
  }
  const since = (at: number | null): number =>
    at === null ? NULL : Math.max(0, Math.round(at) - epoch);

  function fromTurn(turn: Turn): readonly unknown[] {
    const isOver = turn.endedAt !== null;
    const { base } = turn;
    return [
      ...[put(turn.origin), put(turn.leg), put(turn.mark), put(turn.owner)],
      ...[put(turn.ownerLeg), turn.writes],
      ...[put(turn.runId), turn.attempt, put(turn.by), put(turn.prompt)],
      STORED_DELIVERIES.indexOf(turn.delivery),
      isOver ? RESULTS.indexOf(turn.result) : NULL,
      turn.confirmed === null ? NULL : TRUTHS.indexOf(turn.confirmed),
      turn.prLinkChange === null ? NULL : LINK_CHANGES.indexOf(turn.prLinkChange),
      isOver ? turn.reason.map(put) : [],
      ...[since(turn.startedAt), since(turn.sentAt), since(turn.endedAt)],
      TRUTHS.indexOf(turn.evidence),
      base && [put(base.status), put(base.prLink), put(base.archivedAt)],
      ...[put(turn.promptHash), put(turn.ownerPromptHash)],
    ];
  }

  function fromRecord({ status, model, source, prLink }: LedgerRecord): readonly unknown[] {
    const { repository = null, ref = null } = source ?? {};
    return [put(status), put(model), put(repository), put(ref), prLink ?? ''];
  }

  const tuples = jobs.map((job) => [
    job.id,
    job.record && fromRecord(job.record),
    copiesOf(job).map(fromTurn),
  ]);
  const json = JSON.stringify([epoch, [...texts.keys()], tuples, trimmed]);
  return deflateSync(json, { level: 9 }).toString('base64');
}

/**
 * Throws on anything that `encode` cannot have made. Secrets are removed, because an earlier run may not have known
 * a secret of this run, and people may have edited the comment.
 */
export function decode(data: string, redact: Redact = (text) => text): Ledger {
  const bytes = inflateSync(Buffer.from(data, 'base64'), { maxOutputLength: INFLATED_LIMIT });
  const [epoch, texts, jobs, trimmed] = ledgerTuple.parse(JSON.parse(bytes.toString()));

  function get(at: number): string {
    const text = texts[at];
    if (text === undefined) throw new RangeError('a text is missing');
    return text;
  }
  const cleanOrNull = (at: number): string | null => (at === NULL ? null : redact(get(at)));
  const statusOf = (at: number): string | null =>
    at === NULL ? null : redactStatus(get(at), redact);
  const timeOf = (at: number): number | null => (at === NULL ? null : epoch + at);

  function toTurn(tuple: z.infer<typeof turnTuple>): Turn {
    // No array pattern: it iterates, and for so many positions V8 takes 20 MB to optimize that.
    const { 0: origin, 1: leg, 2: mark, 3: owner, 4: ownerLeg, 5: writes, 6: run } = tuple;
    const { 7: attempt, 8: by, 9: prompt, 10: delivery, 11: result, 12: confirmed } = tuple;
    const { 13: change, 14: reason, 15: started, 16: sent, 17: ended } = tuple;
    const { 18: evidence, 19: base, 20: promptHash, 21: ownerPromptHash } = tuple;
    const start = newTurn({
      ...{ origin: get(origin), leg: get(leg), mark: get(mark), runId: get(run), attempt },
      ...{ by: cleanOrNull(by), prompt: redact(get(prompt)), promptHash: get(promptHash) },
      startedAt: timeOf(started) ?? epoch,
    });
    const isOver = ended !== NULL && RESULTS[result] !== undefined;
    return {
      ...start,
      ...{ owner: get(owner), ownerLeg: get(ownerLeg), writes },
      ownerPromptHash: get(ownerPromptHash),
      delivery: STORED_DELIVERIES[delivery] ?? 'unknown',
      confirmed: TRUTHS[confirmed] ?? null,
      prLinkChange: LINK_CHANGES[change] ?? null,
      sentAt: timeOf(sent),
      evidence: TRUTHS[evidence] ?? false,
      base: base && {
        ...{ status: statusOf(base[0]), prLink: cleanOrNull(base[1]) },
        archivedAt: cleanOrNull(base[2]),
      },
      result: RESULTS[result] ?? start.result,
      reason: redactReason(reason.map(get), redact),
      endedAt: isOver ? timeOf(ended) : null,
    };
  }

  function toJob([id, record, copies]: z.infer<typeof jobTuple>): LedgerJob {
    return toLedgerJob(id, record && toRecord(record), copies.map(toTurn));
  }

  function toRecord([status, model, repository, ref, prLink]: z.infer<typeof recordTuple>) {
    const name = cleanOrNull(repository);
    return {
      ...{ status: statusOf(status), model: cleanOrNull(model) },
      source: name === null ? null : { repository: name, ref: cleanOrNull(ref) },
      prLink: prLink === '' ? null : redact(prLink),
    };
  }

  return { jobs: jobs.map(toJob), trimmed };
}
