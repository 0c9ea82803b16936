import { createHash } from 'node:crypto';
import type { RunContext } from '../context.ts';
import { composePrompt } from '../github/command.ts';
import { JOB_ID_MISSING } from '../inputs.ts';
import type { Memory } from '../memory/updates.ts';
import type { Reason } from '../reason.ts';
import { oneLine } from '../sanitize.ts';
import { newTurn, type Turn } from '../turn.ts';
import { rememberedJob } from './plan.ts';

// Which jobs a run is about, what it sends to them, and which pull request belongs to a job.

export type Jobs =
  | { readonly kind: 'known'; readonly jobIds: readonly string[] }
  | { readonly kind: 'unclear'; readonly problem: Reason };

/** The jobs in `job-id`, or the one that the comment remembers. */
export async function whichJobs(
  { inputs }: Pick<RunContext, 'inputs'>,
  memory: Promise<Memory>,
  conversation: number | null,
): Promise<Jobs> {
  if (inputs.jobIds.length > 0) return { kind: 'known', jobIds: inputs.jobIds };
  if (conversation === null || !inputs.comment) return { kind: 'unclear', problem: JOB_ID_MISSING };
  const remembered = rememberedJob(await memory);
  return remembered.kind === 'job' ? { kind: 'known', jobIds: [remembered.jobId] } : remembered;
}

/** The prompt of the workflow and, with a command, the text of the comment. */
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
  startedAt: number,
): Turn {
  const { comment, event } = trigger;
  const by = comment?.author.login ?? (event === 'schedule' ? null : info.actor || null);
  // Without a command, the message belongs to the step, whatever triggered it.
  const isCommand = comment !== null && inputs.command !== null;
  return newTurn({
    origin: isCommand ? `${comment.kind}:${comment.id}` : info.origin,
    leg: isCommand ? '' : legOf(inputs.matrixLeg),
    mark,
    by: by === null ? null : oneLine(runtime.redact(by), 100),
    // Redacted before it is cut: a part of a secret would not be recognized.
    prompt: runtime.redact(prompt).slice(0, SHOWN_PROMPT).toWellFormed(),
    startedAt,
    runId: info.runId,
    attempt: info.attempt,
  });
}

/** A hash of the `matrix` context; empty without a matrix, for which the runner passes `null`. */
function legOf(matrixLeg: string): string {
  if (['', 'null', '{}'].includes(matrixLeg.trim())) return '';
  return createHash('sha256').update(matrixLeg).digest('hex').slice(0, 8);
}
