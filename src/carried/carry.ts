import type { GitHub } from '../github/api.ts';
import type { CommentTrigger, Trigger } from '../github/event.ts';
import type { Inputs } from '../inputs.ts';
import type { RunInfo, Runtime } from '../runner/environment.ts';
import { type Ok, ok } from '../text.ts';
import { type Carried, composeCarried, FIX_IT } from './carried.ts';
import { carryCheck } from './check.ts';
import { quoteContext } from './comment.ts';
import { carryFiles } from './files.ts';
import { readReview } from './review.ts';
import { carryFailedRun, type FailedRun, readFailedRun } from './workflow-run.ts';

// What a message says: the prompt of the workflow, the words of a person, and what the event and files carry.

/** All that is sent. The logs of a run that failed are read later, and only if a message is sent. */
export interface Request {
  /** Of the workflow; empty for none. */
  readonly prompt: string;
  /** The words of a person; empty for none. */
  readonly words: string;
  /** What belongs to the words: the code that they are about, or the inline comments of a review. */
  readonly parts: readonly string[];
  /** What people see instead of the parts; empty if they see them. */
  readonly summary: string;
  readonly carried: readonly Carried[];
  readonly failedRun?: FailedRun;
}

/** What it reads with. */
export interface Reading {
  readonly runtime: Runtime;
  readonly info: RunInfo;
  readonly trigger: Trigger;
  readonly github: GitHub;
}

export type Carrying =
  | Ok<Request>
  /** There is nothing to send. */
  | { readonly kind: 'nothing'; readonly reason: string }
  /** A command without anything to send. */
  | { readonly kind: 'usage' }
  /** `problem`: half of a message is worse than none. */
  | { readonly kind: 'problem'; readonly problem: string };

/** Reads all but logs. `words` are those of the comment or review `asked`, if there is one. */
export async function carry(
  { runtime, trigger, github }: Reading,
  inputs: Inputs,
  asked: CommentTrigger | null,
  words: string,
): Promise<Carrying> {
  const { prompt, command, send } = inputs;
  const files = carryFiles(inputs.attach, runtime.env.GITHUB_WORKSPACE || '.', runtime.redact);
  if (files.kind === 'problem') return files;
  if (!send) return ok({ prompt: '', words: '', parts: [], summary: '', carried: [] });
  const attached = files.value === null ? [] : [files.value];
  if (asked?.kind === 'review') {
    const until = runtime.clock.startedAt + inputs.timeoutMs;
    const review = await readReview(asked, github, until);
    if (review.kind === 'problem') return review;
    const { areReplies, ...comments } = review.value;
    const { length } = comments.parts;
    const isReply = words === '' && areReplies && (length > 0 || prompt === '');
    if (command === null && (isReply || (asked.approves && length === 0))) {
      return { kind: 'nothing', reason: 'The review asks for nothing.' };
    }
    return orUsage({ prompt, words, ...comments, carried: attached }, command);
  }
  if (asked !== null) {
    const parts = asked.context === null ? [] : [quoteContext(asked.context)];
    return orUsage({ prompt, words, parts, summary: '', carried: attached }, command);
  }
  const check = carryCheck(trigger.payload, runtime.redact);
  const failedRun = trigger.event === 'workflow_run' ? readFailedRun(trigger.payload) : null;
  const carried = check === null ? attached : [check, ...attached];
  if (prompt === '' && check === null && failedRun === null) {
    return { kind: 'nothing', reason: 'Nothing has failed, and there is no prompt.' };
  }
  const request = { prompt, words, parts: [], summary: '', carried };
  return ok(failedRun === null ? request : { ...request, failedRun });
}

/** A bare command sends the prompt of the workflow, or the inline comments of the review. */
function orUsage(request: Request, command: string | null): Carrying {
  const { prompt, words, summary } = request;
  const isBare = command !== null && prompt === '' && words === '' && summary === '';
  return isBare ? { kind: 'usage' } : ok(request);
}

/** Reads what is only read if a message is sent. It never rejects. */
export async function withLogs(
  { runtime, info, github }: Reading,
  request: Request,
): Promise<Request> {
  const { failedRun } = request;
  if (failedRun === undefined) return request;
  const logs = await carryFailedRun(failedRun, github, { ...runtime, apiUrl: info.apiUrl });
  const isCancelled = runtime.signal.aborted;
  if (logs.warning !== '' && !isCancelled) runtime.log.warning(logs.warning);
  return { ...request, carried: [logs, ...request.carried] };
}

/** The message, and what people see of it: the words of people, and a line for all else. */
export function compose({ prompt, words, parts, summary, carried }: Request) {
  const isAboutFailure = carried.some(({ isFailure }) => isFailure);
  const ask = prompt === '' && words === '' && isAboutFailure ? FIX_IT : prompt;
  const shownParts = summary === '' ? parts : [];
  return {
    prompt: paragraphs([ask, words, ...parts, ...composeCarried(carried)]),
    shown: paragraphs([prompt, words, ...shownParts]),
    attached: [summary, ...carried.map((one) => one.summary)]
      .filter((line) => line !== '')
      .join(' '),
  };
}

function paragraphs(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}
