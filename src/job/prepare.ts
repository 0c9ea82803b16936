import type { RunContext } from '../context.ts';
import { composePrompt } from '../github/command.ts';
import { JOB_ID_MISSING } from '../inputs.ts';
import type { Memory } from '../memory/updates.ts';
import type { RunInfo } from '../runner/environment.ts';
import { oneLine } from '../sanitize.ts';
import { newTurn, type Turn } from '../turn.ts';
import { rememberedJob, turnKey } from './plan.ts';

// Which jobs are meant, what they are told, and where people are told of it.

export type Jobs =
  | { readonly kind: 'known'; readonly jobIds: readonly string[] }
  | { readonly kind: 'unclear'; readonly problem: string };

/** The jobs that are named, or the one that the conversation remembers. */
export function whichJobs(
  { inputs }: Pick<RunContext, 'inputs'>,
  memory: Memory,
  conversation: number | null,
): Jobs {
  if (inputs.jobIds.length > 0) return { kind: 'known', jobIds: inputs.jobIds };
  if (conversation === null || !inputs.comment) return { kind: 'unclear', problem: JOB_ID_MISSING };
  const remembered = rememberedJob(memory);
  return remembered.kind === 'job' ? { kind: 'known', jobIds: [remembered.jobId] } : remembered;
}

/** A single look at a job that is named needs to know nothing of what was said before. */
export function usesMemory({
  inputs: { send, wait, jobIds },
}: Pick<RunContext, 'inputs'>): boolean {
  return send || wait || jobIds.length === 0;
}

/** What goes out: the prompt of the workflow and, with a command, the text of the comment. */
export function promptOf({ inputs, trigger, text }: RunContext): string {
  return inputs.command === null
    ? inputs.prompt
    : composePrompt(inputs.prompt, text, trigger.comment?.context ?? null);
}

/** Characters of the prompt that are remembered and shown. */
const SHOWN_PROMPT = 1000;

interface Started {
  readonly jobId: string;
  readonly prompt: string;
  readonly startedAt: number;
}

/** The turn of a job as this run would begin it. */
export function startTurn(
  { inputs, trigger, info, runtime }: RunContext,
  { jobId, prompt, startedAt }: Started,
): Turn {
  const { comment, event } = trigger;
  const by = comment?.author.login ?? (event === 'schedule' ? null : info.actor || null);
  const origin = comment === null ? info.origin : `${comment.kind}:${comment.id}`;
  return newTurn({
    key: turnKey(origin, [inputs.projectId, jobId, prompt]),
    by: by === null ? null : oneLine(runtime.redact(by), 100),
    // What is cut before it is redacted may keep a part of a secret.
    prompt: runtime.redact(prompt).slice(0, SHOWN_PROMPT).toWellFormed(),
    startedAt,
    runId: info.runId,
    attempt: info.attempt,
  });
}

/** The number of a pull request in this repository; null for any other link. */
export function ownPullRequest(
  prLink: string | null,
  { serverUrl, repository }: RunInfo,
): number | null {
  const prefix = `${serverUrl}/${repository}/pull/`.toLowerCase();
  if (prLink === null || !prLink.toLowerCase().startsWith(prefix)) return null;
  const number = /^[1-9]\d{0,9}$/.exec(prLink.slice(prefix.length));
  return number === null ? null : Number(number[0]);
}
