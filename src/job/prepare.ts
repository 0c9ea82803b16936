import { createHash } from 'node:crypto';
import type { RunContext } from '../context.ts';
import { composePrompt } from '../github/command.ts';
import { JOB_ID_MISSING } from '../inputs.ts';
import { join, ours, type Reason, sentence } from '../reason.ts';
import { ok, problem, type Result } from '../result.ts';
import { oneLine } from '../sanitize.ts';
import { newTurn, type Turn } from '../turn.ts';

// Which jobs a run is about, and what it sends to them.

/** The jobs in `job-id`, or the one that the comment remembers. */
export async function whichJobs({
  inputs,
  conversation,
  memory: reading,
}: RunContext): Promise<Result<readonly string[], Reason>> {
  if (inputs.jobIds.length > 0) return ok(inputs.jobIds);
  if (conversation === null || !inputs.comment) return problem(JOB_ID_MISSING);
  const memory = await reading;
  if (memory?.kind === 'problem') {
    return problem(
      sentence`job-id is empty, and the comment that may name the job cannot be read: ${memory.problem}.`,
    );
  }
  const ids = memory?.value.ledger.jobs.map(({ id }) => id) ?? [];
  const [first, ...others] = ids;
  if (first === undefined) {
    return problem(
      ours(
        'job-id is empty, and no comment of this action names an agent job here yet; set job-id, or ' +
          'run a workflow with job-id for this pull request or issue once.',
      ),
    );
  }
  if (others.length === 0) return ok(ids);
  return problem(
    sentence`job-id is empty, and the comment of this action names ${ids.length} jobs:
      ${listSome(ids)}. Set job-id to one of them, for example ${`job-id: ${first}`}, or use one
      workflow with a command of its own for each.`,
  );
}

const MOST_LISTED = 10;

function listSome(ids: readonly string[]): Reason {
  const more = ids.length - MOST_LISTED;
  const listed = ids.slice(0, MOST_LISTED).map((id) => sentence`${id}`);
  return sentence`${join(listed, ', ')}${ours(more > 0 ? ` and ${more} more` : '')}`;
}

export function promptOf({ inputs, trigger, text }: RunContext): string {
  return inputs.command === null
    ? inputs.prompt
    : composePrompt(inputs.prompt, text, trigger.comment?.context ?? null);
}

/** The most characters of the prompt that are remembered and shown. */
const SHOWN_PROMPT = 1000;

/** The turn of a job as this run would start it. */
export function startTurn(
  { inputs, trigger, info, runtime, mark }: RunContext,
  prompt: string,
): Turn {
  const { comment, event } = trigger;
  const by = comment?.author.login ?? (event === 'schedule' ? null : info.actor || null);
  // Without a command, the message belongs to the step, whatever triggered it.
  const isCommand = comment !== null && inputs.command !== null;
  // Redacted before it is cut: a part of a secret would not be recognized.
  const redacted = runtime.redact(prompt);
  return newTurn({
    origin: isCommand ? `${comment.kind}:${comment.id}` : info.origin,
    leg: isCommand ? '' : legOf(inputs.matrixLeg),
    mark,
    by: by === null ? null : oneLine(runtime.redact(by), 100),
    prompt: redacted.slice(0, SHOWN_PROMPT).toWellFormed(),
    promptHash: hashOf(redacted),
    startedAt: runtime.clock.now(),
    runId: info.runId,
    attempt: info.attempt,
  });
}

/** A hash of the `matrix` context; empty without a matrix, for which the runner passes `null`. */
function legOf(matrixLeg: string): string {
  if (['', 'null', '{}'].includes(matrixLeg.trim())) return '';
  return hashOf(matrixLeg);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
