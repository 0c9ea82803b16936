import * as z from 'zod/mini';
import { checkPrLink } from '../pull-request-link.ts';
import { ok, problem, type Result } from '../result.ts';
import type { Redact } from '../runner/secrets.ts';
import { type JobRecord, redactStatus } from '../turn.ts';

/** A longer text counts as absent: it cannot be a valid value. */
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
 * Reads the job record in a body. Unknown fields are ignored, a field of the wrong type counts as absent, and
 * secrets are redacted before anything is cut, quoted or compared. A problem never quotes the body.
 */
export function readRecord(body: string, redact: Redact, serverUrl: string): Result<JobRecord> {
  if (body === '') return problem('an empty body');
  const json = parseJson(body);
  if (json === undefined) return problem(`invalid JSON (${Buffer.byteLength(body)} bytes)`);
  const parsed = jobRecord.safeParse(json);
  if (!parsed.success) return problem('JSON that is not a job record');
  const { id, status, prLink, model, createdAt, archivedAt } = parsed.data;
  const clean = (value: string | null): string | null => (value === null ? null : redact(value));
  const source = parsed.data.source && {
    repository: redact(parsed.data.source.repository),
    ref: clean(parsed.data.source.ref),
  };
  const link = checkPrLink(clean(prLink), [serverUrl, source?.repository ?? '']);
  return ok({
    id,
    status: status && redactStatus(status, redact),
    prLink: link.kind === 'ok' ? link.value : null,
    linkProblem: link.kind === 'problem' ? link.problem : null,
    model: clean(model),
    source,
    createdAt: clean(createdAt),
    archivedAt: clean(archivedAt),
  });
}

const words = z.catch(z.string(), '');
const detail = z.union([
  z.string(),
  z.pipe(
    z.object({
      path: z.catch(z.array(z.union([z.string(), z.number()])), []),
      message: z.string(),
    }),
    z.transform(({ path, message }) =>
      path.length === 0 ? message : `${path.join('.')}: ${message}`,
    ),
  ),
]);
/** `error` is the API's own word, `message` that of a gateway before it. */
const refusal = z.object({
  error: words,
  message: words,
  details: z.catch(z.array(z.catch(detail, '')), []),
});

/** How the API explains a refusal: the error, then its details. Empty if it does not. */
export function readRefusal(body: string, redact: Redact): readonly string[] {
  const { data } = refusal.safeParse(parseJson(body));
  if (data === undefined) return [];
  const { error, message, details } = data;
  return [error || message, ...details].filter((text) => text !== '').map(redact);
}

function parseJson(body: string): unknown {
  if (isNestedTooDeeply(body)) return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Parsing a megabyte of brackets would take hundreds of megabytes of memory. */
const DEEPEST_JSON = 100;

/** Reads character by character, because a match per bracket would take many megabytes, too. */
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
