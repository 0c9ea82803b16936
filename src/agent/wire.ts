import * as z from 'zod/mini';
import { STATUSES } from '../outcome.ts';
import { type Redact, redactStatus } from '../secrets.ts';

/** A job as the service showed it. Only `id` and `status` may be relied on. */
export interface JobRecord {
  readonly id: string;
  /** The service's own word, or null where it gave none that is a plain word. */
  readonly status: string | null;
  readonly prLink: string | null;
  readonly model: string | null;
  readonly source: { readonly repository: string; readonly ref: string | null } | null;
  readonly createdAt: string | null;
  readonly archivedAt: string | null;
}

/** What a body turned out to be. `why` is a phrase; it never quotes the body. */
export type RecordRead =
  | { readonly kind: 'record'; readonly record: JobRecord }
  | { readonly kind: 'other-job' }
  | { readonly kind: 'invalid'; readonly why: string };

/** A text that is longer counts as absent: it is not what its field is for. */
function text(limit: number) {
  return z.catch(z.nullable(z.string().check(z.maxLength(limit))), null);
}

const jobRecord = z.object({
  id: z.string(),
  status: z.catch(z.nullable(z.string().check(z.regex(/^[\w-]{1,64}$/))), null),
  prLink: text(500),
  model: text(4096),
  source: z.catch(
    z.nullable(z.object({ repository: z.string().check(z.maxLength(4096)), ref: text(4096) })),
    null,
  ),
  createdAt: text(64),
  archivedAt: text(64),
});

/**
 * Reads the job record out of a body. Unknown fields pass, a field of the wrong type counts as
 * absent, and an unknown status is kept, for it only means "not final". Secrets are taken out
 * before anything is cut, quoted or compared.
 */
export function readRecord(body: string, jobId: string, redact: Redact): RecordRead {
  const json = parseJson(body);
  if (json === undefined) {
    return { kind: 'invalid', why: `invalid JSON (${Buffer.byteLength(body)} bytes)` };
  }
  const parsed = jobRecord.safeParse(json);
  if (!parsed.success) return { kind: 'invalid', why: 'JSON that is not a job record' };
  return parsed.data.id === jobId
    ? { kind: 'record', record: redactRecord(parsed.data, redact) }
    : { kind: 'other-job' };
}

function redactRecord(record: JobRecord, redact: Redact): JobRecord {
  const clean = (value: string | null): string | null => (value === null ? null : redact(value));
  const { source } = record;
  return {
    id: record.id,
    status: record.status && redactStatus(record.status, redact),
    prLink: clean(record.prLink),
    model: clean(record.model),
    source: source && { repository: redact(source.repository), ref: clean(source.ref) },
    createdAt: clean(record.createdAt),
    archivedAt: clean(record.archivedAt),
  };
}

const detail = z.union([
  z.string(),
  z.pipe(
    z.object({
      path: z.catch(z.union([z.string(), z.array(z.union([z.string(), z.number()]))]), ''),
      message: z.string(),
    }),
    z.transform(({ path, message }) => {
      const where = [path].flat().join('.');
      return where === '' ? message : `${where}: ${message}`;
    }),
  ),
]);
const details = z.catch(
  z.union([
    z.pipe(
      z.string(),
      z.transform((only) => [only]),
    ),
    z.array(z.catch(detail, '')),
  ]),
  [],
);

const refusal = z.union([
  z.object({ error: z.string(), details }),
  z.pipe(
    z.object({ error: z.object({ message: z.string(), details }) }),
    z.transform(({ error }) => ({ error: error.message, details: error.details })),
  ),
  z.pipe(
    z.object({ message: z.string(), details }),
    z.transform(({ message, details }) => ({ error: message, details })),
  ),
]);

/** What the service says about a refusal; empty where it says nothing. */
export interface Refusal {
  readonly sentence: string;
  readonly details: readonly string[];
}

/** Reads `{"error": string, "details": [...]}`. */
export function readRefusal(body: string, redact: Redact): Refusal {
  const { data } = refusal.safeParse(parseJson(body));
  if (data === undefined) return { sentence: '', details: [] };
  return {
    sentence: redact(data.error),
    details: data.details.filter((text) => text !== '').map(redact),
  };
}

export function isKnownStatus(status: string | null): boolean {
  return (STATUSES as readonly (string | null)[]).includes(status);
}

/** completed, archived and failed are final; an unknown or missing status never is. */
export function isFinal(status: string | null): boolean {
  return isKnownStatus(status) && status !== 'active';
}

function parseJson(body: string): unknown {
  if (isNestedTooDeeply(body)) return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** A megabyte of brackets would take hundreds of times its size in memory. */
const DEEPEST_JSON = 100;

/** Walks the characters, for a match per bracket would itself take many megabytes. */
function isNestedTooDeeply(json: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < json.length && depth <= DEEPEST_JSON; at++) {
    const character = json[at];
    if (inString && character === '\\') at++;
    else if (character === '"') inString = !inString;
    else if (inString) continue;
    else if (character === '[' || character === '{') depth++;
    else if (character === ']' || character === '}') depth--;
  }
  return depth > DEEPEST_JSON;
}
